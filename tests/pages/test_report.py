"""The Report popover of every page: decisions, and the content of an analysis's report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.present.analysis_report import analysis_document
from judgepanel.present.pages import PAGES, RECOMMENDED_PAGE
from judgepanel.present.registry import PRESENTATIONS, STUDIES, default_specs, entries_of
from judgepanel.render.text import markdown_text
from judgepanel.service.basics import NotFound
from judgepanel.service.sql import SqlWorkspace, id_of_token
from judgepanel.service.workspace import Job, Stored
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE
from judgepanel.studies.paper.jury import JURY
from judgepanel.studies.runner import run
from judgepanel.studies.trust import reliability, scope
from judgepanel.ui import access, reporting
from judgepanel.ui.session import workspace
from judgepanel.words.text import markdown
from tests.helpers import make_votes
from tests.pages import driver
from tests.pages.driver import CURVE, button, checked, htmls, open_app, prepared, until_done

WHAT, BY, WHY = "Keep *all* <b>24</b>", "Ann [x](y)", "Nothing against it,\nsee the curve."


def decide(app: AppTest, what: str, by: str, why: str) -> AppTest:
    """Fill in the form, as far as it asks, and send it."""
    given = {"What was decided": what, "Why": why, "Who decided": by}
    for field in (*app.text_area, *app.text_input):
        if field.label in given:
            field.input(given[field.label])
    return checked(button(app, "Record the decision").click().run())


def errors(app: AppTest) -> list[str]:
    return [error.value for error in app.error]


def test_a_decision_is_recorded_and_shown_on_every_page() -> None:
    analysis = prepared("one_class")
    app = open_app(analysis=analysis)
    assert "No decision has been recorded." in [text.value for text in app.markdown]
    decide(app, WHAT, BY, WHY)
    assert not errors(app)
    (made,) = workspace().decisions(analysis)
    assert (made.what, made.by, made.why) == (WHAT, BY, WHY)
    for page in (app, open_app(CURVE, analysis=analysis)):
        (html,) = htmls(page, "<br>")
        assert WHAT in html
        assert BY in html
        assert "see the curve." in html
        assert made.made[:10] in html
    assert all(not text_area.value for text_area in app.text_area)
    decide(app, "Second thoughts", BY, WHY)
    assert [each.what for each in workspace().decisions(analysis)] == [WHAT, "Second thoughts"]


@pytest.mark.parametrize(
    ("what", "by", "why", "sentence"),
    [
        ("", BY, WHY, "What was decided is missing: a decision needs all three."),
        (WHAT, " \n", WHY, "Who decided is missing: a decision needs all three."),
        (WHAT, BY, "", "Why is missing: a decision needs all three."),
        (WHAT, BY, "x" * (reporting.LONGEST + 1), "Why has 2,001 characters; 2,000 is the most."),
    ],
)
def test_a_decision_that_lacks_something_is_refused_in_one_sentence(
    what: str, by: str, why: str, sentence: str
) -> None:
    assert reporting.missing_words(what, by, why) == sentence
    assert reporting.missing_words(WHAT, BY, "x" * reporting.LONGEST) == ""


def test_what_was_typed_stays_when_it_is_refused() -> None:
    analysis = prepared("one_class")
    app = decide(open_app(analysis=analysis), WHAT, "", WHY)
    assert errors(app) == ["Who decided is missing: a decision needs all three."]
    assert workspace().decisions(analysis) == ()
    assert [text_area.value for text_area in app.text_area][:2] == [WHAT, WHY]


def test_a_reader_sees_decisions_and_downloads_and_no_form() -> None:
    analysis = prepared("one_class")
    workspace().decide(analysis, WHAT, BY, WHY)
    app = open_app(CURVE, share=workspace().share(analysis))
    (html,) = htmls(app, "<br>")
    assert WHAT in html
    labels = [download_button.proto.label for download_button in app.get("download_button")]
    assert labels[:2] == ["Download report as HTML", "Download report as Markdown"]
    assert "Record the decision" not in [button.label for button in app.button]
    assert not app.text_area


def test_a_report_holds_what_was_computed_here_and_computes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    analysis = prepared("clean_pairwise", splits=4)
    until_done(open_app(CURVE, analysis=analysis))
    space = workspace()
    opened = space.open(analysis)
    report = reporting.collected(space, opened)
    assert [finding.study.name for finding in report.findings] == [PANEL_CURVE.name]
    assert set(report.missing) == set(STUDIES) - {PANEL_CURVE.name, "what_if"}
    votes = space.votes(opened.votes_sha256)
    for name, specs in default_specs(votes, opened.settings).items():
        if name not in (PANEL_CURVE.name, RECOMMEND.name):  # The curve page starts both.
            for spec in specs:
                assert space.partial(STUDIES[name], votes.sha256, spec) is None
    text = markdown_text(analysis_document(report))
    assert "No recommendation has been computed" in text
    assert markdown("Under one-coin + beta, undecided: top-5 costs +") in text


class Old:
    """A workspace whose results were made by an older version."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.space = workspace()

    def votes(self, sha256: str):
        return self.space.votes(sha256)

    def decisions(self, analysis_id: str):
        return self.space.decisions(analysis_id)

    def result(self, study, sha256: str, spec):
        return Stored(object(), 1, False) if study.name in self.names else None


def test_results_of_an_older_version_are_left_out_and_named() -> None:
    opened = workspace().open(prepared("one_class"))
    report = reporting.collected(Old(reliability.RELIABILITY.name), opened)  # type: ignore[arg-type]
    assert (report.findings, report.outdated) == ((), (reliability.RELIABILITY.name,))
    assert reliability.RELIABILITY.name not in report.missing


