"""Pages of votes with grades: the recommendation reads them, and every page opens."""

import math

import pytest

from judgepanel.studies.contract import Settings
from judgepanel.ui.session import workspace
from judgepanel.votes import load_votes, write_votes
from tests.helpers import make_votes, with_grades
from tests.pages.driver import (
    JUDGES,
    RECOMMENDED,
    ROOT,
    answer_of,
    htmls,
    open_app,
    text_of,
    turn_to,
    until,
    until_done,
)

OTHERS = sorted(
    f"pages/{path.name}"
    for path in (ROOT / "pages").glob("*.py")
    if path.name != "recommended_panel.py"
)


@pytest.fixture
def analysis(tmp_path):
    """Two judges give probabilities, two differences of ratings, one votes."""
    votes = with_grades(make_votes(0, 90, 5))
    write_votes(votes, tmp_path / "graded.csv")
    cuts = zip(votes.judges, votes.thresholds.tolist(), strict=True)
    thresholds = {judge: cut for judge, cut in cuts if not math.isnan(cut)}
    loaded = load_votes(tmp_path / "graded.csv", thresholds=thresholds)
    return workspace().create(loaded, Settings(splits=4), "graded").id


def test_the_recommendation_reads_grades_and_every_page_opens_beside_it(analysis):
    app = open_app(RECOMMENDED, analysis=analysis, **{"why-this-panel": "true"})
    until(app, lambda: htmls(app, "jp-answer"))
    until_done(app)
    assert "on grades" in answer_of(app)
    assert "Joint on votes and joint on grades over all judges" in text_of(app)
    assert "uses only the votes" not in text_of(app)
    turn_to(app, JUDGES)
    assert "What its grades tell" in [section.label for section in app.expander]
    for page in OTHERS:
        turn_to(app, page)
        assert not app.exception, page
