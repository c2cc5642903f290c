"""Narrow band: does pruning pay in simulated panels of judges of nearly equal accuracy?

Panels are simulated with the mean accuracy, the share of missing votes and the number of labels of
the given votes. Accuracies are uniform in a band about that mean; votes are correlated through one
Gaussian factor; everything else is as simple as possible. One replicate draws one set of ranks,
items and noises for all cells, so cells differ only in their options.

The paper's appendix on narrow bands compares the point accuracy of log-odds weighting with pruning
to the best half and third; both are included, as is the calibrated NLL.

Result of :data:`NARROW_BAND`: keep all or prune, in simulated panels similar to this one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import aggregation, calibration, prefixes, redundancy
from judgepanel.kernels.ballots import Ballots, signs_of
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring import inference, splits
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.studies.contract import Chunk, Study, prepare
from judgepanel.studies.options import StudySpec, check_panels, option, valid
from judgepanel.studies.results import Declared, by_split, column, constant, derived, frozen
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate


@frozen
class NarrowBand(Declared):
    """Result of :data:`NARROW_BAND`. All figures except the ``own_`` ones are simulated.

    Arrays are (n_widths, n_rhos, n_sizes, n_shares): ``widths`` of the band of accuracies about
    ``mean_accuracy``, ``rhos`` of the latent correlation of votes, ``sizes`` of the panel, and
    ``shares`` of it that pruning keeps. ``delta`` is NLL(pruned) - NLL(all) in nats, above 0 if
    keeping all judges is better, with a 95 % interval over replicates; ``band`` holds for all cells
    together (Bonferroni). ``loss`` is the accuracy lost by pruning, with a 95 % interval. ``nll``
    and ``accuracy`` are those of all judges; ``error_rho`` (n_widths, n_rhos) is the resulting mean
    correlation of errors. ``own_width`` and ``own_rho`` locate the given panel: the width of a
    uniform band with its spread of accuracies, without sampling noise, and the mean correlation of
    its errors; NaN if unknown.
    """

    aggregator: str
    calibrator: str
    widths: Floats = column(
        "Width of the band of the judges' accuracies.", "band", name="width", axis=-4, key=True
    )
    rhos: Floats = column(
        "Latent correlation of the votes.", "latent correlation", name="rho", axis=-3, key=True
    )
    sizes: Ints = column(heading="judges", name="judges", axis=-2, key=True)
    shares: Floats = column(
        "Share of the panel that pruning keeps.", "kept", "share", name="share", key=True
    )
    delta: Interval = column(
        "NLL after pruning minus that of all judges, in nats.",
        *("pruned - all", "difference"),
        bounds=("lo", "hi"),
    )
    band: Interval = column(
        heading="all cells together",
        form="ends",
        ends=" in all cells together",
        name="delta",
        bounds=("band_lo", "band_hi"),
    )
    loss: Interval = column("Accuracy lost by pruning.", "accuracy lost by pruning", "difference")
    nll: Floats = column("NLL of all judges, in nats.", "NLL, all")
    accuracy: Floats = column("Share of right decisions of all judges.", "accuracy, all")
    error_rho: Floats = column(
        "Resulting mean correlation of errors.", "of errors", expand=(-2, -1)
    )
    null_nll: float = column(heading="base rate")
    mean_accuracy: float
    coverage: float
    own_width: float
    own_rho: float
    n_calibration: int
    n_evaluation: int
    orientation: str
    n_items: int
    n_judges: int
    n_replicates: int = column("Number of simulated panels behind the figures.")
    planned_replicates: int
    seed: int = column("Seed of the simulation.")
    warnings: tuple[str, ...]

    simulated = constant(True, "Always true: the figures are from simulated panels.", key=True)

    @property
    def partial(self) -> bool:
        """Whether replicates are still missing."""
        return self.n_replicates < self.planned_replicates

    @derived("Which is shown to be better.", "wins")
    def winner(self) -> NDArray[np.str_]:
        """Which side has the lower NLL in every cell, by the band: all, pruned, or undecided."""
        return np.select([self.band.above(), self.band.below()], ["all", "pruned"], "undecided")

    def winners(self) -> dict[str, int]:
        """Number of cells that each side wins."""
        names = ("all", "pruned", "undecided")
        return {name: int(np.count_nonzero(self.winner == name)) for name in names}

    def decisions(self) -> dict[str, Any]:
        """Return how many cells each side wins; all of it is simulated."""
        return {"simulated": True, "winners": self.winners()}


MOST_LABELS = 500
MOST_JUDGES = 100
N_EVALUATION = 1_000
MOST_REPLICATES = 10_000
INSIDE = (0.02, 0.98)
_STREAM = 24


def _check(what: str, least: float, most: float) -> Callable[[tuple[float, ...]], None]:
    """Return a check that there are values, all of them inside a range."""

    def check(values: tuple[float, ...]) -> None:
        if not values or not all(least <= value <= most for value in values):
            raise InputError(
                f"{what} of the simulation out of range",
                value=", ".join(f"{value:g}" for value in values),
                allowed=f"one or more from {least:g} to {most:g}",
            )

    return check


@dataclass(frozen=True, slots=True)
class NarrowBandSpec(StudySpec):
    """The cells of the simulation; ``sizes`` None uses 10, 30 and the number of judges in the
    votes.

    Raises
    ------
    InputError
        An unknown aggregator or calibrator; widths, correlations or shares out of range; a panel
        below 1, fewer than 2 replicates.
    """

    aggregator: aggregation.Aggregator = option("one_coin")
    calibrator: calibration.Calibrator = option("beta")
    widths: tuple[float, ...] = option(
        (0.02, 0.1, 0.2, 0.4), "widths of the band of accuracies", check=_check("widths", 0.0, 1.0)
    )
    rhos: tuple[float, ...] = option(
        (0.0, 0.2, 0.4), "latent correlations of the votes", check=_check("correlations", 0.0, 0.95)
    )
    sizes: tuple[int, ...] | None = option(None, "numbers of simulated judges", check=check_panels)
    shares: tuple[float, ...] = option(
        (0.5, 1.0 / 3.0),
        "shares of the judges that pruning keeps",
        check=_check("shares", 0.01, 0.99),
    )
    replicates: int = option(
        24,
        "simulated panels per cell",
        check=valid(
            "number of replicates out of range",
            lambda n: 2 <= n <= MOST_REPLICATES,
            f"2..{MOST_REPLICATES}",
        ),
    )

    def panel_sizes(self, n_judges: int) -> Ints:
        """Return the numbers of judges, increasing."""
        asked = self.sizes or tuple({min(10, n_judges), min(30, n_judges), n_judges})
        return np.array(sorted({min(max(size, 2), MOST_JUDGES) for size in asked}))


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Parameters of simulated panels that come from the given votes."""

    mean_accuracy: float
    coverage: float
    n_calibration: int
    own_width: float
    own_rho: float


