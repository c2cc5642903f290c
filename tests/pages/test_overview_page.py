"""Overview: the decision and the answers of other pages, each with a link to its page."""

import numpy as np

from judgepanel.present.pages import ESTIMATE_PAGE, SUMMARIZED
from judgepanel.studies.contract import Settings
from judgepanel.ui.session import workspace
from tests.pages import driver

OVERVIEW = "pages/overview.py"
OTHERS = [page.title for page in SUMMARIZED if page != ESTIMATE_PAGE]


def finished(app):
    """Wait for the command, which comes last."""
    return driver.until(app, lambda: app.code)


def test_it_has_the_decision_and_the_answers_of_the_other_pages():
    analysis = driver.prepared("clean_pairwise")
    app = finished(driver.open_app(OVERVIEW, analysis=analysis))
    assert driver.answer_of(app).startswith("Use all 24 judges: right on ")
    assert set(OTHERS) < set(driver.links(app))
    assert "How the file was read" in driver.links(app)
    assert len(app.get("plotly_chart")) == len(OTHERS)
    (command,) = [block.value for block in app.code]
    assert "--studies=recommend,scope,reliability,panel_curve,label_budget" in command
    answers = driver.htmls(app, "jp-result")
    for page in (driver.CURVE, driver.CONFIDENCE):
        assert driver.answer_of(driver.open_app(page, analysis=analysis)) in answers
    cards = driver.htmls(app, "90 % sure on")
    assert cards
    whole = driver.htmls(driver.open_app(driver.RECOMMENDED, analysis=analysis), "90 % sure on")
    assert len(cards) == len(whole)
    assert all(text.startswith(card) for text, card in zip(whole, cards, strict=True))


def test_a_panel_in_doubt_is_said_first():
    rng = np.random.default_rng(1)
    rows = "".join(f"q{i},{','.join(map(str, rng.integers(0, 2, 5)))}\n" for i in range(60))
    analysis = driver.created(f"item_id,label,a,b,c,d\n{rows}".encode())
    answer = driver.answer_of(finished(driver.open_app(OVERVIEW, analysis=analysis)))
    assert answer.startswith("No panel is shown to beat the base rate")
    assert answer == driver.answer_of(driver.open_app(driver.RECOMMENDED, analysis=analysis))


def test_systems_are_answered_too():
    table = "item_id,label,system,judge-1,judge-2,judge-3\n" + "".join(
        f"q{i},{i % 2 if i < 40 else ''},{'ab'[i % 3 == 0]},{i % 2},{(i // 2) % 2},{i % 2}\n"
        for i in range(80)
    )
    analysis = driver.created(table.encode(), task="pointwise")
    app = finished(driver.open_app(OVERVIEW, analysis=analysis))
    assert ESTIMATE_PAGE.title in driver.links(app)
    assert any(text.startswith("The pass rate is ") for text in driver.htmls(app, "jp-result"))


def test_without_a_recommendation_the_other_answers_stand_alone():
    settings = Settings(splits=4, protocol="paper")
    space = workspace()
    original = space.open(driver.prepared("clean_pairwise"))
    analysis = space.with_settings(original, settings).id
    app = finished(driver.open_app(OVERVIEW, analysis=analysis))
    assert set(OTHERS) < set(driver.links(app))
