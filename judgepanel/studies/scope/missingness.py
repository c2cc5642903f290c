"""P3, first part: are votes missing at random?

For every judge that misses some labelled items, and for all of them together: is missing related to
the label, to the item's difficulty, or to a slice of the items (an item feature)? Difficulty is the
accuracy of the *other* judges on that item, each relative to its own mean, so that it depends
neither on the judge itself nor on which others are absent. All p-values are adjusted together by
Holm.

With groups the unit of a test is the group: items of one prompt are not separate evidence. Groups
are compared only with groups of the same size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats
from judgepanel.scoring.association import rank_p, share_p, unit_means, unit_sizes
from judgepanel.scoring.inference import holm
from judgepanel.studies.scope.parse import ALPHA
from judgepanel.studies.settings import Prepared

FEWEST_MISSING = 5
MOST_LEVELS = 25
POOLED = ""
_KEPT = 40


@dataclass(frozen=True, slots=True)
class MissingTest:
    """One test of missing votes: ``judge`` ('' is all together) and the variable tested.

    ``kind`` is label, difficulty, slice or number; ``feature`` and ``level`` identify the slice.
    ``inside`` and ``outside`` are shares of votes missing where the label is 1 (or in the slice)
    and elsewhere; for difficulty and numbers, the mean value on missed items and on the others (for
    difficulty: how much more often than usual the other judges are right). ``p_adjusted`` is Holm's
    over all tests.
    """

    judge: str
    kind: str
    feature: str
    level: str
    inside: float
    outside: float
    n_missing: int
    p: float
    p_adjusted: float

    @property
    def related(self) -> bool:
        """Whether votes are shown not to be missing at random."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class Missingness:
    """All feasible tests; ``tests`` are the most significant ones, most significant first.

    ``n_tests`` were made on ``n_judges`` judges that miss and vote on at least ``FEWEST_MISSING``
    items each; ``n_missing`` votes are missing of ``n_cells``; ``left_out`` are sentences on what
    could not be tested.
    """

    tests: tuple[MissingTest, ...]
    n_tests: int
    n_related: int
    n_judges: int
    n_missing: int
    n_cells: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A variable of every unit: a share in [0, 1] for ``label`` and ``slice``, else ranked."""

    kind: str
    feature: str
    level: str
    values: Floats


def missingness(prepared: Prepared) -> Missingness:
    """Run all tests on the labelled items."""
    ballots = prepared.ballots
    absent = (ballots.votes == 0).astype(np.float64)
    n_absent = absent.sum(axis=0)
    tested = np.flatnonzero(
        (n_absent >= FEWEST_MISSING) & (ballots.n_items - n_absent >= FEWEST_MISSING)
    )
    known, left_out = _known(prepared)
    rows: list[MissingTest] = []
    if len(tested):
        ease = relative_ease(ballots.votes, ballots.signs)
        rows = _tests(prepared, absent, tested, known, ease)
        left_out = (*left_out, *_lone_groups(ballots.units))
    elif n_absent.any():
        left_out = (
            *left_out,
            f"No judge misses {FEWEST_MISSING} labelled items and votes on as many, so whether "
            "missing votes are a matter of chance was not tested.",
        )
    adjusted = holm(np.array([row.p for row in rows]))
    final = sorted(
        (replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)),
        key=lambda row: (row.p, row.judge, row.kind, row.feature, row.level),
    )
    return Missingness(
        tests=tuple(final[:_KEPT]),
        n_tests=len(final),
        n_related=sum(test.related for test in final),
        n_judges=len(tested),
        n_missing=int(n_absent.sum()),
        n_cells=int(absent.size),
        left_out=left_out,
    )


def relative_ease(votes: NDArray[np.int8], signs: NDArray[np.int8]) -> tuple[Floats, Floats]:
    """Sum over judges of (right - own accuracy) on each item (n,), and those terms (n, K).

    The sum without one judge's term, over the number of the others that voted, is the item's
    easiness for the others.
    """
    cast = votes != 0
    right = ((votes == signs[:, None]) & cast).astype(np.float64)
    mean = right.sum(axis=0) / np.maximum(cast.sum(axis=0), 1)
    terms = np.where(cast, right - mean, 0.0)
    return terms.sum(axis=1), terms


def _tests(
    prepared: Prepared,
    absent: Floats,
    tested: NDArray[np.int64],
    known: list[_Known],
    ease: tuple[Floats, Floats],
) -> list[MissingTest]:
    ballots = prepared.ballots
    units = ballots.units
    total, terms = ease
    cast = (ballots.votes != 0).astype(np.float64)
    n_cast = cast.sum(axis=1)
    sizes = unit_sizes(units)
    missed = unit_means(absent[:, tested], units)
    shares = [entry for entry in known if entry.kind in ("label", "slice")]
    numbers = [entry for entry in known if entry.kind == "number"]
    exact = np.zeros((len(tested), 0))
    if shares:
        exact = share_p(missed, np.stack([entry.values for entry in shares], axis=1), sizes)
    rows: list[MissingTest] = []
    for column, judge in enumerate(tested):
        others = n_cast - cast[:, judge]
        value = np.divide(
            total - terms[:, judge], others, out=np.full(len(total), np.nan), where=others > 0
        )
        easy = _Known("difficulty", "", "", unit_means(value, units))
        family_test = missed[:, column]
        p = [rank_p(family_test, other.values, sizes) for other in (easy, *numbers)]
        name, n = prepared.judges[judge], int(absent[:, judge].sum())
        rows += _rows(name, family_test, [easy, *numbers, *shares], [*p, *exact[column]], n)
    pooled = unit_means(absent.mean(axis=1), units)
    value = np.divide(total, n_cast, out=np.full(len(total), np.nan), where=n_cast > 0)
    everything = [_Known("difficulty", "", "", unit_means(value, units)), *known]
    p = [rank_p(distributions.ranks(pooled), entry.values, sizes) for entry in everything]
    return rows + _rows(POOLED, pooled, everything, p, int(absent.sum()))


def _lone_groups(units: NDArray[np.int64]) -> tuple[str, ...]:
    """Return a sentence on the groups that no test can use, if any."""
    sizes = unit_sizes(units)
    lone = int((np.unique(sizes, return_counts=True)[1] == 1).sum())
    if not lone:
        return ()
    which = "1 group was" if lone == 1 else f"{lone:,} groups were"
    return (
        f"{which} left out of the tests of missing votes, of {len(sizes):,}: groups are compared "
        "with groups of as many labelled items, and no other has as many.",
    )


def _rows(
    judge: str, missed: Floats, known: list[_Known], p: list[float], n_missing: int
) -> list[MissingTest]:
    """Return the feasible tests of one judge."""
    rows = []
    for entry, value in zip(known, p, strict=True):
        if not np.isfinite(value):
            continue
        inside, outside = _two_means(missed, entry.values, share=entry.kind in ("label", "slice"))
        if np.isfinite(inside) and np.isfinite(outside):
            rows.append(
                MissingTest(
                    judge=judge,
                    kind=entry.kind,
                    feature=entry.feature,
                    level=entry.level,
                    inside=inside,
                    outside=outside,
                    n_missing=n_missing,
                    p=float(value),
                    p_adjusted=float(value),
                )
            )
    return rows


def _two_means(missed: Floats, values: Floats, *, share: bool) -> tuple[float, float]:
    """Missing shares inside and outside; for other values, means if missing and if not."""
    known = np.isfinite(values)
    weight, what = (values, missed) if share else (missed, values)
    weight, what = weight[known], what[known]
    rest = weight.max(initial=0.0) - weight
    if weight.sum() <= 0.0 or rest.sum() <= 0.0:
        return float("nan"), float("nan")
    return float(weight @ what / weight.sum()), float(rest @ what / rest.sum())


def _known(prepared: Prepared) -> tuple[list[_Known], tuple[str, ...]]:
    """Return the variables to test besides difficulty, and those that cannot be tested."""
    votes, units = prepared.oriented.votes, prepared.ballots.units
    known_features: list[_Known] = []
    left_out: list[str] = []
    labels = (prepared.ballots.signs > 0).astype(np.float64)
    if prepared.oriented.policy != "as_given":
        left_out.append(
            "Which response of a pair comes first is arbitrary here, so missing votes were not "
            "held against the label."
        )
    elif 0.0 < labels.mean() < 1.0:
        known_features.append(_Known("label", "", "", unit_means(labels, units)))
    features = votes.features
    if features is None or not len(features.columns):
        left_out.append("There are no item features, so no slice was tested.")
        return known_features, tuple(left_out)
    for name in features.columns:
        column = features[name]
        if column.dtype == np.float64:
            values = unit_means(column.to_numpy(dtype=np.float64), units)
            known_features.append(_Known("number", str(name), "", values))
            continue
        words = column.astype(str).to_numpy(dtype=object)
        levels = sorted(set(words))
        if len(levels) > MOST_LEVELS:
            left_out.append(
                f"A feature with {len(levels):,} different texts was not tested; {MOST_LEVELS} are "
                "the most that make slices."
            )
        elif len(levels) > 1:
            # For two slices, one test contains all the information.
            for level in levels[: None if len(levels) > 2 else 1]:
                inside = unit_means((words == level).astype(np.float64), units)
                known_features.append(_Known("slice", str(name), level, inside))
    return known_features, tuple(left_out)
