"""An upload is read once, and keeps the name that its own sender gave it."""

from judgepanel.ui.pages import start
from judgepanel.votes.samples import sample_bytes


def test_the_same_bytes_under_another_name_have_that_name():
    data = sample_bytes("one_class")
    names = ("layoffs-2026.csv", "votes.csv")
    assert [start._table("digest", data, name).name for name in names] == list(names)
