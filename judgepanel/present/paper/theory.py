"""What theory says of judges: juries, bands of accuracies, variance, and permuted labels.

Variance decomposition: do judges' abilities or items' difficulties vary more?

A two-parameter logistic model of correctness on all labelled items (paper, section 2.4 and appendix
"IRT Variance Decomposition"). Correctness does not depend on the order of a pair, so the result is
the same under every orientation, except for judges set aside as constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.arrays import Floats, Ints
from judgepanel.figures import style
from judgepanel.kernels.aggregation import cross_fits
from judgepanel.kernels.irt import TwoPLFit, fit_two_pl, logit_variance, variance_shares
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing, note
from judgepanel.present.study import Pipeline, Presentation, Specs, spec_under
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Chunk, Settings, Study, prepare
from judgepanel.studies.options import StudySpec
from judgepanel.studies.paper.jury import JURY, PRIOR_VOTES, Jury, JurySpec
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBand, NarrowBandSpec
from judgepanel.studies.paper.permutation import PERMUTATION, Permutation, PermutationSpec
from judgepanel.studies.results import Declared, column, frozen, json_values
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import VoteMatrix
from judgepanel.words import text as txt
from judgepanel.words.sentences import CODING, with_coding
from judgepanel.words.tables import Column, result_table, text

Verdict = Literal["judges", "items", "undecided"]


@dataclass(frozen=True, slots=True)
class VarianceDecompositionSpec(StudySpec):
    """Options of the decomposition; the number of splits is not used."""


@frozen
class VarianceDecomposition(Declared):
    """Result of :data:`VARIANCE_DECOMPOSITION`.

    ``judge_share`` is Var(ability) / (Var(ability) + Var(difficulty)), in [0, 1], with a 95 %
    interval for a population of judges and items like these; neither share includes the
    interaction, Var(discrimination) times squared distance. ``logit_judges``, ``logit_items`` and
    ``logit_interaction`` sum to 1: components of the variance of the fitted logits of these judges,
    including the interaction.

    Arrays are (n_judges,), in the order of ``judges``; ``ability`` and ``discrimination`` have 95 %
    intervals. Abilities are in standard deviations of item difficulty, 0 is the mean difficulty.
    ``accuracy`` is (correct + 1) / (voted + 2). ``mu``, ``sigma`` and ``m``, ``t`` are mean and
    standard deviation of ability and of log discrimination over the population of judges.
    ``ability_accuracy`` is the correlation of ability and accuracy, None if either is constant.
    ``log_likelihood`` is in nats.
    """

    judges: tuple[str, ...] = column(heading="judge", name="judge")
    ability: Interval = column(heading="ability")
    discrimination: Interval = column(heading="discrimination")
    accuracy: Floats = column("(correct + 1) / (voted + 2).", "accuracy", "share")
    correct: Ints = column()
    voted: Ints = column(heading="of")
    judge_share: Interval
    logit_judges: float
    logit_items: float
    logit_interaction: float
    mu: float
    sigma: float
    m: float
    t: float
    ability_accuracy: float | None
    log_likelihood: float
    orientation: str
    protocol: str
    n_items: int
    n_groups: int
    iterations: int
    converged: bool
    seed: int
    warnings: tuple[str, ...]

    @property
    def item_share(self) -> float:
        """1 minus the judges' share."""
        return 1.0 - float(self.judge_share.value)

    @property
    def verdict(self) -> Verdict:
        """Whose share is above one half with its whole interval, if the logits agree."""
        return "undecided" if self.disagree else self._by_shares()

    @property
    def disagree(self) -> bool:
        """Whether the shares and the fitted logits, with interaction, decide for different sides.

        A few judges with nearly no slope have extreme abilities, which count fully in the shares.
        """
        larger = "judges" if self.logit_judges > self.logit_items else "items"
        return self._by_shares() not in (larger, "undecided")

    def _by_shares(self) -> Verdict:
        if self.judge_share.above(0.5):
            return "judges"
        return "items" if self.judge_share.below(0.5) else "undecided"

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, highest ability first."""
        frame = Declared.frame(self)
        return frame.sort_values("ability", ascending=False, kind="stable", ignore_index=True)

    def decisions(self) -> dict[str, Any]:
        """Return shares, verdict and population."""
        return {
            **json_values({"judge_share": self.judge_share}),
            "item_share": self.item_share,
            "verdict": self.verdict,
            "ability_accuracy": self.ability_accuracy,
            "n_judges": len(self.judges),
        }


def variance_chunk(votes: VoteMatrix, spec: VarianceDecompositionSpec, chunk: Chunk) -> TwoPLFit:
    """Return the single fit; ``chunk`` holds one round."""
    ballots = prepare(votes, spec.settings).ballots
    return fit_two_pl(ballots.votes * ballots.signs[:, None])


def merge_variance(
    votes: VoteMatrix, spec: VarianceDecompositionSpec, partial: TwoPLFit
) -> VarianceDecomposition:
    """Return shares and intervals of the fit."""
    prepared = prepare(votes, spec.settings)
    families = families_of(prepared.oriented.votes.with_judges(prepared.judges))
    shares = variance_shares(partial, prepared.ballots.units, _codes(families))
    parts = logit_variance(partial)
    whole = parts.judges + parts.items + parts.interaction
    accuracy = (partial.n_right + 1.0) / (partial.n_voted + 2.0)
    return VarianceDecomposition.from_run(
        prepared,
        spec,
        1,
        partial,
        partial.population,
        correct=partial.n_right.astype(np.int64),
        voted=partial.n_voted.astype(np.int64),
        accuracy=accuracy,
        ability=Interval(partial.theta, *partial.theta_interval(), unit=""),
        discrimination=Interval(partial.alpha, *partial.alpha_interval(), unit=""),
        judge_share=Interval.single(shares.judges, shares.lo, shares.hi, "share"),
        logit_judges=parts.judges / whole,
        logit_items=parts.items / whole,
        logit_interaction=parts.interaction / whole,
        ability_accuracy=_correlation(partial.theta, accuracy),
        n_groups=len(np.unique(prepared.ballots.units)),
        warnings=(*prepared.notices, *partial.warnings),
    )


def _correlation(entry: Floats, other: Floats) -> float | None:
    if min(np.ptp(entry), np.ptp(other)) < 1e-9:
        return None
    return float(np.corrcoef(entry, other)[0, 1])


def _codes(families: tuple[str, ...]) -> Ints:
    """Return one code per family; a judge without one is a family of one."""
    own = [f"family {name}" if name else f"judge {j}" for j, name in enumerate(families)]
    return np.unique(np.array(own, dtype=object), return_inverse=True)[1].astype(np.int64)


VARIANCE_DECOMPOSITION: Study[VarianceDecompositionSpec, TwoPLFit, VarianceDecomposition] = Study(
    name="variance_decomposition",
    title="Judges or items?",
    question="Which varies more: judges, or items?",
    run_chunk=variance_chunk,
    merge=merge_variance,
    rounds=lambda _: 1,
)


FLOOR = 1e-4
"""Errors below this are written and drawn as this value."""
_HOVER = "{}, %{{x:.0f}} judges: %{{y:.2%}}"
_TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5)


def jury_sentence(result: Jury) -> str:
    """Return the cost of dependence for the majority of all judges, and their effective number."""
    if result.n_judges == 1:
        return "There is only one judge: no jury to compare with."
    error = _share(result.majority[-1])
    alone = _share(result.independent[-1])
    text = (
        f"A majority of all {result.n_judges:,} errs on {error} of new items; independent judges "
        f"of the same accuracies would err on {alone}."
    )
    if result.gap[-1].above():
        text += f" Dependence costs {_share(result.gap[-1])} of the items."
    else:
        text += " No cost of dependence is shown."
    n, lo, hi = result.effective[-1]
    if np.isfinite(n):
        ends = f" {txt.interval(lo, hi, 2)}" if np.isfinite(lo) and np.isfinite(hi) else ""
        text += f" By its majority the panel is worth {txt.sig(n, 2)}{ends} independent judges."
    return with_coding(text, result.measures_coding)


def bound_sentence(result: Jury) -> str:
    """Compare the paper's bound with the observed error of weighted votes."""
    bound = float(result.jury_bound[-1])
    allowed = f"at most {txt.percent(bound)}" if bound >= FLOOR else "under 0.01 %"
    text = (
        f"By the jury bound, the best weighting of {result.n_judges:,} independent judges errs on "
        f"{allowed}; the one-coin vote errs on {_share(result.one_coin[-1])}."
    )
    if result.one_coin[-1].above(bound):
        text += " The bound is right about independent judges, and these are not."
    return text


