"""Judges that give grades (probabilities, differences, scores), and the thresholds that make votes.

A higher grade speaks more for label 1. Grades are recognised without an option if a guess is safe:
if all judges give probabilities, or all give differences of a pair's ratings. Other numbers need a
threshold from the user, which also states that higher is better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import THOUSANDS, names_in
from judgepanel.votes.cells import is_number, unshield
from judgepanel.votes.columns import Mapping as Columns
from judgepanel.votes.columns import is_role_name
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.remedies import JUDGE_THRESHOLD
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import decimal_of, distinct, verdict_of

Floats = NDArray[np.float64]
KnownThresholds = Mapping[str, float]
NOTHING_KNOWN: KnownThresholds = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where grades are cut into votes.

    Parameters
    ----------
    default : float, optional
        The threshold of all judges that give grades and have none of their own; guessed if None.
    by_judge : mapping of str to float
        The thresholds of single judges, by name.

    Examples
    --------
    >>> from judgepanel import Thresholds
    >>> Thresholds(3, {"judge-a": 2}).default
    3
    """

    default: float | None = None
    by_judge: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "default", _number(self.default))
        cuts = {judge: _number(cut) for judge, cut in self.by_judge.items()}
        object.__setattr__(self, "by_judge", MappingProxyType(cuts))

    @classmethod
    def of(cls, given: GivenThresholds) -> Thresholds:
        """Return thresholds in any form in which they can be given.

        Parameters
        ----------
        given : float, mapping of str to float, or Thresholds, optional
            One for all judges, or by judge. No judge has an empty name: an empty key of a mapping
            is the default, as in older files of roles.

        Returns
        -------
        Thresholds
        """
        if isinstance(given, Thresholds):
            return given
        if not isinstance(given, Mapping):
            return cls(given)
        by_judge = dict(given)
        default = by_judge.pop("", None)
        return cls(default, by_judge)


def _number(threshold: Any) -> Any:
    """Return a number of NumPy's as one of Python's, which can be written; all else unchanged."""
    return threshold.item() if isinstance(threshold, np.generic) else threshold


GivenThresholds = float | Mapping[str, float] | Thresholds | None
"""Thresholds as callers may give them, see :meth:`Thresholds.of`; None guesses all of them."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The kind of a judge's grades, and the threshold that cuts them."""

    kind: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.kind} cut at {self.threshold:g}, higher for label 1"


@dataclass(frozen=True, slots=True)
class GradedJudge:
    """A judge whose numbers may be grades, their range, and how they are read without a threshold.

    ``scale`` is the one that can be guessed, None if a threshold has to be given. Without grades
    (``has_grades``) its numbers are votes until it gets a threshold of its own.
    """

    judge: str
    lowest: float
    highest: float
    scale: Scale | None
    has_grades: bool


def graded_judges(table: RawTable, mapping: Columns, task: Task) -> tuple[GradedJudge, ...]:
    """Return the judges whose numbers may be grades; empty if all numbers can be verdicts."""
    if _only_verdicts(table, mapping):
        return ()
    numbers = {judge: _numbers(counts) for judge, counts in _words_by_judge(table, mapping)}
    scales = _guessed(numbers, task)
    given = {j: values for j, values in numbers.items() if values is not None and len(values)}
    if not scales and all(_may_be_verdicts(values) for values in given.values()):
        return ()
    return tuple(
        GradedJudge(
            judge,
            float(values[0]),
            float(values[-1]),
            scales.get(judge),
            has_grades=_has_grades(values),
        )
        for judge, values in given.items()
        if judge in scales or not np.isin(values, (0.0, 1.0)).all()
    )


