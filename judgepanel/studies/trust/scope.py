"""Scope: is the recommendation safe here? Four checks P0 to P3 on labelled items.

The default keeps every judge, sums their votes with one aggregator and calibrates. P0, P1 and the
tests of P3 use all labelled items at once. Quantities based on NLL (the curve of P2, the arms of
P3) are scored on the evaluation rows of random splits, with everything fitted on the others.

Cost per split: one evaluation of the curve, or one recommendation for each of its sizes; in
``COMPARED_SPLITS`` of them also up to two fits per aggregator, where joint costs many times as much
as the curve. If there are more splits, those are not in the first chunk, so that a first result
appears early.

Result of :data:`SCOPE`: four checks, their figures, and the judges that a filter would drop.

P1: does every judge give verdicts, and are they better than chance?

A coded tie is a readable verdict without a side: it counts as parsed, but not as a vote.

A judge is below chance if the binomial tail of its right verdicts under accuracy .5 is small, Holm
over judges. With groups of items the unit is the group: counts are divided by the judge's design
effect (scoring/clustered.py). The paper's rule, accuracy < .5 - 2 standard errors by Wald's
formula, is reported for comparison: with a single wrong vote its standard error is 0, and the judge
is flagged.

Of a judge with grades their order is tested as well, in the same step-down procedure: grades in
reverse order ask for review, and so do grades that order the items where the votes cut from them do
not.

What is figured of every judge is in :mod:`judgepanel.studies.understand.judge_table`.

P2: do the last judges still add information, or has the panel saturated?

Judges are ordered by accuracy on the calibration rows within every split, and the panel of the best
share is compared with all judges. An equivalence test says whether the last tenth changes
calibrated NLL by more than 1 %. That test alone cannot decide with a few hundred labels: on the
clean simulated panel (300 items) the last tenth changes NLL by -0.9 % with a standard deviation
over data sets of 1.1 %, so no test against 1 % has power, and every sound panel would be sent to
review. If the last tenth is undecided, the shape of the curve is used too: all judges must be shown
to beat the best fifth of them, and the better half must not be better than all by the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Recipe, SplitScores, evaluate_split
from judgepanel.kernels.prefixes import rank
from judgepanel.scoring.descriptive import ALPHA, equivalence
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import codec, common, contract, options, results
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, tally
from judgepanel.studies.panel import recommended
from judgepanel.studies.trust import missingness
from judgepanel.studies.understand.judge_table import (
    GradeOrder,
    Legible,
    drop_reason,
    legible,
    to_drop,
    uses_anti_experts,
)
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check, Outcome, check_orientation
from judgepanel.votes.errors import JUDGE_THRESHOLD, listed, quote_value
from judgepanel.votes.matrix import AGAINST, ONE_VERDICT, SILENT

SATURATED = 0.01
FEWEST_JUDGES = 5
POWER = 0.80
MOST_LABELS = 10_000_000
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TITLE = "P2 Saturation"
PAPER_FLOOR = 0.005
"""The paper's P2 requires an NLL above this floor; displayed beside ours, which replaces it."""


@dataclass(frozen=True, slots=True, eq=False)
class Saturation:
    """The curve and its tests; all arrays are (n_sizes,), the last is all judges.

    ``sizes`` are numbers of judges kept. ``nll`` is in nats with 95 % intervals. ``delta`` is
    NLL(all) - NLL(kept), the effect of adding the others, below 0 if it helps, with a 90 %
    interval; ``se`` is its standard error, ``p`` the p-value of equivalence within ``margin`` nats
    (1 % of NLL(all)) and ``outcome`` the decision. ``last``, ``half`` and ``fifth`` are positions:
    without the last tenth, the better half, the best fifth.
    """

    sizes: Ints
    nll: Interval
    delta: Interval
    se: Floats
    p: Floats
    outcome: tuple[str, ...]
    margin: float
    last: int
    half: int
    fifth: int

    @property
    def n_judges(self) -> int:
        """Number of all judges."""
        return int(self.sizes[-1])

    @property
    def change(self) -> Interval:
        """``delta`` as a percentage of the NLL of the judges kept, to which others are added."""
        return self.delta.scaled(100.0 / self.nll.value, "")


