"""Functions shared by all studies of splits: drawing splits, adding them up, item features.

Warnings shared by several studies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from judgepanel.kernels import aggregation, calibration, evaluation, maps, prefixes, residual
from judgepanel.scoring.descriptive import FEW_ERRORS
from judgepanel.scoring.splits import Split, split, unit_codes
from judgepanel.studies import accumulate, results
from judgepanel.studies.contract import Chunk, Prepared, Settings
from judgepanel.votes import InputError


def item_features(prepared: Prepared, *names: str) -> residual.FeatureColumns:
    """Return the item features of the labelled items by name.

    Raises
    ------
    InputError
        One of these names that the votes do not have.
    """
    columns = residual.feature_columns(prepared.oriented.votes.features) or {}
    for name in names:
        if name not in columns:
            raise InputError(
                "no such feature among the votes", value=name, allowed=", ".join(columns) or "none"
            )
    return columns


def recipe_of(
    settings: Settings,
    aggregator: aggregation.AnyAggregator,
    calibrators: tuple[calibration.Calibrator, ...],
    ranking: prefixes.Ranking,
) -> evaluation.Recipe:
    """Return how panels are fitted in every split under the protocol and seed of the settings."""
    in_sample = settings.protocol == "paper"
    return evaluation.Recipe(
        aggregator, calibrators, ranking, in_sample=in_sample, seed=settings.seed
    )


def splits_of(prepared: Prepared, settings: Settings, chunk: Chunk) -> Iterator[Split]:
    """Yield the splits of a chunk, in order."""
    for number in range(chunk.first, chunk.first + chunk.count):
        yield split(prepared.ballots.units, number, fraction=settings.fraction, seed=settings.seed)


def tally_of(
    prepared: Prepared, settings: Settings, chunk: Chunk, arms: Callable[[Split], accumulate.Scored]
) -> accumulate.Tally:
    """Add up the arms of every split of a chunk."""
    scored = ((split, arms(split)) for split in splits_of(prepared, settings, chunk))
    return accumulate.tally(scored, n_items=prepared.ballots.n_items, seed=settings.seed)


_CELLS = 1_000_000
"""Votes that are summed together: the product needs a copy of them in double precision."""
FEW_LABELS = 30


def few_labels(prepared: Prepared, n_calibration: float, *, allowed: bool = False) -> list[str]:
    """Warn about few calibration labels, few groups for variances, or few wrong decisions for NLL.

    ``allowed``: the intervals of the study allow for one more wrong decision.
    """
    result = []
    if n_calibration < FEW_LABELS:
        result.append(
            f"Only {n_calibration:.0f} labels calibrate in each split: intervals are wide, and "
            "calibrators with several parameters are shrunk or unstable."
        )
    n_groups = unit_codes(prepared.ballots.units)[1]
    if n_groups < FEW_LABELS and n_groups < prepared.ballots.n_items:
        result.append(
            f"The items form only {n_groups} groups, and groups are what intervals count: take "
            "them as rough."
        )
    return result + few_errors(prepared, allowed=allowed)


def run_warnings(
    prepared: Prepared,
    splits: results.SplitCounts,
    *more: str,
    first: Iterable[str] = (),
    allowed: bool = False,
) -> tuple[str, ...]:
    """Return what must accompany every figure: about the votes, ``first``, few labels, ``more``."""
    few = few_labels(prepared, float(splits.n_calibration.mean()), allowed=allowed)
    return tuple(filter(None, (*prepared.notices, *first, *few, *more)))


def n_errors(prepared: Prepared) -> int:
    """Number of labelled items, or groups of items, that all judges together decide wrongly.

    Decisions are those of one-coin weights on all labelled items; ties count one half. A group
    counts as its worst item, as items of a group go wrong together.
    """
    ballots = prepared.ballots
    correct, voted = prefixes.counts(ballots, np.arange(ballots.n_items))
    weights = np.log((correct + 1.0) / (voted - correct + 1.0))
    blocks = maps.column_blocks(ballots.n_items, ballots.n_judges, _CELLS)
    margin = np.concatenate([ballots.votes[block] @ weights for block in blocks])
    margin *= ballots.signs
    wrong = np.where(margin < 0.0, 1.0, np.where(margin == 0.0, 0.5, 0.0))
    codes, n_units = unit_codes(ballots.units)
    worst = np.zeros(n_units)
    np.maximum.at(worst, codes, wrong)
    return int(np.floor(worst.sum()))


def errs_rarely(prepared: Prepared) -> bool:
    """Whether there are so few wrong decisions that intervals of NLL must allow for more."""
    return n_errors(prepared) < FEW_ERRORS


def few_errors(prepared: Prepared, *, allowed: bool = False) -> list[str]:
    """Warn if all judges together decide nearly every labelled item correctly."""
    wrong = n_errors(prepared)
    if wrong >= FEW_ERRORS:
        return []
    are = "is" if wrong == 1 else "are"
    n_units = unit_codes(prepared.ballots.units)[1]
    what = "items" if n_units == prepared.ballots.n_items else "groups of items"
    follows = (
        "intervals of panels that are so accurate allow for one wrong decision more than was seen."
        if allowed
        else "its intervals are then too short on the flattering side."
    )
    return [
        f"Of {n_units:,} labelled {what} only {wrong} {are} decided wrongly by all "
        f"judges together. NLL rests on such items above all: {follows}"
    ]


def replaced_fits(names: Sequence[str], totals: accumulate.Tally) -> list[str]:
    """Return one warning per name that could not be fitted to every arm of every split."""
    return stand_ins(names, np.ravel(totals.replaced).tolist(), len(totals.numbers) * totals.n_arms)


def stand_ins(names: Sequence[str], replaced: Sequence[int], fits: int) -> list[str]:
    """Return one warning per name that could not be fitted in ``replaced`` of ``fits`` fits."""
    counts = zip(names, replaced, strict=True)
    return [not_fitted(name, f"{count} of {fits} fits") for name, count in counts if count]


def not_fitted(name: str, where: str) -> str:
    """Return what could not be fitted, where, and the fallback."""
    return (
        f"{name} could not be fitted in {where} (one class, or perfectly separated); temperature "
        "stands in there."
    )


def first_of(sentences: Sequence[str], most: int = 2) -> str:
    """Return the first few clauses as one sentence, and how many more there are."""
    text, n = "; ".join(sentences[:most]), len(sentences)
    return f"{text}." if n <= most else f"{text}; and {n - most} more."
