"""The report of an analysis: what it contains and leaves out; it needs nothing else."""

from __future__ import annotations

import html
import json
import re
import shlex
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from judgepanel import ENGINE
from judgepanel.cli import main
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.figures.style import INK, in_css
from judgepanel.present.analysis_report import AnalysisReport, Finding, analysis_document
from judgepanel.present.blocks import (
    Answer,
    Box,
    Caveat,
    Command,
    Document,
    Figure,
    Heading,
    Method,
    Paragraph,
    Row,
    Table,
    flat,
)
from judgepanel.present.decide.recommend import recommendation_sentence
from judgepanel.present.registry import PRESENTATIONS, STUDIES
from judgepanel.present.study import study_blocks
from judgepanel.present.trust.reliability import reliability_sentence
from judgepanel.render.html import STYLE, html_text
from judgepanel.render.text import markdown_text
from judgepanel.studies.codec import result_content, result_json
from judgepanel.studies.decide.panel_curve import PANEL_CURVE
from judgepanel.studies.decide.value import VALUE
from judgepanel.studies.paper.claim import CLAIM
from judgepanel.studies.runner import run
from judgepanel.studies.trust.reliability import RELIABILITY
from judgepanel.studies.trust.scope import SCOPE
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.text import in_html, markdown, plain
from tests.browser.flattery import flattering, in_sentence, in_table
from tests.helpers import NASTY, Tags, make_votes, transcripts
from tests.present.results import SETTINGS, spec_of

REFERENCE = re.compile(r"&#\d+;")


@dataclass(frozen=True)
class Decided:
    what: str = "Keep all six judges"
    by: str = "A. Person"
    why: str = "Nothing is shown against it."
    made: str = "2026-01-02T03:04:05.678+00:00"


@cache
def result(name, one_class=False):
    study = STUDIES[name]
    votes = make_votes(4, 80, 6, low=0.55, high=0.75, one_class=one_class)
    spec = spec_of(name)
    return Finding(study, spec, run(study, votes, spec, jobs=1))


def report(*names, **changes):
    whole = AnalysisReport(
        name="mine",
        file="votes.csv",
        columns=("--label-column", "truth"),
        notes=("1 row was empty.",),
        votes=make_votes(4, 80, 6, low=0.55, high=0.75),
        settings=SETTINGS,
        findings=tuple(result(name) for name in names),
        outdated=(),
        missing=(),
        decisions=(Decided(),),
        written="2026-01-03T00:00:00+00:00",
    )
    return replace(whole, **changes)


@cache
def whole():
    names = (RECOMMEND.name, VALUE.name, PANEL_CURVE.name, RELIABILITY.name, SCOPE.name, CLAIM.name)
    return analysis_document(report(*names, missing=("cost",), outdated=("jury",)))


def of(document, kind):
    blocks = (*document.sheet, *document.blocks)
    return [block for block in flat(blocks) if isinstance(block, kind)]


@pytest.mark.parametrize(("form", "escape"), [(html_text, in_html), (markdown_text, markdown)])
def test_it_says_what_was_found_decided_checked_and_how_to_repeat_it(form, escape):
    document, text = whole(), form(whole())
    votes = make_votes(4, 80, 6, low=0.55, high=0.75)
    for words in (
        "mine: report",
        recommendation_sentence(result(RECOMMEND.name).result),
        reliability_sentence(result(RELIABILITY.name).result),
        *("Keep all six judges", "A. Person", "Nothing is shown against it."),
        "2026-01-02 03:04 UTC",
        *(votes.sha256, "votes.csv", "80, 80 of them labelled", "pairwise", "honest"),
        *(f"engine {ENGINE}", "seed 0", "1 row was empty."),
        *("P0 Labels and order: passes.", "P1 ", "P2 ", "P3 "),
        "Not computed: Cost.",
        "Left out, since an older version computed it: The jury bound.",
        *votes.judges,
    ):
        assert escape(words) in text
    for name in (PANEL_CURVE.name, RELIABILITY.name, SCOPE.name, CLAIM.name):
        commands = (entry.text for entry in of(document, Command))
        command = next(text for text in commands if f" study {name} " in text)
        assert (html.escape(command) if form is html_text else command) in text
        assert "--label-column=truth" in command


def test_the_verdict_comes_first_and_the_studies_in_the_order_of_the_pages():
    document = whole()
    first = document.sheet[0]
    assert isinstance(first, Answer)
    assert first.text == recommendation_sentence(result(RECOMMEND.name).result)
    headings = [block for block in document.blocks if isinstance(block, Heading)]
    assert [block.text for block in headings if block.level == 2] == [
        *("The evidence", "Decisions", "What it rests on", "Checks", "Panel curve"),
        *("Recommended panel", "What each judge is worth", "Reliability", "Scope"),
        "The paper's claim",
    ]


def test_a_report_of_nothing_yet_says_so():
    document = analysis_document(report(decisions=(), missing=(RECOMMEND.name, SCOPE.name)))
    text = markdown_text(document)
    assert "No recommendation has been computed for this analysis" in html.unescape(text)
    assert "Not computed: Recommended panel and Scope." in html.unescape(text)
    assert "No decision has been recorded." in html.unescape(text)
    assert "P0 Labels and order" in text
    assert not of(document, Figure)
    assert "<script" not in html_text(document)


