"""The first page of both reports: the decision on one sheet, and the rest is not lost."""

import re
from dataclasses import replace
from functools import cache

import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.analysis_report import AnalysisReport, Finding, analysis_document
from judgepanel.present.blocks import Answer, Caveat, Command, Facts, Figure, Heading, Names, Table
from judgepanel.present.decide.recommend import recommendation_sentence
from judgepanel.present.recommendation_report import NAME_LINES, recommendation_report
from judgepanel.render import html, text
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.words.sentences import recommend_command
from judgepanel.words.text import in_html, markdown
from tests.helpers import make_votes, with_judges

SPEC = RecommendSpec(Settings(splits=2), folds=3)
FILE, COLUMNS = "votes.csv", ("--label-column", "truth")


@cache
def computed():
    votes = make_votes(4, 80, 6, low=0.55, high=0.75)
    return votes, run(RECOMMEND, votes, SPEC, jobs=1)


def report(**changes):
    votes, result = computed()
    votes = with_judges(votes, (*changes.get("left_out", ()), *changes.get("set_aside", ())))
    command = recommend_command(FILE, SPEC, task=votes.task, columns=COLUMNS)
    return recommendation_report("mine", votes, SPEC, replace(result, **changes), command=command)


LINES = NAME_LINES + 5 * 6
"""Lines of names on a sheet without caveats."""


def of(blocks, kind):
    return [block for block in blocks if isinstance(block, kind)]


def judges(document):
    return {names.title: names for names in of(document.sheet, Names)}


def named(*counts):
    return tuple(
        tuple(f"list {i} judge {n}" for n in range(count)) for i, count in enumerate(counts)
    )


def test_the_sheet_says_what_was_decided_on_which_votes_and_how_to_repeat_it():
    votes, result = computed()
    sheet = report().sheet
    assert of(sheet, Answer) == [Answer(recommendation_sentence(result))]
    assert len(of(sheet, Figure)) == 1
    (facts,) = of(sheet, Facts)
    pairs = dict(facts.pairs)
    assert pairs["SHA-256 of the votes"] == votes.sha256
    assert pairs["Seed and version"].startswith("0; judgepanel ")
    (command,) = of(sheet, Command)
    assert command.text.startswith("./run cli recommend votes.csv ")
    assert "--label-column=truth" in command.text


def test_every_judge_is_under_what_happens_to_it():
    left_out, set_aside = named(2, 1)
    lists = judges(report(left_out=left_out, set_aside=set_aside))
    assert list(lists) == ["Keep 6 judges", "Leave out 2 judges", "Set aside 1 judge"]
    assert lists["Keep 6 judges"].names == computed()[1].model.judges
    assert lists["Leave out 2 judges"].names == left_out
    assert lists["Set aside 1 judge"].names == set_aside
    assert list(judges(report(left_out=(), set_aside=()))) == ["Keep 6 judges"]


def test_names_that_do_not_fit_are_counted_and_stand_in_the_table():
    left_out, set_aside = named(200, 10)
    document = report(left_out=left_out, set_aside=set_aside)
    lists = judges(document)
    assert lists["Set aside 10 judges"].names == set_aside
    long = lists["Leave out 200 judges"]
    assert long.names == left_out[: LINES - 6 - 10]
    assert long.more == f"and {200 - len(long.names)} more in the table below"
    table = next(t for t in of(document.blocks, Table) if "decision" in t.columns)
    assert {row[1] for row in table.rows()} >= {*left_out, *set_aside}
    assert table.rows_left() == ""


def test_long_names_take_more_room_and_are_cut():
    names = tuple(f"{n:03d} {'x' * 100}" for n in range(100))
    long = judges(report(left_out=names, set_aside=()))["Leave out 100 judges"]
    assert len(long.names) == (LINES - 6) // 2
    assert {len(name) for name in long.names} == {40}


@pytest.mark.parametrize("n_caveats", [0, 3, 40])
def test_caveats_are_on_the_sheet_and_those_that_do_not_fit_behind_it(n_caveats):
    warnings = tuple(f"Caveat {n} is a sentence." for n in range(n_caveats))
    document = report(warnings=warnings)
    on_sheet, behind = (
        {c.text for c in of(part, Caveat)} for part in (document.sheet, document.blocks)
    )
    assert on_sheet & set(warnings) | behind == set(warnings)
    assert not on_sheet & behind
    if behind:
        assert on_sheet - set(warnings) == {f"{len(behind)} more notes on the next page."}


def test_a_command_too_long_for_the_sheet_stands_behind_it():
    votes, result = computed()
    command = "./run cli recommend " + "x" * 1000
    document = recommendation_report("mine", votes, SPEC, result, command=command)
    assert of(document.sheet, Command) == []
    assert Command(command) in document.blocks


def test_both_reports_begin_with_the_same_sheet_and_go_on_with_the_evidence():
    votes, result = computed()
    whole = AnalysisReport(
        name="mine",
        file=FILE,
        columns=COLUMNS,
        notes=(),
        votes=votes,
        settings=SPEC.settings,
        findings=(Finding(RECOMMEND, SPEC, result),),
        outdated=(),
        missing=(),
        decisions=(),
        written="2026-01-03T00:00:00+00:00",
    )
    documents = analysis_document(whole), report()
    for form in (html.html_text, text.markdown_text):
        texts = [form(replace(document, title="t", blocks=())) for document in documents]
        assert texts[0] == texts[1]
    assert {document.blocks[0] for document in documents} == {Heading("The evidence")}


def test_names_are_text_in_every_form():
    evil = "<b>| [x](y) `z`"
    document = report(left_out=(evil,), set_aside=())
    assert f"<span>{in_html(evil)}</span>" in html.html_text(document)
    assert markdown(evil) in text.markdown_text(document)
    assert "Leave out 1 judge: <b>| [x](y) `z`" in text.terminal_text(document.sheet)


def test_the_sheet_comes_first_in_every_form():
    answer = in_html(recommendation_sentence(computed()[1]), 4_000)
    page = html.html_text(report())
    (sheet,) = re.findall(r'<section class="sheet">(.*?)</section>', page, flags=re.S)
    assert answer in sheet
    assert page.index("</section>") < page.index("The evidence")
    assert "\n---\n\n## The evidence" in text.markdown_text(report())
