"""P2: do the last judges still add information, or has the panel saturated?

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
from dataclasses import dataclass

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.descriptive import ALPHA, equivalence
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import RANGES, Estimator
from judgepanel.votes.checks import Check, Outcome

MARGIN = 0.01
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
    margin = MARGIN * float(nll[-1])
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
        return Check(
            "P2",
            TITLE,
            "not applicable",
            {"judges": k},
            f"A panel of {k} has no last tenth; the check needs {FEWEST_JUDGES} judges.",
            "Nothing to do.",
        )
    outcome, why, advice = _decide(result, n_labels)
    numbers: dict[str, float | int | str] = {
        "NLL of all": round(float(result.nll.value[-1]), 4),
        f"adding the last {k - int(result.sizes[result.last])} of {k}": _change(
            result, result.last
        ),
        "adding the worse half": _change(result, result.half),
        "adding all but the best fifth": _change(result, result.fifth),
        "margin": f"1 % of NLL, {result.margin:.4f}",
        "last tenth": result.outcome[result.last],
        f"the paper's P2 (NLL of all above {PAPER_FLOOR})": (
            "passes" if result.nll.value[-1] > PAPER_FLOOR else "does not pass"
        ),
    }
    if result.outcome[result.last] == "inconclusive" and np.isfinite(result.se[result.last]):
        room = abs(abs(float(result.delta.value[result.last])) - result.margin)
        numbers["labels that would decide the last tenth"] = labels_needed(
            room, float(result.se[result.last]), n_labels
        )
    return Check("P2", TITLE, outcome, numbers, why, advice)


def _decide(result: Saturation, n_labels: int) -> tuple[Outcome, str, str]:
    if not np.isfinite(result.se[result.last]):
        return "review", "There are not enough splits yet to say.", "Wait for more splits."
    decided = _costs(result) or _stops(result, n_labels)
    return decided or ("pass", _gain(result), "Nothing to do.")


def _costs(result: Saturation) -> tuple[Outcome, str, str] | None:
    """Return the outcome if judges are shown to cost more than the margin."""
    last, half = result.last, result.half
    n_last = result.n_judges - int(result.sizes[last])
    if result.delta[last].above(result.margin):
        return (
            "fail",
            f"The last {n_last} judges cost: adding them changes NLL by {_change(result, last)}.",
            "Drop them, or switch to an aggregator that sees the votes jointly; see P3.",
        )
    if result.delta[half].above(result.margin):
        return (
            "fail",
            "The better half of the judges alone is better: adding the others changes NLL by "
            f"{_change(result, half)}.",
            "Curate, or switch to an aggregator that sees the votes jointly; see P3.",
        )
    return None


def _stops(result: Saturation, n_labels: int) -> tuple[Outcome, str, str] | None:
    """Return the outcome if the panel no longer gains, or is not shown to."""
    last, half, fifth = result.last, result.half, result.fifth
    n_last = result.n_judges - int(result.sizes[last])
    if result.outcome[last] == "equivalent":
        return (
            "review",
            f"The panel is saturated: adding the last {n_last} judges changes NLL by "
            f"{_change(result, last)}, less than 1 % either way.",
            "Keeping them is safe but buys nothing; where they cost money, leave them out.",
        )
    if result.delta.value[half] > result.margin:
        return (
            "review",
            "By the estimate the panel stops gaining: adding the worse half of the judges changes "
            f"NLL by {_change(result, half)}.",
            "Compare with a smaller panel and with a joint aggregator. "
            + _needed(
                float(result.delta.value[half]) - result.margin, float(result.se[half]), n_labels
            ),
        )
    if not result.delta[fifth].below():
        return (
            "review",
            "Nothing shows that all judges beat the best fifth of them: adding the others changes "
            f"NLL by {_change(result, fifth)}.",
            _needed(-result.delta.value[fifth], result.se[fifth], n_labels),
        )
    return None


def _gain(result: Saturation) -> str:
    sentence = (
        f"All {result.n_judges} judges beat the best fifth of them: adding the others changes NLL "
        f"by {_change(result, result.fifth)}."
    )
    n_last = result.n_judges - int(result.sizes[result.last])
    last = f" The last {n_last} change it by {_change(result, result.last)}"
    undecided = result.outcome[result.last] == "inconclusive"
    return sentence + last + (", undecided against 1 %." if undecided else ".")


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
