"""Simulated worlds whose expected delta is known, and estimates of it from one data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Sides, Split, split
from judgepanel.votes.simulate import SimulationSpec, simulate

N_ITEMS = 400
N_SPLITS = 40
N_JUDGES = 12
TOP = 3
RECIPE = Recipe("one_coin", ("temperature",))
SPREAD = tuple(float(a) for a in np.linspace(0.56, 0.84, N_JUDGES).round(3))
EVEN = (0.7,) * N_JUDGES


@dataclass(frozen=True, slots=True)
class Scenario:
    """Where votes come from, and which arms are compared.

    With ``halves`` the first half of exchangeable judges is compared with the second, so that the
    expected delta is exactly 0; otherwise the top 3 with all judges.
    """

    name: str
    spec: SimulationSpec
    halves: bool = False


_BASE = SimulationSpec(n_judges=N_JUDGES, accuracies=SPREAD, costs=False)
_HARD = replace(_BASE, difficulty_sd=1.0, n_families=3, family_rho=0.5)

SCENARIOS = (
    Scenario("independent judges", _BASE),
    Scenario("families and difficulty", _HARD),
    Scenario(
        "grouped items",
        replace(_BASE, difficulty_sd=1.5, items_per_group=4, group_rho=0.8),
    ),
    Scenario("equal arms", replace(_BASE, accuracies=EVEN), halves=True),
    Scenario(
        "equal arms, difficulty",
        replace(_BASE, accuracies=EVEN, difficulty_sd=1.0, n_families=1, family_rho=0.3),
        halves=True,
    ),
)


def draw(scenario: Scenario, n_items: int, seed: int) -> Ballots:
    """Ballots of one simulated matrix of new items under the scenario's fixed panel."""
    votes = simulate(replace(scenario.spec, n_items=n_items, seed=seed))
    return Ballots(
        votes=np.where(votes.votes < 0, 0, 2 * votes.votes - 1).astype(np.int8),
        signs=(2 * votes.labels - 1).astype(np.int8),
        units=votes.units,
    )


def part(ballots: Ballots, rows: slice) -> Ballots:
    """Some items as their own data set."""
    units = ballots.units[rows]
    return Ballots(ballots.votes[rows], ballots.signs[rows], units - units.min())


def difference(scenario: Scenario, ballots: Ballots, one_split: Split) -> tuple[Floats, float]:
    """NLL(arm) - NLL(reference) per item on the evaluation rows, and the mean NLL(reference)."""
    if scenario.halves:
        half = N_JUDGES // 2
        sides = [
            replace(ballots, votes=np.ascontiguousarray(votes))
            for votes in (ballots.votes[:, :half], ballots.votes[:, half:])
        ]
        ks = np.array([half])
        arm, reference = (
            evaluate_split(side, one_split, ks, RECIPE).evaluation["temperature"].nll[0]
            for side in sides
        )
    else:
        ks = np.array([TOP, N_JUDGES])
        arm, reference = (
            evaluate_split(ballots, one_split, ks, RECIPE).evaluation["temperature"].nll
        )
    return arm - reference, float(reference.mean())


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Repeated splits of one data set: the input of an analysis.

    ``item_means`` (N,) and ``split_means`` (S,) are of the difference; ``groups`` (n_items,) are
    those of all items; ``evaluated`` bool (S, n_items) are the items that each split scores, all
    others calibrate.
    """

    item_means: Floats
    split_means: Floats
    groups: NDArray[np.int64]
    evaluated: NDArray[np.bool_]
    nll: float

    @property
    def units(self) -> NDArray[np.int64]:
        """Groups of the items that are scored at least once, (N,)."""
        return self.groups[self.evaluated.any(axis=0)]

    @property
    def sides(self) -> Sides:
        """Which items calibrate and which are scored."""
        scored = self.evaluated[:, self.evaluated.any(axis=0)]
        return Sides.of(~self.evaluated, scored, self.groups)


def analyse(
    scenario: Scenario, ballots: Ballots, n_calibration: int, ends: Sequence[int]
) -> Iterator[DataSet]:
    """Splits of one data set as in the studies, after each of ``ends`` of them."""
    fraction = (n_calibration + 0.5) / ballots.n_items
    sums, evaluated = np.zeros(ballots.n_items), np.zeros((max(ends), ballots.n_items), dtype=bool)
    means, levels = [], []
    for number in range(max(ends)):
        one_split = split(ballots.units, number, fraction=fraction)
        values, level = difference(scenario, ballots, one_split)
        sums[one_split.evaluation] += values
        evaluated[number, one_split.evaluation] = True
        means.append(values.mean())
        levels.append(level)
        if len(means) in ends:
            times = evaluated.sum(axis=0)
            yield DataSet(
                item_means=sums[times > 0] / times[times > 0],
                split_means=np.array(means),
                groups=ballots.units,
                evaluated=evaluated[: len(means)].copy(),
                nll=float(np.mean(levels)),
            )


def expected_delta(
    scenario: Scenario, n_calibration: int, *, repeats: int, n_evaluation: int, seed: int
) -> tuple[float, float]:
    """Expected delta of panels fitted on ``n_calibration`` fresh labels, and its Monte Carlo error.

    Every repeat draws its own calibration and evaluation items.
    """
    if scenario.halves:
        return 0.0, 0.0
    size = n_calibration + n_evaluation
    means = []
    ballots = draw(scenario, repeats * size, seed)
    for start in range(0, repeats * size, size):
        own = part(ballots, slice(start, start + size))
        rows = np.arange(size)
        one_split = Split(0, rows[:n_calibration], rows[n_calibration:])
        means.append(difference(scenario, own, one_split)[0].mean())
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(repeats))
