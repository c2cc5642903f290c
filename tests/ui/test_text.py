"""Untrusted text stays text; the glossary has every term that pages show, in order."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.decision.statuses import Status
from judgepanel.studies.decide.value import Role
from judgepanel.ui.glossary import TERMS, with_terms
from judgepanel.votes.matrix import POLICIES
from judgepanel.words.text import csv_name, in_html, markdown, plain
from tests.helpers import NASTY, Tags

REFERENCE = re.compile(r"&#\d+;")


@given(NASTY, st.integers(2, 200))
def test_plain_text_is_one_line_of_bounded_length_without_controls(text, length):
    displayed = plain(text, length)
    assert len(displayed) <= length
    assert not [char for char in displayed if unicodedata.category(char)[0] == "C"]
    assert displayed == " ".join(displayed.split())


@given(NASTY)
def test_text_in_html_is_only_text(text):
    tags = Tags(f"<p>{in_html(text)}</p>")
    assert (tags.tags, tags.text) == ([("p", [])], plain(text, 400))


@given(NASTY)
def test_text_in_an_attribute_stays_in_it(text):
    tags = Tags(f'<p title="{in_html(text)}">x</p>')
    assert (tags.tags, tags.text) == ([("p", [("title", plain(text, 400))])], "x")


@given(NASTY)
def test_markdown_has_no_mark_left_and_reads_as_the_text(text):
    source = markdown(text)
    rest = REFERENCE.sub("", source)
    assert not set("\\`*_{}[]()#+-.!|<>~$:&=@/^\"'\n") & set(rest)
    assert html.unescape(source) == plain(text, 400)


@given(NASTY)
def test_a_download_is_named_in_letters_a_shell_and_every_system_take(text):
    name = csv_name(text, "curve.csv")
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,59}-curve\.csv", name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("../../etc/passwd", "etc-passwd-x.csv"),
        ("...", "analysis-x.csv"),
        ("=cmd()", "cmd-x.csv"),
        ("مرحبا", "analysis-x.csv"),
        ("A clean panel", "A-clean-panel-x.csv"),
    ],
)
def test_names_of_downloads(text, name):
    assert csv_name(text, "x.csv") == name


MENTION = re.compile(
    r'<span class="jp-term" tabindex="-1" data-meaning="([^"<>]*)">([^<>]*)</span>'
)
SENTENCE = st.lists(st.sampled_from([*TERMS, "top-3", "<b>", '"', "&", "a judge", "s", "-", "é"]))


@pytest.mark.parametrize("term", TERMS)
def test_a_definition_is_one_or_two_sentences(term):
    text = TERMS[term]
    assert 20 < len(text) < 200
    assert text.endswith(".")
    assert len(re.findall(r"\.(?= [A-Z']|$)", text)) <= 2


def test_terms_are_in_alphabetical_order():
    assert list(TERMS) == sorted(TERMS, key=str.casefold)


@pytest.mark.parametrize(
    "term",
    [
        *("Joint", "Stacking", "One-coin", "Dawid–Skene", "Isotonic", "Platt", "Beta"),
        *("Cross-fitted", "Nested", "Tied", "Spearman ρ", "Conformal set", "Uncalibrated"),
        *("NLL", "Base-rate baseline", "Selection bias", "Expected NLL", "One-class coding"),
        *("P0", "P1", "P2", "P3"),
    ],
)
def test_a_term_of_the_pages_is_defined(term):
    assert term in TERMS


def test_choices_and_outcomes_are_defined():
    orientations = {policy.replace("_", " ").capitalize() for policy in POLICIES} - {"Auto"}
    assert orientations <= set(TERMS)
    assert all(role in TERMS["Role"] for role in get_args(Role))
    assert all(status in TERMS["Status"].lower() for status in get_args(Status))


@given(SENTENCE.map(" ".join) | SENTENCE.map("".join) | st.text())
def test_explained_text_reads_as_it_did_and_explains_a_term_once(text):
    explained = with_terms(text)
    assert MENTION.sub(r"\2", explained) == in_html(text)
    meanings = [meaning for meaning, _ in MENTION.findall(explained)]
    assert len(meanings) == len(set(meanings))


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("NLL of the panel, and NLL again", {"NLL": "NLL", "panel": "Panel"}),
        (
            "Pipelines under one-coin + beta",
            {"Pipelines": "Pipeline", "one-coin": "One-coin", "beta": "Beta"},
        ),
        ("expected NLL of the top-10", {"expected NLL": "Expected NLL", "top-10": "Top-k"}),
        ("a joint test of untied judges, worth about P10", {}),
    ],
)
def test_terms_are_recognised_as_they_are_written(text, mentions):
    explained = {word: meaning for meaning, word in MENTION.findall(with_terms(text))}
    assert explained == {word: in_html(f"{term}: {TERMS[term]}") for word, term in mentions.items()}
