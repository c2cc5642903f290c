"""How a file was read, in sentences: what was found, what 1 means, what was guessed or left out.

If the file has no groups, a column to group items by is offered by its name, or by judges' errors.

Items of one question are not independent. A column named as a question is offered if its values
repeat; any other feature or text whose values repeat is offered if judges err alike on items that
share a value. Of several such columns the most significant is offered, after correction for their
number (the first step of Holm's procedure). In a file with one row per vote such a column says the
same on all rows of an item.

An item's error is the mean over its votes of wrong minus the judge's share of wrong votes. The sum
over values of (sum of errors)² / items is compared with what it is when the values are dealt to the
items at random, which is exact for errors of any distribution and values of any sizes. Draws stop
once ``_ENOUGH`` of them are as large (Besag & Clifford 1991, doi:10.1093/biomet/78.2.301), so that
only a column that matters costs all of them. Cost: O(n K) for the errors, then O(n) for each draw,
n at most 20,000 items.

Values that stand for a measurement (a length, a count) repeat too, and errors may depend on them
although items are independent. So differences between the values of columns with few of them, and
a trend over numbers, are taken out of the errors first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from judgepanel.arrays import Bools, Floats
from judgepanel.votes import cells, checks, errors
from judgepanel.votes.attributes import Codes, first_given
from judgepanel.votes.cells import plain_name, side_of
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import Column
from judgepanel.votes.errors import CHOICE_CONTROLS, InputError, listed, quote_value
from judgepanel.votes.layouts import Reader
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.roles import CHOSEN, DESCRIBES, PLACES, UNUSED, ColumnRole, Roles
from judgepanel.votes.table import RawTable

FEW_LABELS = 20
_IF_PAIRS = (
    f"so that items are single responses (pointwise). If they are pairs, say so {errors.PAIRWISE}."
)
READ_AS_POINTWISE = f"Verdicts say whether one response is good, {_IF_PAIRS}"
TASK_NOT_SAID = (
    "Items are taken as pairs of responses, which the file does not say; if they are single "
    f"responses, say so {errors.POINTWISE}."
)
_SHOWN = 5
_SAID_AS_GUESSES = ("id", "label", "judge name", "verdict", "order", "run")
_MOST_WORDS, _MOST_LEVELS = 40, 100
_PLAINLY_NONE = ("dates", "long texts", "named as a text", "an index", "the same", "the name of")
"""Starts of reasons for which nobody would take a column for a judge."""
_SYSTEM_FEATURE = f"{cells.FEATURE_PREFIX}system"
_RESPONSES = frozenset(("response", "output", "answer", "completion", "reply"))


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file was read.

    Attributes
    ----------
    sentence : items, judges, labels, the meaning of 1, order, runs and what was left out.
    one : what a label or a vote of 1 means.
    guesses : what the file does not say itself, in sentences with the option that says it.
    """

    sentence: str
    one: str
    guesses: tuple[str, ...] = ()


def task_of(reader: Reader, choices: Choices) -> tuple[Task, str]:
    """Return what an item is, and a sentence if the file does not say so; empty if it does."""
    task = choices.task or reader.table.task
    if task is not None:
        return task, ""
    words = {word for name in reader.named for word in reader.columns[name].given}
    words -= choices.words.keys()
    if any(map(cells.is_good_or_bad, words)):
        return "pointwise", READ_AS_POINTWISE
    pairs = reader.columns.pair is not None or reader.roles.order_column is not None
    if pairs or any(side_of(word) is not None for word in words) or reader.vocabulary.places:
        return "pairwise", ""
    features = {_SYSTEM_FEATURE} & {*reader.roles.feature_columns}
    named_systems = reader.roles.system_column or (*features,)
    systems = [len(reader.columns[name].given) for name in named_systems]
    if len(systems) == 1 and systems[0] > 1 and not words <= {"1", "2"}:
        return "pointwise", f"Every item names one system, {_IF_PAIRS}"
    named = [name for name in reader.table.columns if _RESPONSES & {*cells.tokens_of(name)}]
    free = [name for name in named if name not in reader.roles.used]
    texts = [name for name in free if reader.columns[name].kind in ("texts", "words")]
    if len(texts) == 1 and texts[0].lower() in _RESPONSES:
        return "pointwise", f"There is one response per item, {_IF_PAIRS}"
    return "pairwise", "" if len(texts) == 2 else TASK_NOT_SAID


