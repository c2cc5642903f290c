"""Untrusted text stays text."""

from __future__ import annotations

import html
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.words.text import csv_name, in_html, markdown, plain

# Text in which marks are as likely as letters.
NASTY = st.text(
    st.one_of(st.sampled_from("<>&\"'`*_[](){}!#|\\~:$@=+-./^\n\t\0\u202e\u200b"), st.characters())
)
REFERENCE = re.compile(r"&#\d+;")


class Tags(HTMLParser):
    """What a parser makes of HTML: tags, and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(source):
    parser = Tags()
    parser.feed(source)
    parser.close()
    return parser


@given(NASTY, st.integers(2, 200))
def test_plain_text_is_one_line_of_bounded_length_without_controls(text, length):
    displayed = plain(text, length)
    assert len(displayed) <= length
    assert not [char for char in displayed if unicodedata.category(char)[0] == "C"]
    assert displayed == " ".join(displayed.split())


@given(NASTY)
def test_text_in_html_is_only_text(text):
    tags = parsed(f"<p>{in_html(text)}</p>")
    assert tags.tags == [("p", [])]
    assert tags.text == plain(text, 400)


@given(NASTY)
def test_text_in_an_attribute_stays_in_it(text):
    tags = parsed(f'<p title="{in_html(text)}">x</p>')
    assert tags.tags == [("p", [("title", plain(text, 400))])]
    assert tags.text == "x"


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
