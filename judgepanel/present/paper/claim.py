"""Presentation of the claim: the paper's protocol and the honest one, step by step.

The claim in sentences for a sceptical reader.

Figures printed in arXiv 2605.09702 ('calibrate, don't curate'), with their location.

Only printed figures are included. The RewardBench 2 column of the calibrator design table is not,
because its raw NLL (.560) belongs to a different panel from that of the other tables (1.454). NLL
is in nats per item, over 100 random half-and-half splits; 'beta' is the paper's beta calibrator
with lambda = .01.

The two protocols side by side, and what the paper's map does to one-class labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    Look,
    add_band,
    add_base_rate,
    add_series,
    laid_out,
    stroke,
)
from judgepanel.present import blocks, study
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper import claim
from judgepanel.votes import VoteMatrix
from judgepanel.votes.errors import documentation
from judgepanel.words.tables import Column, numbers, text
from judgepanel.words.text import capital, counted, fixed, interval, percent, sig, with_interval

LINES = {
    "one_class": (("raw_one_class", "raw"), ("paper_monotone", "monotone"), ("paper", "paper")),
    "honest": (("raw_honest", "raw"), ("honest_clipped", "paper"), ("honest", "honest")),
    "together": (("raw_honest", "raw"), ("honest", "honest"), ("joint", "joint")),
}
"""Steps of each figure, and the look of each."""

_LOOKS = {
    "raw": ("raw", Look(NEUTRAL, NEUTRAL, "circle-open", "dash", 1.5, 8)),
    "monotone": ("map kept monotone", Look(INCLUDE, INCLUDE, "square-open", "dash", 1.5, 8)),
    "paper": ("paper's recipe", Look(CURATE_FILL, CURATE_LINE, "diamond", size=8)),
    "honest": ("one-coin + beta", Look(INCLUDE, INCLUDE, "circle", size=8)),
    "joint": ("joint + beta", Look(CURATE_FILL, CURATE_LINE, "diamond", "", size=8)),
}
_BANDED = ("paper", "honest")
_APART = ("joint",)
"""Tried at few sizes only, so a line between the points would show what nobody has measured."""
_NLL_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 7.0)
_CLOSE_TICKS = (0.2, 0.5)
_P_TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
_LOW, _HIGH = 0.0008, 1.2


def protocol(result: claim.Claim, coding: str) -> go.Figure:
    """NLL against the number of judges kept, on logarithmic axes.

    ``coding`` is ``one_class`` or ``honest``, which share the range of the NLL axis, or
    ``together`` for one-coin and joint.
    """
    lines = [(look, *_line(result, name)) for name, look in LINES[coding] if result.has(name)]
    yardstick = result.row("paper" if coding == "one_class" else "honest_clipped")
    n = int(result.n_judges[yardstick])
    sizes = list(dict.fromkeys(int(k) for k in (1, *result.panels, n) if k <= n))
    low, high = _LOW, max(_HIGH, 1.1 * float(np.nanmax(result.nll.value)))
    if coding == "together":
        low = max(_LOW, 0.9 * min(_lowest(look, nll) for look, _, nll in lines))
    figure = go.Figure()
    ends = np.array([sizes[0], sizes[-1]], dtype=np.float64)
    constant, null = float(result.constant_nll[yardstick]), float(result.null_nll[yardstick])
    dashed, hover = stroke(NEUTRAL, "dashdot", 1.5), "constant score: %{y:.4f}"
    add_series(figure, ends, [constant, constant], dashed, "constant score", hover)
    add_base_rate(figure, ends, [null, null], "base rate: %{y:.4f}")
    for look, k, nll in lines:
        name, drawn = _LOOKS[look]
        bounded = replace(nll, lo=np.maximum(nll.lo, _LOW))
        if look in _BANDED:
            add_band(figure, k, bounded, drawn.fill, showlegend=False)
        known = look in _APART and np.isfinite(nll.lo).all()
        hover = f"{name}, %{{x:.0f}} judges: %{{y:.4f}}"
        add_series(figure, k, bounded if known else nll.value, drawn, name, hover)
    laid_out(figure, x="judges kept, most accurate first", y="NLL (nats per item)", height=430)
    figure.update_xaxes(
        type="log", tickvals=sizes, ticktext=[f"all {n:,}" if k == n else f"{k:,}" for k in sizes]
    )
    ticks = [v for v in _NLL_TICKS if low <= v <= high and (low > _LOW or v not in _CLOSE_TICKS)]
    span = [float(np.log10(low)), float(np.log10(high))]
    texts = [f"{value:g}" for value in ticks]
    figure.update_yaxes(type="log", range=span, tickvals=ticks, ticktext=texts, showgrid=True)
    return figure


def _line(result: claim.Claim, name: str) -> tuple[Floats, Interval]:
    """Panel sizes at which a step was tried, and its NLL there."""
    row = result.row(name)
    k = np.append(result.sizes, result.n_judges[row]).astype(np.float64)
    tried = np.isfinite(result.nll.value[row])
    return k[tried], result.nll[row, tried]


def _lowest(look: str, nll: Interval) -> float:
    """The lowest value drawn for a line, with its band if it has one."""
    ends = nll.lo if look in (*_BANDED, *_APART) else nll.value
    return float(np.nanmin(np.append(nll.value, ends)))


_MAPS = (
    ("paper", "one class: the paper's map", CURATE_LINE, 3.0, "solid"),
    ("paper_monotone", "one class: kept monotone", INCLUDE, 1.5, "dash"),
    ("honest_clipped", "honest labels: the paper's map", INCLUDE, 3.0, "solid"),
)


def fitted_maps(result: claim.Claim) -> go.Figure:
    """What each map makes of raw probabilities from 0.001 to 0.999; a diamond is the constant."""
    odds = np.linspace(-np.log(999.0), np.log(999.0), 121)
    p = 1.0 / (1.0 + np.exp(-odds))
    mapped = {
        name: claim.apply(params, p)
        for name, params in zip(claim.MAP_NAMES, result.maps, strict=True)
    }
    figure = go.Figure()
    figure.add_scatter(
        x=_odds(p), y=p, mode="lines", line=DOTTED, name="as it is", hoverinfo="skip"
    )
    for name, label, colour, width, dash in _MAPS:
        look, hover = stroke(colour, dash, width), "%{customdata:.3f} becomes %{y:.3f}"
        add_series(figure, _odds(p), mapped[name], look, label, f"{label}: {hover}", customdata=p)
    symbols, line = ["circle-open", "diamond"], {"color": CURATE_LINE, "width": 1.5}
    figure.add_scatter(
        x=[0.0, 0.0],
        y=[0.5, mapped["constant"][len(p) // 2]],
        mode="lines+markers",
        line=DOTTED,
        marker={"color": CURATE_FILL, "symbol": symbols, "size": 11, "line": line},
        name="one class: a constant score",
        hovertemplate="a constant one half becomes %{y:.3f}<extra></extra>",
    )
    laid_out(figure, x="raw probability of label 1", y="after the map")
    ticks = _odds(np.array(_P_TICKS)).tolist()
    figure.update_xaxes(tickvals=ticks, ticktext=[f"{p:g}" for p in _P_TICKS])
    figure.update_yaxes(range=[-0.03, 1.03])
    return figure


def _odds(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1.0 - p)))


PAPER = "arXiv 2605.09702"
UNCALIBRATED = "Table 1, uncalibrated results"
CROSS = "aggregator x calibrator table, section 4.4"
MAIN = "section 4.2, main result"
DESIGN = "calibrator design table, appendix"
AGGREGATORS = "aggregator comparison, appendix"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark of the paper: its items, and the judges of the paper's main panel."""

    name: str
    n_items: int
    n_judges: int


