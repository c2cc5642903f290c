"""The role of every column of a table: chosen by the user, or guessed from its name and content.

Names that are written as usual (``LABEL_NAMES`` and others) come first, then words in longer names,
then content. A column computed from the judges or from the label would be a judge that knows the
answer, see ``judgepanel.votes.columns``. What cannot be told is refused, with the candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from judgepanel.votes import cells, errors
from judgepanel.votes.cells import RECORD, find_column, is_good_or_bad, side_of
from judgepanel.votes.choices import SINGLE, Choices
from judgepanel.votes.columns import Column, Columns, computed, evaluators, facet_of, says_orders
from judgepanel.votes.errors import CHOICE_CONTROLS, ONE_ROLE_EACH, InputError, quote_value
from judgepanel.votes.table import FILE_COLUMN, RawTable, no_column

Layout = Literal["wide", "long"]
Place = Literal[
    "id", "label", "group", "verdict", "judge name", "judge", "feature", "system", "order", "run"
]
RoleName = Literal[Place, "beside", "text", "ignore"]
UNUSED: tuple[RoleName, ...] = ("beside", "text", "ignore")
CHOSEN = "chosen by name"
PLACES: dict[RoleName, str] = {role: f"{role}_column" for role in get_args(Place)} | {
    "judge name": "judge_column",
    "judge": "judge_columns",
    "feature": "feature_columns",
}
"""The field of ``Roles`` with the columns of a role."""
_OF_VOTES = (*cells.LONG_ITEM_NAMES, *cells.LONG_JUDGE_NAMES, *cells.LONG_VERDICT_NAMES)
_LONG_NAMES = frozenset(map(cells.plain_name, (*_OF_VOTES, *cells.TEXT_NAMES)))
_LABEL_NAMES_ONLY = frozenset(map(cells.plain_name, cells.LABEL_NAMES)) - {"target", "y", "z"}
"""Names of labels that no judge is likely to have."""
_LABELS = cells.words_in("label|labels")
_TRUTHS, _PERSONS = cells.LABEL_WORDS - _LABELS, cells.PERSON_WORDS
_BY_PERSON = _PERSONS | cells.words_in("annotation|annotated|true|reference|final")
_LABEL_TIERS = ((_TRUTHS,), (_LABELS, _BY_PERSON), (_PERSONS,), (_LABELS,))
"""Sets of words of which the name of a label has one each, the plainest names first."""
_TEXTS = cells.words_in(
    "prompt|instruction|input|question|query|response|response_a|response_b|response_1|response_2|"
    "output_1|output_2|comment|comments|note|notes|reason|reasoning|rationale|explanation|text|"
    "output"
)
_DATES = cells.words_in("timestamp|date|datetime|time|created|created_at")
_ITEM_WORDS = cells.words_in(
    "item|example|question|sample|instance|task|pair|prompt|case|query|conversation|trace|span|"
    "record|hit|unit|document|call|ticket|answer|source|request|doc|row|rec|entry|dialog"
)
_ID_WORDS = cells.words_in("id|uid|uuid|key|idx|index")
_NO_ITEMS = cells.words_in("assignment|annotation|assessment|score|run|event|vote")
"""Words of ids that are of a vote, not of an item."""
_FEW_VALUES, _LABEL_VALUES, _FEW_ROWS, _FEW_STATES = 12, 11, 5, 9
_MAY_BE_WORDS = ("2", "2.0", "left", "right", "y", "n")
"""Words that are verdicts in some files."""
_NOTED = {"different in every row": "the id of the items", "its name says so": "the label"}
"""What a note says of columns by the reason of their role."""
_COMPUTED = "named as something computed from the judges"
DESCRIBES = "named as something that describes the items"
_SCALES = (1.0, 10.0, 100.0)
"""The ends of scales from 0."""


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """The role of a column and the reason (a clause without a full stop)."""

    column: str
    role: RoleName
    reason: str


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of each column of a file, by its name in the file.

    A wide file has one row per item and one column per judge (``judge_columns``); without an id the
    items are numbered from 1. A long file has one row per vote: ``judge_column`` (several columns
    together may name the judge) and ``verdict_column``. ``order_column`` says which response was
    shown first, ``run_column`` which of several votes of a judge on an item this is. ``beside`` are
    columns about the same verdict (its error, score, explanation), by the column of the verdict.
    ``columns`` gives each column's role and the reason; ``notes`` are sentences on what was
    decided.
    """

    layout: Layout
    id_column: tuple[str, ...] = ()
    label_column: str | None = None
    group_column: str | None = None
    judge_columns: tuple[str, ...] = ()
    judge_column: tuple[str, ...] = ()
    verdict_column: str | None = None
    order_column: str | None = None
    run_column: str | None = None
    system_column: tuple[str, ...] = ()
    feature_columns: tuple[str, ...] = ()
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[ColumnRole, ...] = field(default=(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def of(self, role: RoleName) -> tuple[str, ...]:
        """Return the columns of a role."""
        columns = getattr(self, PLACES[role])
        return (columns,) if isinstance(columns, str) else columns or ()

    @property
    def used(self) -> tuple[str, ...]:
        """All columns with a role but order and run, repeated for each role they have."""
        roles = (role for role in PLACES if role not in ("order", "run"))
        return tuple(column for role in roles for column in self.of(role))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The columns whose cells are votes."""
        return self.of("verdict") or self.judge_columns


def guess_roles(table: RawTable, choices: Choices, *, need_label: bool = True) -> Roles:
    """Return the roles of a table's columns.

    A file is long if it has an item, a judge and a verdict column and the judge column holds names
    rather than verdicts. In a wide file a column without another role is a judge, unless its name
    or content shows that it is a feature or not counted, or its name is typical of a long file
    (annotator, model, output, ...) and it holds no verdicts. With ``choices.judge_columns`` the
    file is wide and no other column is a judge. Columns given by name are used as given.

    Raises
    ------
    InputError
        A named column that does not exist or has two roles, no judges, or no label column although
        one is needed.
    """
    _check_choices(table, choices)
    if table.judges and not choices.judge_columns and not choices.judge_column:
        named = choices.columns
        judges = tuple(name for name in table.judges if name not in named)
        choices = replace(choices, judge_columns=judges)
    guess = _Guess(table, choices)
    roles = (None if choices.judge_columns else guess.long()) or guess.wide()
    if need_label and roles.label_column is None:
        allowed = "a column named label, gold, truth, target or y"
        remedy = errors.name_column("label", guess.label_candidates())
        raise InputError("there is no label column", allowed, remedy).in_header(table)
    if roles.layout == "wide" and not roles.judge_columns:
        raise InputError(
            "there are no judge columns",
            "one column of verdicts per judge, beside the id, the label and feat_ columns",
            "add the judges' columns; or, if one of them was taken for another role, "
            + ONE_ROLE_EACH,
        ).in_header(table)
    columns = guess.roles(roles)
    noted = sorted((own for own in columns if own.reason in _NOTED), key=lambda own: own.role)
    notes = tuple(f"{quote_value(own.column)} is read as {_NOTED[own.reason]}." for own in noted)
    return replace(roles, columns=columns, notes=notes)


def _check_choices(table: RawTable, choices: Choices) -> None:
    """Refuse columns that are chosen and do not exist, or are chosen twice."""
    seen: set[str] = set()
    for choice, names in choices.named.items():
        one_each = choice in SINGLE or choice == "id_column"
        once = ONE_ROLE_EACH if one_each else f"name it once, {CHOICE_CONTROLS[choice]}"
        for name in names:
            if name not in table.frame.columns:  # Its index is hashed: there may be many names.
                absent = errors.choose_column(choice)
                raise no_column(table.columns, name, absent).in_header(table, name)
            if name in seen:
                twice = InputError("this column has two roles", "one role per column", once)
                raise replace(twice, file=table.name, column=name)
            seen.add(name)


def judge_columns_of(table: RawTable, item: str, others: set[str]) -> tuple[str, ...]:
    """Return the verdict columns of a file with one row per item; () if items repeat.

    Columns whose name is a role name or typical of a long file are left out, as are ``others`` and
    the models of a pair, whose names can be verdicts.
    """
    if table.frame[item].duplicated().any():
        return ()
    guess = _Guess(table, Choices())
    return guess.judges({item, *others, *(guess.columns.pair or ())})


def _usual(free: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the free columns of usual names, in the order of these names."""
    return [column for name in names if (column := find_column(free, (name,))) is not None]


def _plainest(names: Iterable[str], *tests: Callable[[str], bool]) -> list[str]:
    """Return the columns that pass the first of the tests that any of them passes."""
    passing = ([name for name in names if test(name)] for test in tests)
    return next(filter(None, passing), [])


def _ends_as_id(name: str) -> bool:
    """Whether the last word of a name is one for an id."""
    return not _ID_WORDS.isdisjoint(cells.tokens_of(name)[-1:])


def _says(name: str, words: Set[str]) -> bool:
    """Whether one of the words is in a name."""
    return not words.isdisjoint(cells.tokens_of(name))


def _is_written(column: Column) -> bool:
    """Whether a column holds sentences, and no ids."""
    return column.kind == "texts" or any(" " in word for word in column.given[:_FEW_VALUES])


class _Guess:
    """The columns of a table whose roles are guessed, and what was decided so far."""

    def __init__(self, table: RawTable, choices: Choices) -> None:
        self.table, self.choices = table, choices
        self.columns = Columns(table)
        self.models = self.columns.models()
        self.vocabulary = cells.Vocabulary(choices.words)
        self.chosen = choices.columns
        self.free = [name for name in table.columns if name not in self.chosen]
        self.why: dict[str, ColumnRole] = {}

    # --- what columns say ---

    def without(self, taken: Iterable[str | None]) -> list[str]:
        """Return the free columns without those that are taken."""
        taken = set(taken)
        return [name for name in self.free if name not in taken]

    def readable(self, name: str) -> bool:
        """Whether a column holds verdicts in any form: words, 1 and 2, or model names."""
        return all(
            self.vocabulary.knows(word) or cells.plain(word) in _MAY_BE_WORDS or word in self.models
            for word in self.columns[name].given
        )

    def is_value(self, name: str) -> bool:
        """Whether a column may hold verdicts, grades or labels by its content."""
        column = self.columns[name]
        if column.kind in ("empty", "dates", "texts") or column.is_unique:
            return False
        return column.kind == "numbers" or column.is_few or self.readable(name)

    def give(self, name: str, role: RoleName, reason: str) -> None:
        self.why[name] = ColumnRole(name, role, reason)

    def give_first(self, name: str, *rules: tuple[object, RoleName, str]) -> None:
        """Give a column the role of the first rule that holds, with its reason."""
        found = next((rule for rule in rules if rule[0]), None)
        if found is not None:
            self.give(name, *found[1:])

    def is_constant(self, name: str, within: np.ndarray) -> bool:
        """Whether a column says the same on all rows of an item."""
        codes = self.columns[name].codes
        last = np.zeros(int(within.max(initial=0)) + 1, dtype=codes.dtype)
        last[within] = codes
        return np.array_equal(last[within], codes)

    # --- labels ---

    def label_candidates(self, taken: Iterable[str | None] = ()) -> tuple[str, ...]:
        """Return columns that may be the label, those whose names say so most plainly."""
        names = list(filter(self._may_be_label, self.without(taken)))
        tiers = ([n for n in names if all(_says(n, w) for w in tier)] for tier in _LABEL_TIERS)
        return tuple(next(filter(None, tiers), ()))

    def _may_be_label(self, name: str) -> bool:
        column = self.columns[name]
        most = _LABEL_VALUES if column.kind == "numbers" else _FEW_VALUES
        is_computed = _says(name, cells.COMPUTED_WORDS - {"final"})
        is_other = is_computed or name.startswith(cells.FEATURE_PREFIX)
        return self.is_value(name) and len(column.given) <= most and not is_other

    def label(self, taken: Iterable[str | None], within: np.ndarray | None = None) -> str | None:
        """Return the label by its name: a usual one, else the only one with a word for it.

        It says the same on all rows of an item, which ``within`` (n_rows,) tells in a long file.
        """
        if self.choices.label_column is not None:
            return self.choices.label_column
        usual = find_column(self.without(taken), cells.LABEL_NAMES)
        names = self.label_candidates(taken) if usual is None else (usual,)
        if len(names) != 1 or not (within is None or self.is_constant(names[0], within)):
            return None
        if usual is None:
            self.give(names[0], "label", "its name says so")
        return names[0]

    def second_labels(self, label: str | None, taken: set[str | None]) -> None:
        """Leave out columns named as only a label is, beside the label.

        Raises InputError if the label was not chosen, and one of the columns differs from it.
        """
        if label is None:
            return
        for name in self.without(taken):
            if cells.plain_name(name) not in _LABEL_NAMES_ONLY or not self.readable(name):
                continue
            same = np.array_equal(self._meant(label), self._meant(name))
            if self.choices.label_column is None and not same:
                problem = f"this may be the label, and so may {quote_value(label)}, which differs"
                allowed = "one label column; another one is not read as a judge"
                error = InputError(problem, allowed, errors.name_column("label"))
                raise error.in_header(self.table, name)
            self.give(name, "ignore", f"named as a label, beside {quote_value(label)}")

    def _meant(self, name: str) -> np.ndarray:
        """Return meanings (n_rows,) of cells, and the words themselves where none is known.

        Names of models are such words: as codes they would all be alike.
        """
        column = self.columns[name]
        codes = zip(map(self.vocabulary.meaning, column.words), column.words, strict=True)
        meant = [word.strip() if code == cells.UNKNOWN else code for code, word in codes]
        return np.array(meant, dtype=object)[column.codes]

    # --- ids, groups, features ---

    def item_id(self, taken: Iterable[str | None]) -> tuple[str, ...]:
        """Return the column with the ids of the items of a wide file."""
        if self.choices.id_column:
            return self.choices.id_column
        usual = self._usual_id(taken)
        if usual is not None or self.table.n_rows < _FEW_ROWS:
            return () if usual is None else (usual,)
        free = (name for name in self.without(taken) if self.columns[name].is_unique)
        unique = list(filter(self._may_be_id, free))
        named = _plainest(
            unique,
            lambda name: _ends_as_id(name) and _says(name, _ITEM_WORDS),
            _ends_as_id,
            lambda name: _says(name, _ITEM_WORDS),
            lambda name: len(unique) == 1,
        )
        for name in named[:1]:
            self.give(name, "id", "different in every row")
        return tuple(named[:1])

    def _usual_id(self, taken: Iterable[str | None]) -> str | None:
        free = self.without(taken)
        return find_column(free, cells.ID_NAMES, lambda name: self.columns[name].is_unique)

    def _may_be_id(self, name: str) -> bool:
        """Whether a column of different values may number or name the items."""
        column, lower = self.columns[name], name.strip().lower()
        is_other = name.startswith(cells.FEATURE_PREFIX) or lower.startswith(cells.INDEX_PREFIXES)
        if is_other or lower in _TEXTS | _DATES:
            return False
        if _says(name, _ID_WORDS):
            return column.kind in ("numbers", "words")
        if _says(name, cells.MEASURE_WORDS):
            return False
        if column.kind != "numbers":
            return column.kind == "words" and not any(map(self.vocabulary.knows, column.given))
        numbers = column.numbers[column.codes]
        return bool((np.diff(numbers) == 1.0).all() and numbers[0] in (0.0, 1.0))

    def group(self, taken: Collection[str | None]) -> str | None:
        named = (name for name in _usual(self.free, cells.GROUP_NAMES) if name not in taken)
        found = (n for n in named if self.columns[n].kind not in ("verdicts", "empty"))
        return self.choices.group_column or next(found, None)

    def features(self, taken: Iterable[str | None]) -> tuple[str, ...]:
        wanted = {name for name in self.free if name.startswith(cells.FEATURE_PREFIX)}
        wanted = wanted.union(self.choices.features).difference(taken)
        return tuple(name for name in self.table.columns if name in wanted)

    # --- one row per vote ---

    def long(self) -> Roles | None:
        """Return the roles of a file with one row per vote, None if it is another file."""
        choices = self.choices
        asked = bool(choices.judge_column or choices.verdict_column)
        judge = choices.judge_column or self._judge_names()
        if not (judge or asked):
            return None
        label = choices.label_column
        taken = {*judge, label, choices.group_column}
        item = choices.id_column or self._items_of_votes(judge, taken)
        taken |= {*item}
        within = self._codes(item)
        verdict = choices.verdict_column or self._verdict(taken, within)
        if not (item and judge and verdict):
            if not asked:
                return None
            what = "judge" if not judge else "verdict" if not verdict else "item"
            choice = "id_column" if what == "item" else f"{what}_column"
            problem = "a table with one row per vote needs an item, a judge and a verdict column"
            remedy = errors.choose_column(choice, [*filter(self._repeats, self.free)])
            missing = InputError(f"{problem}; there is no {what} column", remedy=remedy)
            raise missing.in_header(self.table)
        taken.add(verdict)
        if label is None:
            label = find_column(self.without(taken), cells.LABEL_NAMES)
            if label is None and not (asked or self._several_votes(item)) and self.judges(taken):
                return None
            label = label or self.label(taken, within)
        if not asked and self._is_wide(item, verdict, label, taken):
            return None
        group = self.group({*taken, label})
        roles = self._described(Roles("long", item, label, group, (), judge, verdict))
        beside = []
        for name in self.without({*roles.used, roles.order_column}):
            facet = facet_of((cells.tokens_of(name) or ("verdict",))[-1])
            about = facet != "word" and (facet != "number" or self.is_value(name))
            about = about and not name.startswith(cells.FEATURE_PREFIX)
            if about and not self.is_constant(name, within):
                beside.append(name)
                self.give(name, "beside", f"about the verdict in {quote_value(verdict)}")
        return replace(roles, beside={verdict: tuple(beside)} if beside else {})

    def _described(self, roles: Roles) -> Roles:
        """Return roles with the columns that describe the items and the votes of any file."""
        named = filter(cells.names_order, self.without(roles.used))
        orders = (name for name in named if says_orders(self.columns[name]))
        return replace(
            roles,
            order_column=self.choices.order_column or next(orders, None),
            run_column=self.choices.run_column,
            system_column=self.choices.system_column or self._systems(roles),
            feature_columns=self.features(roles.used),
        )

    def _systems(self, roles: Roles) -> tuple[str, ...]:
        """Return the columns that name the system of an item, or the two of a pair."""
        if roles.layout == "wide" and not (roles.judge_columns or self.judges(roles.used)):
            return ()
        free = self.without((*roles.used, *self.choices.known))
        pair = self.columns.pair
        within = self._codes(roles.id_column)
        named = pair if pair and {*pair} <= {*free} else _usual(free, cells.SYSTEM_NAMES)[:1]
        for name in named:
            column = self.columns[name]
            recurs = column.kind == "words" and 2 * len(column.given) <= self.table.n_rows
            if not recurs or not (roles.layout == "wide" or self.is_constant(name, within)):
                return ()
        for name in named:
            self.give(name, "system", "named as the system whose output was judged")
        return tuple(named)

    def _codes(self, names: Sequence[str]) -> np.ndarray:
        """Return codes (n_rows,) of the combinations of columns."""
        codes = np.zeros(self.table.n_rows, dtype=np.int64)
        for name in names:
            own = self.columns[name].codes.astype(np.int64)
            pairs = codes * (int(own.max(initial=0)) + 1) + own
            codes = np.asarray(pd.factorize(pairs)[0]) if codes.any() else own
        return codes

    def _n_values(self, names: Sequence[str]) -> int:
        """Return the number of combinations of values of columns."""
        return int(np.count_nonzero(np.bincount(self._codes(names))))

    def _several_votes(self, item: Sequence[str]) -> bool:
        """Whether items have several rows that differ."""
        if self._n_values(item) == self.table.n_rows:
            return False
        return bool(self.table.frame.drop_duplicates().duplicated(list(item)).any())

    def _is_wide(
        self, item: Sequence[str], verdict: str, label: str | None, taken: set[str | None]
    ) -> bool:
        """Whether a file that has the columns of votes has one row per item after all."""
        if self._n_values(item) < self.table.n_rows:
            return label is None and not self._several_votes(item) and bool(self.judges(taken))
        rest = {*item, label, self._usual_id(()), self.group(())}
        rest.update(self.features(rest))
        others = (self.columns[name] for name in self.table.columns if name not in rest)
        if all(column.kind in ("verdicts", "empty") for column in others):
            return True
        doubtful = label is None or self.columns[verdict].kind != "verdicts"
        return doubtful and bool(self.judges({*taken, label}))

    def _judge_names(self) -> tuple[str, ...]:
        """Return the columns that name the judge of a row: by a usual name, else by its words."""
        usual = find_column(self.free, cells.LONG_JUDGE_NAMES)
        named = _plainest(
            self.free,
            lambda name: name == usual,
            lambda name: _says(name, cells.JUDGE_WORDS) and self._holds_names(name),
            lambda name: name.endswith(" number") and self._repeats(name),
            lambda name: name == FILE_COLUMN and self._files_are_judges(),
        )
        return tuple(named[:1])

    def _files_are_judges(self) -> bool:
        """Whether each of several files has the votes of a judge: items recur only across files."""
        ids = [n for n in self.without({FILE_COLUMN}) if _says(n, _ID_WORDS | _ITEM_WORDS)]
        rows = self.table.n_rows
        recur = (self._n_values((n,)) < rows == self._n_values((FILE_COLUMN, n)) for n in ids)
        return bool(self.table.files) and any(recur)

    def _holds_names(self, name: str) -> bool:
        """Whether a column may hold names of judges, or numbers that stand for them."""
        kind = self.columns[name].kind
        is_numbered = any(word.isdigit() for word in cells.tokens_of(name))
        is_measured = kind == "numbers" and not _says(name, {"id", "user", "number"})
        return not (kind == "verdicts" or is_numbered or is_measured) and self._repeats(name)

    def _repeats(self, name: str) -> bool:
        """Whether the values of a column recur, and it holds no texts and no dates."""
        column = self.columns[name]
        is_text = column.kind in ("empty", "dates", "texts")
        return not is_text and len(column.given) * 2 <= self.table.n_rows

    def _items_of_votes(self, judge: Sequence[str], taken: set[str | None]) -> tuple[str, ...]:
        """Return the column of the items: one that recurs, but hardly ever with the same judge."""
        free = self.without(taken)
        usual = find_column(free, cells.LONG_ITEM_NAMES)
        if usual is not None and not self.columns[usual].is_unique:
            named = _usual(free, cells.LONG_ITEM_NAMES)
            return (next((name for name in named if self._recurs(name)), usual),)
        named = [name for name in free if judge and self._is_named_as_item(name, judge)]
        named = [name for name in named if _says(name, _ITEM_WORDS)] or named
        if judge and not named and RECORD in free and self._are_items(RECORD, judge):
            named = [next((n for n in free if self._names_records(n)), RECORD)]
        if not named:
            return () if usual is None else (usual,)
        self.give(named[0], "id", "recurs with every judge")
        return (named[0],)

    def _is_named_as_item(self, name: str, judge: Sequence[str]) -> bool:
        """Whether a column is the items of votes by its name and its values."""
        if name == RECORD or find_column([name], cells.GROUP_NAMES):
            return False
        by_name = _says(name, _ID_WORDS | _ITEM_WORDS)
        of_votes = _says(name, _NO_ITEMS | cells.JUDGE_WORDS)
        return by_name and not of_votes and self._are_items(name, judge)

    def _names_records(self, name: str) -> bool:
        """Whether a column has a value of its own for every record, and no text."""
        column, n_records = self.columns[name], len(self.columns[RECORD].given)
        one_each = len(column.given) == n_records == self._n_values((RECORD, name))
        return one_each and not _is_written(column) and name != RECORD and self._may_be_id(name)

    def _recurs(self, name: str) -> bool:
        """Whether a column may be the item of votes: texts of an item stand in several rows."""
        column = self.columns[name]
        return not _is_written(column) or 3 * len(column.given) <= 2 * self.table.n_rows

    def _are_items(self, name: str, judge: Sequence[str]) -> bool:
        """Whether values of a column recur with different judges, several of them at least."""
        column, n_values = self.columns[name], len(self.columns[name].given)
        if not 1 < n_values < self.table.n_rows or column.kind in ("dates", "verdicts"):
            return False
        return self._n_values((*judge, name)) > n_values

    def _verdict(self, taken: set[str | None], within: np.ndarray) -> str | None:
        """Return the column with the verdict of a row, first one that differs within items."""
        free = self.without(taken)
        named = _usual(free, cells.LONG_VERDICT_NAMES)
        worded = [n for n in free if _says(n, cells.VERDICT_WORDS) and self.is_value(n)]
        named += [name for name in worded if name not in named]
        # Crowdsourcing files call the worker's answer "label" and the truth "gold".
        named += [n for n in (find_column(free, ("label", "labels")),) if n and n not in named[:1]]
        named = [name for name in named if not _says(name, _TRUTHS | _PERSONS)] or named
        varying = [name for name in named if not self.is_constant(name, within)]
        usual = [name for name in varying if find_column([name], cells.LONG_VERDICT_NAMES)]
        short = [name for name in usual or varying if self.columns[name].kind != "texts"]
        return next(iter(short or varying or named), None)

    # --- one row per item ---

    def judges(self, taken: Collection[str | None]) -> tuple[str, ...]:
        """Return the verdict columns whose names suggest neither a role nor a long file."""
        out = {*taken, self._usual_id(taken), find_column(self.free, cells.LABEL_NAMES)}
        out |= {self.group(taken), *self.features(out)}
        rest = (n for n in self.free if n not in out and cells.plain_name(n) not in _LONG_NAMES)
        return tuple(filter(self.readable, rest))

    def wide(self) -> Roles:
        """Return the roles of a file with one row per item."""
        choices = self.choices
        group = self.group((choices.label_column,))
        item = self.item_id((choices.label_column, group))
        label = self.label({*item, group})
        if label is None:  # The column named winner or preference, if only one of them is there.
            named = [n for n in _usual(self.free, ("winner", "preference")) if self.readable(n)]
            outcomes = [name for name in named if name not in {*item, group}]
            label = outcomes[0] if len(outcomes) == 1 else None
        known = choices.id_column or choices.group_column or self._usual_id(())
        if group is not None and self.columns[group].is_unique and not (item and known):
            item, group = (group,), None
        roles = self._described(Roles("wide", item, label, group, choices.judge_columns))
        taken = {*roles.used, roles.order_column, *choices.ignore}
        if choices.judge_columns:
            rest = self.without(taken)
            beside = self._evaluators(None, rest, choices.judge_columns)
            for name in rest:
                if name not in self.why:
                    self.give(name, "ignore", "not a judge that was chosen")
            return replace(roles, beside=beside)
        judges = self.judges({*item, label, group})
        if len(judges) > 1 or (judges and not self._bracketed(judges[0])):
            for name in self.without(taken):
                words = self.columns[name].given if cells.plain_name(name) in _LONG_NAMES else []
                if 2 * sum(map(self.vocabulary.knows, words)) < len(words):
                    self.give(name, "ignore", "named as in a file with one row per vote")
        else:
            self._refuse_half_a_long_file(taken)
        self.second_labels(label, taken)
        return self._with_judges(roles, [n for n in self.without(taken) if n not in self.why])

    def _bracketed(self, name: str) -> bool:
        """Whether verdicts are written as ``[[A]]``, which suggests outputs of judges."""
        return any(word.startswith("[[") for word in self.columns[name].given)

    def _refuse_half_a_long_file(self, taken: Iterable[str | None]) -> None:
        """Refuse judge names without verdicts, and texts without judge names."""
        judges, texts = cells.LONG_JUDGE_NAMES, cells.TEXT_NAMES
        for names, missing, choice, allowed in (
            (judges, "verdicts or outputs", "verdict_column", ("verdict", "vote", *texts)),
            (texts, "the names of judges", "judge_column", judges[:4]),
        ):
            column = find_column(self.free, names)
            if column is None or column in set(taken):
                continue
            if self.columns[column].kind in ("verdicts", "empty") and not self._bracketed(column):
                continue
            raise InputError(
                "this seems to be a file with one row per vote, but it has no column with "
                f"{missing}",
                f"a column named {', '.join(allowed)}",
                f"name it {CHOICE_CONTROLS[choice]}; or, with one column per judge, leave this "
                f"one out {CHOICE_CONTROLS['ignore']}",
            ).in_header(self.table, column)

    def _with_judges(self, roles: Roles, names: Sequence[str]) -> Roles:
        """Return roles with the judges among columns without another role."""
        for name in names:
            self._by_name(name)
        rest = [name for name in names if name not in self.why]
        beside = self._evaluators(roles.label_column, rest)
        for name in rest:
            if name not in self.why:
                self._by_content(name)
        self._measurements([name for name in rest if self.why[name].role == "judge"])
        judges = [name for name in rest if self.why[name].role == "judge"]
        votes = {n: self.columns[n].means(self.vocabulary) for n in judges if self.readable(n)}
        label = None if roles.label_column is None else self.columns[roles.label_column]
        columns = [self.columns[name] for name in judges]
        for name, reason in computed(columns, votes, label, self.vocabulary).items():
            self.give(name, "ignore", reason)
        judges = [name for name in names if self.why[name].role == "judge"]
        features = {name for name in names if self.why[name].role == "feature"}
        features.update(roles.feature_columns)
        described = tuple(name for name in self.table.columns if name in features)
        beside = {name: own for name, own in beside.items() if name in judges}
        return replace(roles, judge_columns=tuple(judges), feature_columns=described, beside=beside)

    def _by_name(self, name: str) -> None:
        """Give a column the role that its name says."""
        lower = name.strip().lower()
        is_known = cells.unshield(name, cells.is_role_name) in self.choices.known
        is_order = cells.names_order(name) and says_orders(self.columns[name])
        is_writer = name in (self.columns.pair or ())
        self.give_first(
            name,
            (name == FILE_COLUMN and self.table.files, "ignore", "the name of the file of a row"),
            (name in self.choices.thresholds.by_judge, "judge", "has a threshold"),
            (is_known, "judge", "a judge of the panel"),
            (is_writer, "text", "the name of the model that wrote a response"),
            (lower.startswith(cells.INDEX_PREFIXES), "ignore", "an index column"),
            (name == RECORD, "ignore", "the number of its record"),
            (lower in cells.AGGREGATE_NAMES, "ignore", _COMPUTED),
            (lower in cells.FEATURE_NAMES, "feature", DESCRIBES),
            (is_order, "ignore", "named as the order in which responses were shown"),
        )

    def _by_content(self, name: str) -> None:
        """Give a column a role by what it holds."""
        column, lower = self.columns[name], name.strip().lower()
        words = column.given
        n_verdicts = sum(map(self.vocabulary.knows, words))
        numeric = int((~np.isnan(column.numbers)).sum())
        is_text = lower in _TEXTS and 2 * n_verdicts < len(words)
        is_state = cells.names_state(name) and len(words) < _FEW_STATES
        self.give_first(
            name,
            (is_state, "ignore", "named as the state of a row"),
            (self.readable(name), "judge", "holds verdicts"),
            (lower in _DATES or column.kind == "dates", "ignore", "dates or times"),
            (is_text, "text", "named as a text about the item"),
            (column.kind == "numbers", "judge", "numbers, which may be scores"),
            (2 * numeric > len(words), "judge", "numbers and other words"),
            (n_verdicts > 0, "judge", "holds verdicts and other words"),
            (len(words) == 1 < self.table.n_rows, "ignore", "the same word in every row"),
            (column.kind == "texts", "text", "long texts"),
            (not column.is_few, "ignore", f"{len(words):,} different words, none a verdict"),
            (True, "judge", "few words, which may be verdicts"),
        )

    def _evaluators(
        self, label: str | None, names: Sequence[str], chosen: Sequence[str] = ()
    ) -> dict[str, tuple[str, ...]]:
        """Leave one column of each evaluator that has several; all of the label's are left out.

        Returns the other columns of an evaluator by the one with its verdict, which is of those
        that were ``chosen`` if any were.
        """
        known, rest = [*chosen, *names, *([] if label is None else [label])], set(names)
        beside: dict[str, tuple[str, ...]] = {}
        for parts in evaluators(known).values():
            is_labels = label in parts.values()
            own = [name for name in parts.values() if name == label or name in chosen]
            if not (chosen or is_labels):
                own = self._best_verdict(parts)
            if len(own) == 1:
                about = f"about the {'label' if is_labels else 'verdict in'} {quote_value(own[0])}"
                beside[own[0]] = tuple(n for n in parts.values() if n in rest and n != own[0])
                for name in beside[own[0]]:
                    self.give(name, "ignore" if is_labels else "beside", about)
        return beside

    def _best_verdict(self, parts: Mapping[str, str]) -> list[str]:
        """Return the column of an evaluator with its verdict: words, else a name that says so."""
        facets = {name: facet_of(last) for last, name in parts.items()}
        values = [n for n, f in facets.items() if f in ("word", "number") and self.is_value(n)]
        readable = list(filter(self.readable, values))

        def says_words(name: str) -> bool:
            words = self.columns[name].given
            return any(is_good_or_bad(word) or side_of(word) is not None for word in words)

        words = list(filter(says_words, readable))
        named = [name for name in readable if facets[name] == "word"]
        return (words or named or readable or values)[:1]

    def _measurements(self, judges: Sequence[str]) -> None:
        """Leave out numbers that are no scale of judges: measurements, sums, one on its own."""
        scores = [n for n in judges if self.columns[n].is_scores and not self.readable(n)]
        families = Counter(map(_family, judges))
        scales: dict[int, list[str]] = {}
        for name in scores:
            if families[_family(name)] == 1:
                is_constant = len(self.columns[name].given) == 1 < self.table.n_rows
                self.give_first(
                    name,
                    (_says(name, cells.MEASURE_WORDS), "ignore", "numbers, named as a measurement"),
                    (_says(name, cells.COMPUTED_WORDS), "ignore", f"numbers, {_COMPUTED}"),
                    (is_constant, "ignore", "the same number in every row"),
                )
            if self.why[name].role == "judge":
                least, most = (f(self.columns[name].numbers) for f in (np.nanmin, np.nanmax))
                scale = -1 if least < 0 else int(np.searchsorted(_SCALES, most))
                scales.setdefault(scale, []).append(name)
        others = len(judges) > len(scores)
        largest = max(map(len, scales.values()), default=0)
        if self.choices.thresholds.default is not None and largest == len(scales) == 1:
            return  # The threshold that is given is for these numbers.
        for scale, own in scales.items():
            alone = len(own) == 1 and not (scale == 0 and others)
            if alone and (others or largest > 1):
                low, high = (f(self.columns[own[0]].numbers) for f in (np.nanmin, np.nanmax))
                reason = f"numbers from {low:g} to {high:g}, a scale that no other column has"
                self.give(own[0], "ignore", reason)

    # --- all roles ---

    def roles(self, roles: Roles) -> tuple[ColumnRole, ...]:
        """Return every column with its role and the reason, in file order."""
        places = {column: role for role in PLACES for column in roles.of(role)}
        columns = []
        for name in self.table.columns:
            role, known = places.get(name), self.why.get(name)
            reason = f"read as the {role}" if role else "no other role fits"
            if name in self.chosen:
                reason = CHOSEN
            elif known is not None and known.role in (role, *UNUSED):
                role, reason = known.role, known.reason
            elif role == "label" and self.table.labels is not None:
                reason = "read from the other file"
            columns.append(ColumnRole(name, role or "ignore", reason))
        return tuple(columns)


def _family(name: str) -> str:
    """Return a name without its numbers and its last word: what judges of one kind share."""
    words = [word for word in cells.tokens_of(name) if not word.isdigit()]
    return " ".join(words[:-1]) or " ".join(words)
