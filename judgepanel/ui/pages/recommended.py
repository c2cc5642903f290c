"""Recommended panel: which judges, which pipeline, why, at what cost; its files.

Best and Lean are two cards side by side, here and on Overview.

What if: tick judges on and off, and see the effect on items that the panel has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from judgepanel.arrays import Bools
from judgepanel.decision.lean import CARD_NAMES, PanelInUse
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec, as_asked
from judgepanel.decision.recommend_result import (
    Card,
    Cards,
    Recommendation,
    cards_of,
    cost_of,
    shared_run,
)
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present.blocks import Block, Caveat, Figure, Paragraph, Table, flat
from judgepanel.present.decide import cards as words
from judgepanel.present.decide import recommend, value
from judgepanel.present.decide.candidate_rows import RecommendationView
from judgepanel.present.pages import NEW_VOTES_PAGE, RECOMMENDED_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.service.basics import NotFound, ServerProblem, SignInFirst
from judgepanel.studies.contract import prepare
from judgepanel.studies.decide import cost, curators
from judgepanel.studies.decide.value import VALUE
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIfSpec
from judgepanel.studies.panel.curator import known_judges, prices_of
from judgepanel.ui import glossary, render
from judgepanel.ui.frame import PageContext, answer, caption, menu_page, problem, show_errors
from judgepanel.ui.pages import recommended_take as take
from judgepanel.ui.pages.judges import labels_of
from judgepanel.ui.reporting import download_button
from judgepanel.ui.session import is_reader, judges_of, link_parameters, open_with, workspace
from judgepanel.ui.work import show_result, stored_result
from judgepanel.votes import InputError
from judgepanel.words.sentences import recommend_command, so_far
from judgepanel.words.text import in_html, percent, sig

WITHOUT = "without"
WHY_TITLE, _WHY = "Why this panel, and not another", "why-this-panel"
_VERSION, _BASE = "what-if-version", "what-if-base"


def what_if(context: PageContext, spec: RecommendSpec, recommendation: Recommendation) -> None:
    """Draw the editor and its answer; the URL has the positions of judges that are left out."""
    names = tuple(sorted((*recommendation.model.judges, *recommendation.left_out)))
    if len(names) < 2:
        st.caption("There is only one judge, so there is nothing to leave out.")
        return
    _edit(_Editor(context, spec, recommendation, names))


@dataclass(frozen=True, slots=True, eq=False)
class _Editor:
    """The panel that the editor starts from; ``names`` are those of all judges, sorted.

    ``keep`` says for each of them whether it is ticked.
    """

    context: PageContext
    spec: RecommendSpec
    recommendation: Recommendation
    names: tuple[str, ...]

    @property
    def recommended(self) -> Bools:
        """Which judges the recommended panel keeps."""
        judges = set(self.recommendation.model.judges)
        return np.array([name in judges for name in self.names])

    @property
    def statuses(self) -> tuple[JudgeStatus, ...]:
        """Statuses of the judges if their value has been computed, else none."""
        return take.known_statuses(self.context, self.spec, self.recommendation)

    @property
    def base_key(self) -> str:
        """Where the ticks that the editor starts with are kept."""
        return f"{_BASE}-{self.context.analysis.id}-{hash(self.recommendation.model.judges)}"

    def base(self) -> Bools:
        """Which judges the editor starts with: those in the URL, else the recommended panel."""
        if self.base_key not in st.session_state:
            keep = self.recommended
            text = st.query_params.get(WITHOUT)
            if text is not None:
                places = {int(part) for part in text.split("-") if part.isdecimal()}
                keep = np.array([place not in places for place in range(1, len(self.names) + 1)])
            st.session_state[self.base_key] = keep
        base: Bools = st.session_state[self.base_key]
        return base

    def start_with(self, keep: Bools) -> NoReturn:
        """Start the editor again with these ticks."""
        st.session_state[self.base_key] = keep
        st.session_state[_VERSION] = st.session_state.get(_VERSION, 0) + 1
        st.rerun(scope="fragment")

    def remember(self, keep: Bools) -> None:
        """Put judges that are left out into the URL, unless the panel is the recommended one."""
        text = "-".join(str(place + 1) for place in np.flatnonzero(~keep)) or "0"
        if (keep == self.recommended).all():
            if WITHOUT in st.query_params:
                del st.query_params[WITHOUT]
        elif st.query_params.get(WITHOUT) != text:
            st.query_params[WITHOUT] = text

    def rows(self) -> pd.DataFrame:
        """Return the table that is edited."""
        judges = judges_of(self.context.votes)
        place = {name: j for j, name in enumerate(judges.judges)}
        columns = [place[name] for name in self.names]
        labels = labels_of(list(self.names))
        frame = pd.DataFrame(
            {
                "keep": self.base(),
                "judge": [labels[name] for name in self.names],
                "accuracy": judges.accuracy.value[columns],
                "coverage": judges.coverage[columns],
            }
        )
        if take.known_of(self.context).costs is not None:
            frame["cost"] = _costs(self.context, self.names)
        if status := {row.judge: row.status for row in self.statuses}:
            frame["status"] = [status.get(name, "") for name in self.names]
        return frame

    def buttons(self, keep: Bools) -> None:
        """Draw the buttons that change the ticks, and the one that opens a new analysis."""
        first, second, third, last = st.columns([1, 1, 1, 1], vertical_alignment="bottom")
        if first.button("Reset to recommended", width="stretch"):
            st.query_params.pop(WITHOUT, None)
            self.start_with(self.recommended)
        spare = {row.judge for row in self.statuses if row.status in ("could go", "fails a check")}
        going = np.array([name in spare for name in self.names])
        if second.button(
            "Leave out all that could go",
            width="stretch",
            disabled=not going.any() or bool(going.all()),
            help="Those that fail a check, that the panel is better without, or that can go "
            "together.",
        ):
            self.start_with(keep & ~going)
        if take.known_of(self.context).costs is not None:
            self.budget(keep, third, last)
        else:
            self.open(keep, third)

    def budget(self, keep: Bools, where: DeltaGenerator, last: DeltaGenerator) -> None:
        """Offer to leave out the most expensive judges."""
        prices = _costs(self.context, self.names)
        now = float(cost_of(keep[None], prices)[0])
        most = where.number_input(
            f"Max cost per item (now {sig(now)})",
            min_value=0.0,
            value=0.0,
            format="%.4g",
            key="what-if-cost",
            help="Leaves out the most expensive judges first until an item costs no more than "
            "this. Only cost decides: leaving judges out by accuracy would make the rest look too "
            "good.",
        )
        if not (most and now > most):
            self.open(keep, last)
            return
        fewer = keep.copy()
        for j in np.argsort(-np.nan_to_num(prices), kind="stable"):
            if float(cost_of(fewer[None], prices)[0]) <= most:
                break
            fewer[j] = False
        if not fewer.any():
            where.caption("None of these judges costs that little.")
        elif last.button("Leave out until it fits", width="stretch"):
            self.start_with(fewer)

    def open(self, keep: Bools, where: DeltaGenerator) -> None:
        """Offer an analysis of only these judges."""
        if is_reader() or not where.button(
            "Open as a new analysis", width="stretch", disabled=not keep.any()
        ):
            return
        panel = tuple(name for name, stays in zip(self.names, keep, strict=True) if stays)
        st.query_params.pop(WITHOUT, None)
        analysis = self.context.analysis
        open_with(analysis, replace(analysis.settings, judges=panel))


@st.fragment
@show_errors()
def _edit(editor: _Editor) -> None:
    context, spec, recommendation = editor.context, editor.spec, editor.recommendation
    of_all = value.what_if_spec(spec, recommendation, editor.names)
    st.html(f'<p class="jp-note">{in_html(value.editor_sentence(spec, of_all))}</p>')
    version = st.session_state.setdefault(_VERSION, 0)
    edited = st.data_editor(
        editor.rows(),
        key=f"what-if-{hash(context.analysis.id)}-{version}",
        hide_index=True,
        height=300,
        disabled=["judge", "accuracy", "coverage", "cost", "status"],
        column_config={
            "keep": st.column_config.CheckboxColumn("keep", width="small"),
            "accuracy": st.column_config.NumberColumn(format="%.3f"),
            "coverage": st.column_config.NumberColumn(format="%.3f"),
        },
    )
    keep = np.array(edited["keep"], dtype=bool)
    editor.remember(keep)
    editor.buttons(keep)
    if not keep.any():
        st.caption("Keep at least one judge.")
        return
    remaining = tuple(name for name, stays in zip(editor.names, keep, strict=True) if stays)
    asked = replace(of_all, keep=remaining)
    same = bool((keep == editor.recommended).all())
    if same or keep.all():
        panel = "taken" if recommendation.instead_of else "recommended"
        whose = f"the {panel} panel itself" if same else "the panel of all judges"
        st.caption(f"This is {whose}; untick a judge to compare with all judges.")
        return
    known = render.Caveats(recommendation.warnings)
    render.show_study(PRESENTATIONS[WHAT_IF.name], context, asked, caveats=known)
    _export(context, spec, asked)


def _export(context: PageContext, spec: RecommendSpec, measured: WhatIfSpec) -> None:
    """Offer the panel that is kept as a file, with its NLL in all splits."""
    if not st.toggle(
        "Export this panel",
        key=f"what-if-export-{hash(context.analysis.id)}",
        help="Measures this panel in all splits and fits it to all labels, as is done for the "
        "recommended panel. It takes about as long.",
    ):
        return
    asked = value.picked_spec(context.votes, spec, measured)
    if asked.conformal:
        st.caption(
            f"{percent(asked.conformal)} of the labels are held out for sets, so its NLL is that "
            "of fewer labels than above."
        )

    def draw(general: Recommendation) -> None:
        result = as_asked(context.votes, asked, general)
        render.section_answer(value.picked_panel_sentence(result))
        if result.partial:
            st.caption("The panel can be exported when all splits are done.")
            return
        text = partial(take.panel_text, context, asked, result)
        label = "Download this panel (panel.json)"
        download_button(st.container(), label, text, "panel.json", type="primary")
        analysis, task = context.analysis, context.votes.task
        command = recommend_command(analysis.file, asked, task=task, columns=analysis.columns)
        st.code(command, language=None, wrap_lines=True)

    show_result(RECOMMEND, context, shared_run(asked), draw)


def _costs(context: PageContext, names: tuple[str, ...]) -> NDArray[np.float64]:
    prepared = prepare(context.votes, context.analysis.settings)
    given = known_judges(context.votes, prepared).costs or ()
    by_name = dict(zip(prepared.judges, given, strict=bool(given)))
    return np.array([by_name.get(name, np.nan) for name in names])


@menu_page(RECOMMENDED_PAGE, "This page chooses a panel that holds up on items it has not seen.")
def page(context: PageContext) -> None:
    """Draw both cards and the panel in use; what else there is stays closed until it is opened.

    One run serves all preferences and candidates: another choice is read from its result.
    """
    verdict = st.container()
    ways = st.expander(recommend.WAYS_TITLE, key="ways", bind="query-params")
    try:
        spec = take.with_candidate(context, take.recommend_spec(context, ways), ways)
        _recommendation(context, spec, verdict, ways)
    except InputError as error:  # The costs or the budget allow no panel.
        with verdict:
            problem(str(error))


def _recommendation(
    context: PageContext, spec: RecommendSpec, place: DeltaGenerator, ways: ExpanderContainer
) -> None:
    caveats, in_use = render.Caveats(), st.container()
    run = shared_run(spec)
    blocks, how = list[Block](), list[Block]()

    def draw(general: Recommendation) -> None:
        result = as_asked(context.votes, spec, general)
        view = _view(context, spec, result)
        blocks[:], how[:] = render.page_blocks(
            PRESENTATIONS[RECOMMEND.name], context, spec, result, view, caveats=caveats
        )
        if recommend.is_doubtful(result):
            _answer(result)
        draw_cards(context, result, spec.price, spec.prefer)
        with in_use:
            _in_use(context, result, [block for block in blocks if isinstance(block, Caveat)])

    with place:
        ended = show_result(RECOMMEND, context, run, draw)
    if not blocks:
        return
    parts = dict(render.parts_of(blocks))
    first, listed = list(flat(parts.pop(""))), parts.pop(recommend.WAYS_TITLE)[1:]
    judges = [block for block in first if isinstance(block, Table)]
    if ways.open:
        with ways:
            render.draw_blocks(listed, key="ways")
    general = stored_result(RECOMMEND, context, run) if ended else None
    if general is None or general.partial:
        render.draw_blocks(judges, key=RECOMMEND.name)
        render.draw_how(how, key=RECOMMEND.name)
        return
    result = as_asked(context.votes, spec, general)
    scope = take.safety(context, result)
    render.draw_blocks(judges, key=RECOMMEND.name)
    take.exports(context, spec, result, scope)
    why: list[Block] = [block for block in first if isinstance(block, Figure | Paragraph)]
    why += [block for part in parts.values() for block in part]
    folded = [block for block in why if isinstance(block, Table)]
    render.closed(WHY_TITLE, partial(render.draw_blocks, why, key=_WHY, folded=folded), key=_WHY)
    _more(context, spec, result, caveats)
    render.draw_how(how, key=RECOMMEND.name)


def _more(
    context: PageContext, spec: RecommendSpec, result: Recommendation, caveats: render.Caveats
) -> None:
    """List what can be done with the panel, and what judges are worth and cost."""
    st.page_link(
        NEW_VOTES_PAGE.file, label="Score new votes", query_params=link_parameters(context.analysis)
    )
    render.closed("What if", lambda: what_if(context, spec, result), key="what-if")
    for name, draw in {
        VALUE.name: take.value,
        cost.COST.name: take.costs,
        curators.CURATORS_STUDY.name: take.curators,
    }.items():
        title = PRESENTATIONS[name].study.title
        render.closed(title, partial(draw, context, spec, result, caveats), key=name)
    drawn = {RECOMMEND.name, WHAT_IF.name, *take.WORTH}
    render.show_closed(context, RECOMMENDED_PAGE, drawn, caveats=caveats)


def _view(context: PageContext, spec: RecommendSpec, result: Recommendation) -> RecommendationView:
    if result.partial:
        return RecommendationView(context.votes)
    worths = take.known_value(context, spec, result)
    judges = () if worths is None else worths.judges
    worth = {judge.judge: float(judge.value.value) for judge in judges}
    return RecommendationView(context.votes, take.known_statuses(context, spec, result), worth)


def _in_use(context: PageContext, result: Recommendation, notes: list[Block]) -> None:
    """Draw the panel that downloads have; where it is in doubt the page begins so."""
    analysis = context.analysis
    used = result.instead_of is None and result.prefer == analysis.prefer
    used = used and result.price in (None, analysis.price)
    st.header("The panel in use" if used else "The panel shown")
    if not recommend.is_doubtful(result):
        _answer(result)
    if not used:
        name = CARD_NAMES[analysis.prefer]
        caption(f"Downloads on this page have this panel. Other pages and Report use {name}.")
    render.draw_blocks(notes, key=RECOMMEND.name)
    if result.partial:
        st.caption("The panel can be exported when all splits are done.")


def _answer(result: Recommendation) -> None:
    answer(so_far(result) + recommend.recommendation_sentence(result), _tone(result))


def _tone(result: Recommendation) -> str:
    if recommend.is_doubtful(result):
        return "open"
    if result.keeps_all:
        return "keep"
    return "curate" if result.price is not None or recommend.curating_is_safe(result) else "open"


_HELP = "All pages, downloads and the report then use it."
_PREFER = {name: prefer for prefer, name in CARD_NAMES.items()}


def draw_cards(
    context: PageContext, result: Recommendation, price: float, shown: str, *, brief: bool = False
) -> None:
    """Draw both cards, how they differ, and the rule that recommends one of them.

    ``shown`` is the preference that the page shows, which a visitor may look at without using it.
    With ``brief`` cards have no NLL, no cost and no difference, and a single card no rule.
    """
    cards = cards_of(result, price)
    columns = st.columns(2) if cards.lean is not None else [st.container()]
    for column, card in zip(columns, cards.all, strict=True):
        with column, st.container(border=True, key=f"card-{card.name.lower()}", height="stretch"):
            _card(result, cards, card, prices_of(context.votes)[1], brief=brief)
            _choice(context, cards, card, shown, brief=brief)
    lines = [] if brief and cards.lean is None else [words.rule_sentence(cards)]
    if cards.lean is not None and not brief:
        lines.append(f"Lean against Best: {words.difference_words(cards)}")
    _notes([*lines, _alone(result, cards)])


def draw_only_card(result: Recommendation, cards: Cards) -> None:
    """Draw the panel that is Best and Lean where the answer above names its judges."""
    st.html(
        '<p class="jp-text"><span class="jp-badge">Recommended</span> '
        f"<b>{glossary.with_terms(words.sure_words(result, cards.best), 1000)}</b> "
        f"{glossary.with_terms(words.no_smaller_sentence(cards), 1000)}</p>"
    )
    _notes([_alone(result, cards)])


def _alone(result: Recommendation, cards: Cards) -> str:
    sentence = words.alone_words(result, cards, nll=False)
    return sentence and f"{words.ALONE}: {sentence}"


def _notes(lines: list[str]) -> None:
    texts = [f'<p class="jp-note">{glossary.with_terms(line, 1000)}</p>' for line in lines if line]
    if texts:
        st.html("".join(texts))


def _card(result: Recommendation, cards: Cards, card: Card, unit: str, *, brief: bool) -> None:
    title, meaning = words.title_words(cards, card)
    badge = ' <span class="jp-badge">Recommended</span>' * (card.name == cards.marked)
    use = words.use_words(result, card)
    st.html(
        f'<p class="jp-note"><b>{in_html(title)}</b>: {in_html(meaning)}{badge}</p>'
        f'<p class="jp-text">{glossary.with_terms(words.judges_words(result, card), 1000)}</p>'
        + f'<p class="jp-text"><b>{glossary.with_terms(use, 1000)}</b></p>' * bool(use)
        + f'<p class="jp-reading">{glossary.with_terms(words.price_words(card, unit), 1000)}</p>'
        * (not brief)
    )


def _choice(context: PageContext, cards: Cards, card: Card, shown: str, *, brief: bool) -> None:
    if cards.lean is None:
        return  # There is nothing to choose.
    prefer = _PREFER[card.name]
    analysis = context.analysis
    used = analysis.prefer == prefer and (prefer == "nll" or analysis.price == cards.price)
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