@dataclass(frozen=True, slots=True)
class Published:
    """One figure: ``step`` is the claim's step of that recipe, ``panel`` ``top-3`` or ``all``."""

    data: str
    step: str
    panel: str
    nll: float
    source: str


DATA_SETS: tuple[DataSet, ...] = (
    DataSet("JudgeBench", 350, 38),
    DataSet("RewardBench", 2985, 104),
    DataSet("RewardBench 2", 1865, 174),
    DataSet("LLMBar", 419, 53),
)

PUBLISHED: tuple[Published, ...] = (
    Published("JudgeBench", "raw_one_class", "top-3", 0.501, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "top-5", 0.589, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "top-10", 0.801, UNCALIBRATED),
    Published("JudgeBench", "raw_one_class", "all", 1.224, UNCALIBRATED),
    Published("JudgeBench", "paper", "top-3", 0.019, CROSS),
    Published("JudgeBench", "paper", "top-5", 0.019, MAIN),
    Published("JudgeBench", "paper", "top-10", 0.017, CROSS),
    Published("JudgeBench", "paper", "all", 0.016, MAIN),
    Published("JudgeBench", "paper_temperature", "all", 0.545, DESIGN),
    Published("RewardBench", "raw_one_class", "top-3", 0.200, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "top-5", 0.214, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "top-10", 0.257, UNCALIBRATED),
    Published("RewardBench", "raw_one_class", "all", 0.411, UNCALIBRATED),
    Published("RewardBench", "paper", "top-3", 0.008, CROSS),
    Published("RewardBench", "paper", "top-5", 0.007, MAIN),
    Published("RewardBench", "paper", "top-10", 0.007, CROSS),
    Published("RewardBench", "paper", "all", 0.006, MAIN),
    Published("RewardBench", "paper_temperature", "all", 0.229, DESIGN),
    Published("RewardBench 2", "raw_one_class", "top-3", 0.520, CROSS),
    Published("RewardBench 2", "raw_one_class", "top-5", 0.679, CROSS),
    Published("RewardBench 2", "raw_one_class", "top-10", 0.861, CROSS),
    Published("RewardBench 2", "raw_one_class", "all", 1.454, CROSS),
    Published("RewardBench 2", "paper", "top-3", 0.014, CROSS),
    Published("RewardBench 2", "paper", "top-5", 0.013, MAIN),
    Published("RewardBench 2", "paper", "top-10", 0.011, CROSS),
    Published("RewardBench 2", "paper", "all", 0.006, MAIN),
    Published("LLMBar", "raw_one_class", "all", 0.777, DESIGN),
    Published("LLMBar", "paper", "top-5", 0.014, MAIN),
    Published("LLMBar", "paper", "all", 0.012, MAIN),
    Published("LLMBar", "paper_temperature", "all", 0.378, DESIGN),
)

