"""The paper's pipeline: what each step, weight and calibrator adds, and what distortions break.

Calibrator design: every calibrator on the same scores of one aggregator and three panels.

The paper's calibrator table: NLL of each calibrator on all judges, the 5 and the 10 best, and the
Spearman correlation between raw and calibrated scores of the evaluation items, which is 1 if the
order of the items is preserved. The map of each calibrator on all labelled items is included for
plotting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.figures import style
from judgepanel.figures.dots import MOST_PANELS, dots
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluation import Calibrated, calibrate, fit_split
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.prefixes import Ranking
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, note, paragraphs
from judgepanel.present.study import Presentation, under_pipeline
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.common import errs_rarely, replaced_fits, run_warnings, splits_of
from judgepanel.studies.contract import Chunk, Study, always, prepare
from judgepanel.studies.options import StudySpec, check_panels, option
from judgepanel.studies.panel.recommended import BestPanels
from judgepanel.studies.paper import distortion, pipeline_ablation, reliability_weighting
from judgepanel.studies.results import NllResult, by_split, column, derived, frozen
from judgepanel.votes import VoteMatrix
from judgepanel.words import text as txt
from judgepanel.words.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATED,
    CALIBRATOR_NAMES,
    pipeline_name,
    with_coding,
)
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text

PANELS = (5, 10)
_SHAPE_POINTS = 121


@dataclass(frozen=True, slots=True)
class CalibratorDesignSpec(StudySpec, BestPanels):
    """One aggregator; ``panels`` are sizes besides all judges.

    Raises
    ------
    InputError
        An unknown name, or a panel below one judge.
    """

    aggregator: Aggregator = option("one_coin")
    calibrators: tuple[Calibrator, ...] = option(CALIBRATORS, "calibrators in the table", once=True)
    panels: tuple[int, ...] = option(PANELS, "panel sizes besides all judges", check=check_panels)
    ranking: Ranking = option("accuracy")


@frozen
class DesignTally:
    """Scores of splits, with rank correlations (S, n_calibrators, n_panels)."""

    scores: accumulate.Tally
    numbers: Ints = by_split()
    rho: Floats = by_split()


@frozen
class CalibratorDesign(NllResult):
    """Result of :data:`CALIBRATOR_DESIGN`.

    Arrays are (n_calibrators, n_panels): ``nll`` (nats), ``brier`` and ``accuracy`` with 95 %
    intervals for new items, ``ece`` with the central 95 % of splits. ``rho`` is Spearman's
    correlation of raw and calibrated scores, mean and central 95 % of splits; it is 0 in a split in
    which a calibrator maps all items to one score. ``shape_raw`` (n_points,) are raw probabilities
    and ``shape`` (n_calibrators, n_points) their calibrated values under fits to all labelled items
    and judges; ``shape_logit`` are the raw logits. ``taken`` names the resulting calibrator of
    each.
    """

    aggregator: str = column(key=True)
    calibrators: tuple[str, ...] = column(name="calibrator", axis=-2, key=True)
    k: Ints = column(key=True)
    nll: Interval = column()
    brier: Interval = column()
    accuracy: Interval = column()
    ece: Interval = column()
    rho: Interval = column("Spearman's correlation of raw and calibrated scores.")
    shape_logit: Floats
    shape_raw: Floats
    shape: Floats
    taken: tuple[str, ...]
    null_nll: float = column()
    constant_nll: Floats = column(axis=-2)
    n_judges: int
    n_calibration: float

    @derived(name="panel", key=True)
    def panels(self) -> list[str]:
        """Names of the panels."""
        return [*map(accumulate.arm_name, self.k[:-1]), "all"]

    def frame(self) -> pd.DataFrame:
        """Return one row per panel and calibrator, all judges first."""
        by_panel = np.arange(self.rho.value.size).reshape(self.rho.shape)[:, ::-1].T.ravel()
        return NllResult.frame(self).iloc[by_panel].reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """Return the calibrator with the lowest NLL on all judges."""
        best = int(self.nll.value[:, -1].argmin())
        return {"best": self.calibrators[best], "best_nll": float(self.nll.value[best, -1])}


def design_chunk(votes: VoteMatrix, spec: CalibratorDesignSpec, chunk: Chunk) -> DesignTally:
    """Evaluate the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    ks = spec.sizes(ballots.n_judges)
    splits = list(splits_of(prepared, settings, chunk))
    fits = [fit_split(ballots, split, ks, spec.recipe) for split in splits]
    arms = (
        (split, accumulate.FittedArms.of(ballots, split, fit))
        for split, fit in zip(splits, fits, strict=True)
    )
    sums = accumulate.tally(arms, n_items=ballots.n_items, seed=settings.seed)
    numbers = np.array([split.number for split in splits])
    rho = np.stack([_rank_kept(fit.fitted, symmetric=ballots.symmetric) for fit in fits])
    return DesignTally(sums, numbers, rho)


