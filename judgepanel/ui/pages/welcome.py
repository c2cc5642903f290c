"""What a newcomer gets: the three questions the pages answer, each with a sketch of its figure."""

from __future__ import annotations

import base64

import streamlit as st

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL

_BAND = f'fill="{INCLUDE}" fill-opacity=".18"'
_LINE = f'fill="none" stroke="{INCLUDE}" stroke-width="3"'
_QUIET = f'fill="none" stroke="{NEUTRAL}" stroke-width="1.5" stroke-dasharray="4 3"'
_BARS = f'stroke="{CURATE_LINE}" stroke-width="2"'
_CURVE = (
    f'<path {_BAND} d="M8 10C40 34 70 40 132 44V68C70 66 40 60 8 40Z"/>'
    f'<path {_QUIET} d="M8 30C40 48 80 40 132 34"/><path {_LINE} d="M8 24C40 48 70 52 132 56"/>'
)
_FOREST = "".join(
    f'<path stroke="{colour}" stroke-width="2" d="M{x - 22} {y}H{x + 22}"/>'
    f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'
    for x, y, colour in ((48, 16, INCLUDE), (64, 38, NEUTRAL), (92, 60, NEUTRAL))
)
_RELIABILITY = f'<path {_QUIET} d="M12 70L128 8"/>' + "".join(
    f'<path {_BARS} d="M{x} {y - 9}V{y + 9}"/>'
    f'<circle cx="{x}" cy="{y}" r="4" fill="{CURATE_LINE}"/>'
    for x, y in ((30, 58), (56, 49), (82, 30), (108, 21))
)
_CARDS = (
    (
        _CURVE,
        "Keep all judges, or the best few?",
        "NLL against the number of judges, on items that the panel has not seen, with intervals.",
    ),
    (
        _FOREST,
        "Which judges, and which pipeline?",
        "One recommendation, what it costs to follow other advice, and a file that scores new "
        "votes.",
    ),
    (
        _RELIABILITY,
        "Can the probabilities be trusted?",
        "Reliability, how many labels you need, whether it is safe here, and what would break it.",
    ),
)
_STYLE = """<style>
.jp-welcome { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
  gap: 1rem 1.6rem; margin: .4rem 0 0; }
.jp-welcome div { display: flex; gap: .8rem; align-items: center; }
.jp-welcome img { flex: 0 0 6.2rem; width: 6.2rem; }
.jp-welcome p { margin: 0; font-size: .86rem; }
</style>"""


def welcome() -> None:
    """Draw the three questions; the sketches are decoration and show no data."""
    cards = "".join(
        f'<div><img alt="" src="{_address(sketch)}"><p><b>{question}</b> {about}</p></div>'
        for sketch, question, about in _CARDS
    )
    st.html(_STYLE)
    st.html(f'<div class="jp-welcome">{cards}</div>')


def _address(sketch: str) -> str:
    """A sketch as a data address: Streamlit takes <svg> out of HTML, and lets <img> stand."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 140 76">{sketch}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
