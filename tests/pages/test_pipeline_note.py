"""Pages say whether they show the recommended pipeline, and lead to it."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.studies.settings import Settings
from judgepanel.ui.session import workspace
from judgepanel.votes import load_votes
from judgepanel.votes.orientation import Protocol
from judgepanel.votes.samples import sample_bytes
from tests.pages.driver import (
    BUDGET,
    CONFIDENCE,
    CURVE,
    RECOMMENDED,
    checked,
    open_app,
    until_done,
)

NOTED = (CURVE, BUDGET, CONFIDENCE, "pages/scope.py")
ASKED, NOT_ASKED = 41, 43
"""Seeds of analyses with and without a recommendation: equal votes and settings share results."""
DEFAULT = "This page shows one-coin + beta."


def analysis_of(seed: int, protocol: Protocol = "honest") -> str:
    loaded = load_votes(sample_bytes("clean_pairwise"), name="votes.csv")
    settings = Settings(splits=2, seed=seed, protocol=protocol)
    return workspace().create(loaded, settings, "votes").id


def note(app: AppTest) -> str:
    (text,) = (
        caption.value for caption in app.caption if caption.value.startswith("This page shows ")
    )
    return text


@pytest.mark.parametrize("page", NOTED)
def test_without_a_recommendation_pages_say_what_they_show_and_where_to_ask(page: str) -> None:
    app = open_app(page, analysis=analysis_of(NOT_ASKED))
    assert note(app).startswith(f"{DEFAULT} Which pipeline suits these votes is what Recommended")


@pytest.mark.parametrize("page", NOTED)
def test_where_nothing_is_recommended_pages_say_what_they_show(page: str) -> None:
    app = open_app(page, analysis=analysis_of(NOT_ASKED, "paper"))
    assert note(app) == DEFAULT


def test_with_a_recommendation_pages_lead_to_its_pipeline() -> None:
    analysis = analysis_of(ASKED)
    until_done(open_app(RECOMMENDED, analysis=analysis))
    robust = open_app("pages/robustness.py", analysis=analysis)
    assert "it keeps 24 of 24 judges with an average of " in note(robust)
    app = open_app(CURVE, analysis=analysis)
    assert note(app).startswith(f"{DEFAULT} The recommended panel is another: it keeps 24 of")
    app.button(key="recommended_pipeline").click().run()
    until_done(checked(app))
    assert re.fullmatch(
        r"This page shows joint \+ raw, the main pipeline of the recommended average "
        r"\(\d+ % of the weight\)\.",
        note(app),
    )
    assert app.selectbox(key="aggregator").value == "joint"
    assert app.query_params["calibrator"] == "raw"
