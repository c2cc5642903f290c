"""VoteMatrix: the immutable, validated votes that all studies use.

Policies for the arbitrary order of the two responses of a pair (docs/orientation.md).

Swapping the two responses of a pair flips its label and every vote. A file whose labels are all 1
therefore does not say that option 1 is always better: it says how the file was coded. Policies
affect fitting and evaluation only; scoring new votes never flips anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.votes import limits
from judgepanel.votes.errors import JUDGES, InputError, first_repeated, listed, quote_value

Task = Literal["pairwise", "pointwise"]
TASKS: tuple[Task, ...] = ("pairwise", "pointwise")
MISSING = -1

Function = TypeVar("Function", bound=Callable[..., Any])
Rows = NDArray[np.intp] | list[int]

_AXES = {
    "votes": ("items", "judges"),
    "labels": ("items",),
    "item_ids": ("items",),
    "judges": ("judges",),
    "groups": ("items",),
    "features": ("items",),
    "judge_table": ("judges",),
    "ties": ("items", "judges"),
    "grades": ("items", "judges"),
    "thresholds": ("judges",),
}
"""What the axes of each field are; the fields of an item or a judge are taken together."""
_ARRAYS = ("votes", "labels", "ties", "grades", "thresholds")


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

    votes: Votes
    labels: Votes
    item_ids: tuple[str, ...]
    judges: tuple[str, ...]
    task: Task = "pairwise"
    groups: tuple[str, ...] | None = None
    features: pd.DataFrame | None = None
    judge_table: pd.DataFrame | None = None
    ties: Bools | None = None
    grades: Floats | None = None
    thresholds: Floats | None = None
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InputError("unknown task", ", ".join(TASKS), value=self.task)
        _check_shapes(self)
        votes, labels = _verdicts("votes", self.votes), _verdicts("labels", self.labels)
        check_judges(len(self.judges))
        _check_names("item id", self.item_ids)
        _check_names("judge name", self.judges)
        check_texts("group", map(len, self.groups or ()))
        ties = _ties(self.ties, votes)
        grades, thresholds = _grades(self.grades, self.thresholds, votes, ties)
        _check_frame("feature", self.features)
        _check_frame("entry of the judge table", self.judge_table)
        for name, array in zip(_ARRAYS, (votes, labels, ties, grades, thresholds), strict=True):
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, name, array)
        digest = hashlib.sha256()
        for piece in _content(self):
            digest.update(piece.encode() if isinstance(piece, str) else piece)
        object.__setattr__(self, "sha256", digest.hexdigest())

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
    def units(self) -> Ints:
        """int (n_items,): code of an item's group, in order of appearance; else its position."""
        if self.groups is None:
            return np.arange(self.n_items, dtype=np.int64)
        return np.asarray(pd.factorize(np.array(self.groups, dtype=object))[0], dtype=np.int64)

    @property
    def labelled(self) -> Bools:
        """bool (n_items,): which items have a label."""
        return np.asarray(self.labels != MISSING)

    @property
    def coverage(self) -> Floats:
        """float (n_judges,): share of items with a vote, per judge, in [0, 1]."""
        return np.asarray((self.votes != MISSING).mean(axis=0), dtype=float)

    @property
    def n_votes(self) -> Ints:
        """int (n_items,): votes per item."""
        return np.asarray((self.votes != MISSING).sum(axis=1), dtype=np.int64)

    @property
    def margins(self) -> Floats | None:
        """float (n_items, n_judges): distance of a grade from its judge's threshold, at least 0.

        0 for a missing grade; None without grades. It is rounded to 12 decimals, so that .3 is as
        far from .5 as .7.
        """
        if self.grades is None or self.thresholds is None:
            return None
        margins: Floats = np.abs(self.grades - self.thresholds)
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
        return self._taken("judges", [position[name] for name in judges])

    def with_items(self, rows: Ints | Bools) -> VoteMatrix:
        """Return these items only (integer positions or a mask), in the order given."""
        index = np.arange(self.n_items)[rows]
        if np.array_equal(index, np.arange(self.n_items)):
            return self
        return self._taken("items", index)

    def _taken(self, axis: str, index: Rows) -> VoteMatrix:
        """Return some items or judges: all fields are taken along this axis."""
        along = {name: axes.index(axis) for name, axes in _AXES.items() if axis in axes}
        taken = {name: _take(getattr(self, name), index, k) for name, k in along.items()}
        return replace(self, **taken)

    def with_task(self, task: Task) -> VoteMatrix:
        """Return the same votes with another task."""
        return replace(self, task=task)