def _share(share: Interval) -> str:
    """Return a share of the items in per cent, with its interval."""
    if share.value >= 0.0 and share.below(FLOOR):
        return "under 0.01 %"
    number, _, rest = txt.with_interval(*share.scaled(100.0, "points")).partition(" ")
    return f"{number} % {rest}"


def jury_table(result: Jury) -> dict[str, Column]:
    """Return errors, bounds and effective numbers by panel size; very small errors in words."""
    table = result_table(replace(result, gap=result.gap.where(result.k > 1)))
    for name in ("majority errs", "one-coin errs", "independent judges would", "dependence costs"):
        errors: Any = table[name].values
        tiny = np.flatnonzero((errors.value >= 0.0) & errors.below(FLOOR))
        table[name] = replace(table[name], words=dict.fromkeys(tiny.tolist(), "under 0.01 %"))
    return table


def jury_figure(result: Jury) -> go.Figure:
    """Draw observed errors and those under independence by panel size, on a log scale."""

    def above_floor(errors: Floats) -> Floats:
        return np.where(errors >= FLOOR, errors, np.nan)

    figure = go.Figure()
    figure.add_hline(y=result.null_error, line=style.DOTTED)
    for name, errors, of_panel in (
        ("majority", result.majority, style.CHOSEN),
        ("one-coin", result.one_coin, style.ALL_JUDGES),
    ):
        visible = Interval(above_floor(errors.value), np.maximum(errors.lo, FLOOR), errors.hi)
        look = replace(of_panel, dash="solid", width=2.5, size=8)
        style.add_series(figure, result.k, visible, look, f"{name}, observed", _HOVER.format(name))
    for name, bound, dash, width in (
        ("majority, if independent", result.independent.value, "solid", 2.0),
        ("jury bound", result.jury_bound, "dash", 1.5),
        ("Hoeffding, majority", result.hoeffding_majority, "dashdot", 1.5),
    ):
        look = style.stroke(style.NEUTRAL, dash, width)
        style.add_series(figure, result.k, above_floor(bound), look, name, _HOVER.format(name))
    style.laid_out(figure, x="judges, best first", y="share of wrong decisions")
    style.rank_axis(figure, int(result.k[-1]))
    texts = [f"{100 * tick:g} %" for tick in _TICKS]
    span = [np.log10(FLOOR), np.log10(0.9)]
    figure.update_yaxes(type="log", tickvals=_TICKS, ticktext=texts, range=span)
    return figure