def curve_sizes(n_judges: int) -> Ints:
    """Return the panel sizes of the curve: the tenths of the panel, rounded, without duplicates."""
    sizes = {max(1, math.floor(share * n_judges + 0.5)) for share in _SHARES}
    return np.array(sorted(sizes | set(_marks(n_judges))), dtype=np.int64)


def _marks(n_judges: int) -> tuple[int, int, int]:
    """Return the sizes without the last tenth, of the better half and of the best fifth."""
    tenth = max(1, math.floor(0.1 * n_judges + 0.5))
    half, fifth = (max(1, math.floor(share * n_judges + 0.5)) for share in (0.5, 0.2))
    return max(1, n_judges - tenth), half, fifth


def saturation(tally: Tally, units: Ints, sizes: Ints) -> Saturation:
    """Return levels, differences and tests; from a single split, NaN ends and no decisions."""
    items, splits = tally.nll()
    nll = items.mean(axis=1)
    margin = SATURATED * float(nll[-1])
    place = {int(k): position for position, k in enumerate(sizes)}
    last, half, fifth = (place[k] for k in _marks(int(sizes[-1])))
    estimated = Estimator.of(tally, units)
    levels = Interval.of(estimated(items, splits)).clip(*RANGES["nll"])
    gaps = estimated(items[-1] - items, splits[:, [-1]] - splits)
    tests = equivalence(gaps, margin)
    delta = Interval(
        nll[-1] - nll, tests.lo, tests.hi, level=1.0 - 2.0 * ALPHA, monte_carlo=gaps.monte_carlo
    )
    se, p, outcome = gaps.se, tests.p, tests.outcomes
    return Saturation(sizes, levels, delta, se, p, outcome, margin, last, half, fifth)


def check_saturation(result: Saturation, n_labels: int) -> Check:
    """Return P2 as a check; ``n_labels`` is the number of labelled items."""
    k = result.n_judges
    if k < FEWEST_JUDGES:
        why = f"A panel of {k} has no last tenth; the check needs {FEWEST_JUDGES} judges."
        return Check("P2", TITLE, "not applicable", {"judges": k}, why, "Nothing to do.")
    outcome, why, advice = _decide(result, n_labels)
    last, se = result.last, float(result.se[result.last])
    numbers: dict[str, float | int | str] = {
        "NLL of all": round(float(result.nll.value[-1]), 4),
        f"adding the last {k - int(result.sizes[last])} of {k}": _change(result, last),
        "adding the worse half": _change(result, result.half),
        "adding all but the best fifth": _change(result, result.fifth),
        "margin": f"1 % of NLL, {result.margin:.4f}",
        "last tenth": result.outcome[last],
        f"the paper's P2 (NLL of all above {PAPER_FLOOR})": (
            "passes" if result.nll.value[-1] > PAPER_FLOOR else "does not pass"
        ),
    }
    if result.outcome[last] == "inconclusive" and np.isfinite(se):
        room = abs(abs(float(result.delta.value[last])) - result.margin)
        numbers["labels that would decide the last tenth"] = labels_needed(room, se, n_labels)
    return Check("P2", TITLE, outcome, numbers, why, advice)


def _decide(result: Saturation, n_labels: int) -> tuple[Outcome, str, str]:
    if not np.isfinite(result.se[result.last]):
        return "review", "There are not enough splits yet to say.", "Wait for more splits."
    # Judges that are shown to cost more than the margin.
    last, half = result.last, result.half
    n_last = result.n_judges - int(result.sizes[last])
    if result.delta[last].above(result.margin):
        return (
            "fail",
            f"The last {n_last} judges cost: adding them changes NLL by {_change(result, last)}.",
            "Drop them, or use an aggregator that sees the votes jointly: see P3, missing votes.",
        )
    if result.delta[half].above(result.margin):
        return (
            "fail",
            "The better half of the judges alone is better: adding the others changes NLL by "
            f"{_change(result, half)}.",
            "Curate, or use an aggregator that sees the votes jointly: see P3, missing votes.",
        )
    return _stops(result, n_labels)


