"""Judges that give grades (probabilities, differences, scores), and the thresholds that make votes.

A higher grade speaks more for label 1. Grades are recognised without an option if a guess is safe:
probabilities, and differences of a pair's ratings if all judges give them. Other numbers need a
threshold from the user, which also states that higher is better. A threshold of all judges applies
to the columns that are judges, and to no others.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats
from judgepanel.votes import cells, errors
from judgepanel.votes.attributes import THOUSANDS, names_in
from judgepanel.votes.choices import Thresholds
from judgepanel.votes.columns import Column
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.roles import Roles
from judgepanel.votes.table import RawTable

Words = Mapping[str, Mapping[str, int]]
"""The words of every judge, with the number of cells of each."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The kind of a judge's grades, and the threshold that cuts them."""

    kind: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.kind} cut at {self.threshold:g}, higher for label 1"


@dataclass(frozen=True, slots=True)
class GradedJudge:
    """A judge whose numbers may be grades, and how they are read without a threshold.

    ``values`` are its distinct grades with their numbers of cells, at most ``MOST_VALUES`` spread
    over all of them. ``scale`` is the one that can be guessed, None if a threshold has to be given.
    Without grades (``has_grades``) its numbers are votes until it gets a threshold of its own.
    """

    judge: str
    lowest: float
    highest: float
    scale: Scale | None
    has_grades: bool
    values: tuple[tuple[float, int], ...] = ()


MOST_VALUES = 40
PROBABILITIES = Scale("probabilities", 0.5)
DIFFERENCES = Scale("differences of ratings", 0.0)
_VERDICTS = (-1.0, 0.0, 1.0)
_PILED, _APART = 0.15, 5.0
_FEW_SCALES, _TWO_SCALES = 0.02, 10.0
_SHOWN_CUTS = 3
_ZERO_ONE_TWO = f"{errors.MAP_WORDS}, such as 0=1,1=tie,2=0 where 0 stands for the first response"


def graded_judges(table: RawTable, roles: Roles, task: Task) -> tuple[GradedJudge, ...]:
    """Return the judges whose numbers may be grades; empty if all numbers can be verdicts."""
    if _only_verdicts(table, roles):
        return ()
    words = _words_by_judge(table, roles)
    raw = _numbers(words)
    numbers = _without_codes(raw)
    scales = _guessed(numbers, task, worded=len(raw) < len(words))
    given = {judge: values for judge, values in numbers.items() if len(values)}
    if not scales and all(map(_may_be_verdicts, given.values())):
        return ()
    graded = []
    for judge, own in given.items():
        if judge in scales or not _only(raw[judge], (0.0, 1.0)):
            low, high, scale = float(own[0]), float(own[-1]), scales.get(judge)
            graded.append(GradedJudge(judge, low, high, scale, _has_grades(own), _counted(own)))
    return tuple(graded)


def _counted(values: Floats) -> tuple[tuple[float, int], ...]:
    """Return distinct values with their counts, in at most ``MOST_VALUES`` steps."""
    steps = np.linspace(0, len(values) - 1, min(len(values), 100_000)).astype(np.int64)
    levels, counts = np.unique(values[steps], return_counts=True)
    if len(levels) > MOST_VALUES:
        # Halves of the values: the range of the largest numbers overflows.
        counts, edges = np.histogram(values[np.isfinite(values)] / 2.0, MOST_VALUES)
        levels = edges[1:] + edges[:-1]
    return tuple(zip(levels.tolist(), counts.tolist(), strict=True))