def present_jury(result: Jury, spec: JurySpec) -> list[Block]:
    """Present observed errors by panel size, those of independent judges, and the bounds."""
    return [
        Answer(jury_sentence(result)),
        drawing("share of wrong decisions against the number of judges", jury_figure, result),
        Paragraph(bound_sentence(result)),
        note("Errors below 0.01 % are not drawn; the dotted line is deciding without votes."),
        Table(jury_table(result)),
        Method(
            "Judges are ranked, and one-coin weights learned, on calibration items. Errors are "
            "those on the other items, and the accuracies that the theory is given are measured "
            f"there as well, pulled to the panel's mean by {PRIOR_VOTES:g} votes: what differs is "
            "how judges err together. The error of independent judges is exact, from the "
            "distribution of the number of right votes. The jury bound is half of exp(-sum C_k), "
            "C_k = -log(1 - (2p - 1)²)/2; Hoeffding's is exp(-E). 'Worth' is how many independent "
            "judges of the mean accuracy a majority would need to err as often."
        ),
    ]


_LOOKS = (
    (style.INCLUDE, "circle", "solid"),
    (style.NEUTRAL, "square", "dot"),
    (style.CURATE_LINE, "diamond", "dash"),
)


@dataclass(frozen=True, slots=True)
class NarrowBandView:
    """Positions of the panel size and of the kept share to draw."""

    size: int = -1
    share: int = 0


def band_sentence(result: NarrowBand) -> str:
    """Say how many simulated cells each side wins."""
    won = result.winners()
    cells = sum(won.values())
    near = result.winner[0, 0, -1, 0]
    words = {
        "all": "keeping all wins",
        "pruned": "pruning wins",
        "undecided": "neither is shown to win",
    }
    narrow = f"{result.widths[0]:g} wide"
    latent = "independent" if result.rhos[0] == 0 else f"correlated ({result.rhos[0]:g})"
    return (
        f"Simulated, not measured: keeping all has the lower NLL in {won['all']} of {cells} cells, "
        f"pruning in {won['pruned']}, and {won['undecided']} are undecided. Where "
        f"{int(result.sizes[-1]):,} {latent} judges lie in a band {narrow}, {words[near]}."
    )


