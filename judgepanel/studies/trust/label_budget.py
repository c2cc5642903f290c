"""Label budget: all judges and the top k, fitted on decreasing numbers of labels.

In every split the calibration half is put in a random order, units whole, and budget n uses its
first n labels: ranking, weights and calibrators use only those. The evaluation half stays the same,
so budgets differ only in their labels.

All judges can also be evaluated under a second aggregator, with the same labels and calibrators.
Under ``average`` the recommendation is made again on the labels of every budget alone, weights of
its members included.

Cost per split: one evaluation of the panels for every budget, or one recommendation; calibrators of
all budgets and of several splits are fitted together. Memory is that of the scores of (panels x
budgets) arms of these splits.

Result of :data:`LABEL_BUDGET`: scores by number of labels, and how many labels are needed.

Quantities derived from the levels of all budgets: curves, the price of labels, labels needed.

Nothing here needs the votes, so a page can change the goal without new work. Intervals repeat the
computation on joint draws of the levels of all budgets. They include the uncertainty of the levels,
not that of the form of the curve.

What studies of budgets compare: numbers of labels and calibration shares, and panels.

Budgets and shares are those that the votes allow; what the others would need is said. All judges
are the reference, and the top k are compared with them under the same pipeline; beside the
recommended average, under ``COMPARED``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import aggregation, calibration, evaluation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring import descriptive, inference
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Sides, Split, n_share, nested_rows
from judgepanel.studies import codec, common, contract, results
from judgepanel.studies.accumulate import RANGES, Arms, Bits, Tally, packed, tally, unpacked
from judgepanel.studies.options import check_count, check_panels, check_share, option, valid
from judgepanel.studies.panel import recommended
from judgepanel.votes import InputError, VoteMatrix

SMALLEST = 20
N_BUDGETS = 9
FEWEST_OF_A_CLASS = 5
FEWEST_UNITS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Budgets or calibration shares (n,), increasing, and sentences on those that are left out."""

    values: NDArray[Any]
    left_out: tuple[str, ...]


def planned(prepared: contract.Prepared, spec: LabelBudgetSpec) -> Planned:
    """Return the budgets that these votes allow; the last is always the whole calibration half."""
    fraction = spec.settings.fraction
    half = max(2, n_share(prepared.ballots.n_items, fraction))
    asked: Iterable[int] = spec.budgets or ()
    if spec.budgets is None:
        asked = np.geomspace(min(SMALLEST, half), half, N_BUDGETS).round().astype(int).tolist()
    sizes, left_out = {half}, []
    least, why = fewest_labels(prepared)
    for n in sorted(set(asked) - {half}):
        if n > half:
            items = math.ceil(n / fraction)
            left_out.append(
                f"A budget of {n:,} labels is left out: {half:,} labels calibrate here; it needs "
                f"{items:,} labelled items."
            )
        elif n < least:
            left_out.append(
                f"A budget of {n:,} labels is left out: {why}, which takes about {least:,} labels."
            )
        else:
            sizes.add(n)
    return Planned(np.array(sorted(sizes), dtype=np.int64), tuple(left_out))


def planned_shares(prepared: contract.Prepared, shares: tuple[float, ...]) -> Planned:
    """Return the shares that leave enough labels for the fit, and enough items to score.

    Raises
    ------
    InputError
        No share does.
    """
    n_items = prepared.ballots.n_items
    least, why = fewest_labels(prepared)
    planned, left_out = [], []
    for share in sorted(shares):
        labels = n_share(n_items, share)
        if labels >= least and n_items - labels >= least:
            planned.append(share)
            continue
        side, n, part = "labels calibrate", labels, share
        if labels >= least:
            side, n, part = "items evaluate", n_items - labels, 1.0 - share
        left_out.append(
            f"A share of {100 * share:g} % is left out: {n:,} {side} there; {why}, which takes "
            f"about {least:,}, or {math.ceil(least / part):,} labelled items in all."
        )
    if not planned:
        raise InputError(
            "too few labelled items for any of these calibration shares: " + why,
            value=f"{n_items:,} labelled items",
            allowed=f"about {2 * least:,} labelled items or more",
        )
    return Planned(np.array(planned), tuple(left_out))