def forms_sentence(reader: Reader, graded: Sequence[str]) -> str:
    """Return how the verdicts of a file are written, by groups of columns with the same form.

    Columns of grades are left out: notes say how they are read.
    """
    columns = (*reader.roles.of("label"), *reader.roles.verdicts)
    models = reader.columns.models()
    by_form: dict[str, list[str]] = {}
    for name in columns:
        if name not in graded:
            form = cells.form_of(reader.columns[name].words, models)
            by_form.setdefault(form, []).append(name)
    if by_form.keys() <= {"0/1"}:
        return "0/1"
    return "; ".join(
        form if len(named) == len(columns) else f"{form} in {listed(named)}"
        for form, named in by_form.items()
    )


def meaning_of_one(reader: Reader, choices: Choices, task: Task) -> str:
    """Return what a label of 1 means, in a few words."""
    label = reader.roles.label_column
    if label is not None and choices.label_threshold is not None:
        return f"{label} above {choices.label_threshold:g}"
    words = [word for name in reader.named[::-1] for word in reader.columns[name].given]
    said = [w for w in words if cells.is_good_or_bad(w) and reader.vocabulary.meaning(w) == 1]
    said += [quote_value(word) for word, code in choices.words.items() if code == 1]
    if said or task == "pointwise":
        return said[0] if said else "good"
    first = [n for n in reader.table.columns if side_of(n) == 1 and n not in reader.roles.used]
    return f"{first[0] if first else 'the first response'} is better"


def reading_of(reader: Reader, votes: VoteMatrix, one: str, guesses: Sequence[str]) -> Reading:
    """Return how a file was read."""
    roles, source = reader.roles, reader.table.labels
    per = "item" if roles.layout == "wide" else "vote"
    n_labels, judges = int(votes.labelled.sum()), _counted(votes.n_judges, "judge", "judges")
    labels = "without labels"
    if roles.label_column is not None:
        of = "all of them" if n_labels == votes.n_items else f"{n_labels:,} of them"
        where = quote_value(roles.label_column)
        if source is not None:
            where = f"{quote_value(source.column)} of {quote_value(source.file)}"
        labels = f"labels from {where} on {of}"
    out = [role for role in doubtful(roles) if not role.reason.startswith(_PLAINLY_NONE)]
    pairs = "items are taken as pairs of responses (the file does not say)"
    parts = [
        f"I read {votes.n_items:,} items and {judges} from one row per {per}; {labels}",
        *([pairs] if TASK_NOT_SAID in guesses else []),
        f"1 means {one}",
        *(f"the order shown from {quote_value(name)}" for name in roles.of("order")),
        *(f"runs from {quote_value(name)}" for name in roles.of("run")),
        *([f"left out as no judges: {_with_reasons(out, 3)}"] if out else []),
    ]
    guessed = [
        f"{quote_value(role.column)} is guessed to be the {role.role}; say otherwise "
        f"{CHOICE_CONTROLS[PLACES[role.role]]}."
        for role in roles.columns
        if role.role in _SAID_AS_GUESSES and role.reason != CHOSEN and not _is_usual(role)
    ]
    guessed += [f"{quote_value(role.column)} is left out ({role.reason})." for role in out]
    return Reading(f"{'; '.join(parts)}.", one, (*guesses, *guessed))


def _with_reasons(roles: Sequence[ColumnRole], limit: int) -> str:
    """Return the first few columns with their reasons, and how many more there are."""
    named = ", ".join(f"{quote_value(role.column)} ({role.reason})" for role in roles[:limit])
    return named if len(roles) <= limit else f"{named} and {len(roles) - limit} more"


def _is_usual(role: ColumnRole) -> bool:
    """Whether a column has a name that says its role by itself."""
    if role.role == "label":
        return role.column.lower() in cells.LABEL_NAMES or role.reason == "read from the other file"
    return role.reason.startswith("read as the")


def doubtful(roles: Roles) -> list[ColumnRole]:
    """Return columns of a wide file that might have been judges and are left out for a reason."""
    if roles.layout != "wide":
        return []
    plain = (CHOSEN, "no other role", "named as in a file", "not a judge that")
    unused = [role for role in roles.columns if role.role in ("ignore", "text")]
    return [role for role in unused if not role.reason.startswith(plain)]


# --- what is odd -----------------------------------------------------------------------------


def _counted(number: int, one: str, many: str) -> str:
    """Return a number and what is counted, in the singular or the plural."""
    return f"{number} {one if number == 1 else many}"