def placed_sentence(result: NarrowBand) -> str:
    """Locate the given panel among the simulated ones."""
    parts = [f"mean accuracy {txt.percent(result.mean_accuracy, 3)}"]
    if math.isfinite(result.own_width):
        parts.append(f"accuracies as spread as in a band {txt.sig(result.own_width, 2)} wide")
    if math.isfinite(result.own_rho):
        parts.append(f"errors correlated {txt.sig(result.own_rho, 2)} on average")
    simulated = txt.listed([txt.fixed(float(part), 2) for part in result.error_rho.mean(axis=0)])
    return (
        f"This panel: {', '.join(parts)}. The simulated errors are correlated {simulated} on "
        "average. Real judges also differ in which items they find hard; no simulation of this "
        "kind knows that."
    )


def band_figure(result: NarrowBand, size: int, share: int) -> go.Figure:
    """Draw the cost (above 0) or saving of pruning in simulated panels, for one size and share.

    The intervals hold for all cells together.
    """
    figure = go.Figure()
    figure.add_hline(y=0.0, line=style.DOTTED)
    n = len(result.rhos)
    for i, rho in enumerate(result.rhos):
        colour, symbol, dash = _LOOKS[i % len(_LOOKS)]
        name = f"latent correlation {rho:g}"
        delta = result.band[:, i, size, share]
        look = style.Look(colour, colour, symbol, dash, 2.5)
        x = result.widths + 0.004 * (i - (n - 1) / 2)
        style.add_series(figure, x, delta, look, name, f"{name}: %{{y:+.3f}}")
    if math.isfinite(result.own_width):
        line = {"color": style.NEUTRAL, "width": 1, "dash": "dash"}
        figure.add_vline(x=result.own_width, line=line)
    return style.laid_out(
        figure, x="width of the band of accuracies", y="NLL pruned - NLL all (simulated)"
    )


def present_band(
    result: NarrowBand, spec: NarrowBandSpec, view: NarrowBandView = NarrowBandView()
) -> list[Block]:
    """Present the cost of pruning in simulated panels, and the position of the given panel."""
    last = len(result.sizes) - 1
    size = last if view.size < 0 else min(view.size, last)
    shows = "what pruning costs in simulated panels, against the width of the band"
    return [
        Answer(band_sentence(result)),
        drawing(shows, band_figure, result, size, view.share),
        note(f"{placed_sentence(result)} The dashed line is this panel's spread."),
        Table(result_table(result), height=320),
        Method(
            f"{result.n_replicates} panels per cell are simulated (seed {result.seed}) with this "
            f"panel's mean accuracy ({txt.percent(result.mean_accuracy, 3)}), its share of votes "
            f"that are there ({txt.percent(result.coverage, 3)}) and {result.n_calibration:,} "
            f"labels; {result.n_evaluation:,} new items evaluate. Accuracies are uniform in the "
            "band, votes share one Gaussian factor, items are equally hard. A cell has a winner "
            "where the interval that holds for all cells together leaves 0 out. Only the figures "
            "of this panel are measured on your votes."
        ),
    ]


_POPULATION_ROW = "ability : difficulty"
_LOGIT_ROW = "fitted logits"
_WHISKERS = 30


def variance_sentence(result: VarianceDecomposition) -> str:
    """Say which varies more, with the judges' share and its interval."""
    judges, lo, hi = map(_whole, result.judge_share)
    share = (
        f"{judges} of the variance is between judges [{lo}, {hi}], "
        f"{_whole(result.item_share)} between items"
    )
    start = {
        "judges": "Judges vary more than items",
        "items": "Items vary more than judges",
        "undecided": "Whether judges or items vary more is undecided",
    }[result.verdict]
    if result.disagree:
        start = "Whether judges or items vary more depends on how it is counted"
        larger = "judges" if result.logit_judges > result.logit_items else "items"
        share += f", but in the fitted logits the {larger} vary more"
    return f"{start}: {share}."


def variance_words(result: VarianceDecomposition) -> str:
    """Return the components of the fitted logits, and whether they agree."""
    text = (
        "Of the variance of the fitted logits of these very judges and items, "
        f"{_whole(result.logit_judges)} is due to judges, {_whole(result.logit_items)} to items "
        f"and {_whole(result.logit_interaction)} to their interaction: for some judges difficulty "
        "matters much, for others little."
    )
    if result.disagree:
        text += " The two measures disagree; the shares above do not hold the interaction."
    return text


def ability_table(result: VarianceDecomposition) -> dict[str, Column]:
    """Return every judge, highest ability first."""
    order = np.argsort(-result.ability.value, kind="stable")
    names = text([txt.one_line(result.judges[j], 40) for j in order])
    return result_table(result, order) | {"judge": names}