def test_a_partial_result_says_of_how_many_splits():
    entry = result(RELIABILITY.name)
    part = replace(entry, result=replace(entry.result, planned_splits=9))
    text = html_text(analysis_document(report(findings=(part,))))
    assert in_html("So far, 2 of 9 splits: " + reliability_sentence(part.result)) in text


def test_the_html_draws_its_figures_from_data_with_one_script_and_asks_nobody():
    document = whole()
    text = html_text(document)
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, flags=re.S)
    data = [body for head, body in scripts if "application/json" in head]
    assert len(data) == len(of(document, Figure)) >= 10
    assert all({"data", "layout"} <= set(json.loads(body)) for body in data)
    assert sum("plotly.js v" in body for _, body in scripts) == 1
    assert [head for head, _ in scripts if "application/json" not in head] == ["", ""]
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert "://" not in outside
    assert not re.search(r"\s(src|srcset|action|on\w+)\s*=", outside)
    assert set(re.findall(r'href="(.)', outside)) == {"#"}
    assert not re.search(r"@import|url\(", outside)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    assert "script-src 'unsafe-inline'" not in policy


def test_text_of_figures_has_the_colour_that_the_dark_exchanges():
    assert f'fill: {in_css(INK)}"' in STYLE
    (first, *_) = re.findall(r'application/json" id="[^"]*">(.*?)</script>', html_text(whole()))
    assert json.loads(first)["layout"]["template"]["layout"]["font"]["color"] == INK


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_section_answers_first_and_flatters_nobody_with_one_class_votes(name):
    finding = result(name, one_class=True)
    blocks = study_blocks(PRESENTATIONS[name], finding.result, finding.spec)
    assert isinstance(blocks[0], Answer)
    document = Document("t", tuple(blocks))
    assert in_html(blocks[0].text) in html_text(document)
    assert markdown(blocks[0].text, 4_000) in markdown_text(document)
    boxes = [block for block in flat(blocks) if isinstance(block, Box) and block.coding]
    assert bool(boxes) == (name == CLAIM.name)
    inside = [block for box in boxes for block in (box, *box.blocks)]
    outside = [block for block in flat(blocks) if block not in inside]
    open_ones = [block for block in outside if not isinstance(block, Box | Row)]
    read = [
        outcome
        for block in flat(open_ones)
        for outcome in (
            in_sentence(block.text, "measures the coding" in block.text)
            if isinstance(block, Answer | Paragraph | Caveat | Method)
            else in_table([list(block.columns), *block.texts().to_numpy().tolist()])
            if isinstance(block, Table)
            else ()
        )
    ]
    assert flattering(read) == []
    for box in boxes:
        assert "measures the coding" in box.words


@given(NASTY, NASTY, NASTY, NASTY)
@hypothesis_settings(max_examples=40)
def test_names_files_and_decisions_are_text_in_both_forms(name, file, what, why):
    decided = Decided(what, name, why)
    document = analysis_document(report(name=name, file=file, decisions=(decided,)))
    harmless = analysis_document(report())
    displayed, calm = Tags(html_text(document)), Tags(html_text(harmless))
    assert displayed.kinds == calm.kinds
    for text in (plain(name, 200), plain(file), plain(what, 2_000), plain(why, 2_000)):
        assert text in displayed.text
    lines = markdown_text(document).splitlines()
    fences = [i for i, line in enumerate(lines) if line.startswith("```")]
    assert len(fences) == 2
    outside = REFERENCE.sub("", "\n".join(lines[: fences[0]] + lines[fences[1] + 1 :]))
    assert not set("`|<>[]!\\") & set(outside)
    assert len(lines) == len(markdown_text(harmless).splitlines())


def test_a_command_keeps_every_space_and_is_never_cut():
    document = Document("t", (Command("./run cli study x 'a  b.csv' " + "y" * 30_000),))
    assert "'a  b.csv'".replace("'", "&#x27;") in html_text(document)
    assert "y" * 30_000 in html_text(document)


def test_the_command_of_a_section_gives_the_result_that_the_section_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_bytes(sample_bytes("one_class"))
    loaded = load_votes(sample_bytes("one_class"), name="v.csv")
    spec = RELIABILITY.spec(settings=SETTINGS)
    finding = Finding(RELIABILITY, spec, run(RELIABILITY, loaded.votes, spec, jobs=1))
    changes = {"findings": (finding,), "votes": loaded.votes, "file": "v.csv", "columns": ()}
    document = analysis_document(report(**changes))
    command = next(entry.text for entry in of(document, Command) if " study " in entry.text)
    assert main(shlex.split(command)[2:]) == 0
    again = json.loads((tmp_path / "reliability.json").read_text())
    content = result_content(RELIABILITY, loaded.votes, spec, finding.result)
    assert again == json.loads(result_json(content))


def test_what_was_read_of_outputs_is_in_the_report_without_what_judges_wrote():
    read = load_votes(transcripts(), name="said.jsonl").coverage
    text = markdown_text(analysis_document(report(coverage=read)))
    assert "Outputs of the judges" in text
    assert markdown("88.9 % of 360 outputs are read as a verdict; mute the least, 67 %.") in text
    assert markdown("The least consistent by the upper limit, first") in text
    assert "onerror" not in text
    assert "Outputs of the judges" not in markdown_text(analysis_document(report()))
