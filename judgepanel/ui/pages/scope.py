"""Scope: is the default safe here? One card a check, then the panel with and without some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import saturation_curve
from judgepanel.figures.scope.with_and_without import switch_figure
from judgepanel.present.default_specs import OFFERED
from judgepanel.report.commands import inspect_command, study_command
from judgepanel.report.methods import in_words
from judgepanel.report.scope import (
    curve_note,
    curve_table,
    missing_table,
    parse_table,
    safe,
    scope_sentence,
    switch_table,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES
from judgepanel.report.text import plain
from judgepanel.studies.scope.scope import SCOPE, ScopeSpec
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.ui.controls import aggregator_control, calibrator_control
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.grouping import offer_grouping
from judgepanel.ui.pages.scope_groups import groups
from judgepanel.ui.parts import check_card, downloads, how, how_study, table
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.work import show_result
from judgepanel.votes.checks import Check, check_repeats

_TABLE_PERCENTS = ("parse rate", "coded ties", "accuracy", "share")


def page(shown: Shown) -> None:
    """The checks as they are made; groups of judges when they have ended."""
    spec = _controls(shown)
    kept: list[Scope] = []
    pipeline_note(shown, spec.aggregator, spec.calibrator, offered=OFFERED)

    def draw(found: Scope) -> None:
        _draw(shown, spec, found)
        kept.append(found)

    if show_result(SCOPE, shown, spec, draw) and kept:
        groups(shown, spec, kept[-1])
    next_step("pages/recommended_panel.py", "which judges, which pipeline?", shown.analysis)


def _controls(shown: Shown) -> ScopeSpec:
    left, right = st.columns(2)
    aggregator = aggregator_control(
        left,
        help="The aggregator in use: its curve is drawn, and the others are held against it. "
        "Dawid–Skene, stacking and joint are fitted anew for every point and take longer.",
    )
    return ScopeSpec(
        settings=shown.analysis.settings,
        aggregator=aggregator,
        calibrator=calibrator_control(right),
    )


def _draw(shown: Shown, spec: ScopeSpec, found: Scope) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    answer(so_far + scope_sentence(found), "keep" if safe(found) else "open")
    notes(in_words(found.warnings))
    drawn: dict[str, Callable[[], None]] = {
        "P0": lambda: None,
        "P1": partial(_parsing, found),
        "P2": partial(_course, found),
        "P3": partial(_gaps, found),
    }
    for first in range(0, len(found.checks), 2):
        for column, check in zip(
            st.columns(2, gap="medium"), found.checks[first : first + 2], strict=False
        ):
            with column:
                check_card(check, partial(_card, shown, spec, found, check, drawn[check.code]))
    settings = spec.settings
    repeats = check_repeats(shown.votes, group_duplicates=settings.group_duplicates)
    check_card(repeats, lambda: offer_grouping(shown))
    if not found.partial:
        downloads(shown, SCOPE, spec, found)
    how_study(shown, SCOPE, spec, _words(found))


def _card(
    shown: Shown, spec: ScopeSpec, found: Scope, check: Check, draw: Callable[[], None]
) -> None:
    """What stands in a card below its sentences."""
    draw()
    votes, analysis = shown.votes, shown.analysis
    if check.code == "P0":
        command = inspect_command(
            analysis.file, analysis.settings, task=votes.task, columns=analysis.columns
        )
    else:
        command = study_command(
            SCOPE.name, analysis.file, spec, task=votes.task, columns=analysis.columns
        )
    how(_CHECK_WORDS[check.code], command)


def _figure(figure: go.Figure, key: str, alt: str) -> None:
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def _parsing(found: Scope) -> None:
    if not found.sparse:
        worst = scope_sentence(found)
        _figure(parse_rates(found), "parse", f"Share of items with a verdict by judge. {worst}")
    rows = parse_table(found)
    rows["judge"] = [plain(name, 120) for name in rows["judge"]]
    with st.expander("Every judge"):
        table(rows, key="parse", height=280, percents=_TABLE_PERCENTS)


def _course(found: Scope) -> None:
    if found.saturation is None:
        return
    why = found.check("P2").why
    _figure(
        saturation_curve(found.saturation), "saturation", f"NLL against judges kept. {plain(why)}"
    )
    st.caption(curve_note(found))
    with st.expander("Every share"):
        table(curve_table(found), key="shares", percents=_TABLE_PERCENTS)


def _gaps(found: Scope) -> None:
    if found.switch:
        _figure(
            switch_figure(found.switch, found.null_nll, AGGREGATOR_NAMES),
            "switch",
            "NLL of every aggregator, with all judges and without those that miss votes.",
        )
        if found.n_compared < found.n_splits:
            st.caption(
                f"Aggregators are compared on {found.n_compared} of the {found.n_splits} splits, "
                "so an NLL here differs a little from the same one under P2."
            )
        with st.expander("Every aggregator"):
            table(switch_table(found), key="switch")
    if found.missing.tests:
        rows = missing_table(found)
        rows["found"] = [plain(text, 200) for text in rows["found"]]
        with st.expander(f"Tests of missing votes ({found.missing.n_tests:,})"):
            table(rows, key="missing", height=280)


_CHECK_WORDS = {
    "P0": "Counts on the labelled items: the share of the rarer label, and judges that give one "
    "verdict on nearly every item or are right (or wrong) on every one.",
    "P1": "Counts on the labelled items; a coded tie is a verdict that was read. Below 90 % a "
    "judge should be looked at, at 70 % or less the filter drops it. A judge is below chance when "
    "an exact binomial test says so, Holm over judges at 2.5 %. The paper's rule (accuracy below "
    ".5 by 2 Wald standard errors) stands in the table: with few votes it flags judges for a "
    "single wrong one.",
    "P2": "In every split the judges are ordered by accuracy on the calibration items and the "
    "best share of them is fitted there and scored on the others. The test of the last tenth asks "
    "whether it moves NLL by more than 1 % (two one-sided tests at 5 %). The check passes when "
    "all judges are shown to beat the best fifth, the better half is not better than all, and the "
    "last tenth is neither shown to cost nor shown to add nothing. The paper's P2 asks only for an "
    "NLL above .005, a floor that belongs to labels of one class; it is shown and decides nothing.",
    "P3": "Whether a vote is missing is held against the label, against how often the other "
    "judges are right on that item, and against item features, for each judge and for all "
    "together; p-values are adjusted by Holm. Then aggregators are compared on the same splits, "
    "with everyone and without judges that miss 5 % of the items or more.",
}


def _words(found: Scope) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}): everything is fitted on one half of "
        f"the {found.n_items:,} labelled items, and every NLL is a score of the others. "
        f"{found.n_compared} of the splits compare aggregators. A sound panel passes all checks "
        "in most cases, not in all: docs/scope.md has how often, on simulated panels."
    )
