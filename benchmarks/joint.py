"""Joint against the best one-coin cell in hindsight; its time and memory, dense and sparse."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.process import GIB, answer, measured, peak_bytes
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import fit
from judgepanel.kernels.joint import CS, Form, features, joint, stacking
from judgepanel.kernels.prefixes import Fit, Kernel, PrefixScores, Ranking, cross_fitted
from judgepanel.scoring.metrics import item_scores, null_logit
from judgepanel.scoring.splits import Split, folds, split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes.simulate import SimulationSpec, simulate

HALVES = 20
SIZES = (1, 3, 5, 10, 20)
JOINT_SIZES = (5, 20, 30)
CALIBRATORS = ("none", "temperature", "beta")
TARGETS = {"llmbar": 0.72, "rewardbench": 0.74, "sentpop": 1.00, "mozafari": 1.02}
TARGET_SECONDS = 3.0
TARGET_SPLIT = 0.3
TARGET_GIB = 4.0
ROUNDS = 3
SOLVERS = ("lbfgs", "newton-cholesky")
SPARSE = SimulationSpec(n_items=30_000, n_judges=1_800, votes_per_item=18, costs=False)


def run() -> Report:
    with threadpool_limits(1):
        studied = {name: _study(name) for name in TARGETS}
        speed, lines = _speed()
    sparse, peak = _sparse()
    verdicts = [_verdict(name, entry) for name, entry in studied.items()]
    return Report(
        "Joint: all judges seen jointly",
        f"{HALVES} random halves of every real matrix: fitted on one half, mean NLL on the other. "
        "The reference is the best cell in hindsight of one-coin with k in 1, 3, 5, 10, 20, all "
        "and calibrator none, temperature or beta. Calibrators of joint and stacking see "
        "cross-fitted scores. BLAS held to one thread.",
        [_ratios(studied), _sizes(studied), speed, sparse],
        [*verdicts, *lines, peak],
    )


def linear_joint(ballots: Ballots, fits: list[Fit], ks: Ints, ranking: Ranking) -> list[Floats]:
    """A kernel: joint without its agreement term."""
    sizes = [Form(one_coin=True).panels(ballots, fits, int(k), ranking) for k in ks]
    return [
        np.array([panels[i].logits(ballots.votes[one_fit.score]) for panels in sizes])
        for i, one_fit in enumerate(fits)
    ]


KERNELS: dict[str, Kernel] = {
    "joint": joint,
    "joint, no agreement": linear_joint,
    "stacking": stacking,
}


@dataclass(frozen=True, slots=True)
class Studied:
    """One matrix: NLL of every item under every cell, averaged over the halves that evaluate it."""

    best: tuple[str, int]
    reference: Floats
    losses: dict[str, dict[str, Floats]]
    by_size: dict[int, Floats]

    def ratio(self, kind: str, calibrator: str) -> tuple[float, float]:
        """Ratio of mean NLL to the reference, and its standard error over items."""
        difference = self.losses[kind][calibrator] - self.reference
        scale = self.reference.mean()
        error = difference.std(ddof=1) / np.sqrt(len(difference)) / scale
        return 1.0 + float(difference.mean() / scale), float(error)


def _study(name: str) -> Studied:
    ballots = prepare(real_votes(name), Settings()).ballots
    n_judges = ballots.n_judges
    ks = np.array([k for k in SIZES if k < n_judges] + [n_judges])
    coin = _items(
        ballots, lambda half: panel_scores(ballots, half, ks, aggregator="one_coin"), len(ks)
    )
    cells = {
        (calibrator, int(k)): coin[calibrator][place]
        for calibrator in CALIBRATORS
        for place, k in enumerate(ks)
    }
    best = min(cells, key=lambda cell: float(cells[cell].mean()))
    by_name, by_size = {}, {}
    for kind, kernel in KERNELS.items():
        sizes = np.array([*JOINT_SIZES, n_judges] if kind == "joint" else [n_judges])
        items = _items(ballots, _cross_fitting(ballots, kernel, sizes), len(sizes))
        by_name[kind] = {calibrator: items[calibrator][-1] for calibrator in CALIBRATORS}
        if kind == "joint":
            by_size = {int(k): items["none"][place] for place, k in enumerate(sizes)}
        say(f"{name}, {kind}: {by_name[kind]['none'].mean() / cells[best].mean():.3f}")
    return Studied(best, cells[best], by_name, by_size)


def _cross_fitting(ballots: Ballots, kernel: Kernel, ks: Ints) -> Callable[[Split], PrefixScores]:
    def scored(half: Split) -> PrefixScores:
        return cross_fitted(
            ballots,
            half,
            ks,
            kernel,
            ranking="accuracy",
            own_label="removed",
            seed=0,
            key=(half.number, 4),
        )

    return scored


def _items(
    ballots: Ballots, scored: Callable[[Split], PrefixScores], n_sizes: int
) -> dict[str, Floats]:
    """Mean NLL (n_k, n_items) of every item over the halves that evaluate it, by calibrator."""
    total = {name: np.zeros((n_sizes, ballots.n_items)) for name in CALIBRATORS}
    times = np.zeros(ballots.n_items)
    for number in range(HALVES):
        half = split(ballots.units, number)
        scores = scored(half)
        fit_signs = ballots.signs[half.calibration].astype(np.float64)
        signs = ballots.signs[half.evaluation].astype(np.float64)
        null = null_logit(float(np.mean(fit_signs > 0)), symmetric=ballots.symmetric)
        weights = (~scores.calibration_empty).astype(np.float64)
        maps = fit(CALIBRATORS, scores.calibration, fit_signs, weights, symmetric=ballots.symmetric)
        for name, map_ in maps.items():
            logits = np.where(scores.evaluation_empty, null, map_(scores.evaluation))
            nll = item_scores(logits, signs, symmetric=ballots.symmetric).nll
            total[name][:, half.evaluation] += nll
        times[half.evaluation] += 1.0
    seen = times > 0
    return {name: sums[:, seen] / times[seen] for name, sums in total.items()}


def _ratios(studied: dict[str, Studied]) -> Table:
    rows = []
    for name, one_studied in studied.items():
        for kind in KERNELS:
            cells = [one_studied.ratio(kind, calibrator) for calibrator in CALIBRATORS]
            rows.append(
                (
                    name,
                    f"{one_studied.best[0]}, {one_studied.best[1]}: "
                    f"{one_studied.reference.mean():.4f}",
                    kind,
                    *(f"{ratio:.3f} ± {error:.3f}" for ratio, error in cells),
                )
            )
    headings = ("votes", "best one-coin cell", "all judges under", *CALIBRATORS)
    note = "Ratios of mean NLLs; after ± one standard error of the paired difference over items."
    return Table("Against the best one-coin cell in hindsight", headings, rows, note)


def _sizes(studied: dict[str, Studied]) -> Table:
    rows = []
    for name, one_studied in studied.items():
        cells = [f"{nll.mean():.4f}" for nll in one_studied.by_size.values()]
        rows.append((name, *cells))
    headings = ("votes", *(f"top {k}" for k in JOINT_SIZES), "all")
    return Table("Joint on the best judges and on all, NLL, not calibrated", headings, rows)


def _verdict(name: str, studied: Studied) -> str:
    ratio, error = studied.ratio("joint", "none")
    met = _met(ratio <= TARGETS[name])
    return (
        f"{name}: joint on all judges {ratio:.3f} ± {error:.3f} of the best one-coin cell "
        f"(target {TARGETS[name]:.2f}: {met})."
    )


@dataclass(frozen=True, slots=True)
class Race:
    """Best seconds on half of a matrix: one fit, all fits of a split, and one fit of each peer."""

    shape: str
    one_fit: float
    cross_fitted: float
    peers: dict[str, float]

    def ratio(self, solver: str) -> float:
        return self.peers[solver] / self.one_fit


def _race(name: str) -> Race:
    ballots = prepare(real_votes(name), Settings()).ballots
    half = split(ballots.units, 0)
    learn, k = half.calibration, ballots.n_judges
    alone = [_one_fit(ballots, half)]
    whole = _cross_fitting(ballots, joint, np.array([k]))
    work: dict[str, Callable[[], object]] = {
        "one": lambda: joint.panels(ballots, alone, k),
        "all": lambda: whole(half),
        **{solver: partial(_from_zero, ballots, alone[0], solver) for solver in SOLVERS},
    }
    best = {what: min(_seconds(do) for _ in range(ROUNDS)) for what, do in work.items()}
    peers = {solver: best[solver] for solver in SOLVERS}
    race = Race(f"{len(learn)} x {k}", best["one"], best["all"], peers)
    say(f"{name}: {race}")
    return race


def _one_fit(ballots: Ballots, half: Split) -> Fit:
    """The fit on all calibration rows, with five inner folds."""
    rows = half.calibration
    fold = np.empty(ballots.n_items, dtype=np.int64)
    for piece in folds(ballots.units, rows, 5, seed=0, key=(0, 4)):
        fold[piece.evaluation] = piece.number
    return Fit(rows, half.evaluation, fold[rows])


def _speed() -> tuple[Table, list[str]]:
    """Time of joint with its choice of C, and of scikit-learn refitting from zero."""
    races = {name: _race(name) for name in ("rewardbench", "llmbar")}
    rows = [
        (
            name,
            race.shape,
            f"{race.one_fit:.2f}",
            f"{race.cross_fitted:.2f}",
            *(f"{race.peers[solver]:.2f} ({race.ratio(solver):.1f})" for solver in SOLVERS),
        )
        for name, race in races.items()
    ]
    first, second = races["rewardbench"], races["llmbar"]
    lines = [
        f"Half of rewardbench ({first.shape}), one fit with its choice of C: "
        f"{first.one_fit:.2f} s on one core (target {TARGET_SECONDS:.0f} s: "
        f"{_met(first.one_fit <= TARGET_SECONDS)}); scikit-learn from zero takes "
        + " and ".join(f"{first.ratio(solver):.1f} ({solver})" for solver in SOLVERS)
        + " times as long.",
        f"Half of llmbar ({second.shape}), a split with all cross-fitting: "
        f"{second.cross_fitted:.2f} s on one core (target {TARGET_SPLIT} s: "
        f"{_met(second.cross_fitted <= TARGET_SPLIT)}).",
    ]
    headings = ("half of", "shape", "one fit s", "cross-fitted s", *(f"{s} s" for s in SOLVERS))
    note = (
        f"Best of {ROUNDS} rounds. 'one fit': six models at {len(CS)} values of C; 'cross-fitted': "
        "sixteen, what a split of a study takes. scikit-learn's LogisticRegression fits the same "
        "six at the same C on the same features, each from zero; in brackets its time over ours."
    )
    return Table("Time on one core", headings, rows, note), lines


def _met(good: bool) -> str:
    return "met" if good else "MISSED"


def _from_zero(ballots: Ballots, whole: Fit, solver: str) -> None:
    judges = np.arange(ballots.n_judges)
    for left in (-1, *np.unique(whole.fold)):
        rows = whole.learn[whole.fold != left]
        one_features = features(ballots, rows, judges, one_coin=True, agreement=True)
        X = np.column_stack([one_features.votes, one_features.span, one_features.score])
        for C in CS:
            LogisticRegression(C=C, solver=solver, max_iter=1000).fit(X, ballots.signs[rows])


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one fit with its choice of C, and of a split's cross-fitting; peak in GiB."""

    fit: float
    split: float
    peak: float