def vote_warnings(votes: VoteMatrix, *, need_labels: bool) -> list[str]:
    """Return sentences on a single judge, no votes, a single verdict and few labels.

    Labels of one class are P0's (:mod:`votes.checks`).
    """
    ones = (votes.votes == 1).sum(axis=0)
    counts = (votes.votes != MISSING).sum(axis=0)
    same = (counts >= 2) & ((ones == 0) | (ones == counts))
    silent, alike = ([*compress(votes.judges, found)] for found in (counts == 0, same))
    unseen, n_labels = [*compress(votes.item_ids, votes.n_votes == 0)], int(votes.labelled.sum())
    one_verdict = _counted(len(alike), "judge gives the same", "judges each give one")
    alone = f"There is only one judge, {quote_value(votes.judges[0])}, so no panel to choose."
    few = f"Only {n_labels} items have a label; fewer than {FEW_LABELS} say very little."
    warnings = {
        alone: votes.n_judges == 1,
        f"{_counted(len(silent), 'judge has', 'judges have')} no votes: {listed(silent)}.": silent,
        f"{one_verdict} verdict in all votes: {listed(alike)}.": alike,
        f"{_counted(len(unseen), 'item has', 'items have')} no vote: {listed(unseen)}.": unseen,
        few: need_labels and n_labels < FEW_LABELS,
    }
    return [warning for warning, found in warnings.items() if found]


def refuse_reversed_scale(table: RawTable, votes: VoteMatrix) -> None:
    """Refuse differences whose direction was guessed, and seems to be the other."""
    if checks.reversal(votes):
        raise InputError(
            "higher scores seem to speak for the second response: most judges are right on clearly "
            "less than half of the labelled items",
            "scores that are higher where the first response is better",
            f"turn the votes {errors.TURN}; or, if they are meant so, cut them at 0 "
            f"{errors.THRESHOLD}",
        ).in_file(table.name)


def column_warnings(reader: Reader, graded: Sequence[str]) -> list[str]:
    """Return sentences on ties, words without a verdict, odd names, and columns that are no judges.

    Columns of grades are ``graded``: codes for missing grades are no such words.
    """
    roles, voted = reader.roles, [name for name in reader.named if name not in graded]
    labels = [reader.meanings(name, halves=False) for name in roles.of("label")]
    ties = sum(int((codes == cells.TIE).sum()) for codes in labels)
    unsure = sum(int((reader.meanings(name) == cells.ABSTAINED).sum()) for name in voted)
    # A second label or group column read as a judge would be a judge that knows the answer.
    odd = [column for column in roles.judge_columns if cells.is_role_name(column)]
    out = dict.fromkeys(doubtful(roles))
    unused = [role for role in roles.columns if role.role in UNUSED and role.reason != CHOSEN]
    plain = [role.column for role in unused if role not in out]
    features = [role.column for role in roles.columns if role.reason == DESCRIBES]
    tied = _counted(ties, "label is a tie and counts", "labels are ties and count")
    silent_cells = _counted(unsure, "cell says", "cells say")
    warnings = {
        f"{tied} as no label.": ties,
        f"Read as judges in spite of their names: {listed(odd)}.": odd,
        f"{silent_cells} that there is no verdict (unsure, -, ...) and count as missing.": unsure,
        f"Columns that are not used: {listed(plain)}.": plain,
        f"Not read as judges: {_with_reasons([*out], _SHOWN)}. If one of them is a judge, name "
        f"all judges {errors.JUDGE_COLUMNS}.": out,
        f"Read as item features by their names: {listed(features)}. Leave one out "
        f"{errors.IGNORE}.": features,
    }
    return [warning for warning, found in warnings.items() if found]


def unknown_words(reader: Reader, *, but: Collection[str] = ()) -> tuple[tuple[str, int], ...]:
    """Return labels and verdicts of unknown meaning with their cells, the most frequent first.

    Numbers are none of them, nor columns of the judges ``but`` that give grades; but where a column
    has exactly 0, 1 and 2 each of them is.
    """
    counts: Counter[str] = Counter()
    models = reader.columns.models()
    for name in dict.fromkeys(reader.named):
        column = reader.columns[name]
        coded = column.levels.keys() == {0.0, 1.0, 2.0}
        if not coded and (name in but or (column.is_numeric and reader.roles.layout == "wide")):
            continue
        counted = np.bincount(column.codes, minlength=len(column.words))
        numeric = ~np.isnan(column.numbers)
        for word, n, is_number in zip(column.words, counted.tolist(), numeric, strict=True):
            known = is_number or reader.vocabulary.knows(word) or word.strip() in models
            if n and (is_number if coded else not known):
                counts[word.strip()] += n
    given = [(word, 0) for word in reader.vocabulary.given if word not in counts]
    return tuple([*counts.most_common(_MOST_WORDS), *given][:_MOST_WORDS])


