"""Reports as one self-contained HTML file and as Markdown; all text is untrusted."""

import re

import plotly.graph_objects as go

from judgepanel.present.blocks import (
    Answer,
    Box,
    Caveat,
    Command,
    Document,
    Facts,
    Figure,
    Heading,
    Method,
    Paragraph,
    Row,
    Table,
    drawing,
    flat,
)
from judgepanel.render.html import html_text
from judgepanel.render.text import markdown_text, terminal_text
from judgepanel.words.tables import numbers, text

EVIL = "<script>alert(1)</script> | **bold** [x](javascript:1) `code` =1+1"


def hostile():
    return Document(
        EVIL,
        (
            Heading(EVIL),
            Answer(EVIL),
            Caveat(EVIL),
            Method(EVIL),
            Paragraph(EVIL, quiet=True),
            Facts(((EVIL, EVIL),)),
            Command("```\n" + EVIL),
            Table(
                {EVIL: text([EVIL, ""]), "p": numbers([0.12345, float("nan")])},
                EVIL,
                help={"p": f'" {EVIL}'},
            ),
        ),
    )


def test_html_shows_untrusted_text_as_text():
    text = html_text(hostile())
    assert "<script>" not in text
    assert text.count("&lt;script&gt;") >= 10
    assert "<td>0.123</td>" in text
    assert '<th scope="col" title="&quot; &lt;script&gt;' in text


def test_markdown_shows_untrusted_text_as_text():
    lines = markdown_text(hostile()).splitlines()
    fence = next(i for i, line in enumerate(lines) if line.startswith("````"))
    assert lines[fence + 3] == lines[fence] == "````"
    outside = "\n".join(lines[:fence] + lines[fence + 4 :])
    for mark in ("<script>", "**bold**", "](javascript", "`code`"):
        assert mark not in outside
    rows = [line for line in lines if line.startswith("| ")]
    assert len({line.count("|") for line in rows}) == 1


def test_a_terminal_shows_no_figure_and_none_is_drawn_for_it():
    def draw():
        raise AssertionError("a figure was drawn")

    blocks = (Paragraph("before"), drawing("a line", draw), Row((Figure(draw, "a line"),)))
    assert terminal_text(blocks) == "before"


def test_a_figure_is_drawn_once_and_described_by_its_axes():
    calls = []

    def draw(x):
        calls.append(x)
        return go.Figure(layout={"xaxis": {"title": x}, "yaxis": {"title": "NLL"}})

    figure = drawing("a line", draw, "judges")
    assert (figure.alt, figure.alt) == ("Figure: a line; NLL against judges.",) * 2
    assert figure.figure is figure.figure
    assert calls == ["judges"]


def test_figures_are_inside_the_file_and_nothing_is_fetched():
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))
    line, again = (Figure(lambda: figure, alt) for alt in ("a line", "again"))
    text = html_text(Document("t", (line, again)))
    assert text.count("* plotly.js v") == 1
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", text)
    assert "default-src 'none'" in text
    assert "*a line*" in markdown_text(Document("t", (line,)))
    assert "<script>" not in html_text(Document("t", (Paragraph("no figure"),)))


def test_a_row_stands_in_documents_one_block_after_the_other():
    figure = Figure(lambda: go.Figure(go.Scatter(x=[1, 2], y=[3, 4])), "a line")
    row = Row((Box("left", (figure,), coding=True), Box("right", (figure, Paragraph("below")))))
    document = Document("t", (row,))
    texts = html_text(document), markdown_text(document), terminal_text(document.blocks)
    for shown in texts:
        assert shown.index("left") < shown.index("right") < shown.index("below")
    assert texts[0].count("data-figure=") == 2
    assert len(set(re.findall(r'data-figure="([^"]+)"', texts[0]))) == 2
    assert [block for block in flat((row,)) if block == figure] == [figure, figure]