VOTE_FRACTION = MappingProxyType(
    {"JudgeBench": 0.022, "RewardBench": 0.020, "RewardBench 2": 0.021, "LLMBar": 0.023}
)
"""NLL of the plain vote fraction of all judges under beta, from the paper's aggregator comparison:
the figures of four data sets differ by .003."""


def published_of(data: str) -> Iterator[Published]:
    """Yield the figures of one data set, in the order of the claim's steps."""
    return (figure for figure in PUBLISHED if figure.data == data)


def looks_like(n_items: int) -> DataSet | None:
    """Return the benchmark with this number of items, if any; panels of judges vary."""
    return next((data for data in DATA_SETS if data.n_items == n_items), None)


MEASURES_CODING = "measures the coding, not the judges"
HEADLINE = 5
NOT_YET = "Not enough splits yet to say."
_HARDLY = 0.0005

STEP_NAMES = {
    "raw_one_class": "one-class coding, raw",
    "paper": "the paper's recipe: beta (clipped), signs free",
    "paper_monotone": "the map kept monotone: a ≥ 0, b ≤ 0",
    "paper_unclipped": "the logit not clipped",
    "paper_temperature": "temperature: no intercept",
    "raw_honest": "honest labels, raw",
    "honest_clipped": "honest labels, the paper's recipe",
    "honest_random": "the order of each pair by a coin",
    "honest_monotone": "the map kept monotone: a ≥ 0, b ≤ 0",
    "honest_beta": "the logit not clipped",
    "honest_temperature": "temperature in place of beta",
    "honest": "beta on scores that do not know their own label",
    "joint": "joint in place of one-coin",
}
"""Each step in a few words."""

