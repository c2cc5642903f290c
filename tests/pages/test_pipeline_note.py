"""Pages show the recommended pipeline, and switch to another and back."""

import re

import pytest

from judgepanel.present.study import REFITTED
from judgepanel.studies.contract import Settings
from judgepanel.ui.session import workspace
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from tests.pages.driver import (
    BUDGET,
    CONFIDENCE,
    CURVE,
    RECOMMENDED,
    checked,
    htmls,
    open_app,
    until,
    until_done,
)

SCOPE, ROBUSTNESS = "pages/scope.py", "pages/robustness.py"
PIPELINED = (BUDGET, CONFIDENCE, SCOPE, ROBUSTNESS)
ASKED, NOT_ASKED = 41, 43
"""Seeds of analyses with and without a recommendation: equal votes and settings share results."""
DEFAULT = "This page shows one-coin + beta."
OTHER = "This page shows one-coin + beta, which is not the recommended pipeline."
AVERAGE = "This page shows the recommended panel: all 24 judges."
MAIN = r"This page shows joint, the main pipeline of the recommended average \(\d+ %"


def analysis_of(seed, protocol="honest", splits=2):
    loaded = load_votes(sample_bytes("clean_pairwise"), name="votes.csv")
    settings = Settings(splits=splits, seed=seed, protocol=protocol)
    return workspace().create(loaded, settings, "votes").id


def notes(app):
    return [text for text in htmls(app, "jp-reading") if text.startswith("This page shows ")]


@pytest.mark.parametrize("page", [*PIPELINED, CURVE])
def test_where_nothing_is_recommended_pages_say_what_they_show(page):
    assert notes(open_app(page, analysis=analysis_of(NOT_ASKED, "paper"))) == [DEFAULT]


@pytest.mark.parametrize("page", PIPELINED)
def test_a_pipeline_that_is_asked_for_waits_for_no_recommendation(page):
    app = open_app(page, analysis=analysis_of(NOT_ASKED), aggregator="one-coin", calibrator="beta")
    assert notes(app) == [DEFAULT]


@pytest.mark.parametrize("page", PIPELINED)
def test_pages_show_the_recommended_pipeline_and_make_the_recommendation_first(page):
    app = open_app(page, analysis=analysis_of(ASKED))
    until(app, lambda: notes(app))
    assert notes(app) == [AVERAGE]
    decided = [text for text in htmls(app) if text.startswith("Recommended panel")]
    assert all("Keep all 24 judges with an average of " in text for text in decided)
    assert decided
    assert app.selectbox(key="aggregator").value == "average"
    app.button(key="other_pipeline").click().run()
    (note,) = notes(checked(app))
    assert note.startswith(OTHER)
    assert "Recommended panel" in note
    until(app, lambda: any("Recommended panel" in text for text in (note, *htmls(app))))
    assert app.button(key="other_pipeline").label == "Show the recommended panel"


def test_the_main_pipeline_alone_is_called_what_it_is():
    analysis = analysis_of(ASKED)
    until_done(open_app(RECOMMENDED, analysis=analysis))
    app = open_app(SCOPE, analysis=analysis, aggregator="joint", calibrator="uncalibrated")
    assert re.match(MAIN, notes(app)[0])
    assert app.button(key="other_pipeline").label == "Show the recommended panel"


def test_pages_whose_fits_take_long_say_how_many_splits_they_rest_on():
    analysis = analysis_of(ASKED, splits=REFITTED + 1)
    app = open_app(BUDGET, analysis=analysis, aggregator="joint", calibrator="uncalibrated")
    (note,) = htmls(app, "This page uses ")
    assert note == (
        f"This page uses {REFITTED} of the {REFITTED + 1} splits, since every figure needs a fit "
        "of its own."
    )


def test_the_curve_says_how_its_pipeline_relates_to_the_decision():
    analysis = analysis_of(ASKED)
    until_done(open_app(RECOMMENDED, analysis=analysis))
    app = until_done(open_app(CURVE, analysis=analysis))
    (note,) = notes(app)
    assert note.startswith(OTHER)
    (answer,) = htmls(app, "jp-answer")
    assert answer.startswith("Under one-coin + beta, ")
    assert any(text.startswith("Recommended panel: ") for text in htmls(app, "jp-text"))
    (compared,) = (text for text in htmls(app) if text.startswith("Under joint, all 24 judges "))
    assert compared.endswith("against the recommended panel.")


def test_the_curve_has_the_recommendation_made_beside_it():
    app = open_app(CURVE, analysis=analysis_of(NOT_ASKED + 1))
    until(app, lambda: any(text.startswith("Recommended panel: ") for text in htmls(app)))