def _stops(result: Saturation, n_labels: int) -> tuple[Outcome, str, str]:
    """Return the outcome if the panel no longer gains, or is not shown to, else that it passes."""
    last, half, fifth = result.last, result.half, result.fifth
    n_last = result.n_judges - int(result.sizes[last])
    if result.outcome[last] == "equivalent":
        return (
            "review",
            f"The panel is saturated: adding the last {n_last} judges changes NLL by "
            f"{_change(result, last)}, less than 1 % either way.",
            "Keeping them is safe but buys nothing; where they cost money, leave them out.",
        )
    beyond = float(result.delta.value[half]) - result.margin
    if beyond > 0.0:
        return (
            "review",
            "By the estimate the panel stops gaining: adding the worse half of the judges changes "
            f"NLL by {_change(result, half)}.",
            "Compare with a smaller panel and with a joint aggregator. "
            + _needed(beyond, float(result.se[half]), n_labels),
        )
    if not result.delta[fifth].below():
        return (
            "review",
            "Nothing shows that all judges beat the best fifth of them: adding the others changes "
            f"NLL by {_change(result, fifth)}.",
            _needed(-result.delta.value[fifth], result.se[fifth], n_labels),
        )
    undecided = ", undecided against 1 %" * (result.outcome[last] == "inconclusive")
    return (
        "pass",
        f"All {result.n_judges} judges beat the best fifth of them: adding the others changes NLL "
        f"by {_change(result, fifth)}. The last {n_last} change it by {_change(result, last)}"
        f"{undecided}.",
        "Nothing to do.",
    )


def _change(result: Saturation, position: int) -> str:
    return written_change(*result.change[position])


def written_change(value: float, lo: float, hi: float) -> str:
    """``-34.3 % [-58.2, -10.4]``: a change in per cent, without the interval if there is none."""
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return f"{value:+z.1f} %"
    return f"{value:+z.1f} % [{lo:+z.1f}, {hi:+z.1f}]"


def _needed(effect: float, se: float, n_labels: int) -> str:
    """Return how many labels would show this effect; standard errors fall as 1/sqrt(n)."""
    if effect <= 0.0 or se <= 0.0:
        return "By the estimate no number of labels would show that more judges help."
    needed = labels_needed(effect, se, n_labels)
    if needed <= n_labels:
        return "As many labels as there are decide this more often than not: it is a close call."
    return (
        f"If the estimate is right, about {needed:,} labelled items would decide it; there are "
        f"{n_labels:,}."
    )


def labels_needed(effect: float, se: float, n_labels: int) -> int:
    """Number of labelled items at which a one-sided 5 % test shows ``effect`` with power .8.

    ``effect`` (> 0) is in nats. The standard error, ``se`` at ``n_labels``, falls as 1/sqrt(n);
    rounded up to two significant digits.
    """
    reach = float(distributions.norm_ppf(1.0 - ALPHA) + distributions.norm_ppf(POWER))
    needed = min(n_labels * (reach * se / max(effect, 1e-12)) ** 2, float(MOST_LABELS))
    unit = 10 ** max(0, len(str(math.ceil(needed))) - 2)
    return int(math.ceil(needed / unit) * unit)


GRADED = "judges whose grades may tell more than votes"
"""The number of P1 that is there if any judge gives grades."""


def order_sentences(order: GradeOrder, legibility: Legible, names: tuple[str, ...]) -> str:
    """Name the judges whose grades are in reverse order, or inform where their votes do not."""
    parts = []
    for judges, start, end in (
        (legibility.misplaced, "The threshold is at fault", "though its votes do not inform"),
        (legibility.reversed, "In reverse order", "less than by chance"),
    ):
        shares = [
            f"the grades of {quote_value(names[j])} order "
            + "{:.0f} % [{:.0f}, {:.0f}]".format(*order.right[j].scaled(100.0, "share"))
            + f" of the pairs of items rightly, {end}"
            for j in np.flatnonzero(judges)
        ]
        if shares:
            parts.append(f"{start}: {common.first_of(shares)}")
    return " ".join(parts)


def order_advice(order: GradeOrder, legibility: Legible, names: tuple[str, ...]) -> str:
    """Return what to do about these judges."""
    parts = []
    if legibility.misplaced.any():
        j = int(np.flatnonzero(legibility.misplaced)[0])
        side = "above" if order.median[j] > 0.0 else "below"
        parts.append(
            "Move the threshold of judges whose grades inform and whose votes do not "
            f"({JUDGE_THRESHOLD}): the median grade of {quote_value(names[j])} is "
            f"{abs(order.median[j]):.3g} {side} it."
        )
    if legibility.reversed.any():
        parts.append(
            "If a lower grade of a judge in reverse order is the better one, negate its grades "
            "in the file, and its threshold."
        )
    return " ".join(parts)


