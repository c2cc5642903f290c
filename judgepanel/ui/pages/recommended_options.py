"""Controls of the Recommended panel: the preference, the cost, and the candidates."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from judgepanel.decision.preference import PREFERENCES, Preference
from judgepanel.decision.recommend_spec import RecommendSpec, contest_of, families_absent
from judgepanel.studies.contest.candidates import LISTS
from judgepanel.studies.panel.curator import Known, known_judges
from judgepanel.studies.settings import prepare
from judgepanel.ui.controls import folded
from judgepanel.ui.frame import PageContext
from judgepanel.words.sentences import pipeline_name

_PREFER = {
    "nll": "lowest NLL",
    "single": "one pipeline",
    "everyone": "all judges",
    "robust": "robust",
    "simplest": "simplest",
    "cheapest": "cheapest",
    "fewest": "fewest judges",
}
_HELD = (0, 10, 20, 30)


def known_of(context: PageContext) -> Known:
    """Families and costs of the analysis's judges."""
    return known_judges(context.votes, prepare(context.votes, context.analysis.settings))


def with_candidate(context: PageContext, spec: RecommendSpec) -> RecommendSpec:
    """The spec with the requested candidate in place of the recommended one.

    Raises
    ------
    InputError
        The costs cannot be used.
    """
    listed = {entry.title: entry for entry in contest_of(context.votes, spec).choices.all()}

    def label(title: str) -> str:
        if not title:
            return "the recommended panel"
        entry = listed[title]
        return f"{entry.name}, {pipeline_name(entry.aggregator, entry.calibrator)}"

    candidate = st.selectbox(
        "Use another candidate",
        ("", *listed),
        key="candidate",
        bind="query-params",
        format_func=label,
        help="Downloads and scoring then use this candidate, fitted on all labelled items. Its "
        "figures are not corrected for picking it after seeing them.",
    )
    return replace(spec, candidate=candidate if candidate in listed else "")


def recommend_spec(context: PageContext) -> RecommendSpec:
    """The spec that the controls ask for; costs are offered if they are known."""
    known = known_of(context)
    costs = known.costs
    unknown = {"cheapest": costs is None, "robust": not families_absent(known.families)}
    offered = [prefer for prefer in PREFERENCES if not unknown.get(prefer, False)]
    left, right = st.columns([3, 1], vertical_alignment="top")
    with right:
        more = folded("Candidates, sets, cost" if costs else "Candidates, sets")
    # In its own container the row of preferences wraps if it does not fit.
    prefer: Preference = left.container().segmented_control(
        "Prefer",
        offered,
        default="nll",
        required=True,
        key="prefer",
        bind="query-params",
        format_func=_PREFER.__getitem__,
        help="Lowest NLL: an average of pipelines, weighted by how well each does on labels it has "
        "not seen. One pipeline: its heaviest member alone. All judges: the average over pipelines "
        "that keep all judges. Robust: the lowest NLL while a family of judges is absent, which "
        "needs a run of its own. The others choose among the candidates that are at most one "
        "standard error of the difference behind the best.",
    )
    listed = more.segmented_control(
        "Candidates",
        tuple(LISTS),
        default="default",
        required=True,
        key="candidates",
        bind="query-params",
        help="Wide adds every aggregator, isotonic calibration and searches for panels; it takes "
        "about ten times as long.",
    )
    held = more.selectbox(
        "Labels held out for conformal sets (%)",
        _HELD,
        key="held-out",
        bind="query-params",
        help="A share of the labels that nothing is fitted to, so that new items get sets with "
        "80 and 90 % coverage. Fewer labels are left to fit.",
    )
    budget = None
    if costs is not None:
        most = float(sum(costs))
        asked = more.number_input(
            "Max cost per item (0 = no limit)",
            min_value=0.0,
            max_value=max(most, 1e-9),
            value=0.0,
            step=most / 20.0 or None,
            format="%.4g",
            key="budget",
            bind="query-params",
            help=f"All judges together cost {most:.4g} per item.",
        )
        budget = float(asked) if asked and asked > 0.0 else None
    share = held / 100.0 if held in _HELD else 0.0
    return RecommendSpec(
        settings=context.analysis.settings,
        candidates=listed if listed in LISTS else "default",
        prefer=prefer if prefer in offered else "nll",
        budget=budget,
        conformal=share,
    )
