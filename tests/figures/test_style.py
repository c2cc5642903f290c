"""The palette has enough contrast, and names are harmless."""

import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.figures import style

ROOT = Path(__file__).resolve().parents[2]
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
BACKGROUNDS = {name: THEMES[name]["backgroundColor"] for name in ("light", "dark")}


def luminance(colour):
    """Relative luminance of a hex colour (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(entry, other):
    """Contrast ratio of two hex colours (WCAG 2.2), from 1 to 21."""
    dark, light = sorted((luminance(entry), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_formula_knows_its_ends():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", BACKGROUNDS)
@pytest.mark.parametrize("colour", [style.INCLUDE, style.NEUTRAL, style.CURATE_LINE])
def test_lines_and_markers_stand_out_from_both_backgrounds(colour, theme):
    assert contrast(colour, BACKGROUNDS[theme]) >= 3.0


def test_the_dark_orange_is_dark_enough_for_text_on_white():
    assert contrast(style.CURATE_LINE, BACKGROUNDS["light"]) >= 4.5


def test_the_orange_fill_is_outlined_in_a_colour_that_stands_out():
    assert contrast(style.CURATE_FILL, BACKGROUNDS["light"]) < 3.0
    assert contrast(style.CURATE_LINE, BACKGROUNDS["light"]) >= 3.0


def test_theme_text_and_links_can_be_read_on_page_and_sidebar():
    for name in ("light", "dark"):
        theme = THEMES[name]
        for background in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
            assert contrast(theme["textColor"], background) >= 7.0
            assert contrast(theme["linkColor"], background) >= 4.5
        assert contrast(theme["primaryColor"], "#FFFFFF") >= 4.5


def test_opacity_keeps_the_colour():
    assert style.with_opacity("#4C78A8", 0.18) == "rgba(76,120,168,0.18)"


@given(st.text(max_size=400))
def test_a_name_in_a_figure_has_no_markup_no_line_break_and_an_end(name):
    displayed = style.escaped(name)
    assert not {"<", ">", '"', "'", "\n", "\r", "\0", "\u202e"} & set(displayed)
    assert len(displayed) <= style.NAME_LENGTH * len("&quot;")


def test_a_long_name_ends_in_an_ellipsis():
    assert style.escaped("x" * 300) == "x" * (style.NAME_LENGTH - 1) + "…"
    assert style.escaped("a < b") == "a &lt; b"


@given(st.integers(1, 100_000))
def test_rank_ticks_are_few_and_name_both_ends(n):
    figure = go.Figure()
    style.rank_axis(figure, n)
    ticks = list(figure.layout.xaxis.tickvals)
    assert (ticks[0], ticks[-1]) == (1, n)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 10


COLOURS = st.integers(0, 0xFFFFFF).map("#{:06X}".format)


@given(COLOURS)
def test_text_on_any_colour_can_be_read(colour):
    assert contrast(style.text_on(colour), colour) >= 4.5


@given(COLOURS, COLOURS)
def test_a_mix_runs_from_one_colour_to_the_other(entry, other):
    assert (style.mixed(entry, other, 0.0), style.mixed(entry, other, 1.0)) == (entry, other)
    assert style.mixed("#000000", "#FF8000", 0.5) == "#804000"


def test_a_few_judges_are_named_below_the_axis_and_their_names_are_inert():
    figure = go.Figure()
    style.rank_axis(figure, 2, ["<b>x</b>", "a judge with a very long name"])
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;", "a judge with a ve…")
    many = go.Figure()
    style.rank_axis(many, 7, [f"judge {k}" for k in range(7)])
    assert many.layout.xaxis.ticktext[0] == "1"