def fewest_labels(prepared: contract.Prepared) -> tuple[int, str]:
    """Return the smallest number of labels for a fit, and the reason."""
    ballots = prepared.ballots
    n_units = len(np.unique(ballots.units))
    by_units = math.ceil(FEWEST_UNITS * ballots.n_items / n_units)
    labels = (by_units, f"it needs {FEWEST_UNITS} labelled items")
    if n_units < ballots.n_items:
        labels = (by_units, f"it needs {FEWEST_UNITS} groups of items")
    if not ballots.symmetric:
        share = float(np.mean(ballots.signs > 0))
        rarer = min(share, 1.0 - share)
        by_class = math.ceil(FEWEST_OF_A_CLASS / rarer) if rarer > 0 else ballots.n_items
        labels = max(labels, (by_class, f"it needs {FEWEST_OF_A_CLASS} labels of the rarer class"))
    return labels


@dataclass(frozen=True, slots=True)
class PanelsSpec(recommended.AverageSpec, recommended.BestPanels):
    """Panels and their pipeline, shared by the studies of label budgets.

    ``panels`` are sizes compared with all judges. Under ``average``, ``calibrators`` is always
    none, and the panels have the pipeline ``COMPARED``.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; no calibrator, or one given twice; a panel below 1.
    """

    calibrators: tuple[calibration.Calibrator, ...] = option(
        ("beta", "temperature"), "calibrators of both arms (none for average)", once=True
    )
    panels: tuple[int, ...] = option((5,), check=check_panels)
    ranking: prefixes.Ranking = option("accuracy")


@results.frozen
class BudgetResult(results.RunResult):
    """Panels on n budgets of labels, or with n calibration shares.

    ``panels`` (n_panels,) are sizes, the last is all judges. If ``aggregator`` is ``average``, all
    judges are the recommended panel, and the other panels have the pipeline ``COMPARED``. ``nll``
    (n_calibrators, n_panels, n) is in nats per item with 95 % intervals for new items;
    ``null_nll`` (n,) is the NLL of the base rate of the same labels, ``constant_nll``
    (n_calibrators, n) that of a constant score through the same calibrator. ``delta``
    (n_calibrators, n_panels - 1, n) is NLL(panel) - NLL(all) on the same labels.
    """

    panels: Ints = results.column(name="k", axis=-2, key=True)
    calibrators: tuple[str, ...]
    aggregator: str
    nll: Interval = results.column()
    null_nll: Floats = results.column()
    constant_nll: Floats = results.column(expand=-2)
    delta: Interval
    n_judges: int

    skill = results.NllResult.skill

    @results.derived(name="panel", axis=-2, key=True)
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return recommended.panel_names(self.panels, self.aggregator)

    @results.derived(name="aggregator", key=True)
    def aggregators(self) -> Any:
        """Aggregator of every panel, (n_panels, 1)."""
        return recommended.pipeline_columns(self.aggregator, (), len(self.panels))[0]

    @results.derived(name="calibrator", key=True)
    def calibrator_names(self) -> Any:
        """Calibrator of every panel, (n_calibrators, n_panels, 1)."""
        return recommended.pipeline_columns(self.aggregator, self.calibrators, len(self.panels))[1]

    @results.derived(
        "NLL of the panel minus that of all judges on the same labels, in nats.", name="delta"
    )
    def against_all(self) -> Interval:
        """The differences of all panels, NaN for all judges."""
        return self.with_reference(self.delta)

    @results.derived(name="verdict")
    def verdicts(self) -> Any:
        """The verdict on every panel in words."""
        words = np.full(self.nll.shape, "reference", dtype=object)
        for place in np.ndindex(self.delta.shape):
            words[place] = self.decided(*place)
        return words

    def with_reference(self, differences: Interval) -> Interval:
        """Return differences with NaN for all judges."""
        n_c, _, n = self.nll.shape
        return Interval.joined([differences, Interval.full((n_c, 1, n), np.nan)], axis=1)

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def verdict(self, c: int, panel: int, place: int) -> inference.Verdict:
        """Return what the interval of ``delta`` decides, against 2 % of NLL(all) there."""
        delta, lo, hi = self.delta[c, panel, place]
        margin = inference.MARGIN * float(self.nll.value[c, -1, place])
        same = bool(lo == hi == delta == 0.0)
        return inference.verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, place: int) -> str:
        """Return the verdict in words that fit the panel: of the recommended one, its own."""
        result = self.verdict(c, panel, place)
        average = self.aggregator == recommended.AVERAGE
        return recommended.AGAINST_AVERAGE[result] if average else result