_OUTCOMES: dict[claim.Outcome, str] = {
    "appears": "shown",
    "points that way": "not shown",
    "does not appear": "absent",
    "undecided": "undecided",
}


def headline_size(result: claim.Claim) -> int | None:
    """Return the panel of the answer: top-5 as in the paper's abstract, or the largest compared."""
    if not len(result.panels):
        return None
    return HEADLINE if HEADLINE in result.panels else int(result.panels[-1])


def claim_sentence(result: claim.Claim) -> str:
    """Compare one-class coding with honest labels, and locate the reversal."""
    coded, *_ = result.nll[result.row("paper"), -1]
    text = (
        f"With one-class coding NLL {sig(coded)}, which {MEASURES_CODING}; "
        f"with honest labels {_level(result, 'honest')}."
    )
    k = headline_size(result)
    if k is None:
        return f"{text} There is only one judge, so there is nothing to reverse."
    if not math.isfinite(result.nll[result.row("honest"), -1].lo):
        return f"{text} {NOT_YET}"
    there, here = _outcome(result, "paper", k), _outcome(result, "honest", k)
    where = f"{_OUTCOMES[there]} with one-class coding, {_OUTCOMES[here]} with honest labels"
    if there == here:
        where = f"{_OUTCOMES[there]} with either"
    return f"{text} The paper's reversal (top-{k} against all) is {where}."


def tone(result: claim.Claim) -> str:
    """Whether honest labels show the reversal (keep), the opposite (curate), or neither."""
    k = headline_size(result)
    outcome = None if k is None else _outcome(result, "honest", k)
    return {"appears": "keep", "does not appear": "curate"}.get(outcome or "", "open")


def _outcome(result: claim.Claim, calibrated: str, k: int) -> claim.Outcome:
    reversal = result.reversal(calibrated, k)
    if reversal is None:
        raise ValueError(f"{calibrated} was not compared at {k}")
    return reversal.outcome


def reversal_sentences(result: claim.Claim, coding: str) -> tuple[str, ...]:
    """Return the panels before and after calibration by one-class coding, or by honest recipe."""
    k = headline_size(result)
    names = {step.name for step in result.steps_for(coding)}
    if k is None:
        return ()
    tried = [result.reversal(after, k) for _, after in claim.PAIRS if after in names]
    return tuple(_reversal(reversal) for reversal in tried if reversal is not None)


def _reversal(reversal: claim.Reversal) -> str:
    if not math.isfinite(reversal.delta.lo):
        return NOT_YET
    recipe = {
        "paper": "after the paper's recipe",
        "honest_clipped": "after the paper's recipe",
        "honest": "after beta on scores that do not know their own label",
        "joint": "with votes seen jointly",
    }[reversal.calibrated]
    before = with_interval(*reversal.raw_delta, sign=True)
    after = with_interval(*reversal.delta, sign=True)
    return (
        f"Top-{reversal.k} changes NLL against all judges by {before} before calibration and "
        f"by {after} {recipe}: the reversal is {_OUTCOMES[reversal.outcome]}."
    )


def constant_sentence(result: claim.Claim) -> str:
    """Return the NLL without any judge under one-class coding."""
    paper = result.row("paper")
    null, constant = float(result.null_nll[paper]), float(result.constant_nll[paper])
    lowest = float(np.nanmin(result.nll.value[paper]))
    return (
        f"No judge is needed: a score that says one half for every item gets NLL {sig(constant)} "
        f"through the paper's calibrator, and the base rate alone gets {sig(null)}. The best panel "
        f"gets {sig(lowest)}: it is {'worse' if lowest > null else 'no worse'} than saying 'label "
        f"1' every time. This {MEASURES_CODING}."
    )


def honest_constant_sentence(result: claim.Claim) -> str:
    """Return the same two null NLLs under honest labels."""
    row = result.row("honest_clipped")
    null, constant = float(result.null_nll[row]), float(result.constant_nll[row])
    return (
        f"With honest labels the same constant score gets NLL {fixed(constant, 3)} and the base "
        f"rate {fixed(null, 3)}: what a panel gains on them comes from its judges."
    )