def _rank_kept(fitted: Calibrated, *, symmetric: bool) -> Floats:
    """Spearman's correlation (n_calibrators, n_panels) of raw and calibrated evaluation logits.

    Under ``symmetric`` each item is ranked together with its swap; otherwise the figure would
    depend on the order of the pairs in the file.
    """
    whole = slice(0, len(fitted.logits))
    calibrated = {name: fitted.logits_of(name, whole) for name in fitted.maps}

    def ranks(logits: Floats) -> Floats:
        both = np.concatenate([logits, -logits], axis=1) if symmetric else logits
        return distributions.ranks(both)

    raw = ranks(fitted.logits)
    return np.stack([_correlation(raw, ranks(logits)) for logits in calibrated.values()])


def _correlation(a: Floats, b: Floats) -> Floats:
    """Pearson's correlation of rows, 0 if a row is constant."""
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    scale = np.sqrt(np.vecdot(a, a) * np.vecdot(b, b))
    return np.asarray(np.where(scale > 0.0, np.vecdot(a, b) / np.maximum(scale, 1e-300), 0.0))


def merge_design(
    votes: VoteMatrix, spec: CalibratorDesignSpec, partial: DesignTally
) -> CalibratorDesign:
    """Return intervals from the splits so far, and shapes on all labelled items."""
    prepared = prepare(votes, spec.settings)
    totals, rho = partial.scores, partial.rho
    estimated = accumulate.Estimator.of(totals, prepared.ballots.units)
    grid = accumulate.grid_estimates(totals, estimated, rare=errs_rarely(prepared))
    levels: dict[str, Any] = {metric: level[:, :-1] for metric, level in grid.items()}
    rho_lo, rho_hi = np.quantile(rho, (0.025, 0.975), axis=0)
    # The points of the shapes span the scores of the labelled items, evenly in rank and in value,
    # and densely where raw probabilities change.
    ballots = prepared.ballots
    all_rows = np.arange(ballots.n_items)
    whole = Split(0, all_rows, all_rows[:0])
    recipe = replace(spec.recipe, ranking="accuracy")
    scores = recipe.scores(ballots, whole, np.array([ballots.n_judges]), (0, 9))
    fitted = calibrate(ballots, whole, scores, spec.calibrators, in_sample=spec.recipe.in_sample)
    seen, maps = scores.calibration[0], fitted.maps.values()
    ends = np.linspace(seen.min(), seen.max(), _SHAPE_POINTS // 2)
    steep = np.linspace(-6.0, 6.0, 49)  # The range in which the raw probability goes from 0 to 1.
    steep = steep[(steep > seen.min()) & (steep < seen.max())]
    logit = np.unique(np.concatenate([ends, np.quantile(seen, np.linspace(0, 1, 61)), steep]))
    shape = np.stack([np.clip(sigmoid(map_(logit[None, :])[0]), CLIP, 1 - CLIP) for map_ in maps])
    replaced = replaced_fits(spec.calibrators, totals)
    return CalibratorDesign.from_splits(
        prepared,
        spec,
        totals,
        k=spec.sizes(prepared.ballots.n_judges),
        **levels,
        rho=Interval(rho.mean(axis=0), rho_lo, rho_hi, unit=""),
        shape_logit=logit,
        shape_raw=sigmoid(logit),
        shape=shape,
        taken=tuple(map_.shape(0).kind for map_ in maps),
        warnings=run_warnings(prepared, totals, *replaced, allowed=True),
    )


CALIBRATOR_DESIGN: Study[CalibratorDesignSpec, DesignTally, CalibratorDesign] = Study(
    name="calibrator_design",
    title="What calibrators do",
    question="How does each calibrator treat the same scores?",
    run_chunk=design_chunk,
    merge=merge_design,
    settled=always,
)


def ablation_sentence(result: pipeline_ablation.PipelineAblation) -> str:
    """Name the step that changes the NLL of all judges most, and say whether any step hurts."""
    if result.n_splits < 2:
        return "Not enough splits yet to say."
    first = float(result.nll.value[-1, 0])
    who, correction = txt.all_judges(result.n_judges), "the residual correction"
    if result.features:
        correction = f"correcting with {txt.counted(len(result.features), 'item feature')}"
    text = (
        f"With {AGGREGATOR_NAMES[result.aggregator]} on {who} the raw score has NLL "
        f"{txt.fixed(first, 3)} (base rate: {txt.fixed(result.null_nll, 3)}). "
        f"{txt.capital(_change(result, '1-2', correction))}; then "
        f"{_change(result, '1-3', CALIBRATED[result.calibrator])}. "
    )
    behind = result.residual_delta[-1]
    if result.features and (behind.above() or behind.below()):
        alone = txt.fixed(float(result.nll.value[-1, result.steps.index("1+3")]), 3)
        text += f"Without the correction {CALIBRATED[result.calibrator]} alone gets {alone}. "
    held = " and ".join(
        f"sets at the {txt.percent(level)} level hold "
        f"{txt.percent(float(result.coverage.value[i, -1]), 3)}"
        for i, level in enumerate(result.levels)
    )
    text += f"Of the labels of held-out items, {held}."
    return with_coding(text, result.measures_coding)


def _change(result: pipeline_ablation.PipelineAblation, step: str, words: str) -> str:
    """Return a step's effect on the NLL of all judges."""
    delta = result.delta[-1, result.steps.index(step)]
    if delta.below():
        return f"{words} lowers it by {txt.with_interval(*-delta)}"
    if delta.above():
        return f"{words} raises it by {txt.with_interval(*delta)}"
    return f"{words} changes little: {txt.with_interval(*delta, sign=True)}"


def ablation_table(result: pipeline_ablation.PipelineAblation) -> dict[str, Column]:
    """Return every step and panel, all judges first; sets are in the rows of step 1-4."""
    n_panels, n_steps = result.nll.shape
    with_sets = np.array(result.steps) == "1-4"
    panels = [_panel_name(result, p) for p in reversed(range(n_panels))]
    nll = result.nll[::-1].reshape(-1)
    change = result.delta.where(np.arange(n_steps) > 0)[::-1].reshape(-1)
    columns = {
        "panel": text([panel for panel in panels for _ in result.steps]),
        "steps": text(result.steps * n_panels),
        "what": text([pipeline_ablation.STEP_WORDS[step] for step in result.steps] * n_panels),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "against what it builds on": differences(change),
        "Brier": numbers(result.brier.value[::-1].ravel()),
        "ECE": numbers(result.ece.value[::-1].ravel()),
        "accuracy": numbers(result.accuracy.value[::-1].ravel(), "share"),
    }
    for i, promised in enumerate(result.levels):
        coverage, size = (
            np.where(with_sets, figure.value[i, ::-1, None], np.nan).ravel()
            for figure in (result.coverage, result.size)
        )
        columns |= {
            f"covered at {txt.percent(promised)}": numbers(coverage, "share"),
            f"set size at {txt.percent(promised)}": numbers(size),
        }
    return columns


def ablation_figure(result: pipeline_ablation.PipelineAblation) -> go.Figure:
    """Draw NLL after each step, for all judges and the largest smaller panels."""
    words = pipeline_ablation.STEP_WORDS
    steps = [f"{step.replace('-', '–')}: {words[step]}" for step in result.steps]
    panels = list(reversed(range(len(result.k))))[:MOST_PANELS]
    return dots(steps, {_panel_name(result, p): result.nll[p] for p in panels}, result.null_nll)


def _panel_name(result: pipeline_ablation.PipelineAblation, p: int) -> str:
    k = int(result.k[p])
    return f"all {k}" if k == result.n_judges else arm_name(k)


def present_ablation(
    result: pipeline_ablation.PipelineAblation, spec: pipeline_ablation.PipelineAblationSpec
) -> list[Block]:
    """Present the NLL after every step, and every step's figures on every panel."""
    return [
        Answer(ablation_sentence(result)),
        drawing("NLL after each step of the pipeline", ablation_figure, result),
        Table(ablation_table(result)),
        Method(
            "The steps of the paper: 1 sums the votes, 2 corrects the score with item features "
            "where there are any, 3 calibrates, 4 adds conformal sets from a slice of the "
            f"calibration items ({result.n_slice:,.0f} here) that nothing else was fitted to. "
            "Every step sees calibration items only; each step's figures are scores of the "
            "held-out items."
        ),
    ]


_ROW_WEIGHTING = 32
_LABEL = 24
_SIGNAL_NAMES = {
    (reliability_weighting.AGREEMENT, "high"): "items judges agree on",
    (reliability_weighting.AGREEMENT, "low"): "items judges disagree on",
    (reliability_weighting.COVERAGE, "high"): "items with many votes",
    (reliability_weighting.COVERAGE, "low"): "items with few votes",
    (reliability_weighting.RANDOM, "high"): "random items (a placebo)",
}


def signal_name(result: reliability_weighting.ReliabilityWeighting, i: int) -> str:
    """Describe the comparisons to which a signal gives more weight; features are untrusted text."""
    name, favours = result.signals[i], result.favours[i]
    if result.features[i]:
        return f"{favours} {txt.one_line(name)}"
    return _SIGNAL_NAMES[name, favours]


def weighting_sentence(result: reliability_weighting.ReliabilityWeighting) -> str:
    """Return the effect of weighting comparisons on the NLL."""
    n = len(result.signals)
    same = result.absolute.count("equivalent")
    parts = []
    helps, hurts = result.band.below(), result.band.above()
    for word, clear, size in (("lowers", helps, -result.band), ("raises", hurts, result.band)):
        places = np.flatnonzero(clear)
        if len(places):
            best = int(places[np.argmax(size.value[places])])
            effect = f"Giving more weight to {signal_name(result, best)} {word} NLL by "
            effect += txt.with_interval(*size[best])
            parts.append(
                f"{effect}, more than {txt.counted(len(places) - 1, 'other weighting')} that do so."
                if len(places) > 1
                else f"{effect}."
            )
    if not parts:
        parts.append("No weighting of the comparisons is shown to change the NLL.")
    parts.append(
        f"{same} of {txt.counted(n, 'weighting')} {'is' if same == 1 else 'are'} shown to change "
        f"it by less than {result.margin:g}. Unweighted, NLL is {txt.level(*result.base_nll)}, "
        f"base rate {txt.fixed(result.null_nll, 3)}."
    )
    return with_coding(" ".join(parts), result.measures_coding)


def weighting_table(result: reliability_weighting.ReliabilityWeighting) -> dict[str, Column]:
    """One row per signal: effect, both equivalence tests and the plain paired one."""
    n = len(result.signals)
    return {
        "what counts for more": text([signal_name(result, i) for i in range(n)], of="favours"),
        "NLL": numbers(result.nll),
        "difference": differences(result.delta, of="delta"),
        "all rows together": ends(result.band, sign=True),
        "p of no effect": numbers(result.p, "p", of="p"),
        f"within {result.margin:g}": text(result.absolute),
        "TOST p": numbers(result.p_absolute, "p", of="tost_p"),
        f"within {txt.sig(result.relative_margin, 2)}": text(result.relative),
        "its TOST p": numbers(result.p_relative, "p", of="relative_tost_p"),
        "paired TOST p, panels as given": numbers(result.p_plain, "p", of="plain_tost_p"),
        "base rate": numbers(np.full(n, result.null_nll), of="null_nll"),
    }


def weighting_figure(result: reliability_weighting.ReliabilityWeighting) -> go.Figure:
    """Draw effects of all signals with 95 % intervals; the band is the margin of no effect."""
    figure = go.Figure()
    n = len(result.signals)
    names = [signal_name(result, i) for i in range(n)]
    rows = np.arange(n)[::-1]
    fill = style.with_opacity(style.NEUTRAL, style.BAND_OPACITY)
    figure.add_vrect(x0=-result.margin, x1=result.margin, fillcolor=fill, line={"width": 0})
    figure.add_vline(x=0.0, line=style.DOTTED)
    look, hover = style.spot(style.INCLUDE, "circle"), "%{text}: %{x:+.4f}"
    more = {"text": [style.escaped(name) for name in names], "showlegend": False}
    style.add_series(figure, result.delta, rows, look, "change", hover, **more)
    style.laid_out(figure, x="change of the NLL", y="", height=_ROW_WEIGHTING * n + 90)
    labels = [style.escaped(name, _LABEL) for name in names]
    figure.update_yaxes(tickvals=rows, ticktext=labels, range=[-0.6, n - 0.4])
    return figure


def present_weighting(
    result: reliability_weighting.ReliabilityWeighting,
    spec: reliability_weighting.ReliabilityWeightingSpec,
) -> list[Block]:
    """Present the change of the NLL with each weighting of the comparisons."""
    missing = ""
    if not any(result.features):
        missing = (
            "These votes have no numeric item features, so only signals from the votes are tried."
        )
    return [
        Answer(weighting_sentence(result)),
        note(
            f"All panels here are all judges under {pipeline_name('one_coin', spec.calibrator)}: "
            "reweighted comparisons change what closed forms learn from."
        ),
        *paragraphs(missing),
        drawing("change of the NLL by each weighting of the comparisons", weighting_figure, result),
        note(
            f"The grey band is the paper's margin of no effect, {result.margin:g} either way; a "
            f"margin of 1 % would be {txt.sig(result.relative_margin, 2)}."
        ),
        Table(weighting_table(result)),
        Method(
            "Each calibration item counts from 0 to 2 times, by the rank of the signal, in the "
            "counts that weigh judges and in the fit of the calibrator; evaluation items count "
            "alike. 'Equivalent' needs a test of its own: two one-sided t-tests at 5 %, the same "
            "as a 90 % interval inside the margin, on our variance, which knows that panels are "
            "refitted. The last p takes the fitted panels as given and is for comparison only. The "
            "paper finds all such effects equivalent to zero on preference data; items judges "
            "disagree on can matter more here, since they tell good judges from bad ones and a sum "
            "of votes that err together is too sure of the others."
        ),
    ]


_GREEN = "#2F7D5B"
_STYLES: dict[str, tuple[str, str, str | None, float]] = {
    "none": (style.NEUTRAL, "dash", None, 1.5),
    "temperature": (style.INCLUDE, "solid", "circle", 2),
    "platt": (style.INCLUDE, "dot", "square-open", 2),
    "beta": (style.CURATE_LINE, "solid", "diamond", 2),
    "beta_clipped": (style.NEUTRAL, "dot", "x", 1.5),
    "beta_l2": (style.CURATE_LINE, "dot", "diamond-open", 2),
    "beta_free": (style.CURATE_LINE, "dash", "triangle-up-open", 2),
    "beta_cv": (style.CURATE_LINE, "dashdot", "triangle-down-open", 2),
    "isotonic": (_GREEN, "solid", None, 2),
    "auto": (style.NEUTRAL, "longdash", "cross", 2),
}
"""Colour, dash, marker and width; dash and marker alone distinguish all pairs."""

_MARKERS = 9


@dataclass(frozen=True, slots=True)
class CalibratorsView:
    """The calibrators to draw; None draws all."""

    calibrators: tuple[str, ...] | None = None


def design_sentence(result: CalibratorDesign) -> str:
    """Name the calibrator with the lowest NLL on all judges, and the raw score's difference."""
    nll = result.nll[:, -1]
    best = int(nll.value.argmin())
    name = result.calibrators[best]
    where = f"On {txt.all_judges(result.n_judges)} with {AGGREGATOR_NAMES[result.aggregator]}"
    if name == "none":
        text = f"{where}, no calibrator improves on the raw score: NLL {txt.level(*nll[best])}"
    else:
        text = f"{where}, {CALIBRATED[name]} has the lowest NLL, {txt.level(*nll[best])}"
        if "none" in result.calibrators:
            text += f". The raw score has {txt.level(*nll[result.calibrators.index('none')])}"
    text += f". The base rate alone has {txt.fixed(result.null_nll, 3)}."
    return with_coding(text, result.measures_coding)


def design_table(result: CalibratorDesign) -> dict[str, Column]:
    """Return every calibrator: figures on all judges, then the NLL of smaller panels."""
    *smaller, largest = result.k
    columns = {
        "calibrator": text([CALIBRATOR_NAMES[name] for name in result.calibrators]),
        f"NLL, all {largest}": levels(result.nll[:, -1], of="nll"),
        "skill": numbers(1.0 - result.nll.value[:, -1] / result.null_nll, "share"),
        "constant score": numbers(result.constant_nll, of="constant_nll"),
        "Spearman ρ": numbers(result.rho.value[:, -1], of="rho"),
        "ECE": numbers(result.ece.value[:, -1]),
        "accuracy": numbers(result.accuracy.value[:, -1], "share"),
    }
    for p, k in reversed(list(enumerate(smaller))):
        columns[f"NLL, top-{k}"] = levels(result.nll[:, p], of="nll")
    return columns


def design_figure(design: CalibratorDesign, drawn: Sequence[str] | None = None) -> go.Figure:
    """Draw the map of each calibrator, fitted on all labelled items and judges.

    One line per calibrator of ``drawn`` that the result has, in that order; None draws all.
    """
    names = [n for n in (design.calibrators if drawn is None else drawn) if n in design.calibrators]
    figure = go.Figure()
    for number, name in enumerate(names):
        colour, dash, symbol, width = _STYLES[name]
        marked = _marked(design.shape_logit, (number + 0.5) / len(names))
        figure.add_scatter(
            x=design.shape_logit,
            y=design.shape[design.calibrators.index(name)],
            mode="lines+markers" if symbol else "lines",
            name=CALIBRATOR_NAMES[name],
            line={"color": colour, "dash": dash, "width": width},
            marker={"symbol": symbol, "size": np.where(marked, 8, 0), "opacity": 1.0}
            if symbol
            else None,
            hovertemplate=f"{CALIBRATOR_NAMES[name]}: raw logit %{{x:.1f}} becomes "
            "%{y:.1%}<extra></extra>",
        )
    style.laid_out(figure, x="raw score (logit)", y="probability of label 1")
    figure.update_layout(legend_itemsizing="constant", legend_itemwidth=44)
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    return figure


def _marked(logit: Floats, phase: float) -> Bools:
    """Mask (n_points,) nearest to evenly spaced scores; overlapping lines mark different points."""
    wanted = logit[0] + (np.arange(_MARKERS) + phase) / _MARKERS * (logit[-1] - logit[0])
    marked = np.zeros(len(logit), dtype=bool)
    marked[np.abs(logit[:, None] - wanted).argmin(axis=0)] = True
    return marked


def present_design(
    result: CalibratorDesign, spec: CalibratorDesignSpec, view: CalibratorsView = CalibratorsView()
) -> list[Block]:
    """Present every calibrator as a curve, and its figures on all judges and on smaller panels."""
    shows = "what each calibrator makes of a raw score"
    return [
        Answer(design_sentence(result)),
        drawing(shows, design_figure, result, view.calibrators),
        Table(design_table(result)),
        Method(
            "The lines are fitted to all labelled items, with scores that do not know their own "
            "label. The table is out of sample, as everywhere. Spearman ρ compares the order of "
            "the evaluation items before and after; it is 1 where a calibrator keeps the order. "
            "The column 'constant score' is the NLL of a constant score, without any judge, "
            "through the same calibrator."
        ),
    ]


DISTORTION_NAMES = {
    "undistorted": "as it is",
    "square": "squared",
    "square_root": "square root",
    "noise_weak": "weak noise",
    "noise_strong": "strong noise",
    "binary_noise": "inverted at random",
    "inversion": "inverted",
    "shuffle": "shuffled",
}
_ROW_DISTORTION = 46
_LOOKS = (
    (style.INCLUDE, "circle"),
    (style.CURATE_FILL, "diamond"),
    (style.NEUTRAL, "square"),
    (style.INCLUDE, "triangle-up-open"),
    (style.CURATE_LINE, "x-open"),
    (style.NEUTRAL, "cross-open"),
)


def distortion_sentence(result: distortion.Distortion) -> str:
    """Name the distortions that each calibrator repairs."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in result.calibrators:
        if name != "none":
            kinds.setdefault(result.repaired_by(name), []).append(CALIBRATOR_NAMES[name])
    parts = []
    for repaired, names in sorted(kinds.items(), key=lambda item: -len(item[0])):
        words = "none"
        if repaired:
            words = txt.listed([f"'{DISTORTION_NAMES[kind]}'" for kind in repaired])
        verb = "repairs" if len(names) == 1 else "repair"
        parts.append(f"{txt.listed(names)} {verb} {words}")
    if not parts:
        return "No calibrator was asked for."
    answer = (
        f"Of {len(result.distortions) - 1} distortions {'; '.join(parts)}. Repaired means: shown "
        "to lie within 2 % of the NLL without distortion."
    )
    return with_coding(answer, result.measures_coding)


def distortion_table(result: distortion.Distortion) -> dict[str, Column]:
    """Return one row per distortion, with NLL and outcome of every calibrator."""
    columns = {"raw score": text([DISTORTION_NAMES[name] for name in result.distortions])}
    for c, name in enumerate(result.calibrators):
        columns |= {
            f"NLL, {CALIBRATOR_NAMES[name]}": levels(result.nll[:, c], of="nll"),
            CALIBRATOR_NAMES[name]: text([row[c] for row in result.outcomes], of="outcome"),
        }
    null = np.full(len(result.distortions), result.null_nll)
    return columns | {"base rate": numbers(null, of="null_nll")}


def distortion_figure(result: distortion.Distortion, drawn: tuple[str, ...]) -> go.Figure:
    """Draw NLL under the calibrators ``drawn``, one row per distortion, undistorted on top."""
    figure = go.Figure()
    n = len(result.distortions)
    names = [DISTORTION_NAMES[name] for name in result.distortions]
    rows = np.arange(n)[::-1].astype(np.float64)
    spread = np.linspace(0.28, -0.28, max(len(drawn), 2))
    for i, calibrator in enumerate(drawn):
        colour, symbol = _LOOKS[i % len(_LOOKS)]
        nll = result.nll[:, result.calibrators.index(calibrator)]
        name, look = CALIBRATOR_NAMES[calibrator], style.spot(colour, symbol)
        hover = f"{name}, %{{text}}: %{{x:.3f}}"
        style.add_series(figure, nll, rows + spread[i], look, name, hover, text=names)
    null = [result.null_nll, result.null_nll]
    style.add_base_rate(figure, null, [-0.6, n - 0.4], "base rate: %{x:.3f}")
    style.laid_out(figure, x="NLL (nats per item)", y="", height=_ROW_DISTORTION * n + 120)
    figure.update_yaxes(tickvals=rows, ticktext=names, range=[-0.6, n - 0.4])
    figure.update_xaxes(rangemode="tozero")
    return figure


def present_distortion(
    result: distortion.Distortion,
    spec: distortion.DistortionSpec,
    view: CalibratorsView = CalibratorsView(),
) -> list[Block]:
    """Present NLL under each distortion, one mark per calibrator."""
    calibrators = result.calibrators if view.calibrators is None else view.calibrators
    shows = "NLL under each distortion of the raw score, one mark per calibrator"
    return [
        Answer(distortion_sentence(result)),
        drawing(shows, distortion_figure, result, calibrators),
        Table(distortion_table(result)),
        Method(
            f"The one-coin score of {txt.all_judges(result.n_judges)}, as a probability r, is "
            "distorted on calibration and evaluation items alike: r², √r, r plus normal noise "
            f"(standard deviations {spec.weak:g} and {spec.strong:g}), inverted in "
            f"{txt.percent(spec.turned)} of the items, inverted everywhere, and shuffled. "
            "Calibrators are then fitted as everywhere else. The kinds are the paper's; it gives "
            "no levels of noise. Temperature, Platt, beta and isotonic may not invert a score, so "
            "they end at the base rate where it is inverted; the paper's clipped beta may invert "
            "it."
        ),
    ]


_DISTORTED = under_pipeline(distortion.DistortionSpec, average=False)
_NO_SCORE = "an average has no single score to distort"
PRESENTATIONS = (
    Presentation(pipeline_ablation.PIPELINE_ABLATION, present_ablation),
    Presentation(reliability_weighting.RELIABILITY_WEIGHTING, present_weighting),
    Presentation(CALIBRATOR_DESIGN, present_design),
    Presentation(distortion.DISTORTION, present_distortion, _DISTORTED, single=_NO_SCORE),
)
