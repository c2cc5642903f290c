"""VoteMatrix: the immutable, validated votes that all studies use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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

    Raises
    ------
    InputError
        Shapes that do not fit, values outside the sets above, duplicate or empty names.
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
        _check_names("item id", self.item_ids, n_items)
        _check_names("judge name", self.judges, n_judges)
        if self.groups is not None:
            _check_length("groups", len(self.groups), n_items)
        if self.ties is not None:
            object.__setattr__(self, "ties", _frozen_ties(self.ties, votes))
        if self.features is not None:
            _check_length("features", len(self.features), n_items)
        if self.judge_table is not None:
            _check_length("judge table", len(self.judge_table), n_judges)
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
    def minority_share(self) -> float:
        """Share of the rarer label among labelled items, in [0, .5]; nan without labels."""
        known = self.labels[self.labelled]
        if len(known) == 0:
            return float("nan")
        ones = int(np.sum(known == 1))
        return min(ones, len(known) - ones) / len(known)

    def with_judges(self, judges: Sequence[str]) -> VoteMatrix:
        """Return the same items with these judges only, in the order given."""
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
        )

    def with_items(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> VoteMatrix:
        """Return these items only (integer positions or a mask), in the order given."""
        index = np.arange(self.n_items)[rows]
        return replace(
            self,
            votes=self.votes[index],
            labels=self.labels[index],
            item_ids=tuple(self.item_ids[i] for i in index),
            groups=None if self.groups is None else tuple(self.groups[i] for i in index),
            features=_selected(self.features, index),
            ties=None if self.ties is None else self.ties[index],
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
            f"{name} hold something else than a verdict at position {place}",
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


def _check_length(name: str, length: int, expected: int) -> None:
    if length != expected:
        raise InputError(f"{name} has {length} entries where {expected} are needed")


def _check_names(kind: str, names: tuple[str, ...], expected: int) -> None:
    _check_length(f"list of {kind}s", len(names), expected)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name == "":
            raise InputError(f"every {kind} must be a non-empty text", value=name)
        if name in seen:
            raise InputError(f"{kind} given twice", value=name)
        seen.add(name)


def _fingerprint(matrix: VoteMatrix) -> str:
    digest = hashlib.sha256()
    head = {
        "shape": list(matrix.votes.shape),
        "task": matrix.task,
        "items": matrix.item_ids,
        "judges": matrix.judges,
        "groups": matrix.groups,
    }
    digest.update(json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode())
    digest.update(matrix.votes.tobytes())
    digest.update(matrix.labels.tobytes())
    for table in (matrix.features, matrix.judge_table):
        text = "null" if table is None else table.to_json(orient="split", index=False)
        digest.update(str(text).encode())
    # Votes without ties keep the hash that they had before ties were stored.
    if matrix.ties is not None:
        digest.update(b"ties")
        digest.update(matrix.ties.tobytes())
    return digest.hexdigest()