def shape_of(ballots: Ballots, fraction: float) -> Shape:
    """Return mean accuracy, share of votes present, labels, spread and correlation of errors."""
    right, voted = prefixes.counts(ballots, np.arange(ballots.n_items))
    enough = voted >= 2
    rate = right[enough] / voted[enough]
    own_width = float("nan")
    if enough.sum() >= 2:
        noise = float(np.mean(rate * (1.0 - rate) / (voted[enough] - 1.0)))
        own_width = float(np.sqrt(12.0 * max(0.0, float(rate.var(ddof=1)) - noise)))
    return Shape(
        mean_accuracy=float(right.sum() / max(voted.sum(), 1.0)),
        coverage=float(voted.sum() / max(ballots.votes.size, 1)),
        n_calibration=min(MOST_LABELS, max(2, round(ballots.n_items * fraction))),
        own_width=own_width,
        own_rho=redundancy.error_correlation(
            redundancy.error_counts(ballots.votes, ballots.signs)
        ).mean,
    )


@frozen
class Replicates:
    """Values (R, n_widths, n_rhos, n_sizes, n_shares + 1, 2) of replicates ``numbers`` (R,).

    The last axis is NLL and accuracy; pruned panels come first and all judges last. ``error_rho``
    is (R, n_widths, n_rhos).
    """

    numbers: Ints = by_split()
    values: Floats = by_split()
    error_rho: Floats = by_split()


def run_chunk(votes: VoteMatrix, spec: NarrowBandSpec, chunk: Chunk) -> Replicates:
    """Simulate every cell of the replicates of one chunk."""
    ballots = prepare(votes, spec.settings).ballots
    shape, sizes = shape_of(ballots, spec.settings.fraction), spec.panel_sizes(ballots.n_judges)
    numbers = np.arange(chunk.first, chunk.first + chunk.count)
    replicates = [_replicate(spec, shape, sizes, int(number)) for number in numbers]
    values, error_rho = zip(*replicates, strict=True)
    return Replicates(numbers, np.array(values), np.array(error_rho))


