"""The pages for visitors who come with nothing, a link, a sample or other settings."""

import html
import re
import threading
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.analysis_report import analysis_document
from judgepanel.present.pages import PAGES as MENU
from judgepanel.present.pages import PAPER_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.render.text import markdown_text
from judgepanel.service.basics import NotFound, ServerProblem
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.panel.curator import with_costs
from judgepanel.ui import reporting, session
from judgepanel.ui.pages import paper
from judgepanel.votes.simulate import SAMPLES, SimulationSpec, simulate
from tests.pages.driver import (
    CONFIDENCE,
    CURVE,
    PAGES,
    RECOMMENDED,
    analysis_in,
    answer_of,
    button,
    checked,
    created,
    displayed,
    downloads_of,
    htmls,
    links,
    open_app,
    prepared,
    text_of,
    turn_to,
    until,
    until_done,
    with_families,
)


def sample(name):
    """A visitor who has just clicked a sample."""
    return checked(open_app().button(key=f"sample-{name}").click().run())


def is_in(block, kind):
    """Whether a block holds an element of that kind, at any depth."""
    return hasattr(block, "children") and bool(block.get(kind))


def entries_with(run_chunk):
    """The registry with another way to compute the panel curve."""
    entry = PRESENTATIONS[PANEL_CURVE.name]
    study = replace(PANEL_CURVE, run_chunk=run_chunk)
    return {**PRESENTATIONS, PANEL_CURVE.name: replace(entry, study=study)}


def applied(app):
    """The page after the form of settings was sent."""
    return checked(button(app, "Apply as a new analysis").click().run())


def test_start_shows_an_uploader_what_a_file_looks_like_and_every_sample():
    app = open_app()
    assert [uploader.proto.max_upload_size_mb for uploader in app.get("file_uploader")] == [200] * 3
    (example,) = htmls(app, "jp-example")
    assert "item_id,label" in example
    visible = [button.label for button in app.button if button.key.startswith("sample-")]
    assert visible == [sample.title for sample in SAMPLES]


@pytest.mark.parametrize("page", [page.file for page in MENU])
def test_a_page_without_votes_says_so_and_leads_to_start(page):
    app = open_app(page)
    assert app.info[0].value.startswith("No votes yet. This page ")
    assert links(app) == ["Go to Start"]
    assert not htmls(app, "jp-answer")


def test_view_state_that_nobody_offered_is_ignored():
    analysis = prepared("clean_pairwise")
    plain = until_done(open_app(CURVE, analysis=analysis))
    view = {"metric": "<b>", "aggregator": "x", "calibrator": "none"}
    app = until_done(open_app(CURVE, analysis=analysis, **view))
    assert answer_of(app) == answer_of(plain)
    assert displayed(app.dataframe[0]).equals(displayed(plain.dataframe[0]))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "forged", ["A" * 22, "short", "../../etc/passwd", "x" * 5000, "%00", "<b>bold</b>", ""]
)
def test_an_unknown_analysis_gives_one_sentence_and_a_way_on(page, forged):
    app = open_app(page, analysis=forged)
    (error,) = app.error
    assert error.value.startswith("There is no analysis behind this link")
    assert links(app) == ["Start a new analysis"]
    assert forged[:5] == "" or forged not in text_of(app)


@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES])
def test_a_click_on_a_sample_makes_an_analysis_with_its_own_link(name):
    app = sample(name)
    opened = session.workspace().open(analysis_in(app))
    votes = session.workspace().votes(opened.votes_sha256)
    assert answer_of(app).startswith(f"{votes.n_items} items, {votes.n_judges} judges")
    assert links(app) == ["Next: what do we do?"]


def test_two_clicks_make_two_links_to_the_same_votes():
    first, other = (analysis_in(sample("one_class")) for _ in range(2))
    space = session.workspace()
    assert first != other
    assert space.open(first).votes_sha256 == space.open(other).votes_sha256


def test_a_sample_leads_to_an_answer_a_table_and_downloads():
    app = until_done(turn_to(sample("clean_pairwise"), CURVE))
    assert answer_of(app).startswith("Under one-coin + beta, all 24 beat the best 5: top-5 costs +")
    (table,) = app.dataframe
    assert table.value["panel"].tolist()[:4] == ["all 24", "top-3", "top-5", "top-10"]
    assert downloads_of(app) == ["Download CSV", "Download JSON"]
    assert links(app) == ["Next: which judges?"]


def test_the_same_link_shows_the_same_answer_to_another_visitor():
    app = until_done(turn_to(sample("clean_pairwise"), CURVE))
    other = open_app(CURVE, analysis=analysis_in(app))
    assert not other.get("progress")
    assert answer_of(other) == answer_of(app)


