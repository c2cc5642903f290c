"""Coverage of judges' outputs is stored with the analysis; older analyses have none."""

from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes
from tests.helpers import transcripts


def test_coverage_is_kept_bit_for_bit(home):
    read = load_votes(transcripts(), name="said.jsonl")
    made = home().create(read, Settings(), "said")
    assert home().open(made.id) == made
    assert made.coverage == read.coverage