NOTHING_TO_DO = "Nothing to do."
_NOT_TESTED = {
    ONE_VERDICT: "one verdict throughout is right in exactly one of the two orders of a pair, so "
    "it is at chance",
    AGAINST: "verdicts against the label on nearly every item tell how lopsided labels were coded, "
    "and not how good a judge is",
    SILENT: "there is no vote on a labelled item",
}


def check_parse_rate(
    legibility: Legible,
    names: tuple[str, ...],
    aggregator: str,
    aside: Sequence[tuple[str, str]] = (),
) -> Check:
    """Return P1 as a check; ``aside`` are judges that are not tested, each with the reason."""
    usable = uses_anti_experts(aggregator)
    shown = legibility.unreadable, legibility.patchy, legibility.below
    unreadable, patchy, below = (np.flatnonzero(entry) for entry in shown)
    numbers: dict[str, float | int | str] = {
        "labelled items": legibility.n_items,
        "judges": len(names),
        "parse at most 70 %": len(unreadable),
        "parse 70 to 90 %": len(patchy),
        "shown below chance": len(below),
        "below chance by the paper's Wald rule": int(legibility.wald_below.sum()),
    }
    if aside:
        numbers["set aside, not tested"] = len(aside)
    if not legibility.sparse and len(names):
        numbers["lowest parse rate"] = f"{100 * float(legibility.parsed.min()):.1f} %"
    if legibility.tied.any():
        numbers["coded ties"] = int(legibility.tied.sum())
    if legibility.order is not None:
        numbers |= {
            GRADED: int(legibility.order.known.sum()),
            "grades in reverse order": int(legibility.reversed.sum()),
            "grades inform where votes do not": int(legibility.misplaced.sum()),
        }
    sentences = _sentences(legibility, names, unreadable, patchy, below)
    sentences = " ".join((sentences, *_aside_sentences(aside)))
    as_they_are = int((legibility.below & ~legibility.misplaced).sum()) if usable else len(below)
    advice = _advice(len(unreadable), len(patchy), as_they_are, usable=usable)
    odd = legibility.reversed | legibility.misplaced
    if legibility.order is not None and odd.any():
        order = legibility.order, legibility, names
        sentences = f"{sentences} {order_sentences(*order)}"
        advice = " ".join(part for part in (advice, order_advice(*order)) if part != NOTHING_TO_DO)
    outcome: Outcome = "pass"
    if len(unreadable) or (len(below) and not usable):
        outcome = "fail"
    elif len(patchy) or len(below) or odd.any():
        outcome = "review"
    elif legibility.sparse:
        outcome = "not applicable"
    return Check("P1", "P1 Parse rate and chance", outcome, numbers, sentences, advice)


def _sentences(
    legibility: Legible, names: tuple[str, ...], unreadable: Ints, patchy: Ints, below: Ints
) -> str:
    parts = []
    if legibility.sparse:
        parts.append(
            "Most judges were not asked about most items, so a parse rate cannot be read off the "
            "votes; it needs the raw outputs."
        )
    short = np.concatenate([unreadable, patchy])
    short = short[np.argsort(legibility.parsed[short], kind="stable")]
    if len(short):
        shares = [
            f"{quote_value(names[j])} gives a verdict on {100 * legibility.parsed[j]:.0f} %"
            for j in short
        ]
        parts.append(common.first_of(shares))
    elif not legibility.sparse:
        parts.append("Every judge gives a verdict on 90 % of the labelled items or more.")
    if legibility.tied.any():
        # How many missing votes are coded ties, and which judges give most of them.
        most, n = int(np.argmax(legibility.tied)), int(legibility.tied.sum())
        share = 100 * float(legibility.tied[most]) / max(legibility.n_items, 1)
        are = "missing vote is a coded tie" if n == 1 else "missing votes are coded ties"
        parts.append(
            f"{n:,} {are}, which were read and count as parsed (most of them by "
            f"{quote_value(names[most])}, on {share:.0f} % of the items)."
        )
    wrong = [
        f"{quote_value(names[j])} is right on "
        + "{:.0f} % [{:.0f}, {:.0f}]".format(*legibility.accuracy[j].scaled(100.0, "share"))
        for j in below
    ]
    if wrong:
        parts.append(f"Below chance: {common.first_of(wrong)}")
    if not wrong:
        parts.append("No judge is shown to be below chance.")
    return " ".join(parts)