def map_sentence(result: claim.Claim) -> str:
    """Return the effect of free signs on the map fitted to one-class labels."""
    paper = result.maps[claim.MAP_NAMES.index("paper")]
    a, b = float(paper[0]), float(paper[1])
    share = percent(float(result.falling[result.row("paper"), -1]), 3)
    ends = claim.apply(paper, np.array([0.001, 0.5]))
    seen = (
        "where all judges together give label 1 a chance of 0.1 % the map says "
        f"{percent(float(ends[0]), 3)}, and where they give one half it says "
        f"{percent(float(ends[1]), 3)}"
    )
    if a >= 0.0:
        return (
            f"Fitted to all labels, the map has a = {sig(a)} and b = {sig(b)} and rises "
            f"throughout: {seen}."
        )
    return (
        f"Fitted to all labels, the map has a = {sig(a)} and b = {sig(b)}, so it falls before it "
        f"rises: {seen}. A panel that is sure of the contrary is turned around, because the label "
        f"is always 1. Over the splits, {share} of the fitted maps fall."
    )


def step_sentences(result: claim.Claim, coding: str) -> tuple[tuple[str, str], ...]:
    """Return name and sentence of every step under one-class coding, or of all others."""
    return tuple(
        (capital(STEP_NAMES[step.name]), _step_sentence(result, step.name))
        for step in result.steps_for(coding)
    )


def _step_sentence(result: claim.Claim, name: str) -> str:
    row, step = result.row(name), claim.STEPS[name]
    text = f"{capital(result.arm(name, len(result.sizes)))}: NLL {_level(result, name)}"
    change = result.change[row, -1]
    if step.before is not None and math.isfinite(change.lo):
        same_judges = result.n_judges[row] == result.n_judges[result.row(step.before)]
        if same_judges and abs(change.value) < _HARDLY:
            text += f", nearly the same as '{STEP_NAMES[step.before]}'"
        else:
            moved = with_interval(*change, sign=True)
            text += f", {moved} against '{STEP_NAMES[step.before]}'"
    return f"{text}. {_why(result, name)}"


def _why(result: claim.Claim, name: str) -> str:
    """Return what a step shows."""
    aside = int(result.n_judges[result.row("paper")] - result.n_judges[result.row("honest")])
    dropped, by_coin = (
        f" {counted(n, 'judge')} {'is' if n == 1 else 'are'} set aside here." if n else ""
        for n in (aside, int(result.n_judges.max() - result.n_judges[result.row(name)]))
    )
    leak = (
        f" But {counted(aside, 'judge')} that honest labels set aside "
        f"{'votes' if aside == 1 else 'vote'} here, and a verdict that never changes gives the "
        "label away."
        if aside
        else ""
    )
    return {
        "raw_one_class": "The sum of the votes is used directly as a probability." + leak,
        "paper": "The map may learn an intercept, and 'label 1' is all there is to learn.",
        "paper_monotone": "A map that may not fall cannot turn confident zeros into ones; the "
        "result is near a constant score's.",
        "paper_unclipped": "Clipping hides how sure the sum was; for labels of one class that "
        "matters little.",
        "paper_temperature": "One slope and no intercept: nothing about the coding can be learned"
        + (f".{leak}" if aside else ", and the figures are those of honest labels."),
        "raw_honest": "Raw scores are the same under either coding." + dropped,
        "honest_clipped": "The same recipe on the same votes: only the labels have changed."
        + dropped,
        "honest_random": "Each pair is swapped by a coin instead of being used in both orders."
        + by_coin,
        "honest_monotone": "With honest labels the map rises by itself."
        if not result.falling[result.row("honest_clipped"), -1]
        else "In some splits the free map falls even here.",
        "honest_beta": "Clipping hides how far beyond 99.9 % the sum is.",
        "honest_temperature": "One parameter in place of three.",
        "honest": "Weights that know an item's label make its score look surer than it is; this is "
        "the recipe of the other pages.",
        "joint": "Judges that err together are no longer counted as if they were independent.",
    }[name]