def joined(first: VoteMatrix, second: VoteMatrix) -> VoteMatrix:
    """Return the items of both, with the judges of both; a judge has no votes where it gave none.

    Features that only one has are left out. Without groups an item is its own.

    Raises
    ------
    InputError
        Other tasks, an item that both have, or a judge whose grades are cut elsewhere.
    """
    if first.task != second.task:
        raise InputError("these votes have another task", first.task, value=second.task)
    again = sorted(set(first.item_ids) & set(second.item_ids))
    if again:
        problem = f"{len(again):,} items are in both files, the first one {quote_value(again[0])}"
        remedy = "leave out of the new file what was there before, or give its items new ids"
        raise InputError(problem, "new items only", remedy)
    judges = (*first.judges, *(name for name in second.judges if name not in set(first.judges)))
    place = {name: column for column, name in enumerate(judges)}

    def widened(part: VoteMatrix, values: NDArray[Any] | None, blank: Any) -> NDArray[Any]:
        whole = np.full((part.n_items, len(judges)), blank)
        if values is not None:
            whole[:, [place[name] for name in part.judges]] = values
        return whole

    def both(name: str, blank: Any) -> NDArray[Any] | None:
        parts = [(part, getattr(part, name)) for part in (first, second)]
        if all(values is None for _, values in parts):
            return None
        return np.concatenate([widened(part, values, blank) for part, values in parts])

    features = None
    if first.features is not None and second.features is not None:
        same = [name for name in first.features.columns if name in second.features.columns]
        tables = [part.features[same] for part in (first, second) if part.features is not None]
        features = pd.concat(tables, ignore_index=True) if same else None
    table = None
    if first.judge_table is not None:
        table = first.judge_table.reindex(range(len(judges)))
    groups = None
    if first.groups is not None or second.groups is not None:
        groups = (*(first.groups or first.item_ids), *(second.groups or second.item_ids))
    votes = np.asarray(both("votes", MISSING), dtype=np.int8)
    labels = np.concatenate([first.labels, second.labels])
    ids = (*first.item_ids, *second.item_ids)
    ties, grades = both("ties", False), both("grades", np.nan)
    cuts = _joined_cuts(first, second, place)
    return VoteMatrix(
        votes, labels, ids, judges, first.task, groups, features, table, ties, grades, cuts
    )


def _joined_cuts(first: VoteMatrix, second: VoteMatrix, place: dict[str, int]) -> Floats | None:
    if first.thresholds is None and second.thresholds is None:
        return None
    result = np.full(len(place), np.nan)
    for part in (first, second):
        if part.thresholds is None:
            continue
        for name, cut in zip(part.judges, part.thresholds.tolist(), strict=True):
            known = result[place[name]]
            if np.isfinite(known) and np.isfinite(cut) and known != cut:
                problem = "the grades of this judge are cut elsewhere than before"
                remedy = "cut the grades of both files at the same threshold"
                raise InputError(problem, f"{known:g}", remedy, column=name, value=f"{cut:g}")
            if np.isfinite(cut):
                result[place[name]] = cut
    return result


def cached(size: int) -> Callable[[Function], Function]:
    """Cache the last ``size`` results of a function; votes are compared by content."""
    return cast("Callable[[Function], Function]", lru_cache(size))


def _take(values: Any, index: Rows, axis: int) -> Any:
    """Return some entries of a field: a tuple, a table by rows, or an array."""
    if values is None:
        return None
    if isinstance(values, pd.DataFrame):
        return values.iloc[index].reset_index(drop=True)
    if isinstance(values, np.ndarray):
        return values.take(index, axis)
    return tuple(values[i] for i in index)


def _verdicts(name: str, values: Votes) -> Votes:
    """Return verdicts, a copy."""
    array = np.asarray(values)
    with np.errstate(invalid="ignore"):
        wrong = (array != 0) & (array != 1) & (array != MISSING)
    _refuse_any(wrong, array, f"{name} hold something other than a verdict", "0, 1, -1 (missing)")
    return np.array(array, dtype=np.int8, order="C")


def _ties(values: Bools | None, votes: Votes) -> Bools | None:
    if values is None:
        return None
    ties = np.array(values, dtype=bool, order="C")
    if (ties & (votes != MISSING)).any():
        raise InputError("a vote is given as a tie and as a verdict", "one of the two")
    return ties if ties.any() else None


