"""Pages of votes with grades: the recommendation reads them, and every page opens."""

import math

import pytest

from judgepanel.votes import write_votes
from tests.helpers import make_votes, with_grades
from tests.pages import driver

OTHERS = sorted(f"pages/{path.name}" for path in (driver.ROOT / "pages").glob("*.py"))
OTHERS.remove(driver.RECOMMENDED)


@pytest.fixture
def analysis(tmp_path):
    """Two judges give probabilities, two differences of ratings, one votes."""
    votes = with_grades(make_votes(0, 90, 5))
    write_votes(votes, tmp_path / "graded.csv")
    cuts = zip(votes.judges, votes.thresholds.tolist(), strict=True)
    thresholds = {judge: cut for judge, cut in cuts if not math.isnan(cut)}
    return driver.created((tmp_path / "graded.csv").read_bytes(), thresholds=thresholds)


def test_the_recommendation_reads_grades_and_every_page_opens_beside_it(analysis):
    app = driver.open_app(driver.RECOMMENDED, analysis=analysis, **{"why-this-panel": "true"})
    driver.until(app, lambda: driver.htmls(app, "jp-answer"))
    driver.until_done(app)
    assert "on grades" in driver.answer_of(app)
    assert "Joint on votes and joint on grades over all judges" in driver.text_of(app)
    assert "uses only the votes" not in driver.text_of(app)
    driver.turn_to(app, driver.JUDGES)
    assert "What its grades tell" in [section.label for section in app.expander]
    for page in OTHERS:
        driver.turn_to(app, page)
        assert not app.exception, page