def joint_sentence(result: claim.Claim) -> str:
    """Compare keeping all judges under one-coin and under joint; empty without joint."""
    k = headline_size(result)
    if not result.has("joint") or k is None:
        return ""
    joint, honest = result.reversal("joint", k), result.reversal("honest", k)
    if joint is None or honest is None or not math.isfinite(joint.delta.lo):
        return NOT_YET
    text = (
        f"{_keeping(honest, 'one-coin, which sees the sum of the votes')}; "
        f"{_keeping(joint, 'joint, which sees them together')}. All judges get NLL "
        f"{_level(result, 'honest')} and {_level(result, 'joint')}."
    )
    return capital(text)


def _keeping(reversal: claim.Reversal, under: str) -> str:
    against = f"NLL against top-{reversal.k} under {under}"
    if reversal.delta.above():
        return f"keeping all saves {with_interval(*reversal.delta)} {against}"
    if reversal.delta.below():
        return f"keeping all costs {with_interval(*-reversal.delta)} {against}"
    moved = with_interval(*-reversal.delta, sign=True)
    return f"keeping all changes NLL by {moved} against top-{reversal.k} under {under}"


def published_sentence(result: claim.Claim) -> str:
    """Return the paper's plain vote fraction, nearly equal for four data sets."""
    values = list(VOTE_FRACTION.values())
    constant = float(result.constant_nll[result.row("paper")])
    return (
        f"The paper's plain vote fraction under beta gets {fixed(min(values), 3)} to "
        f"{fixed(max(values), 3)} on four benchmarks of very different difficulty; a constant "
        f"score gets {fixed(constant, 3)} here. Its temperature row, which has no intercept, is "
        "at least thirty times its beta row. Both are what one-class coding gives. This "
        f"{MEASURES_CODING}."
    )


def _level(result: claim.Claim, name: str) -> str:
    value, lo, hi = result.nll[result.row(name), -1]
    return f"{sig(value)} {interval(lo, hi)}" if math.isfinite(lo) else sig(value)


JOINT_TITLE = "Votes seen jointly"
_CLAIM = (
    f"The paper ({PAPER}) says that calibration reverses the usual advice: before it, a few "
    "accurate judges beat all judges; after it, all judges beat the few. Its NLLs of 0.006 to 0.02 "
    "are what comes out when every item is written as 'label 1, vote = the judge was right', which "
    "can be done to any labelled votes. Here are the same votes, judges and splits under that "
    f"coding, which {MEASURES_CODING}, and under honest labels; each step changes one thing."
)
_SOURCES = (
    f"The paper: 'Calibrate, don't curate', {PAPER}. Its protocol: sections 2 and 4.1; the claim: "
    "section 4.2.",
    "Its benchmarks: JudgeBench, arXiv 2410.12784; RewardBench, arXiv 2403.13787; RewardBench 2, "
    "arXiv 2506.01937; LLMBar, arXiv 2310.07641.",
    "Beta calibration: Kull, Silva Filho and Flach 2017, doi:10.1214/17-EJS1338SI, who keep the "
    "map monotone (a ≥ 0, b ≤ 0 in the paper's signs).",
    f"Codings, steps, intervals and what was measured on public votes: {documentation('claim')}.",
)
_HONEST = {
    "raw_one_class": "raw_honest",
    "paper": "honest_clipped",
    "paper_temperature": "honest_temperature",
}
_RECIPES = {"raw_one_class": "raw", "paper": "beta (clipped)", "paper_temperature": "temperature"}


@dataclass(frozen=True, slots=True)
class ClaimView:
    """The part to show, and the benchmark whose published figures are compared with ours.

    ``joint`` is the part that compares one-coin with joint, ``steps`` everything before it. Without
    ``data`` it is the benchmark with the same number of items, if any.
    """

    part: Literal["whole", "steps", "joint"] = "whole"
    data: DataSet | None = None