def test_another_aggregator_is_another_result():
    app = until_done(open_app(CURVE, analysis=prepared("clean_pairwise")))
    before = displayed(app.dataframe[0])["NLL"].tolist()
    until_done(app.selectbox(key="aggregator").select("majority").run())
    assert displayed(app.dataframe[0])["NLL"].tolist() != before


def test_other_settings_make_a_new_analysis_and_keep_the_old_one():
    app = sample("clean_pairwise")
    before = analysis_in(app)
    next(box for box in app.number_input if box.label == "Splits").set_value(20)
    applied(app)
    after = analysis_in(app)
    space = session.workspace()
    assert after != before
    assert space.open(after).settings == replace(space.open(before).settings, splits=20)
    assert space.open(before).settings.splits is None
    assert space.open(after).votes_sha256 == space.open(before).votes_sha256


def test_there_are_as_many_splits_as_the_verdict_needs_where_none_are_given():
    app = turn_to(open_app(analysis=prepared("hard_panel", splits=None)), RECOMMENDED)
    until(app, lambda: "; 20 splits; " in text_of(app))
    assert "So far" not in text_of(app)


def test_the_same_settings_make_no_new_analysis():
    app = sample("clean_pairwise")
    before = analysis_in(app)
    applied(app)
    assert analysis_in(app) == before


def test_settings_that_do_not_fit_are_refused_in_one_sentence():
    app = sample("one_class")
    before = analysis_in(app)
    next(box for box in app.selectbox if box.label == "Orientation").select("as_given")
    applied(app)
    (sentence,) = htmls(app, "jp-problem")
    assert "a constant prediction would look perfect" in sentence
    assert analysis_in(app) == before


def test_a_part_of_the_judges_can_be_analysed():
    app = sample("clean_pairwise")
    space = session.workspace()
    chosen = list(space.votes(space.open(analysis_in(app)).votes_sha256).judges[:6])
    app.multiselect[0].set_value(chosen)
    next(box for box in app.number_input if box.label == "Splits").set_value(10)
    applied(app)
    until_done(turn_to(app, CURVE))
    assert displayed(app.dataframe[0])["panel"].tolist()[0] == "all 6"
    assert "6" in answer_of(app)


def test_a_job_that_fails_says_why_and_can_be_run_again(monkeypatch):
    def broken(*_):
        raise MemoryError

    analysis = prepared("sparse_humans", splits=12)
    app = open_app(analysis=analysis)
    space, opened = session.workspace(), session.workspace().open(analysis)
    spec = PanelCurveSpec(opened.settings)
    assert space.result(PANEL_CURVE, opened.votes_sha256, spec) is None
    with monkeypatch.context() as patch:
        patch.setattr("judgepanel.ui.pages.curve.PRESENTATIONS", entries_with(broken))
        until_done(turn_to(app, CURVE))
        (sentence,) = htmls(app, "jp-problem")
        assert sentence.startswith("Something went wrong")
    checked(button(app, "Run again").click().run())
    assert "60" in answer_of(until_done(app))


def test_pages_run_without_being_parsed_into_a_tree_first(monkeypatch):
    """Two threads that parse at once are a SystemError in Python up to 3.11.7."""

    parsed = Mock(side_effect=AssertionError("a page is parsed by Streamlit's magic"))
    monkeypatch.setattr("streamlit.runtime.scriptrunner.magic.add_magic", parsed)
    assert "A hard panel" in {button.label for button in open_app().button}


def test_what_is_polled_is_alone_in_its_block(monkeypatch):
    go_on = threading.Event()

    def waiting(votes, spec, chunk):
        assert chunk.first == 0 or go_on.wait(60)
        return PANEL_CURVE.run_chunk(votes, spec, chunk)

    monkeypatch.setattr("judgepanel.ui.pages.curve.PRESENTATIONS", entries_with(waiting))
    app = open_app(CURVE, analysis=prepared("sparse_humans", splits=11))
    try:
        until(app, lambda: htmls(app, "jp-answer"))
        around = [block for block in app.main.children.values() if is_in(block, "progress")]
        assert [len(block.children) for block in around] == [1]
        assert not is_in(around[0], "page_link")
    finally:
        go_on.set()
    until_done(app)


def test_recent_analyses_are_listed_and_nothing_else_is_reachable_without_a_link():
    app = sample("hard_panel")
    assert "A hard panel" in links(open_app())
    with pytest.raises(NotFound):
        session.workspace().open(analysis_in(app)[:-1] + "!")