def _grades(
    values: Floats | None, thresholds: Floats | None, votes: Votes, ties: Bools | None
) -> tuple[Floats | None, Floats | None]:
    """Return grades and thresholds with one form of zero and NaN; None without grades."""
    if values is None or thresholds is None:
        if values is not thresholds:
            raise InputError("grades and thresholds need each other", "both or none of them")
        return None, None
    # NaN has many bit patterns and 0 has two; a single one makes equal matrices compare equal.
    arrays = (np.asarray(values, np.float64), np.asarray(thresholds, np.float64))
    grades, cuts = (np.where(np.isnan(own), np.nan, own) + 0.0 for own in arrays)
    if np.isinf(grades).any() or np.isinf(cuts).any():
        raise InputError("a grade or a threshold is infinite", "finite numbers")
    given = ~np.isnan(grades)
    cut = np.where(given & (grades != cuts), grades > cuts, MISSING)
    wrong = (cut != votes) | ((grades == cuts) & (True if ties is None else ~ties))
    problem = "a vote is not its grade cut at the judge's threshold"
    allowed = "1 above the threshold, 0 below, a tie on it"
    _refuse_any(np.where(np.isnan(cuts), given, wrong), grades, problem, allowed)
    return (np.ascontiguousarray(grades), cuts) if given.any() else (None, None)