def step_table(result: claim.Claim, steps: tuple[claim.Step, ...]) -> dict[str, Column]:
    """Return panels under these steps, their null NLLs, and the change with each step."""
    rows = np.array([result.row(step.name) for step in steps])
    nll, null = result.nll[rows], result.null_nll[rows]
    columns = {"step": text([STEP_NAMES[step.name] for step in steps])}
    for column in result.columns():
        panel = arm_name(int(result.sizes[column])) if column < len(result.sizes) else "all"
        columns[f"NLL, {panel}"] = numbers(nll.value[:, column], "significant", of="nll")
    _, lo, hi = nll[:, -1]
    columns |= {
        "all, 95 %": text([interval(*ends) for ends in zip(lo, hi, strict=True)]),
        "base rate": numbers(null, "significant", of="null_nll"),
        "skill, all": text([_skill(skill) for skill in 1.0 - nll.value[:, -1] / null], of="skill"),
        "constant score": numbers(result.constant_nll[rows], "significant", of="constant_nll"),
    }
    k = headline_size(result)
    if k is not None:
        at = result.columns()[result.panels.tolist().index(k)]
        columns |= {
            f"top-{k} less all": Column(result.against_all[rows, at], "compared", of="against_all"),
            "verdict": text([result.verdict(step.name, at) for step in steps]),
        }
    return columns | {
        "all, less the step before": Column(result.change[rows, -1], "compared", of="change"),
        "measures": text(["measures " + step.measures for step in steps]),
    }


def _skill(value: float) -> str:
    return percent(value) if value > -1.0 else "far below 0"


def published_table(result: claim.Claim, data: DataSet) -> dict[str, Column]:
    """Return the paper's figures of a benchmark, and ours under one-class and honest labels."""
    figures = tuple(published_of(data.name))
    coded = [_cell(result, figure.step, figure.panel) for figure in figures]
    honest = [_cell(result, _HONEST[figure.step], figure.panel) for figure in figures]
    return {
        "recipe": text([_RECIPES[figure.step] for figure in figures]),
        "panel": text([figure.panel for figure in figures]),
        f"the paper, {data.n_judges} judges": numbers([figure.nll for figure in figures]),
        "ours, one-class coding": text(coded),
        "ours, honest labels": text(honest),
        "one-class columns": text([MEASURES_CODING] * len(figures)),
        "source": text([figure.source for figure in figures]),
    }


def _cell(result: claim.Claim, step: str, panel: str) -> str:
    """Return the NLL and interval of a panel, blank if it was not tried."""
    column = -1
    if panel != "all":
        k = int(panel.removeprefix("top-"))
        if k not in result.sizes:
            return ""
        column = result.sizes.tolist().index(k)
    value, lo, hi = result.nll[result.row(step), column]
    return f"{sig(value)} {interval(lo, hi)}"


def present(
    result: claim.Claim, spec: claim.ClaimSpec, view: ClaimView = ClaimView()
) -> list[blocks.Block]:
    """Present both protocols side by side, each step, the paper's tables, and joint at the end."""
    if view.part == "joint":
        # The last step as a separate section; without panels to compare there is no answer.
        sentence = joint_sentence(result)
        files = f"Both files hold rows of one-class coding; each says that it {MEASURES_CODING}."
        return [
            *([blocks.Answer(sentence)] if sentence else []),
            *_together(result),
            blocks.Table(step_table(result, result.steps_for("honest")[-2:])),
            blocks.note(files),
            _method(),
        ]
    content: list[blocks.Block] = [
        blocks.Answer(claim_sentence(result)),
        blocks.Row(
            (
                _coded("One-class coding.", _protocol(result, "one_class")),
                blocks.Box("Honest labels.", tuple(_protocol(result, "honest"))),
            )
        ),
        blocks.note(_CLAIM),
        blocks.Heading("No judge at all", 3),
        _coded("A constant score, and the fitted map.", _constant(result)),
        *blocks.paragraphs(honest_constant_sentence(result)),
        blocks.Heading("Step by step", 3),
        _coded("One-class coding.", _steps(result, "one_class")),
        blocks.Box("Honest labels.", tuple(_steps(result, "honest"))),
        *_published(result, view.data or looks_like(result.n_items)),
    ]
    if view.part == "whole":
        if sentence := joint_sentence(result):
            content += [blocks.Heading(JOINT_TITLE, 3), blocks.Paragraph(sentence)]
            content += _together(result)
        content += [blocks.Heading(SOURCES_TITLE, 3), *sources()]
    return [*content, _method()]


