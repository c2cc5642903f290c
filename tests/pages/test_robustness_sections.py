"""Sections on damaged votes, distortions, weighting, juries and bands: one after the other."""

from __future__ import annotations

import re
from functools import cache, partial

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.studies.paper.narrow_band import NarrowBandSpec
from tests.pages.driver import (
    DEADLINE,
    checked,
    displayed,
    downloads_of,
    htmls,
    prepared,
    text_of,
    until,
)

NAMES = (
    "slice_transfer",
    "permutation",
    "corruption",
    "distortion",
    "reliability_weighting",
    "jury",
    "narrow_band",
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation of few panels; its size is none of the page's concern."""
    monkeypatch.setattr(
        "judgepanel.ui.pages.robustness.NarrowBandSpec",
        partial(NarrowBandSpec, widths=(0.1,), rhos=(0.2,), sizes=(6,), replicates=2),
    )


def script() -> None:
    """A page of these sections alone."""
    from judgepanel.present.study import Pipeline
    from judgepanel.ui.frame import PageContext
    from judgepanel.ui.pages.robustness import sections
    from judgepanel.ui.render import Caveats
    from judgepanel.ui.session import current

    result = current()
    assert result is not None
    sections(PageContext(*result), Pipeline(), Caveats({"a warning that was given above"}))


@cache
def analysis(name: str) -> str:
    return prepared(name, splits=4)


def finished(name: str, **parameters: str) -> AppTest:
    """The sections with all five studies done."""
    app = AppTest.from_function(script, default_timeout=DEADLINE)
    for key, value in {"analysis": analysis(name), **parameters}.items():
        app.query_params[key] = value
    checked(app.run())
    return until(app, lambda: len(downloads_of(app)) == 2 * len(NAMES))


def test_five_studies_come_with_answers_tables_downloads_and_commands() -> None:
    app = finished("one_class")
    headers = [header.value for header in app.main.get("header")]
    assert headers == [
        "Slices left out",
        "Permuted labels",
        "Corrupted votes",
        "Distorted scores",
        "Reliability weighting",
        "The jury bound",
        "Judges who are nearly alike (a simulation)",
    ]
    assert len(htmls(app, "jp-result")) == len(NAMES)
    assert len(app.dataframe) == len(NAMES) - 2, "neither slices nor permuted labels have a table"
    commands = [code.value for code in app.code if " study " in code.value]
    assert [command.split()[3] for command in commands] == list(NAMES)
    assert "nan" not in text_of(app)


def test_one_class_votes_get_their_notice_once_and_no_flattering_number() -> None:
    app = finished("one_class")
    assert sum("Every label is 1" in text for text in htmls(app, "Note:")) == 1
    levels = [float(text) for text in re.findall(r"NLL (\d\.\d+)", "\n".join(htmls(app)))]
    assert levels
    assert min(levels) > 0.1
    for frame in app.dataframe[:3]:
        cells = displayed(frame)
        for column in cells.columns:
            if column.startswith("NLL"):
                visible = [float(str(value).split()[0]) for value in cells[column]]
                assert min(visible) > 0.1, column
            if column == "base rate":
                assert (cells[column].round(3) == 0.693).all()


def test_another_scenario_is_in_the_address_and_needs_no_new_work() -> None:
    finished("one_class")
    app = finished("one_class", damage="Judges absent when scoring")
    assert "of the judges absent at scoring time" in htmls(app, "jp-result")[2]
    assert not app.get("progress")