def _aside_sentences(aside: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield which judges are not tested, and why that hides nothing."""
    for reason, why in _NOT_TESTED.items():
        names = [name for name, own in aside if own == reason]
        if names:
            verb = "is" if len(names) == 1 else "are"
            yield f"{listed(names, 3)} {verb} set aside and not tested: {why}."


def _advice(unreadable: int, patchy: int, below: int, *, usable: bool) -> str:
    parts = []
    if unreadable:
        parts.append(
            "Drop judges with a verdict on 70 % or less, or fix their parser; compare first."
        )
    if patchy:
        parts.append("Look at the raw outputs that were not read.")
    if below and usable:
        parts.append(
            "Keep judges below chance: the aggregator inverts their votes, which are informative. "
            "Check that their labels are not inverted."
        )
    elif below:
        parts.append("Drop judges below chance: this aggregator cannot invert a vote.")
    return " ".join(parts) or NOTHING_TO_DO


_Row = tuple[str, str, str, Interval, float, str]
_UNKNOWN = Interval.full((), math.nan, "")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A judge that the filter drops, and the reason in a few words."""

    judge: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Scope(results.SplitResult):
    """Result of :data:`SCOPE`.

    ``checks`` are P0 to P3 in order. ``judges`` name the arrays of P1, (n_judges,): ``parsed`` is
    the share of labelled items with a verdict, ``tied`` the share with a coded tie (a verdict, but
    not a vote), ``accuracy`` that of right verdicts with a Clopper-Pearson 95 % interval,
    ``p_below`` Holm's p-value of accuracy >= .5 (both by groups if there are any), ``below`` and
    ``wald_below`` the results of our rule and of the paper's. ``saturation`` is P2's curve (None
    below five judges), ``missing`` and ``switch`` are P3's tests and arms, the first arm being the
    aggregator in use; ``partly`` are the judges that miss at least 5 % of the items, which the arms
    without them leave out if two others remain. ``suggested`` is the filter.
    """

    checks: tuple[Check, ...]
    judges: tuple[str, ...]
    parsed: Floats
    tied: Floats
    accuracy: Interval
    p_below: Floats
    below: Bools
    wald_below: Bools
    sparse: bool
    saturation: Saturation | None
    missing: missingness.Missingness
    switch: tuple[missingness.SwitchArm, ...]
    partly: tuple[str, ...]
    suggested: tuple[Dropped, ...]
    aggregator: str
    calibrator: str
    null_nll: float
    constant_nll: float
    n_compared: int

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "check": "P0 to P3.",
        "outcome": "Outcome of the check.",
        "subject": "Judge, panel or aggregator that the figure is about.",
        "quantity": "Name of the figure.",
        "value": "The figure, in the unit of its quantity.",
        "lo": "Lower end of its interval.",
        "hi": "Upper end of its interval.",
        "p": "p-value of the figure.",
        "flag": "What the figure shows, such as 'below chance'.",
    }

    @property
    def n_judges(self) -> int:
        """Number of participating judges."""
        return len(self.judges)

    def check(self, code: str) -> Check:
        """Return the check with this code."""
        (match,) = (entry for entry in self.checks if entry.code == code)
        return match

    def counted(self, outcome: str) -> int:
        """Return the number of checks with this outcome."""
        return sum(entry.outcome == outcome for entry in self.checks)

    def frame(self) -> pd.DataFrame:
        """Return one row per figure.

        The columns are check, its outcome, subject, quantity, value, lower, upper, p, flag.
        """
        rows = [*self._rows()]
        with_rows = {row[0] for row in rows}
        rows += [
            (entry.code, "all", "outcome", _UNKNOWN, math.nan, "")
            for entry in self.checks
            if entry.code not in with_rows
        ]
        outcomes = {entry.code: entry.outcome for entry in self.checks}
        return pd.DataFrame(
            {
                "check": code,
                "outcome": outcomes[code],
                "subject": subject,
                "quantity": quantity,
                **dict(zip(("value", "lo", "hi"), map(float, figure), strict=True)),
                "p": p,
                "flag": flag,
                "null_nll": self.null_nll,
                "n_splits": self.n_splits,
            }
            for code, subject, quantity, figure, p, flag in sorted(rows, key=itemgetter(0))
        )

    def _rows(self) -> Iterator[_Row]:
        for j, judge in enumerate(self.judges):
            yield "P1", judge, "parse rate", Interval.alone(self.parsed[j]), math.nan, ""
            if self.tied[j]:
                yield "P1", judge, "tie rate", Interval.alone(self.tied[j]), math.nan, ""
            flag = "below chance" if self.below[j] else ""
            yield "P1", judge, "accuracy", self.accuracy[j], float(self.p_below[j]), flag
        curve = self.saturation
        if curve is not None:
            for i, k in enumerate(curve.sizes):
                name, p = f"best {k}", float(curve.p[i])
                yield "P2", name, "NLL", curve.nll[i], math.nan, ""
                yield "P2", name, "NLL(all) - NLL(kept), 90 %", curve.delta[i], p, curve.outcome[i]
        for arm in self.switch:
            name, pays = arm.aggregator, "pays" if arm.pays else ""
            yield "P3", name, "NLL", arm.nll, math.nan, ""
            yield "P3", name, "switch to it", arm.switch, math.nan, pays
            if np.isfinite(arm.partly.value):
                yield "P3", name, "without", arm.partly, math.nan, arm.partly_verdict
        for test in self.missing.tests:
            what = " ".join(filter(None, (test.kind, test.feature, test.level)))
            flag = "related" if test.related else ""
            gap = Interval.alone(np.asarray(test.inside - test.outside))
            yield "P3", test.judge or "all", f"missing by {what}", gap, test.p_adjusted, flag

    def decisions(self) -> dict[str, Any]:
        """Return the checks, the filter and the aggregators."""
        return {
            "checks": codec.to_plain(self.checks),
            "passed": self.counted("pass"),
            "suggested": codec.to_plain(self.suggested),
            "switch": codec.to_plain([results.flat_row(arm, nll="") for arm in self.switch]),
            "partly_missing": list(self.partly),
            "missing_tests": self.missing.n_tests,
            "missing_related": self.missing.n_related,
            "n_judges": self.n_judges,
        }