def scales_of(
    table: RawTable, roles: Roles, task: Task, thresholds: Thresholds, known: Mapping[str, float]
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
    named, of_others = thresholds.by_judge, thresholds.default
    if not named and _only_verdicts(table, roles):
        return {}
    words = _words_by_judge(table, roles)
    _check_thresholds(table, thresholds, words)
    commas = {word: judge for judge, counts in words.items() for word in counts if "," in word}
    has_threshold = bool(named) or of_others is not None
    if has_threshold and commas and all(map(THOUSANDS.fullmatch, commas)):
        word, judge = next(iter(commas.items()))
        problem = "the comma may separate thousands, or be a decimal comma"
        allowed, remedy = "1250 or 1.25, without a comma", "write the grades without commas"
        raise InputError(problem, allowed, remedy, file=table.name, column=judge, value=word)
    scales = {judge: Scale("scores", float(threshold)) for judge, threshold in named.items()}
    raw = _numbers({judge: counts for judge, counts in words.items() if judge not in scales})
    worded = len(raw) + len(scales) < len(words)
    if of_others is None:
        before = {j: own for j, own in raw.items() if not np.isnan(known.get(j, np.nan))}
        if any(map(_has_grades, before.values())):
            graded = [judge for judge, own in before.items() if len(own)]
            scales |= {judge: Scale("grades of the panel", float(known[judge])) for judge in graded}
        others = {judge: own for judge, own in raw.items() if judge not in scales}
        return scales | _guessed(_without_codes(others), task, worded=worded)
    numbers = _without_codes(raw)
    graded = [judge for judge, own in numbers.items() if _has_grades(own)]
    if graded and of_others >= 1.0:
        # A judge that only ever gave 1 gave the lowest grade, or a vote: never a 0 beside.
        graded += [judge for judge, own in numbers.items() if len(own) and _only(own, (1.0,))]
    scales |= dict.fromkeys(graded, Scale("scores", float(of_others)))
    for judge, own in raw.items():
        if judge not in scales and -1.0 in own:
            # The other judges give grades, and this one only 0, 1 and -1.
            problem, blank = "-1 may be a grade or a missing vote", "leave missing votes blank"
            remedy = f"{blank}, or say that this judge gives grades {errors.JUDGE_THRESHOLD}"
            allowed = "a blank cell for a missing vote"
            raise InputError(problem, allowed, remedy, file=table.name, column=judge)
    return scales


def _check_thresholds(table: RawTable, thresholds: Thresholds, judges: Collection[str]) -> None:
    """Refuse a threshold of a judge that the file does not have, or one that is not finite."""
    for judge in thresholds.by_judge:
        if judge not in judges:
            allowed = listed(list(judges), 8)
            remedy = f"name a judge of the file {errors.JUDGE_THRESHOLD}"
            error = InputError("there is no such judge", allowed, remedy, value=judge)
            raise error.in_file(table.name)
    for threshold in (thresholds.default, *thresholds.by_judge.values()):
        if threshold is not None and not abs(threshold) <= sys.float_info.max:
            raise InputError("a threshold is not finite", "a number", value=str(threshold)[:40])


def _guessed(numbers: Mapping[str, Floats], task: Task, *, worded: bool) -> dict[str, Scale]:
    """Return the scales that numbers can only be on: all differences, or probabilities.

    Beside judges with votes, those whose numbers can only be probabilities give probabilities.
    ``worded`` tells that there are judges whose votes are words.
    """
    given = {judge: values for judge, values in numbers.items() if len(values)}
    probable = [judge for judge, values in given.items() if _are_probabilities(values)]
    n_votes = sum(map(_may_be_verdicts, given.values()))
    if probable and len(probable) + n_votes == len(given):
        return dict.fromkeys(probable if n_votes or worded else numbers, PROBABILITIES)
    signed = given and not worded and task == "pairwise" and all(map(_is_signed, given.values()))
    return dict.fromkeys(numbers, DIFFERENCES) if signed else {}


def missing_codes(column: Column) -> Bools:
    """Return which distinct texts (n_words,) of a column of grades are codes for no answer.

    A code is -1, -99, 99 and the like, outside the range of all other grades.
    """
    return np.isin(column.numbers, _codes_among(column.numbers))


def _codes_among(numbers: Floats) -> list[float]:
    rest = numbers[~np.isnan(numbers) & ~np.isin(numbers, list(cells.CODES))]
    if not len(rest):
        return []
    low, high = float(rest.min()), float(rest.max())
    codes = cells.CODES.items()
    return [code for code, most in codes if high <= most and (code < 0 <= low or code > most)]


def grade_notes(scales: Mapping[str, Scale], votes: VoteMatrix) -> list[str]:
    """Return how grades were read, how many are ties, and what is odd about them, in sentences."""
    by_scale: dict[str, list[str]] = {}
    for judge, scale in scales.items():
        by_scale.setdefault(str(scale), []).append(judge)
    notes = [f"Read as {scale}: {listed(judges)}." for scale, judges in by_scale.items()]
    if votes.grades is None:
        return notes
    n_grades = int((~np.isnan(votes.grades)).sum())
    n_ties = int((votes.grades == votes.thresholds).sum())
    many = "is a tie" if n_ties == 1 else "are ties"
    notes.append(f"{n_grades:,} grades, of which {n_ties:,} {many} (on the threshold).")
    columns = zip(votes.judges, votes.grades.T, strict=True)
    own = {judge: values[~np.isnan(values)] for judge, values in columns if judge in scales}
    return [*notes, *_two_scales(own, votes), *_piled_up(own)]


def _two_scales(grades: Mapping[str, Floats], votes: VoteMatrix) -> Iterator[str]:
    """Say of a judge that some of its numbers are on 0 to 1 and the others far beyond."""
    for judge, values in grades.items():
        small = (values >= 0.0) & (values <= 1.0)
        if not small.any() or small.all() or np.median(values[~small]) < _TWO_SCALES:
            continue
        others = [v for name, v in grades.items() if name != judge and len(v)]
        usual = max((float(((v >= 0.0) & (v <= 1.0)).mean()) for v in others), default=0.0)
        if small.mean() > max(_FEW_SCALES, _APART * usual):
            column = votes.grades[:, votes.judges.index(judge)]  # type: ignore[index]
            place = int(np.argmax((column >= 0.0) & (column <= 1.0)))
            yield (
                f"The numbers of {quote_value(judge)} lie on two scales: {int(small.sum()):,} of "
                f"{len(values):,} are from 0 to 1, the first on item "
                f"{quote_value(votes.item_ids[place])} ({column[place]:g}), the others from "
                f"{values[~small].min():g} to {values[~small].max():g}."
            )


def _piled_up(grades: Mapping[str, Floats]) -> Iterator[str]:
    """Say of a judge that it gives its lowest or highest grade far more often than the others."""
    several = {judge: own for judge, own in grades.items() if len(np.unique(own)) > _APART}
    for end, extreme in (("lowest", np.min), ("highest", np.max)):
        shares = {judge: float((own == extreme(own)).mean()) for judge, own in several.items()}
        for judge, share in shares.items():
            most = max((other for name, other in shares.items() if name != judge), default=0.0)
            if len(shares) > 2 and share > max(_PILED, _APART * most):
                yield (
                    f"{quote_value(judge)} gives its {end} grade, {extreme(grades[judge]):g}, in "
                    f"{100 * share:.0f} % of its votes, the others in at most {100 * most:.0f} %: "
                    "it may stand for answers that failed."
                )


# --- refusals --------------------------------------------------------------------------------


def refuse_scores(table: RawTable, column: Column, row: int, remedy: str) -> InputError:
    """Return the refusal of a number that is no verdict, with thresholds that would cut it."""
    levels = list(column.levels)
    problem = "not a verdict"
    if len(levels) > 1 and not {*levels} <= {*_VERDICTS}:
        problem = f"{problem}, in a column of numbers from {levels[0]:g} to {levels[-1]:g}"
    allowed = "0 or 1, a verdict in words (yes, A, pass, ...), or blank for no verdict"
    cut = _cut_remedy(column, "votes", errors.SCORES_OR_NOT)
    return InputError(problem, allowed, f"{cut}; {remedy}").in_cell(table, column.name, row)


def refuse_label_scale(table: RawTable, column: Column, row: int) -> InputError:
    """Return the refusal of labels on a scale, with their values and thresholds that would do."""
    shown = [f"{value:g} ({n:,})" for value, n in column.levels.items()]
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    problem = f"labels on a scale: {', '.join(shown[:12])}{more}"
    remedy = _cut_remedy(column, "labels", f"say where labels are cut {errors.LABEL_THRESHOLD}")
    allowed = "labels 0 and 1, or a threshold between the two"
    return InputError(problem, allowed, remedy).in_cell(table, column.name, row)


def _cut_remedy(column: Column, what: str, remedy: str) -> str:
    """Return the remedy with thresholds between the grades, and the share of ones of each."""
    if [*column.levels] == [0.0, 1.0, 2.0]:
        return _ZERO_ONE_TWO
    shares = sorted(likely_cuts(tuple(column.levels.items())))
    cuts = [f"{cut:g} makes {100 * share:.0f} % of the {what} 1" for cut, share in shares]
    return f"{remedy} ({', '.join(cuts)})" if cuts else remedy


def likely_cuts(levels: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Return thresholds between grades and their shares of ones, those nearest to a half first.

    ``levels`` are the distinct grades in ascending order, with their counts.
    """
    grades, counts = np.array(levels, dtype=float).reshape(-1, 2).T
    middles = (grades[1:] + grades[:-1]) / 2.0
    shares = np.cumsum(counts[::-1])[-2::-1] / counts.sum()
    best = np.argsort(np.abs(shares - 0.5), kind="stable")[:_SHOWN_CUTS]
    return [(float(middles[k]), float(shares[k])) for k in best]


def _only_verdicts(table: RawTable, roles: Roles) -> bool:
    words = (word for name in roles.verdicts for word in cells.distinct(table.frame[name])[1])
    return all(map(cells.is_verdict, words))


def _words_by_judge(table: RawTable, roles: Roles) -> Words:
    by_judge: dict[str, dict[str, int]] = {}
    if roles.layout == "wide":
        for column in roles.judge_columns:
            codes, words = cells.distinct(table.frame[column])
            counts = np.bincount(codes, minlength=len(words)).tolist()
            judge = cells.unshield(column, cells.is_role_name)
            by_judge[judge] = dict(zip(words, counts, strict=True))
        return by_judge
    raters, judges = names_in(table, roles.judge_column, "judge name", cells.is_role_name)
    codes, words = cells.distinct(table.frame[str(roles.verdict_column)])
    order = np.argsort(raters, kind="stable")
    ends = np.cumsum(np.bincount(raters, minlength=len(judges)))[:-1]
    for judge, own in zip(judges, np.split(codes[order], ends), strict=True):
        used, counts = (part.tolist() for part in np.unique(own, return_counts=True))
        by_judge[judge] = {words[k]: n for k, n in zip(used, counts, strict=True)}
    return by_judge


def _numbers(words: Words) -> dict[str, Floats]:
    """Return the numbers of judges without another verdict, with repeats, ascending."""
    numbers = {}
    for judge, counts in words.items():
        texts = {word: cells.plain(word) for word in counts}
        values = {word: float(text) for word, text in texts.items() if cells.is_number(text)}
        if all(word in values or cells.verdict_of(word) == MISSING for word in counts):
            repeats = np.array([counts[word] for word in values], dtype=np.intp)
            numbers[judge] = np.sort(np.repeat(np.array([*values.values()], float), repeats))
    return numbers


def _without_codes(numbers: Mapping[str, Floats]) -> dict[str, Floats]:
    return {j: values[~np.isin(values, _codes_among(values))] for j, values in numbers.items()}


def _only(values: Floats, known: Collection[float]) -> bool:
    return bool(np.isin(values, list(known)).all())


def _may_be_verdicts(values: Floats) -> bool:
    """Whether numbers are a form of verdicts: 0 and 1, with .5 as a tie, or 1 and 2."""
    return _only(values, (*_VERDICTS, 0.5)) or _only(values, (1.0, 2.0))


def _has_grades(values: Floats) -> bool:
    return not _only(values, _VERDICTS)


def _are_probabilities(values: Floats) -> bool:
    """Whether numbers can only be probabilities: mostly inside (0, 1), and not all .5 there."""
    inside = (values > 0.0) & (values < 1.0)
    within = bool((values >= 0.0).all() and (values <= 1.0).all())
    return within and bool(inside.mean() > 0.5 and (values[inside] != 0.5).any())


def _is_signed(values: Floats) -> bool:
    """Whether numbers are on both sides of 0, with more on each than the -1 of a missing vote."""
    levels = np.unique(values)
    return min(int((levels > 0.0).sum()), int((levels < 0.0).sum())) > 1