def ability_figure(result: VarianceDecomposition) -> go.Figure:
    """Draw ability and discrimination of every judge with their intervals."""
    figure = go.Figure()
    # The error bars of many judges overlap each other and the points.
    opacity = min(1.0, max(0.2, _WHISKERS / max(len(result.judges), 1)))
    reach = style.with_opacity(style.INCLUDE, opacity)
    thin = {"thickness": 1, "width": 0}
    figure.add_scatter(
        x=result.ability.value,
        y=result.discrimination.value,
        mode="markers",
        name="judge",
        marker={"color": style.INCLUDE, "size": 8},
        error_x=style.error_bars(result.ability, reach) | thin,
        error_y=style.error_bars(result.discrimination, reach) | thin,
        text=[style.escaped(name) for name in result.judges],
        customdata=result.accuracy,
        hovertemplate="%{text}<br>ability %{x:.2f}, discrimination %{y:.2f}<br>"
        "accuracy %{customdata:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.add_vline(x=0.0, line=style.DOTTED)
    style.laid_out(
        figure, x="ability (0 = the mean item's difficulty)", y="discrimination, log scale"
    )
    ticks = _log_ticks(result.discrimination.value)
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    return figure


def _log_ticks(values: Floats) -> list[float]:
    """Return ticks at 1, 2 and 5 times powers of ten; only powers over many decades."""
    low, high = (int(np.floor(np.log10(end))) for end in (values.min(), values.max()))
    steps = (1, 2, 5) if high - low < 3 else (1,)
    return [step * 10.0**e for e in range(low - 1, high + 2) for step in steps]


def share_figure(result: VarianceDecomposition) -> go.Figure:
    """Draw Var(ability) : Var(difficulty) with its interval, and the fitted logits' components."""
    figure = go.Figure()
    share, lo, hi = map(float, result.judge_share)
    rows = [_LOGIT_ROW, _POPULATION_ROW]
    for name, colour, pattern, values in (
        ("judges", style.INCLUDE, "", (result.logit_judges, share)),
        ("items", style.CURATE_FILL, "/", (result.logit_items, result.item_share)),
        ("interaction", style.NEUTRAL, "x", (result.logit_interaction, 0.0)),
    ):
        figure.add_bar(
            x=values,
            y=rows,
            orientation="h",
            name=name,
            marker=style.hatched(colour, pattern, fillmode="overlay"),
            hovertemplate="%{y}<br>" + name + ": %{x:.1%}<extra></extra>",
        )
    figure.add_scatter(
        x=[share],
        y=[_POPULATION_ROW],
        mode="markers",
        name="95 % interval",
        marker={"color": style.NEUTRAL, "symbol": "line-ns-open", "size": 12},
        error_x=style.error_bars(result.judge_share[None], "black") | {"thickness": 2, "width": 6},
        hovertemplate=f"judges {share:.1%} [{lo:.1%}, {hi:.1%}]<extra></extra>",
    )
    figure.update_layout(barmode="stack", bargap=0.35)
    style.laid_out(figure, x="share of variance", y="", height=260)
    figure.update_layout(legend_traceorder="normal", margin_r=28)  # Space for the last label.
    figure.update_xaxes(tickformat=".0%", range=[0, 1.002], dtick=0.25)
    return figure


def _whole(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{txt.fixed(100.0 * share, 0)} %"


def present_variance(result: VarianceDecomposition, spec: VarianceDecompositionSpec) -> list[Block]:
    """Present the shares of variance, and every judge's ability and discrimination."""
    return [
        Answer(variance_sentence(result)),
        drawing("shares of variance of judges and items", share_figure, result),
        Paragraph(variance_words(result)),
        drawing("every judge with its intervals", ability_figure, result),
        Table(ability_table(result), "Every judge, most able first.", most=200, height=320),
        Method(
            "A two-parameter logistic model: a judge is right on an item with probability "
            "σ(α (θ - β)), where θ is the ability and α the discrimination of the judge, and β "
            "the difficulty of the item. Missing votes are left out. Abilities are in standard "
            "deviations of difficulty; means and spreads of ability and log discrimination are "
            "estimated from the votes. The upper bar is Var(θ) : Var(β) for judges and items like "
            "these; the lower bar divides the variance of the fitted logits, interaction included."
        ),
    ]


ALPHA = 0.05
_BINS = 60
_LEAST = 1e-3
_PALE = 0.5


def permutation_sentence(result: Permutation) -> str:
    """Say whether permuted labels fall back to their base rate, and real ones do not."""
    if result.identical:
        return (
            "Every label is the same and taken as given, so permuting labels changes nothing: this "
            f"check is empty here. {CODING}"
        )
    if not math.isfinite(result.p) or not math.isfinite(result.excess.lo):
        return "Not enough permutations yet to say."
    permuted, null = f"NLL {txt.level(*result.spread)}", txt.fixed(result.mean_null, 3)
    if result.leaks:
        text = (
            f"Permuted labels are predicted better than their base rate: {permuted} against "
            f"{null}. Labels leak into the fit."
        )
    elif result.excess.above(MARGIN * result.mean_null):
        text = (
            "Nothing leaks: permuted labels are predicted worse than their base rate. "
            f"{permuted} against {null}: the probabilities are too sure, for lack of a calibrator. "
        )
        text += _real(result)
    else:
        text = "With permuted labels the pipeline falls back to the base rate: "
        text += f"{permuted}, base rate {null}. {_real(result)}"
    return with_coding(text, result.measures_coding)


def _real(result: Permutation) -> str:
    real = f"NLL {txt.level(*result.nll)}, {txt.p_value(result.p)}"
    if result.p < ALPHA:
        return f"With the real labels it does better: {real}."
    return f"The real labels are not told apart from permuted ones: {real}."


def permutation_figure(result: Permutation) -> go.Figure:
    """Draw permuted NLLs in bins, their base rate, and the real NLL with its interval if known."""
    figure = go.Figure()
    ends = np.array([*result.nll, *result.permuted_nll])
    ends = ends[np.isfinite(ends)]
    # A sixtieth of the drawn range, so that a narrow peak is visible.
    width = max(float(ends.max() - ends.min()) / _BINS, _LEAST) if len(ends) else _LEAST
    place, count = np.unique(np.floor(result.permuted_nll / width), return_counts=True)
    figure.add_bar(
        x=(place + 0.5) * width,
        y=count,
        width=width,
        marker={"color": style.with_opacity(style.NEUTRAL, _PALE)},
        name="permuted labels",
        hovertemplate="%{y} permutations near NLL %{x:.3f}<extra></extra>",
    )
    nll, lo, hi = result.nll
    if math.isfinite(lo):
        fill = style.with_opacity(style.INCLUDE, style.BAND_OPACITY)
        figure.add_vrect(x0=lo, x1=hi, fillcolor=fill, line_width=0)
    top = int(count.max(initial=1))
    for x, colour, dash, name in (
        (result.mean_null, style.NEUTRAL, "dot", "base rate of permuted labels"),
        (nll, style.INCLUDE, "solid", "real labels, 95 %"),
    ):
        if math.isfinite(x):
            look = style.stroke(colour, dash)
            style.add_series(figure, [x, x], [0, top], look, name, f"{name}: {x:.3f}")
    return style.laid_out(figure, x="NLL (nats per item)", y="permutations", height=300)


def present_permutation(result: Permutation, spec: PermutationSpec) -> list[Block]:
    """Present the NLLs of permuted labels, their base rate and the real labels."""
    shows = "NLLs of permuted labels, their base rate and the NLL of the real labels"
    return [
        Answer(permutation_sentence(result)),
        drawing(shows, permutation_figure, result),
        note(
            f"All of it on the same {result.n_splits} splits, since every permutation is refitted; "
            f"other studies use more, and their NLL differs a little."
        ),
        Method(
            f"{len(result.permuted_nll)} of {result.planned} permutations (seed {result.seed}): "
            f"{result.action}. Each permutation moves the labels of all items; then everything is "
            f"fitted and scored on the same {result.n_splits} splits. The p-value is the share of "
            "permutations, the real labels among them, whose NLL is at or below the real one. It "
            "needs no assumption about the judges."
        ),
    ]


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> Specs:
    """Return the default pipeline, or the paper's if thousands of fits would take too long."""
    chosen = Pipeline() if cross_fits(pipeline.aggregator) else pipeline
    return (spec_under(PermutationSpec, settings, chosen, average=False),)


_PERMUTED = "every permutation would need recommendations of its own"
PRESENTATIONS = (
    Presentation(JURY, present_jury),
    Presentation(NARROW_BAND, present_band, single="its judges are simulated"),
    Presentation(VARIANCE_DECOMPOSITION, present_variance),
    Presentation(PERMUTATION, present_permutation, default_specs, single=_PERMUTED),
)