def label_levels(reader: Reader) -> tuple[tuple[float, int], ...]:
    """Return the values of labels on a scale with their counts; () if they are on none."""
    name = reader.roles.label_column
    if name is None or not reader.columns[name].is_scores:
        return ()
    levels = reader.columns[name].levels
    verdicts = levels.keys() <= {-1.0, 0.0, 1.0, 2.0}
    is_scale = not verdicts and len(levels) <= _MOST_LEVELS and np.inf not in map(abs, levels)
    return tuple(levels.items()) if is_scale else ()


FEWEST_SHARED = 20
"""Values that several items must share before their errors are compared."""
DRAWS = 1_999
_ENOUGH = 20
_DEGREE = 3
_MOST_ITEMS = 20_000
LEVEL = 0.02
"""Chance that a column is offered by the errors if the errors depend on none."""
_NAMES = cells.words_in("query|queryid|prompt|promptid|question|questionid|instruction")
_MOST_STRATA = 30
_HARDLY = 1.05
_REMEDY = f"that column {CHOICE_CONTROLS['group_column']}."


def group_hint(
    table: RawTable, roles: Roles, votes: VoteMatrix, items: Codes | None
) -> tuple[str, str]:
    """Return a column to group items by and a sentence that offers it; both empty if none is.

    ``items`` (n_rows,) are the items of the rows of a long file, None for a wide one.
    """
    if roles.group_column is not None:
        return "", ""
    taken = {*roles.used}.difference(roles.feature_columns)
    plain = {name: plain_name(name.strip().lower().removeprefix("feat_")) for name in table.columns}
    named = [name for name in table.columns if plain[name] in _NAMES and name not in taken]
    for column in _of_items(table, named, items, votes.n_items):
        if n_values := values_that_recur(column):
            return column.name, (
                f"{votes.n_items} items share {n_values} values of {quote_value(column.name)}: "
                "intervals are too narrow unless such items stay together"
                f"{_wider(times_as_wide(votes, _values(column)))}. Name {_REMEDY}"
            )
    names = [role.column for role in roles.columns if role.role in ("feature", "text")]
    if items is not None and 2 * (np.bincount(items) > 1).sum() >= items.max() + 1:
        # In a long file columns that describe items have no role of their own. One that is not used
        # does if it is the same on all rows of an item, which shows if most have several rows.
        unused = [r.column for r in roles.columns if r.role == "ignore" and r.reason != CHOSEN]
        names += [name for name in unused if name.strip().lower() not in cells.AGGREGATE_NAMES]
    return _by_errors(_of_items(table, names, items, votes.n_items), votes)


def _of_items(table: RawTable, names: list[str], items: Codes | None, n_items: int) -> list[Column]:
    """Return columns with one row per item, but those of which the rows of an item differ."""
    columns = [Column(name, table.frame[name]) for name in names]
    if items is None:
        return columns
    found = []
    for column in columns:
        given = np.array([word.strip() != "" for word in column.words], dtype=bool)[column.codes]
        rows, differing = first_given(column.codes, given, items, n_items)
        if not len(differing):
            own = column.cells.iloc[rows].cat.remove_unused_categories().reset_index(drop=True)
            found.append(Column(column.name, own))
    return found


def _by_errors(described: Sequence[Column], votes: VoteMatrix) -> tuple[str, str]:
    """Offer the column whose values explain the judges' errors best, if any does."""
    repeating = [column for column in described if values_that_recur(column)]
    rest = [column for column in described if column not in repeating]
    strata = [_values(column) for column in rest if len(column.words) <= _MOST_STRATA]
    numbers = {c.name: c.numbers[c.codes] for c in repeating if c.is_numeric}
    # Fractions are measurements; what they have in common is no origin.
    tested = [c for c in repeating if not np.any(numbers.get(c.name, np.zeros(1)) % 1.0 > 0)]
    if not tested:
        return "", ""
    wrong = item_errors(votes, strata)
    p = [alike_p(wrong, _values(column), numbers.get(column.name)) for column in tested]
    best = tested[int(np.argmin(p))]
    if min(p) * len(tested) > LEVEL or (times := times_as_wide(votes, _values(best))) < _HARDLY:
        return "", ""
    return best.name, (
        f"Judges err alike on items that share a value of {quote_value(best.name)}: if such items "
        f"have one origin, intervals are too narrow unless they stay together{_wider(times)}. In "
        f"that case name {_REMEDY}"
    )