COMPARED_SPLITS = 20


@dataclass(frozen=True, slots=True)
class ScopeSpec(options.StudySpec):
    """Options of the checks; ``others`` are the alternative aggregators of P3.

    Raises
    ------
    InputError
        An unknown name, or one given twice; the average under the paper's protocol.
    """

    aggregator: recommended.PanelAggregator = options.option(
        "one_coin", "the aggregator in use; average: the recommended panel"
    )
    calibrator: Calibrator = options.option("beta", "the calibrator of all arms but the average")
    others: tuple[Aggregator, ...] = options.option(
        ("dawid_skene", "joint"), "aggregators to compare it with", noun="aggregator"
    )

    def __post_init__(self) -> None:
        options.StudySpec.__post_init__(self)
        recommended.check_panel_aggregators((self.aggregator,), self.settings)
        if self.others:
            options.check_each_once("the comparison", "aggregator", AGGREGATORS, self.others)

    @property
    def compared(self) -> tuple[recommended.PanelAggregator, ...]:
        """The aggregator in use, followed by the others."""
        return (self.aggregator, *(name for name in self.others if name != self.aggregator))

    def recipe(self, aggregator: Aggregator) -> Recipe:
        """Return how every panel under this aggregator is built."""
        return common.recipe_of(self.settings, aggregator, (self.calibrator,), "accuracy")


@results.frozen
class ScopeTally:
    """Scores of the splits: the curve of all splits, and the compared arms of some."""

    curve: Tally
    arms: Tally | None