def panels_of(
    ballots: Ballots, pieces: list[Split], spec: PanelsSpec
) -> list[list[evaluation.SplitScores]]:
    """Return scores of the panels of every piece, by budget; all judges come last."""
    ks = spec.sizes(ballots.n_judges)
    if spec.aggregator != recommended.AVERAGE:
        return [[scores] for scores in evaluation.evaluate_each(ballots, pieces, ks, spec.recipe)]
    seed = spec.settings.seed
    parts = [evaluation.evaluate_each(ballots, pieces, ks[:-1], spec.recipe)] if len(ks) > 1 else []
    parts.append([recommended.scored_average(ballots, piece, seed) for piece in pieces])
    return [list(scores) for scores in zip(*parts, strict=True)]


def not_fitted_there(
    calibrators: Sequence[str], replaced: Ints, fits: int, where: Sequence[str]
) -> list[str]:
    """Return one warning per calibrator with the cases ``replaced`` (n_calibrators, n)."""
    rows = [zip(where, row, strict=True) for row in replaced.tolist()]
    cases = [", ".join(f"{n} of {fits} {there}" for there, n in row if n) for row in rows]
    pairs = zip(calibrators, cases, strict=True)
    return [common.not_fitted(name, text) for name, text in pairs if text]


def budget_arms(scored: Sequence[Sequence[evaluation.SplitScores]]) -> Arms:
    """Arms of one split, panels by budgets; budgets vary fastest.

    ``scored`` has the panels of every budget, in one or several consecutive parts, the reference
    last. Parts have equally many calibrators, paired by position.
    """
    first, n_calibrators = [parts[-1] for parts in scored], len(scored[0][0].evaluation)

    def stacked(field: str, c: int) -> Floats:
        budgets = [
            np.concatenate([getattr([*part.evaluation.values()][c], field) for part in parts])
            for parts in scored
        ]
        values = np.stack(budgets, axis=1)
        return values.reshape(-1, *values.shape[2:])

    replaced = [np.sum([[*part.replaced.values()] for part in parts], axis=0) for parts in scored]
    return Arms.gathered(
        lambda field: [stacked(field, c) for c in range(n_calibrators)],
        null_nll=np.array([scores.null_nll for scores in first]),
        constant_nll=np.array([[*scores.constant_nll.values()] for scores in first]).T,
        replaced=np.array(replaced).T,
    )


NEXT = 100
"""Number of further labels whose price is computed."""

SETTLED_SPLITS = 100
"""With fewer splits, labels needed are too low by 7 % on average: the upper end is quoted."""