def _wider(times: float) -> str:
    """Say how much wider intervals are with groups, if it is noticeable."""
    if times < _HARDLY:
        return ""
    return f" (by the errors of the judges they should be about {times:.1f} times as wide)"


def _values(column: Column) -> Codes:
    """Return codes (n_items,) of the values in a column, -1 if missing."""
    return np.where(column.present, column.codes, -1).astype(np.intp)


def item_errors(votes: VoteMatrix, strata: Sequence[Codes] = ()) -> Floats:
    """Return the error of each item (n_items,); NaN without a label or votes.

    The mean error of each value of ``strata``, codes (n_items,) with -1 for missing, is taken out.
    """
    wrong, given = _errors(votes)
    counts = given.sum(axis=1)
    errors = np.where(counts > 0, wrong.sum(axis=1) / np.maximum(counts, 1), np.nan)
    for values in strata:
        used = (values >= 0) & ~np.isnan(errors)
        sizes = np.bincount(values[used])
        means = np.bincount(values[used], weights=errors[used]) / np.maximum(sizes, 1)
        errors[used] -= means[values[used]]
    return errors


def alike_p(errors: Floats, values: Codes, numbers: Floats | None = None) -> float:
    """Return p of errors (n_items,) as alike within ``values`` (n_items,) as they are.

    ``values`` are codes, -1 if missing; ``numbers`` (n_items,) are what they stand for if they are
    numbers. 1 if fewer than ``FEWEST_SHARED`` values, or less than half of the items, are shared.
    """
    used = np.flatnonzero((values >= 0) & ~np.isnan(errors))[:_MOST_ITEMS]
    _, codes, sizes = np.unique(values[used], return_inverse=True, return_counts=True)
    shared = sizes > 1
    if shared.sum() < FEWEST_SHARED or 2 * sizes[shared].sum() < len(codes):
        return 1.0
    centred = errors[used] - errors[used].mean()
    if numbers is not None:
        centred = _without_trend(centred, numbers[used])

    def between(dealt: Codes) -> float:
        return float((np.bincount(dealt, weights=centred) ** 2 / sizes).sum())

    # Rounding must not tell a draw from the values themselves.
    observed = between(codes) - 1e-9 * float((centred**2).sum())
    rng = np.random.default_rng(0)
    as_large = 0
    for draw in range(1, DRAWS + 1):
        as_large += between(rng.permutation(codes)) >= observed
        if as_large == _ENOUGH:
            return as_large / draw
    return (as_large + 1) / (DRAWS + 1)


def times_as_wide(votes: VoteMatrix, values: Codes) -> float:
    """Return how many times as wide intervals of accuracies are with ``values`` as groups.

    The root of the design effect of all judges' errors; an item without a value is alone.
    """
    errors, _ = _errors(votes)
    alone = float((errors**2).sum())
    if alone == 0.0:
        return 1.0
    own = values.max(initial=-1) + 1 + np.arange(len(values))
    _, groups = np.unique(np.where(values >= 0, values, own), return_inverse=True)
    sums = np.zeros((int(groups.max()) + 1, votes.n_judges))
    np.add.at(sums, groups, errors)
    return float(np.sqrt((sums**2).sum() / alone))


def _errors(votes: VoteMatrix) -> tuple[Floats, Bools]:
    """Return wrong less the judge's share of wrong votes, 0 without a vote, and where votes are."""
    given = (votes.votes != MISSING) & votes.labelled[:, None]
    wrong = (votes.votes != votes.labels[:, None]) & given
    rates = wrong.sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    return np.where(given, wrong - rates, 0.0), given


def _without_trend(errors: Floats, numbers: Floats) -> Floats:
    """Return errors less a cubic in the ranks of the numbers."""
    _, ranks = np.unique(numbers, return_inverse=True)
    place = 2.0 * ranks / max(int(ranks.max()), 1) - 1.0
    basis = np.polynomial.legendre.legvander(place, _DEGREE)
    return np.asarray(errors - basis @ np.linalg.lstsq(basis, errors, rcond=None)[0])


def values_that_recur(column: Column) -> int:
    """Return the number of distinct values if a column's values recur, but not often; else 0."""
    n_values, n_rows = np.count_nonzero(np.bincount(column.codes)), len(column.codes)
    often = n_values * 10 < n_rows and n_values < FEWEST_SHARED
    return 0 if n_values < 2 or n_values == n_rows or often else int(n_values)