def scales_of(
    table: RawTable,
    mapping: Columns,
    task: Task,
    thresholds: GivenThresholds = None,
    known: KnownThresholds = NOTHING_KNOWN,
) -> dict[str, Scale]:
    """Return the judges of a file that give grades, by name; empty if all give verdicts.

    ``known`` are thresholds of judges that gave grades before, whether or not the file has them.
    Their numbers are grades again, unless every number of all of them could be a verdict.

    Raises
    ------
    InputError
        A threshold that is not finite or of a judge that the file does not have, or -1 if it may be
        a grade or a missing vote.
    """
    thresholds = Thresholds.of(thresholds)
    named, of_others = thresholds.by_judge, thresholds.default
    if not named and _only_verdicts(table, mapping):
        return {}
    words = dict(_words_by_judge(table, mapping))
    _check_thresholds(table, thresholds, words)
    if named or of_others is not None:
        _refuse_thousands(table, words)
    scales = {judge: Scale("scores", float(threshold)) for judge, threshold in named.items()}
    if of_others is None:
        scales |= _as_before({j: c for j, c in words.items() if j not in scales}, known)
    numbers = {judge: _numbers(counts) for judge, counts in words.items() if judge not in scales}
    if of_others is None:
        return scales | _guessed(numbers, task)
    graded = [judge for judge, values in numbers.items() if _has_grades(values)]
    if graded:  # A judge that only ever gave 1 gave the lowest grade, or a vote: never a 0 beside.
        graded += [
            judge
            for judge, values in numbers.items()
            if of_others >= 1.0 and values is not None and len(values) and (values == 1.0).all()
        ]
    scales |= {judge: Scale("scores", float(of_others)) for judge in graded}
    _refuse_minus_one(table, {j: v for j, v in numbers.items() if j not in scales})
    return scales


def _check_thresholds(table: RawTable, thresholds: Thresholds, judges: Collection[str]) -> None:
    """Refuse a threshold of a judge that the file does not have, or one that is not finite."""
    for judge in thresholds.by_judge:
        if judge not in judges:
            raise InputError(
                "there is no such judge",
                file=table.name,
                value=judge,
                allowed=listed(list(judges), 8),
                remedy=f"name a judge of the file {JUDGE_THRESHOLD}",
            )
    for threshold in (thresholds.default, *thresholds.by_judge.values()):
        if threshold is not None and not np.isfinite(threshold):
            raise InputError("a threshold is not finite", value=threshold, allowed="a number")


def _guessed(numbers: Mapping[str, Floats | None], task: Task) -> dict[str, Scale]:
    """Return the scale that the numbers of all judges can only be on; empty if there is none."""
    voting = [values for values in numbers.values() if values is None or len(values)]
    for scale in _GUESSES if voting else ():
        if all(values is not None and _fits(scale, values, task) for values in voting):
            return {judge: scale for judge, values in numbers.items() if values is not None}
    return {}


def _as_before(words: Mapping[str, Mapping[str, int]], known: KnownThresholds) -> dict[str, Scale]:
    numbers = {judge: _numbers(counts) for judge, counts in words.items() if judge in known}
    graded = [judge for judge, values in numbers.items() if values is not None and len(values)]
    if not any(_has_grades(numbers[judge]) for judge in graded):
        return {}
    return {judge: Scale("grades of the panel", float(known[judge])) for judge in graded}


def grades_of(cells: pd.Series) -> Floats:
    """Return the numbers (n,) in a column of grades; NaN if a cell holds none."""
    codes, words = distinct(cells)
    return np.array([_grade(word) for word in words] or [np.nan])[codes]


def grade_notes(scales: Mapping[str, Scale], votes: VoteMatrix) -> list[str]:
    """Return how grades were read, and how many of them are ties, in full sentences."""
    by_scale: dict[str, list[str]] = {}
    for judge, scale in scales.items():
        by_scale.setdefault(str(scale), []).append(judge)
    notes = [f"Read as {scale}: {listed(judges)}." for scale, judges in by_scale.items()]
    if votes.grades is not None:
        n_grades = int((~np.isnan(votes.grades)).sum())
        n_ties = int((votes.grades == votes.thresholds).sum())
        many = "is a tie" if n_ties == 1 else "are ties"
        notes.append(f"{n_grades:,} grades, of which {n_ties:,} {many} (on the threshold).")
    return notes


PROBABILITIES = Scale("probabilities", 0.5)
DIFFERENCES = Scale("differences of ratings", 0.0)
_GUESSES = (PROBABILITIES, DIFFERENCES)
_VERDICTS = (-1.0, 0.0, 1.0)


