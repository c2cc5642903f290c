"""One-class votes under the default protocol: no study's table or text flatters unmarked."""

import numpy as np
import pytest

from judgepanel.present.registry import PRESENTATIONS, STUDIES
from judgepanel.present.study import study_blocks
from judgepanel.render.text import terminal_text
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, CODING
from judgepanel.studies.runner import run
from tests.browser.flattery import ACCURACY, NLL, SKILL, flattering, in_sentence
from tests.helpers import make_votes

LIMITS = {"nll": (NLL, -np.inf), "accuracy": (np.inf, ACCURACY), "skill": (np.inf, SKILL)}
PARTS = {"item", "confidence", "target"}
"""Columns of tables about some of the items: one of them, those it is sure of, the easy ones."""

SIMULATED = {"narrow_band"}
"""Studies that look at no votes."""


def flattered(frame):
    """Rows whose scores are too good, unless they say that they measure the coding."""
    if PARTS & set(frame.columns):
        return frame.head(0)
    array = np.zeros(len(frame), dtype=bool)
    for name, (above, below) in LIMITS.items():
        if name in frame:
            values = frame[name].astype(float).fillna(0.5)
            array |= ((values < above) & np.isfinite(above)) | ((values > below) & (below > 0))
    marked = frame["measures"] == CODING if "measures" in frame else False
    return frame[array & ~np.asarray(marked, dtype=bool)]


@pytest.mark.parametrize("name", sorted(set(STUDIES) - SIMULATED))
def test_no_study_flatters_one_class_votes(name):
    study = STUDIES[name]
    votes = make_votes(4, 80, 6, one_class=True, low=0.55, high=0.75)
    spec = study.spec(settings=Settings(splits=2))
    result = run(study, votes, spec, jobs=1)
    assert flattered(result.frame()).empty
    if study is not CLAIM:  # its text marks sections, see tests/words
        blocks = study_blocks(PRESENTATIONS[name], result, spec)
        lines = terminal_text(blocks).splitlines()
        assert [outcome for line in lines for outcome in flattering(in_sentence(line))] == []


def test_the_check_sees_what_flatters_and_takes_the_mark():
    votes = make_votes(4, 80, 6, one_class=True, low=0.55, high=0.75)
    frame = run(CLAIM, votes, CLAIM.spec(settings=Settings(splits=2)), jobs=1).frame()
    assert set(flattered(frame.drop(columns="measures"))["step"]) >= {"paper", "paper_monotone"}
    assert flattered(frame).empty
