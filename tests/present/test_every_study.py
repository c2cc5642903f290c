"""Every study is presented once: page, report and terminal have the same words."""

import html
import re
from dataclasses import replace

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.present.blocks import (
    Answer,
    Caveat,
    Command,
    Document,
    Figure,
    Heading,
    Method,
    Paragraph,
    Table,
    flat,
)
from judgepanel.present.pages import PAGES, PAPER_PAGE
from judgepanel.present.registry import PRESENTATIONS, entries_of
from judgepanel.present.study import caveats, study_blocks
from judgepanel.render.html import html_text
from judgepanel.render.text import markdown_text, terminal_text
from judgepanel.studies import codec, contract, results
from judgepanel.studies.paper.claim import CLAIM
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from judgepanel.words.sentences import CODING
from tests.present.results import result_of, spec_of
from tests.present.results import votes as votes_of

NAMES = tuple(PRESENTATIONS)
HOSTILE = "<img src=x onerror=alert(1)> \x1b[31m\nnext line "
PAPER = tuple(entry.name for entry in entries_of(PAPER_PAGE))
MOST_WORDS, MOST_NUMBERS = {Answer: 20, Caveat: 25, Paragraph: 25}, 3
EVERY = pytest.mark.parametrize("name", NAMES)


def blocks_of(name, *, one_class=False):
    result = result_of(name, one_class=one_class)
    return study_blocks(
        PRESENTATIONS[name], result, spec_of(name), command=f"study {name} votes.csv"
    )


def page_of_blocks():
    """A page that shows the blocks in its query."""
    import streamlit as st

    from judgepanel.ui.render import draw_blocks
    from tests.present.test_every_study import blocks_of

    name = st.query_params["name"]
    draw_blocks(blocks_of(name, one_class=True), key=name)


def words(text):
    """Text without marks, entities and runs of spaces, as a reader takes it in."""
    inside = re.sub(r"</?span[^>]*>", "", text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", inside)).split())


@EVERY
def test_a_study_answers_shows_and_says_how_it_was_computed(name):
    blocks = list(flat(blocks_of(name)))
    kinds = [type(block) for block in blocks]
    assert kinds[0] is Answer
    assert blocks[0].text.strip()
    assert kinds.count(Method) == 1
    assert isinstance(blocks[-1], Command)
    assert Table in kinds or Figure in kinds
    assert all(block.alt for block in blocks if isinstance(block, Figure))
    assert all(block.level > 2 for block in blocks if isinstance(block, Heading))
    assert not re.search(r"\bnan\b", terminal_text(blocks), re.IGNORECASE)


def sentences(text):
    """The sentences of a text without the ends of intervals and what stands in quotation marks."""
    plain = re.sub(r"'[^']*'", "name", re.sub(r"\s*\[[^\]]*\]", "", text))
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9])", plain)


@pytest.mark.parametrize("one_class", [False, True], ids=["two classes", "one class"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in PAPER])
def test_sentences_are_short_and_have_few_numbers(name, one_class):
    """Those of the paper's appendix are for readers of the paper."""
    for block in flat(blocks_of(name, one_class=one_class)):
        counts = isinstance(block, Paragraph) and block.quiet and block.text.count(": ") > 1
        if type(block) in MOST_WORDS and not counts:
            for sentence in sentences(block.text):
                n_words = len(re.findall(r"\w[\w.,/+-]*", sentence))
                assert n_words <= MOST_WORDS[type(block)], sentence
                n_numbers = len(re.findall(r"(?<![\w-])[-+]?\d[\d.,]*", sentence))
                assert n_numbers <= MOST_NUMBERS, sentence


@pytest.mark.parametrize("name", [name for name in NAMES if name != CLAIM.name])
def test_an_answer_from_labels_of_one_class_says_that_it_measures_the_coding(name):
    """All but the study that is about such labels."""
    result = result_of(name)
    if hasattr(result, "measures_coding"):
        result = replace(result, measures_coding=True)
        assert CODING in study_blocks(PRESENTATIONS[name], result, spec_of(name))[0].text


