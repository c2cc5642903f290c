"""The progress line below a notebook's cell."""

import sys
from types import SimpleNamespace

import pytest

from judgepanel.api.studies import ProgressLine


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows, cell by cell; the stop button is pressed as the first appears."""
    cells = []

    class Handle:
        def display(self, cell, *, raw):
            cells.append(cell)
            raise KeyboardInterrupt

        def update(self, cell, *, raw):
            cells[-1] = cell

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(DisplayHandle=Handle))
    return cells


def test_a_line_interrupted_as_it_appears_is_gone_at_the_end(shown):
    with pytest.raises(KeyboardInterrupt), ProgressLine() as line:
        line.show("1/10 parts", 0.1)
    assert shown == [{"text/plain": "", "text/html": ""}]