def _sparse() -> tuple[Table, str]:
    rows, costs = [], []
    for name in ("sentpop", "simulated"):
        for kind in ("joint", "stacking"):
            cost = Cost(**measured("benchmarks.joint", name, kind))
            costs.append(cost)
            say(f"{name}, {kind}: {cost}")
            rows.append((name, kind, f"{cost.fit:.1f}", f"{cost.split:.1f}", f"{cost.peak:.2f}"))
    peak = max(cost.peak for cost in costs)
    headings = ("votes", "aggregator", "one fit s", "cross-fitted s", "peak GiB")
    note = (
        "Half of 500 x 143 at 86 % missing (sentpop) and of a simulated 30,000 x 1,800 at 99 %. "
        "Peak memory is the whole process, the making or reading of the votes included."
    )
    met = _met(peak <= TARGET_GIB)
    line = f"Sparse panels: peak memory {peak:.2f} GiB (target {TARGET_GIB:.0f} GiB: {met})."
    return Table("Sparse panels", headings, rows, note), line


def _here(name: str, kind: str) -> Cost:
    votes = simulate(SPARSE) if name == "simulated" else real_votes(name)
    ballots = prepare(votes, Settings()).ballots
    half = split(ballots.units, 0)
    alone = [_one_fit(ballots, half)]
    all_judges = np.array([ballots.n_judges])
    with threadpool_limits(1):
        seconds = _seconds(lambda: KERNELS[kind](ballots, alone, all_judges, "accuracy"))
        whole = _cross_fitting(ballots, KERNELS[kind], all_judges)
        every = _seconds(lambda: whole(half))
    return Cost(seconds, every, peak_bytes() / GIB)


if __name__ == "__main__":
    answer(_here(sys.argv[1], sys.argv[2]))