@EVERY
def test_caveats_and_method_reach_page_report_and_terminal_in_the_same_words(name):
    blocks = blocks_of(name, one_class=True)
    document = Document("t", tuple(blocks))
    app = AppTest.from_function(page_of_blocks, default_timeout=60)
    app.query_params["name"] = name
    app.run()
    assert not app.exception
    texts = {
        "page": words(" ".join(element.proto.body for element in app.get("html"))),
        "HTML": words(html_text(document)),
        "Markdown": words(markdown_text(document)),
        "terminal": words(terminal_text(blocks)),
    }
    limits = [block.text for block in flat(blocks) if isinstance(block, Caveat | Method)]
    assert limits
    for where, text in texts.items():
        for limit in limits:
            assert words(html.escape(limit)) in text, where


@EVERY
@pytest.mark.parametrize("fraction", [0.5, 0.01], ids=["half calibrates", "one label calibrates"])
def test_the_partial_of_a_single_split_can_be_merged_presented_and_stored(name, fraction):
    """A job shows, and keeps when it is cancelled, what the splits so far say."""
    entry, votes = PRESENTATIONS[name], votes_of()
    spec = replace(spec_of(name), settings=contract.Settings(splits=2, fraction=fraction))
    try:
        partial = entry.study.run_chunk(votes, spec, contract.Chunk(0, 0, 1))
    except InputError:  # Refused before there is anything to merge.
        assert fraction < 0.5
        return
    result = entry.study.merge(votes, spec, partial)
    blocks = study_blocks(entry, result, spec)
    assert isinstance(blocks[0], Answer)
    assert html_text(Document("t", tuple(blocks)))
    assert terminal_text(blocks)
    assert codec.result_json(codec.result_content(entry.study, votes, spec, result))


@EVERY
def test_warnings_come_once_right_after_the_answer(name):
    result = result_of(name, one_class=True)
    blocks = list(flat(blocks_of(name, one_class=True)))
    texts = [block.text for block in blocks if isinstance(block, Answer | Caveat)]
    assert len(set(texts)) == len(texts)
    if result.warnings:
        assert isinstance(blocks[1], Caveat) or blocks[0].text in result.warnings
    warnings = {limit.text for limit in caveats(result.warnings)}
    known = study_blocks(PRESENTATIONS[name], result, spec_of(name), known=result.warnings)
    assert not [block for block in known if isinstance(block, Caveat) and block.text in warnings]


def hostile_votes():
    """The votes of judges, and items with features, whose names are markup and commands."""
    votes = votes_of()
    names = [f"{HOSTILE}{place}" for place in range(votes.n_judges)]
    return replace(
        votes,
        judges=tuple(names),
        features=pd.DataFrame({HOSTILE: [f"{HOSTILE} chat", f"{HOSTILE} code"] * 40}),
        judge_table=pd.DataFrame({"family": [HOSTILE, f"{HOSTILE} too"] * 3}),
    )


@EVERY
def test_names_are_text_in_tables_figures_reports_and_on_the_terminal(name):
    entry, votes, spec = PRESENTATIONS[name], hostile_votes(), spec_of(name)
    if name == "group_change":
        spec = replace(spec, group=votes.judges[:2])
    blocks = study_blocks(entry, run(entry.study, votes, spec, jobs=1), spec)
    text = terminal_text(blocks)
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line.startswith("next line")]
    report = html_text(Document("t", tuple(blocks)))
    assert "<img" not in re.sub(r"<script[^>]*>.*?</script>", "", report, flags=re.S)
    drawn = [block.figure.to_plotly_json() for block in flat(blocks) if isinstance(block, Figure)]
    assert "<img" not in str(drawn)


def test_a_heading_is_described_as_the_column_of_the_frame_that_it_shows():
    study = PRESENTATIONS["panel_curve"].study
    (table, *_) = (block for block in blocks_of("panel_curve") if isinstance(block, Table))
    shows = {"NLL": "nll", "NLL 95 %": "nll", "skill": "skill", "difference 95 %": "delta"}
    for name, column in shows.items():
        assert table.help[name] == results.describe(study, column)
    assert "paper's p" in table.columns
    assert "paper's p" not in table.help


def test_every_study_has_its_place_on_a_page():
    assert [entry.name for page in PAGES for entry in entries_of(page)] == list(NAMES)
    assert len({entry.study.title for entry in PRESENTATIONS.values()}) == len(NAMES)