PAPER_NOTE = "invalid: it takes splits of one data set for independent samples"
"""Accompanies the paper's joint test wherever it is displayed."""
_BETWEEN = recommended.verdicts_between("the first", "the second")
"""Verdicts for all judges under the second aggregator against all under the first."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelsNeeded:
    """Number of labels that brings one panel's NLL to ``goal``.

    ``kind`` is ``plateau`` (within ``within`` of the NLL at the largest budget) or ``target``.
    ``n`` has a 95 % interval from joint draws of all budgets' levels; it is NaN if no number of
    labels is enough by the fitted curve, its upper end if there is no upper limit. ``at_start``:
    the smallest budget suffices, so ``n`` is an upper bound. ``extrapolated``: ``n`` lies beyond
    the largest budget, on the fitted curve.
    """

    calibrator: str
    panel: str
    kind: str
    goal: float
    n: Interval
    at_start: bool
    extrapolated: bool


def _joint_test(field: str, words: str, name: str = "") -> results.Derived[Floats]:
    """A field of tests (n_calibrators, n_panels - 1) as a column; NaN for all judges."""

    @results.derived(words, name=name)
    def tests(result: LabelBudget) -> Floats:
        return np.pad(getattr(result, field), ((0, 0), (0, 1)), constant_values=np.nan)[..., None]

    return tests


@results.frozen
class LabelBudget(BudgetResult):
    """Result of :data:`LABEL_BUDGET`.

    ``labels`` (n_budgets,) are the mean numbers of labels of the fits, ``budgets`` the requested
    ones; groups stay whole, so they may differ. If ``beside`` names a second aggregator, all judges
    under it come first among the panels. The levels have ``level_se``, ``level_df`` and
    ``level_covariance`` (.., n_budgets, n_budgets).

    ``delta`` has an interval for each budget; ``band`` is the same with intervals that hold at all
    budgets together. ``joint_p`` (n_calibrators, n_panels - 1) is the p-value of no difference at
    any budget. ``paper_t``, ``paper_critical`` and ``paper_p`` are the paper's joint test, which is
    invalid (see :func:`judgepanel.scoring.descriptive.paper_joint`) and decides nothing.

    ``curve_a``, ``curve_b``, ``curve_c`` (n_calibrators, n_panels) are fits of a + b (n / scale)^-c
    with the largest of ``labels`` as scale; NaN with too few budgets. ``next_from`` (n_budgets +
    1,) are the budgets and ``have``, the number of labels that the user has (default: all labelled
    items); ``gain`` (n_calibrators, n_panels, n_budgets + 1) is the decrease of the fitted NLL with
    the next 100 labels, NaN below the smallest budget. Everything beyond ``labels[-1]`` is
    extrapolated.
    """

    budgets: Ints = results.column("Requested number of labels.", name="budget", key=True)
    labels: Floats = results.column(key=True)
    beside: str | None
    within: float
    target: float | None
    have: int
    level_se: Floats
    level_df: Floats
    level_covariance: Floats
    band: Interval
    joint_p: Floats
    paper_t: Floats
    paper_critical: Floats
    paper_p: Floats
    needed: tuple[LabelsNeeded, ...]
    curve_a: Floats
    curve_b: Floats
    curve_c: Floats
    next_from: Floats
    gain: Interval
    n_evaluation: float

    @results.derived(ends=" at all budgets together", name="delta", bounds=("band_lo", "band_hi"))
    def bands(self) -> Interval:
        """The band of every panel, NaN for all judges."""
        return self.with_reference(self.band)

    joint = _joint_test("joint_p", "p-value of no difference at any budget.", "joint_p")
    paper_joint_t = _joint_test(
        "paper_t", "The paper's joint statistic, which is invalid and decides nothing."
    )
    paper_joint_p = _joint_test(
        "paper_p", "The paper's joint p-value, which is invalid and decides nothing."
    )

    @results.derived(
        f"Decrease of the fitted NLL with the next {NEXT} labels, in nats.",
        name=f"next_{NEXT}_gain",
    )
    def next_gain(self) -> Interval:
        """What the next labels gain at every budget."""
        return self.gain[..., :-1]

    @results.derived(f"Whether next_{NEXT}_gain lies beyond the largest budget tried.")
    def next_extrapolated(self) -> Bools:
        """Whether that lies beyond the largest budget."""
        return np.asarray(self.labels + NEXT > self.labels[-1])

    @property
    def extrapolates(self) -> bool:
        """Whether the next labels after ``have`` lie beyond the largest budget."""
        return bool(self.have + NEXT > self.labels[-1])

    @results.derived(name="panel", axis=-2, key=True)
    def arms(self) -> tuple[str, ...]:
        """Names of the panels, see :func:`panel_names`, preceded by ``all 65 by joint``."""
        if self.beside is None:
            return recommended.panel_names(self.panels, self.aggregator)
        second = recommended.by_aggregator(f"all {self.n_judges:,}", self.beside)
        return (second, *recommended.panel_names(self.panels[1:], self.aggregator))

    @results.derived(name="aggregator", key=True)
    def aggregators(self) -> Any:
        """Aggregator of every panel, (n_panels, 1)."""
        aggregators, _ = recommended.pipeline_columns(self.aggregator, (), len(self.panels))
        if self.beside is not None:
            aggregators[0] = self.beside
        return aggregators

    def aggregator_of(self, panel: int) -> str:
        """Return the aggregator of a panel by its position."""
        return str(self.aggregators[panel, 0])

    def decided(self, c: int, panel: int, place: int) -> str:
        """Return the verdict in words that fit the panel: both may keep all judges."""
        if self.aggregator != recommended.AVERAGE and self.aggregator_of(panel) != self.aggregator:
            return _BETWEEN[self.verdict(c, panel, place)]
        return BudgetResult.decided(self, c, panel, place)

    def fitted(self, c: int, panel: int, n: float | Floats) -> Floats:
        """Return the fitted learning curve at ``n`` labels; NaN if there is none."""
        power = (np.asarray(n, dtype=np.float64) / self.labels[-1]) ** -self.curve_c[c, panel]
        return np.asarray(self.curve_a[c, panel] + self.curve_b[c, panel] * power)

    def needed_for(self, calibrator: str, panel: str, kind: str = "plateau") -> LabelsNeeded | None:
        """Return how many labels one panel needs, None if unknown or not requested."""
        needed = {(need.calibrator, need.panel, need.kind): need for need in self.needed}
        return needed.get((calibrator, panel, kind))

    @property
    def settled(self) -> bool:
        """Whether there are enough splits to quote an estimate of the labels needed."""
        return self.n_splits >= SETTLED_SPLITS

    def quoted(self, needed: LabelsNeeded) -> float:
        """Return the number of labels to plan with: the estimate, or the upper end.

        The upper end is used below ``SETTLED_SPLITS`` splits; NaN if it has no limit.
        """
        return float(needed.n.value if self.settled else needed.n.hi)

    def decisions(self) -> dict[str, Any]:
        """Labels needed, the joint tests, the fitted curves and the price of more labels."""
        return {
            "needed": [
                codec.to_plain(results.flat_row(need))
                | results.json_values({"quoted": self.quoted(need)})
                for need in self.needed
            ],
            "joint": self._cells(
                p=self.joint_p,
                paper_p=self.paper_p,
                paper_t=self.paper_t,
                paper_critical=self.paper_critical,
                paper_note=PAPER_NOTE,
            ),
            "curves": self._cells(
                a=self.curve_a, b=self.curve_b, c=self.curve_c, scale=self.labels[-1]
            ),
            "next": self._cells(
                gain=self.gain[..., -1],
                more=NEXT,
                extrapolated=self.extrapolates,
                **{"from": self.next_from[-1]},
            ),
            "target": self.target,
            "beside": self.beside,
            "budgets": self.budgets.tolist(),
            "null_nll": self.null_nll.tolist(),
        }

    def _cells(self, **figures: Any) -> list[dict[str, Any]]:
        """Return figures (n_calibrators, n_panels) and single ones by calibrator and panel."""
        shape = next(iter(figures.values())).shape
        return [
            {"calibrator": self.calibrators[c], "panel": self.arms[p]}
            | results.json_values(
                {
                    name: values[c, p] if isinstance(values, np.ndarray | Interval) else values
                    for name, values in figures.items()
                }
            )
            for c, p in np.ndindex(shape)
        ]


MOST_LABELS = 10_000_000
_DRAWS = 2_000
_ENDS = (0.025, 0.975)


check_within = check_share("how near to the plateau is out of range")
check_target = valid("the target NLL must be above 0", lambda nll: 0.0 < nll < math.inf)
check_have = check_count("the number of labels you have is out of range", 1, MOST_LABELS)


def unread(n_calibrators: int, n_panels: int, labels: Floats, n_items: int) -> dict[str, Any]:
    """Return blank values of the fields that :func:`read` fills."""
    shape = (n_calibrators, n_panels)
    return {
        "within": math.nan,
        "target": None,
        "have": n_items,
        "needed": (),
        **{name: np.full(shape, np.nan) for name in ("curve_a", "curve_b", "curve_c")},
        "next_from": np.append(labels, float(n_items)),
        "gain": Interval.full((*shape, len(labels) + 1), np.nan),
    }


def read(
    result: LabelBudget, *, within: float = 0.05, target: float | None = None, have: int | None
) -> LabelBudget:
    """Return the same result for other goals or from another number of labels.

    Raises
    ------
    InputError
        ``within`` outside (0, 1), a target that is not above 0, ``have`` outside 1..10,000,000.
    """
    for check, value in ((check_within, within), (check_target, target), (check_have, have)):
        if value is not None:
            check(value)
    n_c, n_p, _ = result.nll.shape
    mine = result.n_items if have is None else have
    fields = unread(n_c, n_p, result.labels, result.n_items)
    fields |= {"within": within, "target": target, "have": mine}
    fields["next_from"][-1] = mine
    needed: list[LabelsNeeded] = []
    for c, p in np.ndindex(n_c, n_p):
        if not np.isfinite(result.level_se[c, p]).all():
            continue
        values, curve = _levels(result, c, p)
        if curve is not None:
            for name in "abc":
                fields[f"curve_{name}"][c, p] = getattr(curve, name)[0]
            fields["gain"].put((c, p), _gains(curve, fields["next_from"], float(result.labels[0])))
        goals = [("plateau", (1.0 + within) * values[:, -1])]
        if target is not None:
            goals.append(("target", np.full(len(values), target)))
        for kind, goal in goals:
            reading = _needed(result.labels, values, goal, curve)
            needed.append(LabelsNeeded(result.calibrators[c], result.arms[p], kind, **reading))
    return replace(result, **{**fields, "needed": tuple(needed)})


def _levels(result: LabelBudget, c: int, p: int) -> tuple[Floats, descriptive.LearningCurve | None]:
    """Return levels of all budgets, estimates first and then draws, and their curves."""
    value, lo, hi = result.nll[c, p]
    se = result.level_se[c, p]
    df, covariance = result.level_df[c, p], result.level_covariance[c, p]
    fitted = inference.Estimate(value, se, df, lo, hi, np.full(len(value), np.nan), covariance)
    draws = inference.joint_draws(fitted, seed=result.seed, n_draws=_DRAWS)
    values = np.concatenate([value[None], np.maximum(draws, 0.0)])
    enough = len(result.labels) >= descriptive.FEWEST_POINTS
    return values, descriptive.fit_learning_curve(result.labels, values, se) if enough else None


def _gains(curve: descriptive.LearningCurve, start: Floats, smallest: float) -> Interval:
    """Return the decrease of the curve with the next labels from every start.

    NaN below the smallest budget: towards 0 labels a power law grows without bound.
    """
    inside = np.where(start < smallest, np.nan, start)
    gains = curve.at(inside) - curve.at(inside + NEXT)
    lo, hi = np.quantile(gains[1:], _ENDS, axis=0)
    return Interval(gains[0], lo, hi)


def _needed(
    labels: Floats, values: Floats, goal: Floats, curve: descriptive.LearningCurve | None
) -> dict[str, Any]:
    """Labels at which the levels first reach the goal; beyond the last budget, on the curve."""
    n = descriptive.first_reached(labels, values, goal)
    beyond = np.full(len(values), np.inf)
    if curve is not None:
        beyond = np.maximum(curve.needed(goal), labels[-1])
    n = np.where(np.isfinite(n), n, beyond)
    ends = np.append(n[0], np.quantile(n[1:], _ENDS, method="nearest"))
    value, lo, hi = np.where(np.isfinite(ends), ends, np.nan)
    return {
        "goal": float(goal[0]),
        "n": Interval(value, lo, hi, unit="count"),
        "at_start": bool(n[0] == labels[0]),
        "extrapolated": bool(n[0] > labels[-1]),
    }


_CELLS = 2_000_000
"""Arms times items of the splits that are evaluated together."""


@dataclass(frozen=True, slots=True)
class LabelBudgetSpec(PanelsSpec):
    """Options of the label budget.

    ``budgets`` None uses nine on a log scale from 20 to the whole calibration half, which is always
    the last one. ``panels`` are sizes compared with all judges, as are all judges under the
    aggregator ``beside``. ``within`` is the tolerance, relative to the NLL of the largest budget,
    for a budget that is enough; ``target`` is an NLL to reach; ``have`` is the number of labels
    from which the price of more is computed, all labelled items if None.

    Raises
    ------
    InputError
        As for :class:`PanelsSpec`; a second aggregator that is unknown or equal to the first; a
        budget below 2; ``within``, ``target`` or ``have`` out of range.
    """

    budgets: tuple[int, ...] | None = option(
        None,
        "numbers of labels, besides all that calibrate (default: nine from 20)",
        check=valid("a budget needs at least 2 labels", lambda n: n >= 2, "2 or more"),
    )
    within: float = option(
        0.05,
        "NLL excess over the largest budget that is still enough, as a fraction",
        check=check_within,
    )
    target: float | None = option(None, "an NLL to reach", check=check_target)
    have: int | None = option(
        None, "labels from which the next 100 are priced (default: all labelled)", check=check_have
    )
    beside: aggregation.Aggregator | None = option(
        None, "a second aggregator of all judges, compared with the first", noun="aggregator"
    )

    def __post_init__(self) -> None:
        PanelsSpec.__post_init__(self)
        if self.beside == self.aggregator:
            raise InputError("both aggregators are the same", value=self.beside)

    def panel_sizes(self, n_judges: int) -> Ints:
        """Return all panel sizes (n_panels,); all judges of the second aggregator come first."""
        sizes = self.sizes(n_judges)
        return sizes if self.beside is None else np.insert(sizes, 0, n_judges)


@results.frozen
class BudgetTally:
    """Scores of the splits; ``labels`` uint8 (S, n_budgets, n_items / 8) are the labelled items to
    which panels of every budget were fitted, as packed bits.
    """

    scores: Tally
    labels: Bits = results.by_split()


def run_chunk(votes: VoteMatrix, spec: LabelBudgetSpec, chunk: contract.Chunk) -> BudgetTally:
    """Evaluate all budgets on the splits of one chunk."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    budgets = planned(prepared, spec).values
    labels: list[list[Bits]] = []

    def scored() -> Iterator[tuple[Split, Arms]]:
        arms = len(budgets) * len(spec.panel_sizes(ballots.n_judges)) * len(spec.calibrators)
        step = max(1, _CELLS // (arms * ballots.n_items))
        splits = list(common.splits_of(prepared, settings, chunk))
        for together in (splits[start : start + step] for start in range(0, len(splits), step)):
            parts = [label_sets(split, ballots.units, budgets, settings.seed) for split in together]
            labels.extend([packed(rows, ballots.n_items) for rows in nested] for nested in parts)
            pieces = [
                Split(split.number, rows, split.evaluation)
                for split, nested in zip(together, parts, strict=True)
                for rows in nested
            ]
            panels = iter(_panels(ballots, pieces, spec))
            for split in together:
                yield split, budget_arms(list(islice(panels, len(budgets))))

    totals = tally(scored(), n_items=ballots.n_items, seed=settings.seed)
    return BudgetTally(totals, np.array(labels))


def _panels(
    ballots: Ballots, pieces: list[Split], spec: LabelBudgetSpec
) -> list[list[evaluation.SplitScores]]:
    """Scores of every budget: all judges under the second aggregator, then the first's panels."""
    panels = panels_of(ballots, pieces, spec)
    if spec.beside is None:
        return panels
    recipe = replace(spec.recipe, aggregator=spec.beside)
    whole_panel = evaluation.evaluate_each(ballots, pieces, np.array([ballots.n_judges]), recipe)
    return [[scores, *others] for scores, others in zip(whole_panel, panels, strict=True)]


def label_sets(split: Split, units: Ints, budgets: Ints, seed: int) -> list[Ints]:
    """Return the nested calibration rows of every budget; the last budget has them all."""
    sizes, key = budgets[:-1].tolist(), (split.number, 11)
    return [*nested_rows(units, split.calibration, sizes, seed=seed, key=key), split.calibration]


def merge(votes: VoteMatrix, spec: LabelBudgetSpec, partial: BudgetTally) -> LabelBudget:
    """Return levels, differences, labels needed and learning curves from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial.scores
    plan = planned(prepared, spec)
    sizes = spec.panel_sizes(ballots.n_judges)
    # Which items calibrate (n_budgets, S, n_items), in the order of the splits.
    calibrated = unpacked(partial.labels.swapaxes(0, 1), ballots.n_items)
    labels = calibrated.sum(axis=2).mean(axis=1)
    fits = len(totals.numbers) * len(sizes)
    where = [f"at {n:,} labels" for n in plan.values.tolist()]
    replaced = not_fitted_there(spec.calibrators, totals.replaced, fits, where)
    n_calibrators, units, seed = len(spec.calibrators), ballots.units, spec.settings.seed
    result = LabelBudget.from_splits(
        prepared,
        spec,
        totals,
        budgets=plan.values,
        labels=labels,
        panels=sizes,
        **budget_estimates(
            totals, units, calibrated, n_calibrators=n_calibrators, n_panels=len(sizes), seed=seed
        ),
        **unread(n_calibrators, len(sizes), labels, ballots.n_items),
        warnings=common.run_warnings(prepared, totals, *replaced, first=plan.left_out),
    )
    return read(result, within=spec.within, target=spec.target, have=spec.have)


def budget_estimates(
    tally: Tally, units: Ints, calibrated: Bools, *, n_calibrators: int, n_panels: int, seed: int
) -> dict[str, Any]:
    """Return the score-based fields of :class:`LabelBudget`; NaN ends from a single split.

    ``calibrated`` (n_budgets, S, N) are the items to which panels of every budget were fitted. Arms
    are panels by budgets; budgets vary fastest; the last panel is the reference.
    """
    n_c, n_p, n_b = n_calibrators, n_panels, len(calibrated)
    labels = calibrated.sum(axis=2).mean(axis=1)
    sides = [Sides.of(inside, tally.scored(), units) for inside in calibrated]
    item_means, seen = tally.item_means()
    items = item_means[0, :, :-1].reshape(n_c, n_p, n_b, -1)
    splits = tally.split_means[:, 0, :, :-1].reshape(-1, n_c, n_p, n_b)
    levels, gaps = (n_c, n_p, n_b), (n_c, n_p - 1)
    nll = Interval.alone(items.mean(axis=-1))
    delta = Interval.alone((items[:, :-1] - items[:, [-1]]).mean(axis=-1))
    band = Interval.alone(delta.value)
    tests = ("joint_p", "paper_t", "paper_critical", "paper_p")
    rest = {
        **{name: np.full(levels, np.nan) for name in ("level_se", "level_df")},
        "level_covariance": np.full((*levels, n_b), np.nan),
        **{name: np.full(gaps, np.nan) for name in tests},
    }

    own, others = units[seen], len(units) - labels
    sizes = labels, float(tally.n_evaluation.mean())

    def estimated(by_item: Floats, by_split: Floats) -> inference.Estimate:
        return inference.estimate(by_item, by_split, own, *sizes, n_others=others, sides=sides)

    for c, p in np.ndindex(levels[:2]) if len(splits) > 1 else ():
        level = estimated(items[c, p], splits[:, c, p])
        nll.lo[c, p], nll.hi[c, p] = (np.clip(end, *RANGES["nll"]) for end in (level.lo, level.hi))
        rest["level_se"][c, p], rest["level_df"][c, p] = level.se, level.df
        rest["level_covariance"][c, p] = level.covariance
    for c, p in np.ndindex(gaps) if len(splits) > 1 else ():
        apart = splits[:, c, p] - splits[:, c, -1]
        gap = estimated(items[c, p] - items[c, -1], apart)
        reach = inference.simultaneous_reach(gap, seed=seed) * gap.se
        delta.lo[c, p], delta.hi[c, p] = gap.lo, gap.hi
        band.lo[c, p], band.hi[c, p] = gap.value - reach, gap.value + reach
        paper = descriptive.paper_joint(apart, seed=seed)
        rest["joint_p"][c, p] = inference.joint_p(gap, seed=seed)
        rest["paper_t"][c, p], rest["paper_critical"][c, p] = paper.t, paper.critical
        rest["paper_p"][c, p] = paper.p
    return {"nll": nll, "delta": delta, "band": band, **rest}


# All splits are run: from 20 of them the labels needed are too few.
LABEL_BUDGET: contract.Study[LabelBudgetSpec, BudgetTally, LabelBudget] = contract.Study(
    name="label_budget",
    title="Label budget",
    question="How many labels do we need?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
)