def run_chunk(votes: VoteMatrix, spec: ScopeSpec, chunk: contract.Chunk) -> ScopeTally:
    """Score the curve on the splits of a chunk, and the arms on those that compare aggregators."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, seed = prepared.ballots, spec.settings.seed
    sizes = curve_sizes(ballots.n_judges)
    splits = list(common.splits_of(prepared, spec.settings, chunk))
    scored = ((split, Arms.of(_curve(ballots, split, sizes, spec))) for split in splits)
    curve = tally(scored, n_items=ballots.n_items, seed=seed)
    chosen = compared_splits(spec.settings.most_splits)
    some = [split for split in splits if split.number in chosen]
    if not some:
        return ScopeTally(curve, None)
    arms = tally(_compared(prepared, spec, some), n_items=ballots.n_items, seed=seed)
    return ScopeTally(curve, arms)


def _curve(ballots: Ballots, split: Split, sizes: Ints, spec: ScopeSpec) -> list[SplitScores]:
    """Scores of the best judges of every size; the average is recommended again from them."""
    if spec.aggregator != recommended.AVERAGE:
        return [evaluate_split(ballots, split, sizes, spec.recipe(spec.aggregator))]
    place = np.argsort(rank(ballots, split.calibration, "accuracy"))
    panels = (ballots.of_judges(place < size) for size in sizes)
    return [recommended.scored_average(panel, split, spec.settings.seed) for panel in panels]


def compared_splits(n_splits: int) -> range:
    """Return splits that compare aggregators: ``COMPARED_SPLITS`` after the first chunk, if any."""
    first = min(contract.CHUNK_SPLITS, max(0, n_splits - COMPARED_SPLITS))
    return range(first, min(first + COMPARED_SPLITS, n_splits))


def _compared(
    prepared: contract.Prepared, spec: ScopeSpec, splits: list[Split]
) -> Iterator[tuple[Split, Arms]]:
    """Yield all aggregators with all judges, then (if any) without the partly missing ones."""
    ballots = prepared.ballots
    panels = [ballots]
    partly = missingness.partly_missing(legible(ballots, limits=False).covered)
    if missingness.can_leave_out(partly):
        panels.append(ballots.of_judges(~partly))
    for split in splits:
        scores = [
            recommended.all_judges(panel, split, name, spec.calibrator, spec.settings)
            for panel in panels
            for name in spec.compared
        ]
        yield split, Arms.of(scores)


def merge(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> Scope:
    """Return all four checks from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, names = prepared.ballots, prepared.judges
    curve, arms = partial.curve, partial.arms
    legibility, own = legible(ballots), spec.settings.judges
    missing = missingness.missingness(prepared)
    partly = prepared.named(missingness.partly_missing(legibility.covered))
    line = saturation(curve, ballots.units, curve_sizes(ballots.n_judges))
    switch: tuple[missingness.SwitchArm, ...] = ()
    if arms is not None:
        switch = missingness.switch_arms(arms, ballots.units, spec.compared, spec.settings.seed)
    drop = to_drop(legibility, spec.aggregator)
    if drop.all():
        drop = np.zeros_like(drop)
    notes = [*missing.left_out] if (ballots.votes == 0).any() else []
    notes += common.replaced_fits((spec.calibrator,), curve)
    return Scope.from_splits(
        prepared,
        spec,
        curve,
        legibility,
        checks=(
            check_orientation(votes if own is None else votes.with_judges(own)),
            check_parse_rate(legibility, names, spec.aggregator, prepared.oriented.aside),
            check_saturation(line, ballots.n_items),
            missingness.check_compatibility(switch, missing, partly, n_judges=len(names)),
        ),
        judges=names,
        parsed=legibility.parsed,
        tied=legibility.tied / max(legibility.n_items, 1),
        below=legibility.below,
        saturation=line if ballots.n_judges >= FEWEST_JUDGES else None,
        missing=missing,
        switch=switch,
        partly=partly,
        suggested=tuple(
            Dropped(names[j], drop_reason(legibility, j)) for j in np.flatnonzero(drop).tolist()
        ),
        n_compared=0 if arms is None else len(arms.numbers),
        warnings=common.run_warnings(prepared, curve, *notes),
    )


def _deciding(result: Scope) -> contract.Deciding:
    line = result.saturation
    if line is not None:
        yield from contract.inside(line.delta[line.last], line.margin)
        yield from ((line.delta[line.half], line.margin), (line.delta[line.fifth], 0.0))
    for arm in result.switch:
        yield arm.switch, MARGIN * float(result.switch[0].nll.value)
        yield arm.partly, MARGIN * float(arm.nll.value)


_decided = contract.steady(merge, _deciding)


def _settled(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> bool:
    """Whether no check could change; not before all splits that compare aggregators are in."""
    compared = compared_splits(spec.settings.most_splits)
    return len(partial.curve.numbers) >= compared.stop and _decided(votes, spec, partial)


SCOPE: contract.Study[ScopeSpec, ScopeTally, Scope] = contract.Study(
    name="scope",
    title="Scope",
    question="Is the recommendation safe here?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=_settled,
)
