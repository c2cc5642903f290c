"""The two cards of the Recommended panel, Best and Lean, side by side."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.cards import Card, Cards, cards_of
from judgepanel.decision.recommend_result import Preference, Recommendation, RecommendSpec
from judgepanel.present.decide.cards import (
    difference_words,
    judges_words,
    price_words,
    rule_sentence,
    use_words,
)
from judgepanel.ui.glossary import with_terms
from judgepanel.ui.session import is_reader
from judgepanel.words.text import in_html

_PREFER: dict[str, Preference] = {"Best": "nll", "Lean": "lean"}


def draw_cards(result: Recommendation, spec: RecommendSpec, *, choice: bool = True) -> None:
    """Draw both cards, how they differ, and the rule that recommends one of them.

    With ``choice``, each has a button to use its panel.
    """
    cards = cards_of(result, spec.price)
    columns = st.columns(2) if cards.lean is not None else [st.container()]
    for column, card in zip(columns, cards.all, strict=True):
        with column, st.container(border=True, key=f"card-{card.name.lower()}"):
            _card(result, cards, card)
            if choice:
                _choice(result, spec, cards, card)
    lines = [rule_sentence(cards)]
    if cards.lean is not None:
        lines.append(f"Lean against Best: {difference_words(cards)}")
    st.html("".join(f'<p class="jp-note">{with_terms(line, 1000)}</p>' for line in lines))


def _card(result: Recommendation, cards: Cards, card: Card) -> None:
    title = card.name if cards.lean is not None else "Best and Lean"
    badge = ' <span class="jp-badge">Recommended</span>' * (card.name == cards.marked)
    use = use_words(result, card)
    st.html(
        f'<p class="jp-note"><b>{in_html(title)}</b>{badge}</p>'
        f'<p class="jp-text">{with_terms(judges_words(result, card), 1000)}</p>'
        + f'<p class="jp-text"><b>{with_terms(use, 1000)}</b></p>' * bool(use)
        + f'<p class="jp-reading">{with_terms(price_words(card), 1000)}</p>'
    )


def _choice(result: Recommendation, spec: RecommendSpec, cards: Cards, card: Card) -> None:
    prefer = _PREFER[card.name]
    in_use = result.instead_of is None and spec.prefer in (
        (prefer,) if cards.lean is not None else ("nll", "lean")
    )
    if in_use:
        st.html('<p class="jp-note"><b>In use</b></p>')
    else:
        st.button(
            "Look at this panel" if is_reader() else "Use this panel",
            key=f"use-{card.name.lower()}",
            on_click=_use,
            args=(prefer,),
            help="Downloads, report and this page then use it.",
        )


def _use(prefer: Preference) -> None:
    st.session_state["prefer"] = prefer
    st.session_state["candidate"] = ""
