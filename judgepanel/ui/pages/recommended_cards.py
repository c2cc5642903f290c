"""The two cards of the Recommended panel, Best and Lean, side by side."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.lean import CARD_NAMES, PanelInUse
from judgepanel.decision.recommend_result import Card, Cards, Recommendation, cards_of
from judgepanel.present.decide.cards import (
    ALONE,
    alone_words,
    difference_words,
    judges_words,
    no_smaller_sentence,
    price_words,
    rule_sentence,
    sure_words,
    title_words,
    use_words,
)
from judgepanel.service.basics import NotFound, ServerProblem, SignInFirst
from judgepanel.studies.panel.curator import prices_of
from judgepanel.ui.frame import PageContext
from judgepanel.ui.glossary import with_terms
from judgepanel.ui.session import is_reader, workspace
from judgepanel.words.text import in_html

_HELP = "All pages, downloads and the report then use it."
_PREFER = {name: prefer for prefer, name in CARD_NAMES.items()}


def draw_cards(
    context: PageContext, result: Recommendation, price: float, shown: str, *, brief: bool = False
) -> None:
    """Draw both cards, how they differ, and the rule that recommends one of them.

    ``shown`` is the preference that the page shows, which a visitor may look at without using it.
    With ``brief`` a card has no NLL and no cost, and a single card no rule.
    """
    cards = cards_of(result, price)
    columns = st.columns(2) if cards.lean is not None else [st.container()]
    for column, card in zip(columns, cards.all, strict=True):
        with (
            column,
            st.container(border=True, key=f"card-{card.name.lower()}", height="stretch"),
        ):
            _card(result, cards, card, prices_of(context.votes)[1], brief=brief)
            _choice(context, cards, card, shown, brief=brief)
    lines = [] if brief and cards.lean is None else [rule_sentence(cards)]
    if cards.lean is not None:
        lines.append(f"Lean against Best: {difference_words(cards)}")
    _notes([*lines, _alone(result, cards)])


def draw_only_card(result: Recommendation, cards: Cards) -> None:
    """Draw the panel that is Best and Lean where the answer above names its judges."""
    st.html(
        '<p class="jp-text"><span class="jp-badge">Recommended</span> '
        f"<b>{with_terms(sure_words(result, cards.best), 1000)}</b> "
        f"{with_terms(no_smaller_sentence(cards), 1000)}</p>"
    )
    _notes([_alone(result, cards)])


def _alone(result: Recommendation, cards: Cards) -> str:
    words = alone_words(result, cards)
    return words and f"{ALONE}: {words}"


def _notes(lines: list[str]) -> None:
    texts = [f'<p class="jp-note">{with_terms(line, 1000)}</p>' for line in lines if line]
    if texts:
        st.html("".join(texts))


def _card(result: Recommendation, cards: Cards, card: Card, unit: str, *, brief: bool) -> None:
    title, meaning = title_words(cards, card)
    badge = ' <span class="jp-badge">Recommended</span>' * (card.name == cards.marked)
    use = use_words(result, card)
    st.html(
        f'<p class="jp-note"><b>{in_html(title)}</b>: {in_html(meaning)}{badge}</p>'
        f'<p class="jp-text">{with_terms(judges_words(result, card), 1000)}</p>'
        + f'<p class="jp-text"><b>{with_terms(use, 1000)}</b></p>' * bool(use)
        + f'<p class="jp-reading">{with_terms(price_words(card, unit), 1000)}</p>' * (not brief)
    )


def _is_used(context: PageContext, cards: Cards, card: Card) -> bool:
    """Whether the analysis uses the panel of this card."""
    analysis, prefer = context.analysis, _PREFER[card.name]
    return analysis.prefer == prefer and (prefer == "nll" or analysis.price == cards.price)


def _choice(context: PageContext, cards: Cards, card: Card, shown: str, *, brief: bool) -> None:
    if cards.lean is None:
        return  # There is nothing to choose.
    prefer = _PREFER[card.name]
    used = _is_used(context, cards, card)
    if used:
        whose = "The owner's choice" if is_reader() else "In use"
        st.html(f'<p class="jp-note"><b>{whose}</b></p>')
    if is_reader() and brief:
        return  # The other panel can be looked at on its page.
    if not used and is_reader() and shown == prefer:
        st.html('<p class="jp-note"><b>Shown below</b>, not in use</p>')
    elif (not used and not is_reader()) or (is_reader() and shown != prefer):
        st.button(
            "Look at this panel" if is_reader() else "Use this panel",
            key=f"use-{card.name.lower()}",
            on_click=_use,
            args=(context, prefer, cards.price),
            help="This page then shows it." if is_reader() else _HELP,
        )


def _use(context: PageContext, prefer: PanelInUse, price: float) -> None:
    st.session_state["prefer"] = prefer
    st.session_state["candidate"] = ""
    if is_reader():
        return
    try:
        workspace().use_panel(context.analysis.id, prefer, price)
    except (NotFound, SignInFirst, ServerProblem):
        return  # The page, which is drawn next, says what is wrong.
