"""VoteMatrix: the immutable, validated votes that all studies use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError

Task = Literal["pairwise", "pointwise"]
TASKS: tuple[Task, ...] = ("pairwise", "pointwise")
MISSING = -1

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True, eq=False)
class VoteMatrix:
    """Votes of ``n_judges`` judges on ``n_items`` items; equal if all their contents are equal.

    Attributes
    ----------
    votes : int8 (n_items, n_judges) in {0, 1, -1}; -1 is a missing vote.
    labels : int8 (n_items,) in {0, 1, -1}; -1 is an unlabelled item.
    item_ids : n_items unique, non-empty strings.
    judges : n_judges unique, non-empty strings.
    task : ``pairwise`` (which of two is better; the order is arbitrary) or ``pointwise``.
    groups : n_items strings, or None; items of one group never straddle a split.
    features : DataFrame of n_items rows in item order (``feat_`` prefix removed), or None.
    judge_table : DataFrame of n_judges rows in judge order (family, cost, ...), or None.
    ties : bool (n_items, n_judges), missing votes that were given as ties; None if there are none.
        Distinguishes a tied verdict from no verdict; all scores treat a tie as a missing vote.
    grades : float64 (n_items, n_judges), scores, probabilities or differences; higher speaks more
        for label 1. NaN if missing, None if no judge gave grades.
    thresholds : float64 (n_judges,), cuts of each judge's grades into votes; NaN for a judge
        without grades. A grade above is vote 1, one below vote 0, and one equal to it a tie. A
        judge with a threshold has a grade for each of its votes.

    Raises
    ------
    InputError
        Shapes that do not fit, values outside the sets above, duplicate or empty names, texts or
        judges beyond ``judgepanel.votes.limits``, votes that are not their grades cut at the
        threshold.
    """

    votes: NDArray[np.int8]
    labels: NDArray[np.int8]
    item_ids: tuple[str, ...]
    judges: tuple[str, ...]
    task: Task = "pairwise"
    groups: tuple[str, ...] | None = None
    features: pd.DataFrame | None = None
    judge_table: pd.DataFrame | None = None
    ties: NDArray[np.bool_] | None = None
    grades: NDArray[np.float64] | None = None
    thresholds: NDArray[np.float64] | None = None
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        votes = _frozen_int8(self.votes, "votes", 2)
        labels = _frozen_int8(self.labels, "labels", 1)
        object.__setattr__(self, "votes", votes)
        object.__setattr__(self, "labels", labels)
        n_items, n_judges = votes.shape
        if self.task not in TASKS:
            raise InputError("unknown task", value=self.task, allowed=", ".join(TASKS))
        _check_length("labels", len(labels), n_items)
        check_judges(n_judges)
        _check_names("item id", self.item_ids, n_items)
        _check_names("judge name", self.judges, n_judges)
        if self.groups is not None:
            _check_length("groups", len(self.groups), n_items)
            check_texts("group", map(len, self.groups))
        if self.ties is not None:
            object.__setattr__(self, "ties", _frozen_ties(self.ties, votes))
        grades, thresholds = _frozen_grades(self.grades, self.thresholds, votes, self.ties)
        object.__setattr__(self, "grades", grades)
        object.__setattr__(self, "thresholds", thresholds)
        if self.features is not None:
            _check_length("features", len(self.features), n_items)
            _check_frame("feature", self.features)
        if self.judge_table is not None:
            _check_length("judge table", len(self.judge_table), n_judges)
            _check_frame("entry of the judge table", self.judge_table)
        object.__setattr__(self, "sha256", _fingerprint(self))

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoteMatrix) and other.sha256 == self.sha256

    @property
    def n_items(self) -> int:
        return int(self.votes.shape[0])

    @property
    def n_judges(self) -> int:
        return int(self.votes.shape[1])

    @property
    def units(self) -> NDArray[np.int64]:
        """int (n_items,): code of an item's group, in order of appearance; else its position."""
        codes: dict[str, int] = {}
        groups = self.item_ids if self.groups is None else self.groups
        return np.array([codes.setdefault(group, len(codes)) for group in groups], dtype=np.int64)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """bool (n_items,): which items have a label."""
        return np.asarray(self.labels != MISSING)

    @property
    def coverage(self) -> NDArray[np.float64]:
        """float (n_judges,): share of items with a vote, per judge, in [0, 1]."""
        return np.asarray((self.votes != MISSING).mean(axis=0), dtype=float)

    @property
    def n_votes(self) -> NDArray[np.int64]:
        """int (n_items,): votes per item."""
        return np.asarray((self.votes != MISSING).sum(axis=1), dtype=np.int64)

    @property
    def margins(self) -> NDArray[np.float64] | None:
        """float (n_items, n_judges): distance of a grade from its judge's threshold, at least 0.

        0 for a missing grade; None without grades. It is rounded to 12 decimals, so that .3 is as
        far from .5 as .7.
        """
        if self.grades is None or self.thresholds is None:
            return None
        margins: NDArray[np.float64] = np.abs(self.grades - self.thresholds)
        return np.asarray(np.nan_to_num(np.round(margins, 12)))

    @property
    def minority_share(self) -> float:
        """Share of the rarer label among labelled items, in [0, .5]; nan without labels."""
        known = self.labels[self.labelled]
        if len(known) == 0:
            return float("nan")
        ones = int(np.sum(known == 1))
        return min(ones, len(known) - ones) / len(known)

    def with_judges(self, judges: Sequence[str]) -> VoteMatrix:
        """Return the same items with these judges only, in the order given."""
        if tuple(judges) == self.judges:
            return self
        position = {name: index for index, name in enumerate(self.judges)}
        for name in judges:
            if name not in position:
                raise InputError("no such judge among the votes", value=name)
        columns = [position[name] for name in judges]
        return replace(
            self,
            votes=self.votes[:, columns],
            judges=tuple(judges),
            judge_table=_selected(self.judge_table, columns),
            ties=None if self.ties is None else self.ties[:, columns],
            grades=None if self.grades is None else self.grades[:, columns],
            thresholds=None if self.thresholds is None else self.thresholds[columns],
        )

    def with_items(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> VoteMatrix:
        """Return these items only (integer positions or a mask), in the order given."""
        index = np.arange(self.n_items)[rows]
        if np.array_equal(index, np.arange(self.n_items)):
            return self
        return replace(
            self,
            votes=self.votes[index],
            labels=self.labels[index],
            item_ids=tuple(self.item_ids[i] for i in index),
            groups=None if self.groups is None else tuple(self.groups[i] for i in index),
            features=_selected(self.features, index),
            ties=None if self.ties is None else self.ties[index],
            grades=None if self.grades is None else self.grades[index],
        )

    def with_task(self, task: Task) -> VoteMatrix:
        """Return the same votes with another task."""
        return replace(self, task=task)


def cached(
    size: int,
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Cache the last ``size`` results of a function; votes are compared by content."""
    return cast(
        "Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]", lru_cache(size)
    )


def _selected(
    table: pd.DataFrame | None, rows: NDArray[np.int64] | list[int]
) -> pd.DataFrame | None:
    return None if table is None else table.iloc[rows].reset_index(drop=True)


def _frozen_int8(values: NDArray[np.int8], name: str, ndim: int) -> NDArray[np.int8]:
    array = np.asarray(values)
    if array.ndim != ndim:
        raise InputError(f"{name} must have {ndim} dimension(s), not {array.ndim}")
    with np.errstate(invalid="ignore"):
        wrong = (array != 0) & (array != 1) & (array != MISSING)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"{name} hold something other than a verdict at position {place}",
            value=array[place],
            allowed="0, 1, -1 (missing)",
        )
    frozen = np.array(array, dtype=np.int8, order="C")
    frozen.flags.writeable = False
    return frozen


def _frozen_ties(values: NDArray[np.bool_], votes: NDArray[np.int8]) -> NDArray[np.bool_] | None:
    ties = np.array(values, dtype=bool, order="C")
    if ties.shape != votes.shape:
        raise InputError(f"ties have shape {ties.shape} where {votes.shape} is needed")
    if (ties & (votes != MISSING)).any():
        raise InputError("a vote is given as a tie and as a verdict", allowed="one of the two")
    ties.flags.writeable = False
    return ties if ties.any() else None


def _frozen_grades(
    values: NDArray[np.float64] | None,
    thresholds: NDArray[np.float64] | None,
    votes: NDArray[np.int8],
    ties: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return grades and thresholds with one form of zero and NaN; None without grades."""
    if values is None and thresholds is None:
        return None, None
    if values is None or thresholds is None:
        raise InputError("grades and thresholds need each other", allowed="both or none of them")
    # NaN has many bit patterns and 0 has two; a single one makes equal matrices compare equal.
    grades, cuts = (
        np.where(np.isnan(array), np.nan, array) + 0.0
        for array in (np.asarray(values, np.float64), np.asarray(thresholds, np.float64))
    )
    if grades.shape != votes.shape or cuts.shape != votes.shape[1:]:
        raise InputError(
            f"grades and thresholds have shapes {grades.shape} and {cuts.shape} where "
            f"{votes.shape} and {votes.shape[1:]} are needed"
        )
    if np.isinf(grades).any() or np.isinf(cuts).any():
        raise InputError("a grade or a threshold is infinite", allowed="finite numbers")
    given, tied = ~np.isnan(grades), np.zeros(votes.shape, bool) if ties is None else ties
    cut = np.where(given & (grades != cuts), grades > cuts, MISSING)
    wrong = ~np.isnan(cuts) & ((cut != votes) | ((grades == cuts) & ~tied))
    wrong |= np.isnan(cuts) & given
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"a vote is not its grade cut at the judge's threshold at position {place}",
            value=grades[place],
            allowed="1 above the threshold, 0 below, a tie on it",
        )
    if not given.any():
        return None, None
    for array in (grades, cuts):
        array.flags.writeable = False
    return np.ascontiguousarray(grades), cuts


def _check_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise InputError(f"{name} has {length} entries where {expected} are needed")


def check_judges(n_judges: int) -> None:
    """Refuse more than ``MAX_JUDGES`` judges."""
    if n_judges > limits.MAX_JUDGES:
        raise InputError(
            f"{n_judges:,} judges are too many",
            allowed=f"at most {limits.MAX_JUDGES:,}",
            remedy="leave out judges with few votes; or, if these are not judges, name the column "
            "of the judges",
        )


def check_texts(kind: str, lengths: Iterable[int]) -> None:
    """Refuse texts of these lengths: one beyond ``MAX_NAME``, or all beyond ``MAX_TEXT``."""
    longest = total = 0
    for length in lengths:
        longest, total = max(longest, length), total + length
    if longest > limits.MAX_NAME:
        raise InputError(
            f"a {kind} has {longest:,} characters",
            allowed=f"at most {limits.MAX_NAME:,}",
            remedy="shorten it in the file",
        )
    if total > limits.MAX_TEXT:
        raise InputError(
            f"the {kind}s have {total:,} characters together",
            allowed=f"at most {limits.MAX_TEXT:,}",
            remedy="shorten them in the file",
        )


def _check_frame(kind: str, frame: pd.DataFrame) -> None:
    for name, column in frame.items():
        check_texts(f"name of a {kind}", [len(str(name))])
        if column.dtype != np.float64:
            check_texts(kind, column.astype("str").str.len().fillna(0).astype(int).tolist())


def _check_names(kind: str, names: tuple[str, ...], expected: int) -> None:
    _check_length(f"list of {kind}s", len(names), expected)
    if set(map(type, names)) == {str} and len(set(names)) == len(names) and "" not in names:
        check_texts(kind, map(len, names))
        return
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name == "":
            raise InputError(f"every {kind} must be a non-empty text", value=name)
        if name in seen:
            raise InputError(f"{kind} given twice", value=name)
        seen.add(name)


def _fingerprint(matrix: VoteMatrix) -> str:
    digest = hashlib.sha256()
    for piece in _described(matrix):
        digest.update(piece.encode())
    digest.update(matrix.votes.tobytes())
    digest.update(matrix.labels.tobytes())
    for table in (matrix.features, matrix.judge_table):
        for piece in _table_text(table):
            digest.update(piece.encode())
    # Votes without ties or grades keep the hash that they had before these were stored.
    if matrix.ties is not None:
        digest.update(b"ties")
        digest.update(matrix.ties.tobytes())
    if matrix.grades is not None and matrix.thresholds is not None:
        digest.update(b"grades")
        digest.update(matrix.grades.tobytes())
        digest.update(matrix.thresholds.tobytes())
    return digest.hexdigest()


_HASHED_AT_ONCE = 20_000
"""Names whose text is held at once."""
_TEXT_AT_ONCE, _NUMBER = 20_000_000, 20
"""Characters of a table held at once, and those of a number."""


def _described(matrix: VoteMatrix) -> Iterator[str]:
    """Yield shape, task and names as one JSON object, in pieces."""
    shape, task = list(matrix.votes.shape), matrix.task
    yield _compact({"shape": shape, "task": task})[:-1]
    for key, names in (
        ("items", matrix.item_ids),
        ("judges", matrix.judges),
        ("groups", matrix.groups),
    ):
        yield f',"{key}":'
        if names is None:
            yield "null"
            continue
        yield "["
        for start in range(0, len(names), _HASHED_AT_ONCE):
            yield ("," if start else "") + _compact(names[start : start + _HASHED_AT_ONCE])[1:-1]
        yield "]"
    yield "}"


def _table_text(table: pd.DataFrame | None) -> Iterator[str]:
    """Yield a table as pandas writes it in JSON by rows, in pieces."""
    if table is None:
        yield "null"
        return
    if not table.shape[1]:
        yield str(table.to_json(orient="split", index=False))
        return
    yield str(table.iloc[:0].to_json(orient="split", index=False))[:-2]
    row = sum(_NUMBER + _longest(column) for _, column in table.items())
    step = max(1, _TEXT_AT_ONCE // max(1, row))
    for start in range(0, len(table), step):
        # This writes the same as by rows, many times faster.
        rows = str(table.iloc[start : start + step].to_json(orient="values"))
        yield ("," if start else "") + rows[1:-1]
    yield "]}"


def _longest(column: pd.Series) -> int:
    if column.dtype == np.float64 or not len(column):
        return 0
    return int(column.astype("str").str.len().fillna(0).max())


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