def test_a_new_link_stays_in_sight_when_an_older_one_is_revoked() -> None:
    analysis = prepared("clean_pairwise")
    older = workspace().share(analysis)
    app = open_app(analysis=analysis)
    checked(app.button(key="share-make").click().run())
    (link,) = [code.value for code in app.code if "share=" in code.value]
    checked(app.button(key=f"revoke-{id_of_token(older)}").click().run())
    assert [code.value for code in app.code if "share=" in code.value] == [link]
    token = link.split("share=")[1].split("&")[0]
    checked(app.button(key=f"revoke-{id_of_token(token)}").click().run())
    assert not [code.value for code in app.code if "share=" in code.value]


def test_a_wrong_or_expired_link_and_one_of_a_deleted_analysis_say_the_same() -> None:
    analysis = prepared("one_class", splits=2)
    space = workspace()
    tokens = space.share(analysis), space.share(analysis, 0.0)
    space.delete(analysis)
    for token in (*tokens, "x" * 43, "<b>", ""):
        app = open_app(CURVE, analysis=analysis, share=token)
        assert "it is incomplete, has expired, or was revoked." in driver.text_of(app)
        assert not htmls(app, "jp-answer")
        assert "New analysis" not in [link.proto.label for link in app.get("page_link")]


def test_decisions_of_a_link_that_was_revoked_since_make_no_report() -> None:
    analysis = prepared("one_class")
    space, token = workspace(), workspace().share(analysis)
    opened = space.shared(token)
    (share,) = space.shares(analysis)
    space.revoke(analysis, share.id)
    readers = space.for_readers(token)
    with pytest.raises(NotFound):
        reporting.collected(readers, opened)


def test_every_study_but_those_ticked_by_hand_is_looked_for() -> None:
    opened = workspace().open(prepared("one_class", splits=2))
    votes = workspace().votes(opened.votes_sha256)
    # Of other votes: whether its pipeline suits these is of no concern.
    spec = RECOMMEND.spec(settings=Settings(splits=2), folds=2)
    outcome = run(RECOMMEND, make_votes(3, 40, 3), spec, jobs=1)
    before = default_specs(votes, opened.settings)
    after = default_specs(votes, opened.settings, outcome)
    assert set(after) == set(STUDIES) - {"what_if"}
    assert set(after) - set(before) == {"value", "cost", "escalation"}
    assert outcome.model.main.aggregator != "one_coin"
    for name in (reliability.RELIABILITY.name, scope.SCOPE.name):
        assert after[name][1:] == before[name], "the default is second choice"
        assert after[name][0].aggregator == "average"


def test_nothing_is_recommended_under_the_papers_protocol() -> None:
    opened = workspace().open(prepared("one_class", splits=2))
    votes = workspace().votes(opened.votes_sha256)
    specs = default_specs(votes, replace(opened.settings, protocol="paper"))
    assert RECOMMEND.name not in specs
    assert reliability.RELIABILITY.name in specs


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """Specs that pages ask for, by study; every page is told that its work was cancelled."""
    specs: dict[str, list[object]] = {}

    def cancelled(self: object, study: Any, sha256: str, spec: object) -> Job:
        specs.setdefault(study.name, []).append(spec)
        return Job("cancelled", 0, 1, 0.0, 0.0, None)

    monkeypatch.setattr(SqlWorkspace, "partial", cancelled)
    return specs


def test_a_registered_study_is_drawn_on_its_page(
    asked: dict[str, list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the page's own; on the recommended panel's it needs a recommendation first.

    It is computed when it is opened.
    """
    pages = [page for page in PAGES if entries_of(page) and page != RECOMMENDED_PAGE]
    jury = PRESENTATIONS[JURY.name]
    more = {page: replace(jury, study=replace(JURY, name=f"new_on_{page.title}")) for page in pages}
    monkeypatch.setattr(
        "judgepanel.ui.render.entries_of", lambda page: (*entries_of(page), more[page])
    )
    names = {entry.name for entry in more.values()}
    analysis = prepared("one_class", splits=3)
    for page in pages:
        asked.clear()
        name = more[page].name
        open_app(page.file, analysis=analysis, **{name: "true"})
        assert asked.keys() & names == {name}


def test_pages_ask_for_the_very_specs_that_the_report_looks_for(
    asked: dict[str, list[object]],
) -> None:
    """While nobody has changed a control."""
    for sample in ("one_class", "hard_panel"):
        asked.clear()
        opened = workspace().open(prepared(sample, splits=3))
        for page in PAGES:
            closed = () if page == RECOMMENDED_PAGE else entries_of(page)[1:]
            open_app(page.file, analysis=opened.id, **{entry.name: "true" for entry in closed})
        default = default_specs(workspace().votes(opened.votes_sha256), opened.settings)
        assert set(asked) == set(default) - {"curators", "group_change"}  # Those wait for a click.
        for name, specs in asked.items():
            assert set(specs) <= set(default[name]), name


def test_in_a_team_who_signed_in_decides_and_nobody_types_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("judgepanel.ui.reporting.is_team", lambda: True)
    monkeypatch.setattr("judgepanel.ui.reporting.user", lambda: access.User("ann", "Ann <b>A.</b>"))
    analysis = prepared("one_class")
    app = open_app(CURVE, analysis=analysis)
    assert not [field for field in app.text_input if field.label == "Who decided"]
    decide(app, WHAT, "nobody asks", WHY)
    assert [decision.by for decision in workspace().decisions(analysis)] == ["Ann <b>A.</b>"]