def _refuse_any(wrong: Bools, values: np.ndarray, problem: str, allowed: str) -> None:
    """Refuse the first value that is wrong."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError(f"{problem} at position {place}", allowed, value=values[place])


def _check_shapes(matrix: VoteMatrix) -> None:
    """Refuse fields that do not fit the numbers of items and judges, which the votes tell."""
    shape = np.shape(matrix.votes)
    if len(shape) != 2:
        raise InputError(f"votes must have 2 dimensions, not {len(shape)}")
    sizes = dict(zip(("items", "judges"), shape, strict=True))
    for name, axes in _AXES.items():
        values, needed = getattr(matrix, name), tuple(sizes[axis] for axis in axes)
        if values is None:
            continue
        shape = np.shape(values) if name in _ARRAYS else (len(values),)
        if shape != needed:
            raise InputError(f"{name} have shape {shape} where {needed} is needed")


def check_judges(n_judges: int) -> None:
    """Refuse more than ``MAX_JUDGES`` judges."""
    if n_judges > limits.MAX_JUDGES:
        problem, allowed = f"{n_judges:,} judges are too many", f"at most {limits.MAX_JUDGES:,}"
        remedy = "if these are not judges, name the column of the judges"
        raise InputError(problem, allowed, f"leave out judges with few votes; or, {remedy}")


def check_texts(kind: str, lengths: Iterable[int]) -> None:
    """Refuse texts of these lengths: one beyond ``MAX_NAME``, or all beyond ``MAX_TEXT``."""
    lengths = list(lengths)
    longest = (f"a {kind} has", max(lengths, default=0), limits.MAX_NAME)
    total = (f"the {kind}s together have", sum(lengths), limits.MAX_TEXT)
    for what, length, most in (longest, total):
        if length > most:
            problem = f"{what} {length:,} characters"
            raise InputError(problem, f"at most {most:,}", "shorten it in the file")


def _check_frame(kind: str, frame: pd.DataFrame | None) -> None:
    for name, column in () if frame is None else frame.items():
        check_texts(f"name of a {kind}", [len(str(name))])
        if column.dtype != np.float64:
            check_texts(kind, column.astype("str").str.len().fillna(0).astype(int).tolist())


def _check_names(kind: str, names: tuple[str, ...]) -> None:
    for name in names:
        if not isinstance(name, str) or name == "":
            raise InputError(f"every {kind} must be a non-empty text", value=name)
    again = first_repeated(names)
    if again is not None:
        raise InputError(f"{kind} given twice", value=again)
    check_texts(kind, map(len, names))


_HASHED_AT_ONCE = 20_000
"""Names whose text is held at once."""
_TEXT_AT_ONCE, _NUMBER = 20_000_000, 20
"""Characters of a table held at once, and those of a number."""


def _content(matrix: VoteMatrix) -> Iterator[str | bytes]:
    """Yield all that a matrix holds, in pieces: shape, task and names are one JSON object."""
    yield _compact({"shape": list(matrix.votes.shape), "task": matrix.task})[:-1]
    lists = {"items": matrix.item_ids, "judges": matrix.judges, "groups": matrix.groups}
    for key, names in lists.items():
        yield f',"{key}":' + ("null" if names is None else "[")
        starts = range(0, len(names or ()), _HASHED_AT_ONCE)
        yield from _joined(_compact((names or ())[k : k + _HASHED_AT_ONCE]) for k in starts)
        yield "" if names is None else "]"
    yield "}"
    yield matrix.votes.tobytes()
    yield matrix.labels.tobytes()
    yield from _table_text(matrix.features)
    yield from _table_text(matrix.judge_table)
    # Votes without ties or grades keep the hash that they had before these were stored.
    if matrix.ties is not None:
        yield "ties"
        yield matrix.ties.tobytes()
    if matrix.grades is not None and matrix.thresholds is not None:
        yield "grades"
        yield matrix.grades.tobytes()
        yield matrix.thresholds.tobytes()


def _joined(lists: Iterable[str]) -> Iterator[str]:
    """Yield the entries of JSON lists, with commas between them."""
    for place, entries in enumerate(lists):
        yield ("," if place else "") + entries[1:-1]


def _table_text(table: pd.DataFrame | None) -> Iterator[str]:
    """Yield a table as pandas writes it in JSON by rows, in pieces."""
    if table is None or not table.shape[1]:
        yield "null" if table is None else str(table.to_json(orient="split", index=False))
        return
    yield str(table.iloc[:0].to_json(orient="split", index=False))[:-2]
    row = sum(_NUMBER if dtype == np.float64 else limits.MAX_NAME for dtype in table.dtypes)
    starts = range(0, len(table), max(1, _TEXT_AT_ONCE // row))
    # Lists of values are the same as by rows, many times faster.
    blocks = (table.iloc[start : start + starts.step] for start in starts)
    yield from _joined(str(block.to_json(orient="values")) for block in blocks)
    yield "]}"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


Resolved = Literal["as_given", "randomized", "symmetric"]
Policy = Literal["auto", Resolved]
Protocol = Literal["honest", "paper"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
BALANCED_SHARE = 0.20
CONSTANT_VOTES = 10
CONSTANT_SLIP = 0.01
CONTRARY = 0.9
PERFECT_VOTES = 20
KNOWS = "the label, or its opposite, on every labelled item"
SILENT = "no vote on a labelled item"
ONE_VERDICT = "one verdict on nearly every labelled item"
AGAINST = f"the verdict against the label on {100 * CONTRARY:.0f} % or more of the labelled items"
_NOTICES = {
    SILENT: "{names} gave no vote on a labelled item and {was} set aside: nothing can be learned "
    "about such a judge.",
    ONE_VERDICT: "{names} gave one verdict on nearly every labelled item and {was} set aside: a "
    "constant judge knows nothing about a pair, but would leak how the items were ordered.",
    AGAINST: "{names} gave the verdict against the label on "
    f"{100 * CONTRARY:.0f} % or more of the items and {{was}} set aside: no judge is wrong that "
    "often, and with lopsided labels it would leak how the items were coded.",
    KNOWS: "{names} agreed (or disagreed) with every label and {was} set aside, as a column that "
    f"knows the labels would be. If it is a judge after all, name all judges {JUDGES}.",
}
_REDRAWS = 100
Counts = Ints
Grades = Floats | None
_LEAST_CLASS = 2
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Oriented:
    """Labelled items under one policy.

    Attributes
    ----------
    given : the votes as they were given, with all judges.
    votes : the labelled items with the participating judges, in order of judge name; under
        ``randomized`` items are flipped by a seeded coin.
    unlabelled : int8 (n, n_judges), votes of the same judges on the other items, flipped by a
        separate coin under ``randomized``.
    policy : the policy that ``auto`` resolved to.
    aside : requested judges that are left out, each with the reason: no vote on a labelled item; if
        items are swapped, also the same verdict on nearly every item or, if labels are lopsided,
        mostly wrong verdicts. If no judges were requested, also those that agree with every label,
        or with none.
    """

    given: VoteMatrix
    votes: VoteMatrix
    unlabelled: Votes
    policy: Resolved
    aside: tuple[tuple[str, str], ...]

    @property
    def one_class(self) -> bool:
        """Whether all labels of the file are equal, as given."""
        return self.given.minority_share == 0.0

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user: lopsided labels, and judges that were set aside."""
        notices = []
        if self.given.task == "pairwise" and self.given.minority_share < BALANCED_SHARE:
            notices.append(_why_lopsided(self.given, self.policy))
        for reason, notice in _NOTICES.items():
            names = [name for name, why in self.aside if why == reason]
            if names:
                was = "was" if len(names) == 1 else "were"
                notices.append(notice.format(names=listed(names, 3), was=was))
        return tuple(notices)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Names of the judges that were left out."""
        return tuple(name for name, _ in self.aside)

    @property
    def symmetric(self) -> bool:
        return self.policy == "symmetric"

    @property
    def measures_coding(self) -> bool:
        """Whether lopsided labels of pairs are taken as given: the order gives answers away."""
        is_lopsided = self.votes.minority_share < BALANCED_SHARE
        return is_lopsided and self.votes.task == "pairwise" and self.policy == "as_given"


@cached(1)
def counts_on_labelled(votes: VoteMatrix) -> tuple[Counts, Counts, Counts]:
    """int (n_judges,) each: votes on labelled items, right ones, and those for label 1."""
    known, truth = votes.votes[votes.labelled], votes.labels[votes.labelled]
    cells = (known != MISSING, known == truth[:, None], known == 1)
    cast, right, ones = (cell.sum(axis=0) for cell in cells)
    return cast, right, ones


def named(votes: VoteMatrix, flags: Bools) -> list[str]:
    """Return the names of the judges that are flagged."""
    return [name for name, flag in zip(votes.judges, flags, strict=True) if flag]


def constant_judges(votes: VoteMatrix) -> Bools:
    """bool (n_judges,): one verdict on (nearly) all of ``CONSTANT_VOTES`` or more labelled items.

    Up to ``CONSTANT_SLIP`` of the votes may differ: a broken run with a single slip leaks the item
    order just as well as one without. With fewer votes, agreement by chance is too likely to call a
    judge broken. Unlabelled items are not counted: they must not change any figure, and only
    labelled items can leak their order.
    """
    cast, _, ones = counts_on_labelled(votes)
    rare = np.minimum(ones, cast - ones)
    return np.asarray((cast >= CONSTANT_VOTES) & (rare <= CONSTANT_SLIP * cast))


def contrary_judges(votes: VoteMatrix) -> Bools:
    """bool (n_judges,): wrong on ``CONTRARY`` or more of ``CONSTANT_VOTES`` or more labelled items.

    No real judge is wrong that often. If labels are lopsided, such a judge (a run broken on all but
    a few items) only encodes how the file was coded: reversed, it would be an oracle.
    """
    cast, right, _ = counts_on_labelled(votes)
    return np.asarray((cast >= CONSTANT_VOTES) & (cast - right >= CONTRARY * cast))


def perfect_judges(votes: VoteMatrix) -> Bools:
    """bool (n_judges,): right on all labelled items, or wrong on all, as the label itself would be.

    They vote on ``PERFECT_VOTES`` or more labelled items and on nearly all there are, and both
    labels occur at least twice: a judge may well be right on a few items.
    """
    cast, right, _ = counts_on_labelled(votes)
    n_zeros, n_ones = np.bincount(votes.labels[votes.labelled], minlength=2)
    both = min(n_zeros, n_ones) >= _LEAST_CLASS
    whole = (cast >= PERFECT_VOTES) & (cast >= _NEARLY_ALL * (n_zeros + n_ones))
    return np.asarray(both & whole & ((right == cast) | (right == 0)))


def resolve(votes: VoteMatrix, policy: Policy, protocol: Protocol) -> Resolved:
    """Return what a policy means for these votes.

    Raises
    ------
    InputError
        An unknown policy or protocol; no labels; swapping although the order has a meaning
        (pointwise); one-class labels under which no honest estimate exists.
    """
    if policy not in POLICIES:
        raise InputError("unknown orientation", ", ".join(POLICIES), value=policy)
    if protocol not in PROTOCOLS:
        raise InputError("unknown protocol", ", ".join(PROTOCOLS), value=protocol)
    if not votes.labelled.any():
        raise InputError("no item has a label", "labels 0 or 1 on at least some items")
    if votes.task == "pointwise":
        if policy in ("randomized", "symmetric"):
            why = "swaps the two responses of a pair, and a pointwise item has only one"
            raise InputError(f"orientation {policy} {why}", "auto, as_given")
        if votes.minority_share == 0.0:
            why = "every label is the same, so nothing can be learned about a pointwise task"
            raise InputError(why, "items of both classes")
        return "as_given"
    if policy == "auto":
        lopsided = votes.minority_share < BALANCED_SHARE
        return "symmetric" if lopsided and protocol == "honest" else "as_given"
    if policy == "as_given" and votes.minority_share == 0.0 and protocol == "honest":
        why = "every label is the same: taken as given, a constant prediction would look perfect"
        raise InputError(why, "orientation auto, symmetric or randomized")
    return policy


def orient(
    votes: VoteMatrix,
    policy: Policy = "auto",
    *,
    protocol: Protocol = "honest",
    seed: int = 0,
    judges: Sequence[str] | None = None,
) -> Oriented:
    """Return the labelled items of ``votes`` under a policy, with ``judges`` only (None: all).

    See :func:`resolve` for what is refused.
    """
    policy = resolve(votes, policy, protocol)
    suspected = judges is None and protocol == "honest"
    reasons = _reasons(votes, swapped=policy != "as_given", suspected=suspected)
    asked = votes.judges if judges is None else judges
    aside = {name: reasons[name] for name in asked if name in reasons}
    remaining = sorted(name for name in asked if name not in aside)
    if aside and not remaining and set(aside.values()) == {SILENT}:
        allowed = "votes on at least some labelled items"
        raise InputError("no judge has voted on a labelled item", allowed)
    if aside and not remaining:
        given = "; ".join(f"{quote_value(name)} gave {why}" for name, why in [*aside.items()][:3])
        raise InputError(
            "every judge would be set aside, so none can be used",
            "one judge or more that votes on labelled items, and not always the same",
            f"if these are judges, name them {JUDGES}" if KNOWS in aside.values() else None,
            value=given,
        )
    selection = votes.with_judges(remaining)
    labelled, unlabelled = selection.with_items(votes.labelled), selection.votes[~votes.labelled]
    if policy == "randomized":
        labelled = _flipped(labelled, seed)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 5)))
        unlabelled, _ = turned_around(unlabelled, rng.random((len(unlabelled), 1)) < 0.5)
    return Oriented(votes, labelled, unlabelled, policy, tuple(aside.items()))


def _reasons(votes: VoteMatrix, *, swapped: bool, suspected: bool) -> dict[str, str]:
    """Return the reason for every judge that is to be set aside."""
    flags = {SILENT: counts_on_labelled(votes)[0] == 0}
    if swapped:
        flags[ONE_VERDICT] = constant_judges(votes)
    if suspected:
        flags[KNOWS] = perfect_judges(votes)
    if swapped and votes.minority_share < BALANCED_SHARE:
        flags[AGAINST] = contrary_judges(votes)
    # The first reason counts.
    return {judge: why for why in reversed(flags) for judge in named(votes, flags[why])}


def _why_lopsided(votes: VoteMatrix, policy: Resolved) -> str:
    text = f"Only {100 * votes.minority_share:.1f} % of the labels are of the rarer kind"
    if votes.minority_share == 0.0:
        text = f"Every label is {int(votes.labels[votes.labelled][0])}"
    text += ", and which response of a pair comes first is arbitrary."
    if policy == "as_given":
        return f"{text} Taken as given, these figures measure the coding, not the judges."
    swap = "used together with its swap" if policy == "symmetric" else "turned around by a coin"
    return (
        f"{text} Each item is therefore {swap}, so that no calibrator can learn the order. A "
        "judge that prefers one position still cannot be told from a good or a bad one. Only both "
        "orders, or a random order, can show that."
    )


def _flipped(votes: VoteMatrix, seed: int) -> VoteMatrix:
    """Return the items swapped by a fair coin, redrawn if chance left the labels lopsided."""
    for attempt in range(_REDRAWS):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 4, attempt)))
        flip = rng.random(votes.n_items) < 0.5
        ones = float(np.mean(flip ^ (votes.labels == 1)))
        if min(ones, 1.0 - ones) >= BALANCED_SHARE:
            break
    return with_swapped(votes, flip)


def with_swapped(votes: VoteMatrix, flip: Bools) -> VoteMatrix:
    """Return the votes with the responses of some items (n_items,) exchanged."""
    labels, _ = turned_around(votes.labels, flip)
    cast, grades = turned_around(votes.votes, flip[:, None], votes.grades, votes.thresholds)
    return replace(votes, votes=cast, labels=labels, grades=grades)


def turned_around(
    votes: Votes, flip: Bools, grades: Grades = None, cuts: Grades = None
) -> tuple[Votes, Grades]:
    """Return verdicts of the other response where ``flip`` says so; arguments broadcast.

    Grades are mirrored at their thresholds ``cuts``.
    """
    other = np.where(flip & (votes >= 0), 1 - votes, votes).astype(np.int8)
    if grades is None or cuts is None:
        return other, grades
    return other, np.where(flip, 2.0 * cuts - grades, grades)