def test_the_recommended_panel_opens_with_two_cards_and_can_be_taken_away():
    app = until_done(open_app(RECOMMENDED, analysis=prepared("clean_pairwise", 2)))
    assert re.match(r"Keep (all )?\d+.* expected NLL 0\.\d+ \[", answer_of(app))
    files = ("panel.json", "Python scorer", "weights (CSV)", "report (HTML)")
    assert downloads_of(app)[:4] == [f"Download {file}" for file in files]
    assert sum("Recommended" in card for card in htmls(app, "jp-badge")) == 1
    uses = [text for text in htmls(app) if "of new items; at least 90 % sure on " in text]
    assert len(uses) in (1, 2)
    sections = [section.label for section in app.get("expander")]
    for wanted in ("What if", "What each judge is worth", "Cost", "Curators"):
        assert wanted in sections


def test_sections_of_the_recommended_panel_are_computed_when_they_are_opened():
    analysis = prepared("clean_pairwise", 2)
    app = until_done(open_app(RECOMMENDED, analysis=analysis))
    assert "Runner-up" not in text_of(app)
    assert "Judge by judge" not in text_of(app)
    opened = {"why-this-panel": "true", "value": "true"}
    app = until_done(open_app(RECOMMENDED, analysis=analysis, **opened))
    checked(app.run())
    sentences = htmls(app, "jp-text")
    assert any(text.startswith("Runner-up") for text in sentences)
    assert any(text.startswith("Judge by judge under one pipeline ") for text in sentences)


def test_sections_of_the_recommended_panel_say_which_pipeline_they_show_and_why():
    analysis = prepared("clean_pairwise", 2)
    opened = {"value": "true", "what-if": "true"}
    app = until_done(open_app(RECOMMENDED, analysis=analysis, **opened))
    why = "of the recommended panel's main pipeline, since every judge left out would need"
    assert why in text_of(app)
    assert "compared with what is recommended from all judges" in text_of(app)
    app = until_done(open_app(RECOMMENDED, analysis=analysis, prefer="one pipeline", **opened))
    assert why not in text_of(app)
    assert "since one pipeline is chosen above" in text_of(app)


def test_a_card_that_is_used_is_the_panel_of_all_pages_the_report_and_the_link():
    analysis = two_cards()
    app = until_done(open_app(RECOMMENDED, analysis=analysis, price="5 %"))
    keeps = answer_of(app)
    assert "Lean against Best: NLL changes by " in text_of(app)
    app.button(key="use-lean").click()
    checked(app.run())
    lean = answer_of(app)
    assert lean != keeps
    assert "(lean, within the loss accepted)" in lean
    assert "5 %" in text_of(app)
    assert any("--prefer=lean" in block.value for block in app.code)
    assert "The panel in use" in [header.value for header in app.header]
    assert answer_of(open_app(RECOMMENDED, analysis=analysis)) == lean
    overview = open_app("pages/overview.py", analysis=analysis)
    assert answer_of(overview).startswith("Use judge01, judge02 and judge05: right on ")
    (note,) = htmls(open_app(CONFIDENCE, analysis=analysis), "This page shows")
    assert "(lean, within the loss accepted)" in note or "the recommended pipeline" in note
    space = session.workspace()
    report = analysis_document(reporting.collected(space, space.open(analysis)))
    assert lean in html.unescape(markdown_text(report))

    token = space.share(analysis, None)
    reader = open_app(RECOMMENDED, share=token)
    assert answer_of(reader) == lean
    assert "The owner's choice" in text_of(reader)
    seen = open_app("pages/overview.py", share=token)
    assert "use-best" not in [button.key for button in seen.button]
    reader.button(key="use-best").click()
    assert answer_of(checked(reader.run())) == keeps
    assert "Other pages and Report use Lean." in text_of(reader)
    assert space.open(analysis).prefer == "lean"
    app.button(key="use-best").click()
    checked(app.run())
    assert space.open(analysis).prefer == "nll"


def two_cards():
    """The id of an analysis where two of seven judges are about as good as all."""
    spec = SimulationSpec(
        n_items=300, n_judges=7, accuracies=(0.95, 0.93, *(0.52,) * 5), costs=False, seed=1
    )
    votes = simulate(spec)
    frame = pd.DataFrame(votes.votes, columns=list(votes.judges))
    frame.insert(0, "label", votes.labels)
    frame.insert(0, "item_id", list(votes.item_ids))
    return created(frame.replace(-1, "").to_csv(index=False).encode(), task="pairwise")