def _only_verdicts(table: RawTable, mapping: Columns) -> bool:
    columns = mapping.judge_columns
    if mapping.layout == "long":
        columns = (str(mapping.verdict_column),)
    words = (word for column in columns for word in distinct(table.frame[column])[1])
    return all(verdict_of(word) >= MISSING for word in words)


def _words_by_judge(table: RawTable, mapping: Columns) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the words of every judge, with the number of cells of each."""
    if mapping.layout == "wide":
        for column in mapping.judge_columns:
            codes, words = distinct(table.frame[column])
            counts = np.bincount(codes, minlength=len(words))
            yield unshield(column, is_role_name), dict(zip(words, counts.tolist(), strict=True))
        return
    raters, names = names_in(table, str(mapping.judge_column), "judge name", is_role_name)
    codes, words = distinct(table.frame[str(mapping.verdict_column)])
    pairs, counts = np.unique(raters * len(words) + codes, return_counts=True)
    of = pairs // max(len(words), 1)
    for place, name in enumerate(names):
        own = of == place
        chosen = (words[code] for code in (pairs[own] % len(words)).tolist())
        yield name, dict(zip(chosen, counts[own].tolist(), strict=True))


def _refuse_thousands(table: RawTable, words: Mapping[str, Mapping[str, int]]) -> None:
    """Refuse grades whose every comma may separate thousands, or be a decimal comma."""
    commas = {word: judge for judge, counts in words.items() for word in counts if "," in word}
    if commas and all(map(THOUSANDS.fullmatch, commas)):
        word, judge = next(iter(commas.items()))
        raise InputError(
            "the comma may separate thousands, or be a decimal comma",
            file=table.name,
            column=judge,
            value=word,
            allowed="1250 or 1.25, without a comma",
            remedy="write the grades without commas",
        )


def _grade(word: str) -> float:
    text = decimal_of(word.strip())
    return float(text) if is_number(text) else np.nan


def _numbers(counts: Mapping[str, int]) -> Floats | None:
    """Return the numbers in a judge's cells, with repeats, ascending.

    None if a cell is another verdict or unknown.
    """
    values: list[float] = []
    repeats: list[int] = []
    for word, count in counts.items():
        grade = _grade(word)
        if np.isnan(grade):
            if verdict_of(word) != MISSING:
                return None
        elif count:
            values.append(grade)
            repeats.append(count)
    return np.sort(np.repeat(values, repeats)) if values else np.zeros(0)


def _may_be_verdicts(values: Floats) -> bool:
    """Whether numbers are a form of verdicts: 0 and 1, with .5 as a tie, or 1 and 2."""
    forms = ((*_VERDICTS, 0.5), (1.0, 2.0))
    return any(bool(np.isin(values, form).all()) for form in forms)


def _has_grades(values: Floats | None) -> bool:
    return values is not None and not np.isin(values, _VERDICTS).all()


def _fits(scale: Scale, values: Floats, task: Task) -> bool:
    """Whether numbers can only be grades of this scale.

    Probabilities must mostly be inside (0, 1) and not all .5 there; differences must be on both
    sides of 0, with more on each than the -1 of a missing vote.
    """
    distinct_values = np.unique(values)
    if scale is PROBABILITIES:
        inside = (values > 0.0) & (values < 1.0)
        within = bool((values >= 0.0).all() and (values <= 1.0).all())
        return within and bool(inside.mean() > 0.5 and (values[inside] != 0.5).any())
    sides = min(int((distinct_values > 0.0).sum()), int((distinct_values < 0.0).sum()))
    return task == "pairwise" and sides > 1


def _refuse_minus_one(table: RawTable, numbers: Mapping[str, Floats | None]) -> None:
    """Refuse judges with only 0, 1 and -1 in a file whose other judges give grades."""
    for judge, values in numbers.items():
        if values is not None and (values == -1.0).any():
            raise InputError(
                "-1 may be a grade or a missing vote",
                file=table.name,
                column=judge,
                allowed="a blank cell for a missing vote",
                remedy="leave missing votes blank, or say that this judge gives grades "
                f"{JUDGE_THRESHOLD}",
            )
