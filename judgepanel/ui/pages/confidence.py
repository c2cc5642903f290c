"""Confidence: can the probabilities be believed, and what is gained by answering only if sure?"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.calibration import Calibrator
from judgepanel.present.blocks import Table
from judgepanel.present.pages import CONFIDENCE_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import Pipeline, described_table, pipeline_of
from judgepanel.present.trust import certainty, reliability
from judgepanel.studies import accumulate, contract
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust.conformal import CONFORMAL, Conformal, ConformalSpec
from judgepanel.studies.trust.items import ITEMS, Items, ItemsSpec, StratumGrouping
from judgepanel.studies.trust.probabilities import known_splits
from judgepanel.studies.trust.reliability import ECE_BINS, RELIABILITY, Reliability, ReliabilitySpec
from judgepanel.studies.trust.selective import SELECTIVE, SelectiveSpec
from judgepanel.ui import pipeline, render, work
from judgepanel.ui.frame import PageContext, begins_with, menu_page
from judgepanel.votes import MISSING
from judgepanel.words import sentences, tables, text

_PANELS = (0, 3, 5, 10)
OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "platt", "isotonic", "auto", "none")
_LISTED = 25
_NO_FEATURE = "none"
_LISTS = ("worst misses", "most contested")


@menu_page(CONFIDENCE_PAGE, "This page shows how often the panel is right when it says it is.")
@pipeline.with_recommendation
def page(context: PageContext, recommendation: Recommendation | None) -> None:
    """Draw reliability; the other studies are closed until they are opened."""
    entry = PRESENTATIONS[RELIABILITY.name]
    fold = pipeline.folded()
    with fold:
        options, bins = _controls(context, pipeline_of(recommendation))
        feature = _feature_choice(context)
    caveats = render.Caveats()
    spec = ReliabilitySpec(**options)
    pipeline.pipeline_note(context, recommendation, spec.aggregator, spec.calibrator, fold)
    view = reliability.ReliabilityView(bins)
    drawn: dict[str, Any] = {"caveats": caveats, "banner": _banner, "titled": True}
    look = _first_look(context, spec)
    if look is not None:
        render.draw_study(entry, context, spec, look, view, **drawn)
        pipeline.recommend_below(context)
    elif render.show_study(entry, context, spec, view, **drawn):
        below = partial(_single_items, context)
        sections: dict[str, tuple[contract.Spec, Any, dict[str, Any]]] = {
            SELECTIVE.name: (SelectiveSpec(**options), None, {}),
            CONFORMAL.name: (ConformalSpec(**options, feature=feature), _sets_view, {}),
            ITEMS.name: (ItemsSpec(**options, feature=feature), _strata_view, {"below": below}),
        }
        for name, (asked, seen, more) in sections.items():
            entry = PRESENTATIONS[name]
            show = partial(render.show_study, entry, context, asked, seen, caveats=caveats, **more)
            render.closed(render.section_title(entry), show, key=name)
        render.show_closed(context, CONFIDENCE_PAGE, {RELIABILITY.name, *sections}, caveats=caveats)


def _banner(result: Reliability) -> tuple[str, str]:
    tone = "keep" if reliability.believed(result) else "open"
    return reliability.reliability_sentence(result), tone


def _first_look(context: PageContext, spec: ReliabilitySpec) -> Reliability | None:
    """Reliability from the splits of a running recommendation, which are not computed twice."""
    if spec.aggregator != AVERAGE or not pipeline.is_refining(context):
        return None
    if work.stored_result(RELIABILITY, context, spec) is not None:
        return None
    votes, settings = contract.grouped_votes(context.votes, spec.settings), spec.settings
    splits = known_splits(votes, settings, range(settings.most_splits))
    return None if splits is None else RELIABILITY.merge(votes, spec, splits)


def _controls(context: PageContext, default: Pipeline) -> tuple[dict[str, Any], int]:
    first, second, third, fourth = st.columns([2.2, 2.2, 2, 1.3])
    aggregator = pipeline.aggregator_control(
        first,
        default.of_panel,
        pipeline.offered_aggregators(context.analysis.settings),
        help="How votes are summed. The recommended panel chooses judges and calibrators "
        "itself. Dawid–Skene, stacking and joint are refitted in every split and take longer.",
    )
    average = aggregator == AVERAGE
    chosen = _calibrator_choice(third, default.calibrator, average=average)
    panel = None if average else _panel_choice(second, context, default.panel)
    calibrator = default.calibrator if average else chosen
    about = "Equal-width bins of confidence from 0 to 100 %; those below 50 % are empty."
    bins = pipeline.segmented(fourth, "Bins", ECE_BINS, key="bins", help=about)
    options = {"aggregator": aggregator, "calibrator": calibrator, "panel": panel}
    return {"settings": context.analysis.settings, **options}, bins


def _panel_choice(where: DeltaGenerator, context: PageContext, default: int | None) -> int | None:
    """Size of the panel, None for all judges; a size in the URL that is not offered means all."""
    judges = context.analysis.settings.judges
    n_judges = context.votes.n_judges if judges is None else len(judges)
    offered = [k for k in _PANELS if k < n_judges]
    chosen = pipeline.segmented(
        where,
        "Panel",
        offered,
        default=default if default in offered else 0,
        key="panel",
        format_func=lambda k: accumulate.arm_name(k) if k else "all",
        help="All judges, or the best ones, ranked on the calibration items of every split.",
    )
    return chosen or None


def _calibrator_choice(where: DeltaGenerator, default: Calibrator, *, average: bool) -> Calibrator:
    """The calibrator between 'before' and 'after'; drawn under the average, see the other pages."""
    begins_with("calibrator", default if default in OFFERED else OFFERED[0])
    chosen: Calibrator = where.selectbox(
        "Calibrator",
        OFFERED,
        index=OFFERED.index(default) if default in OFFERED else 0,
        key="calibrator",
        bind="query-params",
        format_func=sentences.CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability, between 'before' and 'after'.",
        disabled=average,
    )
    return chosen


def _feature_choice(context: PageContext) -> str | None:
    """The item feature to look into, for sets and strata alike; None if there is none."""
    names = pipeline.features_of(context)
    if not names:
        return None
    chosen = st.selectbox(
        "Break down by item feature",
        [_NO_FEATURE, *(name for name in names if name != _NO_FEATURE)],
        key="feature",
        bind="query-params",
        format_func=lambda name: text.plain(name, 80),
        help="Sets and figures are then also shown for each of its values.",
    )
    return chosen if chosen in names and chosen != _NO_FEATURE else None


def _sets_view(result: Conformal) -> certainty.ConformalView:
    first, second = st.columns(2)
    level = first.segmented_control(
        "Level",
        range(len(result.levels)),
        default=len(result.levels) - 1,
        required=True,
        key="level",
        format_func=lambda i: text.percent(result.levels[i]),
        help="How often a set should contain the true label.",
    )
    grouping = second.segmented_control(
        "Break down by",
        result.methods[1:],
        default="difficulty",
        required=True,
        key="grouping",
        format_func=lambda name: reliability.GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; it uses no label.",
    )
    return certainty.ConformalView(int(level), grouping)


def _strata_view(result: Items) -> certainty.ItemsView:
    chosen: StratumGrouping = st.segmented_control(
        "Strata by",
        tuple(dict.fromkeys(result.groupings)),
        default="difficulty",
        required=True,
        key="strata",
        format_func=lambda name: reliability.GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; it uses no label. 'Judges that erred' "
        "only describes, since it uses the item's own label.",
    )
    return certainty.ItemsView(chosen, listed=False)


def _single_items(context: PageContext, result: Items) -> None:
    st.html("<h3>Items to look at</h3>")
    first, second = st.columns([1, 2])
    which = pipeline.segmented(first, "List", _LISTS, key="list")
    rows = result.worst(_LISTED) if which == _LISTS[0] else result.contested(_LISTED)
    if not len(rows):
        st.caption("There are none: no item was held out yet, or all votes are alike.")
        return
    items = Table(certainty.item_table(result, rows), height=320)
    render.table(described_table(ITEMS, items), key="items")
    position = second.selectbox(
        "Item",
        range(len(rows)),
        # A key for each list; otherwise the box would keep its position in the previous list.
        key=f"item-{_LISTS.index(which)}" + f"-{result.n_splits}" * result.partial,
        format_func=lambda i: f"{i + 1}. {text.plain(result.item_ids[int(rows[i])], 60) or 'item'}",
        help="Its votes, judge by judge, are shown below.",
    )
    _votes_of(context, result, int(rows[min(int(position), len(rows) - 1)]))


def _votes_of(context: PageContext, result: Items, i: int) -> None:
    """Draw one item: its probability, then every judge's vote, those against the label first."""
    label = int(result.labels[i])
    features = "".join(
        f" {text.in_html(name, 60)}: {text.in_html(values[i], 120)}."
        for name, values in zip(result.features, result.feature_values, strict=True)
    )
    st.html(
        f'<p class="jp-note"><b>{text.in_html(result.item_ids[i], 120)}</b>: label {label}, '
        f"probability of label 1: {text.percent(float(result.p.value[i]))}. "
        f"{text.counted(int(result.for_1[i]), 'vote')} for 1, {result.for_0[i]:,} for 0; "
        f"{result.wrong[i]:,} against the label.{features}</p>"
    )
    used = context.analysis.settings.judges
    cast = context.votes.votes[int(np.flatnonzero(context.votes.labelled)[i])]
    columns = [j for j, name in enumerate(context.votes.judges) if used is None or name in used]
    columns.sort(key=lambda j: (cast[j] == MISSING, cast[j] == label))
    votes = {
        "judge": tables.text([text.plain(context.votes.judges[j], 120) for j in columns]),
        "vote": tables.text(["no vote" if cast[j] == MISSING else str(cast[j]) for j in columns]),
        "against the label": tables.text(
            ["" if cast[j] == MISSING else "yes" if cast[j] != label else "no" for j in columns]
        ),
    }
    render.table(Table(votes, height=320), key="votes")