def _replicate(
    spec: NarrowBandSpec, shape: Shape, sizes: Ints, number: int
) -> tuple[Floats, Floats]:
    source = np.random.SeedSequence(spec.settings.seed, spawn_key=(number, _STREAM))
    place = np.random.default_rng(source).random(int(sizes[-1])) - 0.5
    (seed,) = source.generate_state(1)
    values = np.empty((len(spec.widths), len(spec.rhos), len(sizes), len(spec.shares) + 1, 2))
    error_rho = np.empty(values.shape[:2])
    for (w, width), (r, rho) in itertools.product(enumerate(spec.widths), enumerate(spec.rhos)):
        ballots = _simulated(shape, width * place, rho, int(seed))
        learnt = slice(0, shape.n_calibration)
        counted = redundancy.error_counts(ballots.votes[learnt], ballots.signs[learnt])
        error_rho[w, r] = np.nan_to_num(redundancy.error_correlation(counted).mean)
        for s, size in enumerate(sizes):
            values[w, r, s] = _scores(ballots, int(size), shape.n_calibration, spec)
    return values, error_rho


def _simulated(shape: Shape, offsets: Floats, rho: float, seed: int) -> Ballots:
    """Signed votes of independent items; judges are in the order of their offsets."""
    votes = simulate(
        SimulationSpec(
            n_items=shape.n_calibration + N_EVALUATION,
            n_judges=len(offsets),
            seed=seed,
            accuracies=tuple(np.clip(shape.mean_accuracy + offsets, *INSIDE).tolist()),
            n_families=1 if rho > 0 else 0,
            family_rho=rho,
            parse_rate=shape.coverage,
            costs=False,
        )
    )
    signs = (2 * votes.labels - 1).astype(np.int8)
    return Ballots(signs_of(votes.votes), signs, np.arange(votes.n_items), symmetric=True)


def _scores(ballots: Ballots, size: int, n_calibration: int, spec: NarrowBandSpec) -> Floats:
    """NLL and accuracy (n_shares + 1, 2) of the pruned panels and of all ``size`` judges."""
    rows = np.arange(ballots.n_items)
    sizes = [min(max(1, round(size * share)), size) for share in spec.shares]
    ks = np.array(sorted({*sizes, size}))
    recipe = Recipe(spec.aggregator, (spec.calibrator,), seed=spec.settings.seed)
    panel = ballots.of_judges(np.arange(size))
    split = splits.Split(0, rows[:n_calibration], rows[n_calibration:])
    scores = evaluate_split(panel, split, ks, recipe).evaluation[spec.calibrator]
    both = np.stack([scores.nll.mean(axis=1), scores.hit.mean(axis=1)], axis=1)
    return np.asarray(both[np.searchsorted(ks, [*sizes, size])])


def merge(votes: VoteMatrix, spec: NarrowBandSpec, partial: Replicates) -> NarrowBand:
    """Return differences with intervals over the replicates so far."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    shape, sizes = shape_of(ballots, spec.settings.fraction), spec.panel_sizes(ballots.n_judges)
    values = partial.values
    pruned, whole = values[..., :-1, :], values[..., -1:, :]
    difference = pruned - whole
    n_cells = difference[0, ..., 0].size
    delta, band = _estimated(difference[..., 0], n_cells)
    loss, _ = _estimated(-difference[..., 1], n_cells, "share")
    levels = np.broadcast_to(whole.mean(axis=0), difference.shape[1:])
    warnings = list(prepared.notices)
    if ballots.n_items * spec.settings.fraction > MOST_LABELS:
        warnings.append(f"The simulation calibrates on {MOST_LABELS} labels, fewer than there are.")
    if max(spec.sizes or (ballots.n_judges,)) > MOST_JUDGES:
        warnings.append(f"The simulation goes up to {MOST_JUDGES} judges, fewer than there are.")
    return NarrowBand.from_run(
        prepared,
        spec,
        len(values),
        shape,
        widths=np.array(spec.widths),
        rhos=np.array(spec.rhos),
        sizes=sizes,
        shares=np.array(spec.shares),
        delta=delta,
        band=band,
        loss=loss,
        nll=levels[..., 0],
        accuracy=levels[..., 1],
        error_rho=partial.error_rho.mean(axis=0),
        null_nll=float(np.log(2.0)),
        n_evaluation=N_EVALUATION,
        n_replicates=len(values),
        planned_replicates=spec.replicates,
        warnings=tuple(warnings),
    )


def _estimated(values: Floats, n_cells: int, unit: Unit = "nats") -> tuple[Interval, Interval]:
    """Return means over replicates with 95 % intervals, for one cell and for all cells together."""
    n = len(values)
    mean = values.mean(axis=0)
    se = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full_like(mean, np.nan)

    def within(cells: int) -> Interval:
        reach = distributions.t_ppf(1.0 - (1.0 - inference.LEVEL) / 2.0 / cells, max(n - 1, 1)) * se
        return Interval(mean, mean - reach, mean + reach, unit=unit)

    return within(1), within(n_cells)


NARROW_BAND: Study[NarrowBandSpec, Replicates, NarrowBand] = Study(
    name="narrow_band",
    title="Judges who are nearly alike (a simulation)",
    question="When judges are nearly alike, does pruning pay?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda spec: spec.replicates,
)