SOURCES_TITLE = "Sources"


def sources() -> list[blocks.Block]:
    """Return the sources of the claim, its benchmarks and its calibrator."""
    return blocks.paragraphs(*_SOURCES)


def _coded(title: str, content: list[blocks.Block]) -> blocks.Box:
    """Return a box for figures of one-class coding, headed by what they measure."""
    words = f"{title} Everything in this box {MEASURES_CODING}."
    return blocks.Box(words, tuple(content), coding=True)


def _protocol(result: claim.Claim, coding: str) -> list[blocks.Block]:
    """Return one of the two figures, and what it shows about the reversal."""
    shows = f"NLL against the number of judges, {coding.replace('_', ' ')} labels"
    sentences = reversal_sentences(result, coding)
    return [blocks.drawing(shows, protocol, result, coding), *blocks.paragraphs(*sentences)]


def _constant(result: claim.Claim) -> list[blocks.Block]:
    shows = "what the paper's map makes of raw probabilities, one-class coding and honest labels"
    return [
        blocks.Paragraph(constant_sentence(result)),
        blocks.drawing(shows, fitted_maps, result),
        blocks.Paragraph(map_sentence(result)),
    ]


def _steps(result: claim.Claim, coding: str) -> list[blocks.Block]:
    sentences = (f"{name}: {sentence}" for name, sentence in step_sentences(result, coding))
    table = step_table(result, result.steps_for(coding))
    return [blocks.Table(table), *blocks.paragraphs(*sentences)]


def _published(result: claim.Claim, data: DataSet | None) -> list[blocks.Block]:
    """Return the paper's figures next to ours; empty without a benchmark to compare with."""
    if data is None:
        return []
    size = (
        f"The paper's panel has {data.n_judges} judges on {data.n_items:,} pairs; these votes "
        f"have {int(result.n_judges.max()):,} on {result.n_items:,}. Where panels differ, so do "
        "raw figures."
    )
    content: list[blocks.Block] = [
        blocks.Table(published_table(result, data)),
        blocks.Paragraph(published_sentence(result)),
        blocks.note(size),
    ]
    title = f"{data.name}: the paper's figures beside ours."
    return [blocks.Heading("The paper's tables", 3), _coded(title, content)]


def _together(result: claim.Claim) -> list[blocks.Block]:
    shows = "NLL against the number of judges with honest labels, joint beside one-coin"
    return [blocks.drawing(shows, protocol, result, "together")]


def _method() -> blocks.Method:
    return blocks.Method(
        "The random splits are the same for every step: on the calibration items judges are "
        "ranked, weighted and calibrated, and all figures are scores of the others. One-class "
        "coding turns vote V (+1 or -1) into V s and label s into 1. The paper's recipe: one-coin "
        "weights log((c+1)/(n-c+1)) that know the item's label, raw probabilities clipped to 0.001 "
        "and 0.999, and the beta map σ(a log p + b log(1-p) + c) with a penalty of 0.01 and free "
        "signs. Honest labels are those of the file where they are balanced; otherwise each pair "
        "is used with its swap. Intervals are for new items: the variance of the items' mean "
        "differences, plus what drawing other calibration items would add. The reversal is shown "
        "where the interval of NLL(top-k) - NLL(all) lies below 0 before calibration and above 0 "
        "after it; it is absent where one of the two lies on the other side. The maps are drawn "
        "from a fit to all labelled items."
    )


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: study.Pipeline) -> study.Specs:
    """Return the spec with joint, then the one without it, if only that has been computed."""
    return claim.ClaimSpec(settings=settings), claim.ClaimSpec(settings=settings, joint=False)


PRESENTATION = study.Presentation(claim.CLAIM, present, default_specs)
