"""Value: how much does each judge add to the panel, and how many judges can be removed?

In every split panels are fitted on the calibration rows with all judges, without each judge, each
family and each cluster, without the m judges with the lowest value by inner folds of the
calibration rows, and with copies; all are scored on the other rows (docs/value.md).

Cost per split under a closed form: a batch of K panels seven times, and a panel curve per order.
Under joint: one fit, K refits at its ridges six times, one fit per number of removed judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.panels import VALUED, Valued
from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.common import check_known, run_fields, splits_of
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.partials import by_split, frozen
from judgepanel.studies.robustness.value_tally import ValueTally, tally_values
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.studies.value.one_split import (
    Rules,
    SplitValues,
    inner_of_all,
    layout_of,
    values_of,
)
from judgepanel.studies.value.plan import Plan, plan_of
from judgepanel.studies.value.value_estimates import (
    Gathered,
    copy_figures,
    group_figures,
    judge_figures,
    level,
    mean_loss,
    ranks,
    removal_figures,
)
from judgepanel.studies.value.value_result import Value
from judgepanel.votes import InputError, VoteMatrix

VALUE_SPLITS = 20
MOST_JUDGES = 1000
MOST_ORDERS = 1000


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """The pipeline and options for valuing judges.

    ``permutations`` orders of joining give Shapley values in each split: half of them are drawn for
    it, half are shared by all splits. ``feature`` slices the items, None uses the first usable one;
    ``copied`` are judges to copy, None uses the most accurate, the median and the most correlated.

    Raises
    ------
    InputError
        An unknown or duplicate name, a number of orders that is not a multiple of 8 or outside
        8..1000; the paper's protocol, under which judges would be ranked by in-sample scores.
    """

    settings: Settings = Settings()
    aggregator: Valued = field(default="joint", metadata={"help": "how votes are summed"})
    calibrator: Calibrator = field(
        default="none", metadata={"help": "the calibrator of all panels"}
    )
    permutations: int = field(
        default=40, metadata={"help": "orders per split for Shapley values, a multiple of 8"}
    )
    feature: str | None = field(
        default=None,
        metadata={"help": "item feature that defines slices (default: the first usable one)"},
    )
    copied: tuple[str, ...] | None = field(
        default=None,
        metadata={
            "help": "judges to copy (default: the most accurate, median and most correlated)"
        },
    )

    def __post_init__(self) -> None:
        check_known("aggregator that judges are valued under", VALUED, (self.aggregator,))
        check_known("calibrator", CALIBRATORS, (self.calibrator,))
        if self.settings.protocol != "honest":
            raise InputError(
                "judges are ranked by NLL, which the paper's protocol takes from in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        if not 8 <= self.permutations <= MOST_ORDERS or self.permutations % 8:
            raise InputError(
                "orders come in four designs of pairs",
                value=self.permutations,
                allowed=f"a multiple of 8 from 8 to {MOST_ORDERS}",
            )
        if self.copied is not None and len(set(self.copied)) < len(self.copied):
            raise InputError("a judge to copy is given twice", value=", ".join(self.copied))

    @property
    def rules(self) -> Rules:
        """How panels are built."""
        return Rules(self.aggregator, self.calibrator, self.permutations, self.settings.seed)


@frozen
class ValuePartial:
    """Values of the splits so far; arrays (S, ...) as in :class:`SplitValues`.

    Splits are in the order of ``tally.numbers``. ``inner`` (K,) comes with the last split, empty
    until then.
    """

    tally: ValueTally
    slices: Floats = by_split()
    noise: Floats = by_split()
    family_noise: Floats = by_split()
    steady: Floats = by_split()
    family_steady: Floats = by_split()
    correlation: Floats = by_split()
    fits: Ints = by_split()
    inner: Floats


def run_chunk(votes: VoteMatrix, spec: ValueSpec, chunk: Chunk) -> ValuePartial:
    """Score all panels of the splits of one chunk; the last one also ranks judges on all rows."""
    prepared, plan = _prepared(votes, spec)
    values: list[SplitValues] = []
    rows = []
    for split in splits_of(prepared, spec.settings, chunk):
        split_values = values_of(prepared, split, plan, spec.rules)
        rows.append((split.number, split.evaluation, len(split.calibration), split_values.values))
        values.append(replace(split_values, values=split_values.values[:0]))
    inner = np.zeros(0)
    if chunk.first + chunk.count >= rounds(spec):
        inner = inner_of_all(prepared, split, spec.rules)
    return ValuePartial(
        tally_values(rows, prepared.ballots.n_items, layout_of(plan).n_values),
        **{name: np.array([getattr(value, name) for value in values]) for name in _PER_SPLIT},
        inner=inner,
    )


_PER_SPLIT = (
    "slices",
    "noise",
    "family_noise",
    "steady",
    "family_steady",
    "correlation",
    "fits",
)


def _prepared(votes: VoteMatrix, spec: ValueSpec) -> tuple[Prepared, Plan]:
    prepared = prepare(votes, spec.settings)
    n_judges = prepared.ballots.n_judges
    if n_judges > MOST_JUDGES and spec.aggregator == "joint":
        raise InputError(
            "there are too many judges to refit the joint panel without each of them",
            value=n_judges,
            allowed=f"{MOST_JUDGES} or fewer, or the aggregator one_coin",
        )
    return prepared, plan_of(votes, prepared, spec.feature, spec.copied)


def merge(votes: VoteMatrix, spec: ValueSpec, partial: ValuePartial) -> Value:
    """Return values, roles and removable judges from the splits so far."""
    prepared, plan = _prepared(votes, spec)
    split_values = _gathered(prepared, plan, partial)
    removal = removal_figures(split_values, plan, spec.settings.seed)
    droppable = max((row.m for row in removal if row.free), default=0)
    order = np.argsort(ranks(split_values.inner), kind="stable")
    first = order[:droppable] if len(partial.inner) else order[:0]
    nll_all = level(split_values)
    aggregator, calibrator = spec.rules.shapley
    settings = replace(spec.settings, splits=rounds(spec))
    return Value(
        judges=judge_figures(split_values, plan, prepared, droppable),
        groups=group_figures(split_values, plan, prepared.judges),
        removal=removal,
        droppable=droppable,
        droppable_judges=tuple(prepared.judges[j] for j in first),
        copies=copy_figures(split_values, plan, prepared.judges),
        aggregator=spec.aggregator,
        calibrator=spec.calibrator,
        shapley_aggregator=aggregator,
        shapley_calibrator=calibrator,
        shapley_nll=mean_loss(split_values, "shapley_everyone"),
        permutations=spec.permutations,
        nll_all=nll_all,
        margin=MARGIN * float(nll_all.value),
        null_nll=mean_loss(split_values, "null"),
        constant_nll=mean_loss(split_values, "constant"),
        feature=plan.slices.feature or "",
        slices=plan.slices.names,
        n_judges=prepared.ballots.n_judges,
        n_calibration=float(split_values.tally.n_calibration.mean()),
        **run_fields(prepared, settings, split_values.tally),
        warnings=_warnings(prepared, spec, split_values, partial),
    )


def _gathered(prepared: Prepared, plan: Plan, partial: ValuePartial) -> Gathered:
    """Return all splits in order."""
    inner = partial.inner
    per_split = {name: getattr(partial, name) for name in _PER_SPLIT if name != "fits"}
    return Gathered(
        tally=partial.tally,
        layout=layout_of(plan),
        units=prepared.ballots.units,
        inner=inner if len(inner) else np.full(prepared.ballots.n_judges, np.nan),
        **per_split,
    )


def _warnings(
    prepared: Prepared, spec: ValueSpec, split_values: Gathered, partial: ValuePartial
) -> tuple[str, ...]:
    warnings = [*prepared.notices]
    warnings += few_labels(prepared, float(split_values.tally.n_calibration.mean()))
    made, replaced = (int(n) for n in partial.fits.sum(axis=0))
    name = spec.rules.shapley[1] if spec.calibrator == "none" else spec.calibrator
    warnings += stand_ins((name,), (replaced,), made)
    if prepared.ballots.n_judges == 1:
        warnings.append("There is only one judge, so its value is that against the base rate.")
    return tuple(warnings)


def rounds(spec: ValueSpec) -> int:
    """Number of splits used: at most ``VALUE_SPLITS``, since each takes many panels."""
    return min(spec.settings.most_splits, VALUE_SPLITS)


# All splits are run, since the last one ranks the judges.
VALUE: Study[ValueSpec, ValuePartial, Value] = Study(
    name="value",
    title="What each judge is worth",
    question="What is each judge worth, and how many can go?",
    spec=ValueSpec,
    result=Value,
    partial=ValuePartial,
    run_chunk=run_chunk,
    merge=merge,
    rounds=rounds,
)