def test_costs_are_typed_into_an_analysis_and_open_a_new_one():
    free = two_cards()
    app = until_done(open_app(RECOMMENDED, analysis=free, cost="true"))
    saved = costs_saved(app, "Add costs")
    assert "There is no cost of 'judge01', 'judge02'" in text_of(saved)
    assert analysis_in(saved) == free

    space = session.workspace()
    opened = space.open(free)
    priced = with_costs(space.votes(opened.votes_sha256), np.arange(1.0, 8.0), "usd")
    known = space.with_judge_table(opened, priced, "votes-judges.csv").id
    app = until_done(open_app(RECOMMENDED, analysis=known, cost="true"))
    assert "Download judge table" in downloads_of(app)
    assert any("--judge-table=votes-judges.csv" in block.value for block in app.code)
    again = costs_saved(app, "Change the costs")
    assert analysis_in(again) not in (free, known)
    assert space.open(analysis_in(again)).votes_sha256 == priced.sha256


def costs_saved(app, title):
    """The page after its costs were saved as they stood."""
    next(toggle for toggle in app.toggle if toggle.label == title).set_value(True)
    app.run()
    return button(app, "Save costs").click().run()


def test_another_preference_or_candidate_is_read_from_the_same_run(monkeypatch):
    analysis = prepared("clean_pairwise", 2)
    until_done(open_app(RECOMMENDED, analysis=analysis))

    started = Mock(side_effect=AssertionError("a change of preference starts no work"))
    monkeypatch.setattr(type(session.workspace()), "submit", started)
    why = {"why-this-panel": "true"}
    app = checked(open_app(RECOMMENDED, analysis=analysis, prefer="fewest judges", **why))
    assert "The candidate with the fewest judges" in text_of(app)
    assert any("--prefer=fewest" in block.value for block in app.code)
    assert "Download panel.json" in downloads_of(app)
    taken = "top-5, one-coin + temperature"
    app = checked(open_app(RECOMMENDED, analysis=analysis, candidate=taken, **why))
    assert answer_of(app).startswith("Taken by hand: top-5 with one-coin + temperature; NLL ")
    assert "not corrected for that" in text_of(app)
    assert any("--candidate=top-5, one_coin, temperature" in block.value for block in app.code)
    assert "Download panel.json" in downloads_of(app)


def test_robust_is_offered_where_families_are_known():
    unknown = open_app(RECOMMENDED, analysis=prepared("clean_pairwise", 2))
    assert "robust" not in preferences_of(unknown)
    known = with_families("clean_pairwise", 2)
    opened = {"prefer": "robust", "why-this-panel": "true"}
    app = until_done(open_app(RECOMMENDED, analysis=known, **opened))
    assert "robust" in preferences_of(app)
    assert "Robust takes, of the average and the candidates tied" in text_of(app)
    assert any("--prefer=robust" in block.value for block in app.code)


def preferences_of(app):
    return next(group.options for group in app.button_group if group.key == "prefer")


WHAT_IF = {"what-if": "true"}


def test_what_if_takes_who_is_left_out_from_the_url_and_forgets_what_is_not_there():
    analysis = prepared("clean_pairwise", 2)
    until_done(open_app(RECOMMENDED, analysis=analysis))
    app = until_done(open_app(RECOMMENDED, analysis=analysis, without="1-3-999-x", **WHAT_IF))
    assert any("these 22 judges" in text.lower() for text in htmls(app, "jp-text"))
    nobody = "-".join(str(place) for place in range(1, 25))
    app = until_done(open_app(RECOMMENDED, analysis=analysis, without=nobody, **WHAT_IF))
    assert any("Keep at least one judge" in caption.value for caption in app.caption)


def test_a_panel_picked_by_hand_is_measured_and_can_be_exported():
    analysis = prepared("clean_pairwise", 2)
    until_done(open_app(RECOMMENDED, analysis=analysis))
    app = until_done(open_app(RECOMMENDED, analysis=analysis, without="1-3", **WHAT_IF))
    next(toggle for toggle in app.toggle if toggle.label == "Export this panel").set_value(True)
    app.run()
    until(app, lambda: "Download this panel (panel.json)" in downloads_of(app))
    (sentence,) = (text for text in htmls(app, "jp-text") if "picked by hand, with " in text)
    assert sentence.startswith("22 judges picked by hand, with ")
    assert "flatters them" in sentence


def test_a_database_that_goes_away_while_a_page_is_drawn_is_said_in_its_place(monkeypatch):
    app = open_app(PAPER_PAGE.file, analysis=prepared("clean_pairwise", splits=4))
    until(app, lambda: downloads_of(app))

    away = Mock(side_effect=ServerProblem("The database server does not answer."))
    monkeypatch.setattr(paper, "show_result", away)
    checked(app.run())
    assert "The database server does not answer." in text_of(app)
