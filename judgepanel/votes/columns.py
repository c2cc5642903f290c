"""What the columns of a table hold: kinds of content, evaluators with several columns, one-hots.

A failure (an error, an unparsed answer, rejected work) beats the verdict beside it: tools write 0
or *incorrect* for an answer that they could not read.

Columns that are no judges although they hold verdicts: computed from the judges or the label.

Which of an item's two responses was shown first, and verdicts by place turned back by it.

A verdict by place names what the judge saw first or second. Where both orders were shown, the vote
is what both verdicts say, or what one says beside a tie; two verdicts for the same place contradict
each other and are no vote, but a sign of position bias.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, takewhile
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Votes
from judgepanel.votes import cells
from judgepanel.votes.cells import UNKNOWN, Vocabulary, side_of
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.table import RawTable, text_column

Codes = NDArray[np.intp]
Kind = Literal["empty", "verdicts", "numbers", "dates", "words", "texts"]

_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:[T ].{0,40})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}(?: .{0,20})?"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) .{10,40}"
)
_LONG_TEXT, _MANY_WORDS = 40, 12
_SAMPLE = 400
_GAPS = re.compile(r"[._\-/: ]+")
_HEADER_ROWS, _HEADERS = 3, 60
"""Rows that may belong to the header, and columns that tell it."""
_FACETS = {
    word: facet
    for facet, words in {
        "word": "verdict|vote|label|choice|winner|answer|preference|decision",
        "number": "value|score|rating|grade|result|pass|passed|success|probability",
        "failure": "error|errors|status|failed|exception|failure|state|ok|parsed|parseable",
        "text": "explanation|reason|reasoning|rationale|notes|note|comment|comments|feedback|"
        "critique|justification|analysis|raw|by|at|confidence|metadata|model|agent|cost|tokens|"
        "latency|time",
    }.items()
    for word in cells.words_in(words)
}
"""What a column of an evaluator holds, by the last word of its name."""
_LAST = re.compile(r"(.+?)(?: - |::|__|[./:_ ])([A-Za-z]+(?:[_ ]?(?:by|at))?)")


class Column:
    """A column of a table and what it holds; looks at each distinct text once."""

    def __init__(self, name: str, series: pd.Series) -> None:
        self.name, self.cells = name, series
        self.codes, self.words = cells.distinct(series)
        """Codes (n_rows,) into the distinct texts, missing ones too."""

    @cached_property
    def given(self) -> list[str]:
        """The distinct texts that are no empty cell, without blanks around them."""
        return [word.strip() for word in self.words if not cells.is_missing(word)]

    @cached_property
    def kind(self) -> Kind:
        """The kind of content; a column of numbers may hold votes of 0 and 1 as well."""
        words, some = self.given, self.given[:_SAMPLE]
        if not words:
            return "empty"
        if all(map(cells.is_verdict, words)):
            return "verdicts"
        if self.is_numeric:
            return "numbers"
        if all(map(_DATE.fullmatch, some)):
            return "dates"
        return "texts" if sum(map(len, some)) > _LONG_TEXT * len(some) else "words"

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all cells hold numbers."""
        return bool(self.given) and all(cells.is_number(cells.plain(word)) for word in self.given)

    @cached_property
    def levels(self) -> dict[float, int]:
        """The different numbers in order, with the number of rows of each."""
        numbers = self.numbers[self.codes]
        levels, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        return dict(zip(levels.tolist(), counts.tolist(), strict=True))

    @cached_property
    def is_scores(self) -> bool:
        """Whether all cells hold numbers, or words that say that there is none."""
        others = np.flatnonzero(np.isnan(self.numbers))
        meant = Vocabulary().meanings(self.words[k] for k in others)
        return len(others) < len(self.words) and bool(((meant < 0) & (meant != UNKNOWN)).all())

    @cached_property
    def numbers(self) -> Floats:
        """The number of each distinct text (n_words,), NaN for others."""
        texts = (cells.plain(word) for word in self.words)
        return np.array([float(text) if cells.is_number(text) else np.nan for text in texts])

    @cached_property
    def is_few(self) -> bool:
        """Whether there are few different words."""
        return len(self.given) <= _MANY_WORDS

    @cached_property
    def filled(self) -> Bools:
        """Which of the distinct texts (n_words,) are no empty cell."""
        return np.array([not cells.is_missing(word) for word in self.words], dtype=bool)

    @property
    def present(self) -> Bools:
        """Which rows (n_rows,) have a cell that is not empty."""
        return self.filled[self.codes]

    @cached_property
    def is_unique(self) -> bool:
        """Whether every row has a cell of its own, none of them empty."""
        return len(self.words) == len(self.codes) and len(self.given) == len(self.words)

    def means(self, vocabulary: Vocabulary) -> Votes:
        """Meanings (n_rows,) of the cells."""
        return np.asarray(vocabulary.meanings(self.words)[self.codes])


class Columns(dict[str, Column]):
    """The columns of a table by name, each looked at when it is asked for."""

    def __init__(self, table: RawTable) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, name: str) -> Column:
        column = self[name] = Column(name, self.table.frame[name])
        return column

    @cached_property
    def pair(self) -> tuple[str, str] | None:
        """The columns with the names of the two models, None if there are none."""
        names = {name.lower(): name for name in reversed(self.table.columns)}
        for pair in cells.PAIR_NAMES:
            if names.keys() >= {*pair}:
                first, second = (names[name] for name in pair)
                words = [*self[first].given, *self[second].given]
                if 2 * sum(map(cells.is_verdict, words)) <= len(words):
                    return first, second
        return None

    def models(self) -> set[str]:
        """Return the names of the models in the columns of ``pair``."""
        return {word for name in self.pair or () for word in self[name].given}


def evaluators(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return columns of evaluators that have several: by stem, then by the last word of the name.

    ``eval.QA.label``, ``eval.QA.score`` and ``eval.QA.explanation`` are of one evaluator, and so
    are ``Ana`` and ``Ana - notes`` (the last word of the first is then empty).
    """
    stems: dict[str, dict[str, str]] = {}
    for name in names:
        match = _LAST.fullmatch(name)
        if match is not None and match[2].lower().replace(" ", "_").rpartition("_")[2] in _FACETS:
            stems.setdefault(match[1], {})[match[2].lower()] = name
    for name in names:
        if name in stems:
            stems[name][""] = name
    return {stem: parts for stem, parts in stems.items() if len(parts) > 1}


def facet_of(last: str) -> str:
    """Return what a column of an evaluator holds: word, number, failure or text."""
    return _FACETS.get(last.replace(" ", "_").rpartition("_")[2], "word")


def with_choices_joined(table: RawTable) -> tuple[RawTable, dict[str, tuple[str, ...]]]:
    """Return the table with one column for each choice that is written as several flags.

    ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` of which one is 1 in every row become
    ``winner`` with the words model_a, model_b and tie. Also returned are the flags by new column.
    """
    stems: dict[str, dict[str, str]] = {}
    for name in table.columns:
        if name.startswith("'"):
            continue  # The writer says that it is the name of a judge.
        for gap in reversed([*_GAPS.finditer(name, 1)]):
            word = name[gap.end() :]
            if cells.is_verdict(word) and not cells.is_number(word):
                stems.setdefault(name[: gap.start()], {})[word] = name
    frame = table.frame
    joined: dict[str, tuple[str, ...]] = {}
    for stem, flags in stems.items():
        if len(flags) < 2 or stem in table.columns or all(side_of(word) is None for word in flags):
            continue
        columns = [Column(name, frame[name]) for name in flags.values()]
        votes = np.array([column.means(Vocabulary()) for column in columns])
        blank = ~np.any([column.present for column in columns], axis=0)
        chosen = votes == 1
        one_each = (chosen.sum(axis=0) == 1) | blank
        if (votes == UNKNOWN).any() or not chosen.any() or not one_each.all():
            continue
        codes = np.where(blank, len(flags), chosen.argmax(axis=0))
        frame = frame.assign(**{stem: text_column(codes, [*flags, ""])})
        joined[stem] = tuple(flags.values())
    return (replace(table, frame=frame) if joined else table), joined


def without_header_rows(table: RawTable) -> tuple[RawTable, list[str]]:
    """Return the table without further rows of a header, such as wordings of questions, and a note.

    A row belongs to the header if it holds a text that occurs in no other row, in most columns
    whose other rows share few words.
    """
    if table.format not in ("csv", "excel") or table.n_rows < 2 * _HEADER_ROWS:
        return table, []
    names = table.columns[:_HEADERS]
    start = {n: table.frame[n].iloc[:_HEADER_ROWS].astype(str).tolist() for n in names}
    rest = {name: set(map(str, table.frame[name].iloc[_HEADER_ROWS:].unique())) for name in names}
    few = [n for n, w in rest.items() if len(w) <= _MANY_WORDS and 2 * len(w) < table.n_rows]

    def is_header(row: int) -> bool:
        texts = [start[n][row].strip() for n in few if start[n][row] not in rest[n]]
        titles = [text for text in texts if not (cells.is_number(text) or cells.is_verdict(text))]
        return len(titles) >= max(2, 0.8 * len(few))

    n_rows = len([*takewhile(is_header, range(_HEADER_ROWS))])
    if not n_rows:
        return table, []
    last = table.row(n_rows) - 1
    rows = f"Row {table.row(0)} is" if n_rows == 1 else f"Rows {table.row(0)} to {last} are"
    table = table.taken(np.arange(n_rows, table.n_rows))
    frame = table.frame.apply(lambda column: column.cat.remove_unused_categories())
    return replace(table, frame=frame), [f"{rows} left out, further rows of the header."]


_NO_ERROR = cells.words_in("false|0|0.0|no|ok|success|passed|pass|completed")
_BAD_STATES = cells.words_in(
    "rejected|discarded|draft|error|errored|failed|failure|skipped|cancelled|canceled|timeout|"
    "timed out|invalid|expired|returned"
)
_STATES_OF = {
    **dict.fromkeys(("status", "state"), _BAD_STATES),
    **dict.fromkeys(("ok", "parsed", "parseable"), cells.words_in("false|0|0.0|no")),
}
"""Which words say that there is no verdict, in columns that do not name an error."""
_VERDICT = r"(?:grade|verdict|score|rating|label|choice|judg\w+)"
_REPLY = r"(?:judge|model|grader|evaluator)?(?:'s)? ?(?:answer|output|response|completion|reply)"
_END = r"[\s.!]*$"
_FAILURE = re.compile(
    rf"\s*(?:{_VERDICT} not found\b"
    rf"|(?:(?:could|can|did)(?: ?n[o']t)(?: be)?|failed to|unable to) "
    rf"(?:parse|extract|decode|find|read|determine|get|produce|generate)d? "
    rf"(?:the |an? |any |its )?(?:valid )?(?:{_VERDICT}|json|{_REPLY})\b"
    rf"|(?:could|can|did)(?: ?n[o']t)(?: be)? (?:parse|extract|decode)d?{_END}"
    rf"|no (?:valid )?(?:{_VERDICT}|{_REPLY})(?: was| is)?"
    rf"(?: (?:found|parsed|extracted|produced|returned|given))?(?: in (?:the )?{_REPLY})?{_END}"
    r"|traceback \(|exception:"
    rf"|(?-i:[A-Z]\w+(?:Error|Exception|Timeout))\b(?:[:( ]|{_END})"
    r"|(?:error\W{1,3})?(?:"
    r"(?:(?:error )?code|http|status)(?: code| error)?\W{1,2}[45]\d\d\b"
    r"|[45]\d\d(?::| -| (?:client|server) error| internal| too many| service| bad)"
    r"|(?:parsing|calling|decoding|generating) (?:the )?(?:judge|model|response|output|json|api)\b"
    r"|rate.?limit(?:ed\b|:| (?:error|exceeded|reached))|too many requests|bad gateway"
    r"|internal (?:server )?error|service unavailable"
    r"|connection (?:error|reset|refused|aborted|timed)|context length exceeded"
    rf"|(?:request |read |connection )?timed? ?out(?: error)?(?: after\b|:|{_END})"
    rf"|(?:api|parse|parsing|json|json ?decode|decode|validation|output|server)[ -]?"
    rf"(?:error|failure|failed)(?:\s*[:(-]|{_END})"
    rf"|invalid json(?: from (?:the )?{_REPLY})?{_END})"
    rf"|(?:error|exception|failure|failed|traceback){_END})",
    re.IGNORECASE,
)
"""What tools write in place of an explanation; an explanation may speak of errors as well."""
_LOOKED_AT = 400
"""Characters of a text in which a failure is said at its start."""


def says_failure(text: str) -> bool:
    """Whether a text begins with what tools write where there was no readable answer."""
    return _FAILURE.match(text[:_LOOKED_AT]) is not None


def failed(columns: Columns, verdict: str, about: Sequence[str], codes: Votes) -> tuple[Bools, str]:
    """Return the rows (n_rows,) of failures, and a sentence on verdicts that thereby are none.

    ``codes`` (n_rows,) are meanings of the verdicts, ``about`` the columns that are about them.
    """
    rows, voted = np.zeros(len(codes), dtype=bool), codes >= 0
    examples: list[str] = []
    for name in about:
        here = _failures(columns[name])
        if (here & voted).any():
            text = quote_value(columns[name].cells.iloc[int(np.argmax(here & voted))], 40)
            examples.append(f"{quote_value(name)} says {text}")
        rows |= here
    n_lost = int((rows & voted).sum())
    if not n_lost:
        return rows, ""
    many = "verdicts are" if n_lost > 1 else "verdict is"
    return rows, (
        f"{n_lost:,} {many} read as missing in {quote_value(verdict)}, since the answer failed: "
        f"{'; '.join(examples)}."
    )


def _failures(column: Column) -> Bools:
    """Return the rows (n_rows,) in which a column beside a verdict says that there is none."""
    last = (cells.tokens_of(column.name) or ("text",))[-1]
    hits = [False] * len(column.words)
    if facet_of(last) == "text":
        hits = list(map(says_failure, column.words))
    elif last in _STATES_OF:
        hits = [cells.plain(word) in _STATES_OF[last] for word in column.words]
    elif facet_of(last) == "failure":
        hits = [not cells.is_missing(w) and cells.plain(w) not in _NO_ERROR for w in column.words]
    return np.array(hits, dtype=bool)[column.codes]


CONTESTED = 50
"""Items on which the others must disagree before a judge is identified as their majority."""
FEWEST = 10
"""Labelled items, with both labels, before a column is held against the label."""
_MOST_COMPARED = 200
_LEAST_CLASS = 2
_FEW_VALUES = 30
_NEARLY_ALL = 0.9
"""Share of the labelled rows that a column has to have: a worker may be right on a few of them."""


def computed(
    judges: list[Column], votes: Mapping[str, Votes], label: Column | None, vocabulary: Vocabulary
) -> dict[str, str]:
    """Return why columns are no judges: computed from other judges, or from the label.

    Of opposites, which vote on the same rows and give both verdicts, the one that is right more
    often stays, else the first.
    """
    signs = {j: np.where(own < 0, 0, 2 * own - 1).astype(np.int8) for j, own in votes.items()}
    reasons = dict.fromkeys(_majorities(signs), "equal to the majority of the other judges")
    truth = None if label is None else _Truth.of(label, vocabulary)
    first: dict[bytes, str] = {}
    for judge, sign in signs.items():
        other = first.get((-sign).tobytes())
        least = min((sign == 1).sum(), (sign == -1).sum())
        if other is None or least < _LEAST_CLASS or len(sign) < FEWEST:
            first.setdefault(sign.tobytes(), judge)
            continue
        rights = 0
        if truth is not None and truth.is_votes:
            rights = int((sign * np.array([0, -1, 1])[truth.codes]).sum())
        name, kept = (other, judge) if rights > 0 else (judge, other)
        reasons[name] = f"always the opposite of {quote_value(kept)}"
    if truth is not None:
        known = {column.name: truth.reason_against(column, vocabulary) for column in judges}
        reasons |= {name: reason for name, reason in known.items() if reason}
    return reasons


def _majorities(signs: Mapping[str, Votes]) -> list[str]:
    """Return judges equal to the majority of all others on every item, and to no single judge.

    ``signs`` are votes (n_rows,) by judge: 1, -1, and 0 for none.
    """
    n_rows = len(next(iter(signs.values()), ()))
    if not 4 <= len(signs) <= _MOST_COMPARED or n_rows < CONTESTED:
        return []
    none = np.zeros(n_rows, dtype=np.int16)
    total, given = sum(signs.values(), start=none), sum(map(np.abs, signs.values()), start=none)
    found = []
    for judge, sign in signs.items():
        margin = (total - sign) * sign  # Of the others, for what the judge says.
        if (margin < 0).any() or ((margin > 0) & (margin < given - 1)).sum() < CONTESTED:
            continue
        if not any(o != judge and np.array_equal(own, sign) for o, own in signs.items()):
            found.append(judge)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Truth:
    """Labels as codes (n_rows,) from 1, 0 without a label; ``is_votes`` if 1 and 2 are votes."""

    codes: Codes
    is_votes: bool

    @classmethod
    def of(cls, label: Column, vocabulary: Vocabulary) -> _Truth | None:
        """Return the labels in a column; None if they are measurements."""
        if label.kind == "numbers" and len(label.given) > _FEW_VALUES:
            return None
        meanings = vocabulary.meanings(label.words)
        if (meanings == UNKNOWN).any():
            place = {word: k for k, word in enumerate(dict.fromkeys(label.given), 1)}
            codes = [place.get(word.strip(), 0) for word in label.words]
            return cls(np.array(codes, np.intp)[label.codes], is_votes=False)
        return cls(np.maximum(meanings + 1, 0).astype(np.intp)[label.codes], is_votes=True)

    def reason_against(self, column: Column, vocabulary: Vocabulary) -> str:
        """Return why a column is no judge if it is the label, its opposite or a function of it.

        On labelled rows every value of the column goes with one label, and it votes on no other
        row. A judge that is right everywhere and votes on unlabelled items too is left to the check
        of judges.
        """
        if len(column.given) > _FEW_VALUES:
            return ""
        k = int(self.codes.max(initial=0)) + 1
        pairs = column.codes.astype(np.intp) * k + self.codes
        counts = np.bincount(pairs, minlength=len(column.words) * k).reshape(-1, k)
        used = column.filled & (counts[:, 1:].sum(axis=1) > 0)
        known = counts[used, 1:]
        n_known, n_values, classes = int(known.sum()), len(known), known.sum(axis=0)
        both = (classes > 0).sum() > 1 and classes[classes > 0].min() >= _LEAST_CLASS
        whole = n_known >= max(FEWEST, _NEARLY_ALL * counts[:, 1:].sum())
        # Values that occur once go with one label whatever they mean.
        is_function = n_values > 1 and (known > 0).sum() == n_values <= n_known - FEWEST
        if counts[column.filled, 0].any() or not (both and whole and is_function):
            return ""
        votes, label = vocabulary.meanings(column.words)[used], known.argmax(axis=1)
        for same, words in ((votes, "equal to"), (1 - votes, "the opposite of")):
            if self.is_votes and np.array_equal(same, label):
                return f"{words} the label on all {n_known:,} labelled rows that it has"
        return "every value goes with one label"


SWAPPED = "swapped"
ORDER_NAMES = ("order", SWAPPED)
ALLOWED_ORDERS = "AB or BA, A first or B first, original or swapped, false or true"

_ORDERS = {
    **dict.fromkeys(("original", "original order", "as given", "not swapped", "unswapped"), 1),
    **dict.fromkeys(("false", "0", "first", "forward", "normal", "g1", "game1", "no"), 1),
    **dict.fromkeys(("swapped", "swap", "swapped order", "reversed", "reverse order"), 0),
    **dict.fromkeys(("true", "2", "second", "reverse", "flipped", "g2", "game2", "yes"), 0),
}
_SHOWN = (
    r"(?:(?:output|response|answer|assistant|solution|model|candidate|option|completion)[ _-]?)?"
    r"[(\[]?([ab12])[)\]]?"
)
_SHOWN_FIRST = re.compile(
    rf"{_SHOWN}[ _-]?(?:(?:is |was )?(?:shown |presented )?first"
    rf"|(?:,? (?:and )?then |, ?|/|-| ?-> ?| before |){_SHOWN})"
)
_LONGEST_ORDER = 80
_LETTERED = str.maketrans("12", "ab")
_MOST_ORDERS = 6
_MIRRORED = 0.15
_SURE = 4.0
"""Standard errors by which verdicts must be for and against the label to tell their meaning."""


def says_orders(column: Column) -> bool:
    """Whether a column has words for both orders and no others."""
    few = 1 < len(column.given) <= _MOST_ORDERS
    return few and set(_ways(column.name, column.given)) == {0, 1}


def order_column(table: RawTable) -> str | None:
    """Return the column of the order: one whose words are all known, before one of other words."""
    free = {name.lower(): name for name in reversed(table.columns)}
    present = [free[name] for name in ORDER_NAMES if name in free]
    named = [name for name in table.columns if name not in present and cells.names_order(name)]
    present += [name for name in named if says_orders(Column(name, table.frame[name]))]
    known = (name for name in present if (forward_of(table, name) >= 0).all())
    return next(known, next(iter(present), None))


def first_shown(table: RawTable, column: str | None) -> tuple[Votes, list[str]]:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 if unknown."""
    if column is None:
        note = "There is no column for the order: A is read as the item's first output everywhere."
        return np.ones(table.n_rows, dtype=np.int8), [note]
    forward = forward_of(table, column)
    lost = np.flatnonzero(forward < 0)
    if not len(lost):
        return forward, []
    example = table.frame[column].iloc[int(lost[0])]
    if len(lost) == len(forward):
        problem = "the order in which the two were shown is not known"
        always = "take the column out where A is always the item's first output"
        remedy = f"write one of these words in every row, or {always}"
        raise InputError(problem, ALLOWED_ORDERS, remedy).in_cell(table, column, 0)
    many = "outputs are" if len(lost) > 1 else "output is"
    note = (
        f"{len(lost):,} {many} left out because the order is not known, the first in row "
        f"{table.row(int(lost[0]))} ({quote_value(example)}); known: {ALLOWED_ORDERS}."
    )
    return forward, [note]


def forward_of(table: RawTable, column: str) -> Votes:
    """Return what a column of orders says of each row (n_rows,), see :func:`first_shown`."""
    codes, words = cells.distinct(table.frame[column])
    return np.array(_ways(column, words) or [MISSING], dtype=np.int8)[codes]


def _ways(name: str, words: Sequence[str]) -> list[int]:
    """Return what each word of a column says: 1 as given, 0 the other order, -1 unknown.

    Numbers are 0 and 1, or 1 and 2; in a column called ``order`` a 1 alone may be either.
    """
    numbers = {word.strip() for word in words} & {"0", "1", "2"}
    of_flags = {"0": 1, "1": 0, "2": MISSING}
    is_flag = bool({"swap", "swapped", "flip", "flipped", "reversed"} & set(cells.tokens_of(name)))
    of_numbers = of_flags if is_flag or "0" in numbers else {"1": 1 if "2" in numbers else MISSING}
    return [of_numbers.get(word.strip(), order_of(word)) for word in words]


def order_of(word: str) -> int:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 for an unknown word.

    'A first', 'output_1 first', 'AB' and '1,2' mean the same; 'order:' may precede any of them. A 1
    alone is unknown: it is the first of 1 and 2, and the second of 0 and 1.
    """
    if len(word) > _LONGEST_ORDER:
        return MISSING
    text = " ".join(word.split()).lower().removeprefix("order").lstrip(" :=")
    if text in _ORDERS:
        return _ORDERS[text]
    match = _SHOWN_FIRST.fullmatch(text)
    if match is None:
        return MISSING
    first, second = (side and side.translate(_LETTERED) for side in match.groups())
    return MISSING if first == second else int(first == "a")


def are_by_place(votes: Votes, labels: Votes, forward: Votes) -> bool | None:
    """Return whether verdicts are by place: for the label in one order, against it in the other.

    Arguments are (n_rows,): votes as written, the label of the item, the order. False where they
    are for the label in both orders, None where the labels do not tell.
    """
    signs = []
    for way in (1, 0):
        rows = (forward == way) & (votes >= 0) & (labels >= 0)
        n = int(rows.sum())
        right = int((votes[rows] == labels[rows]).sum())
        signs.append((2 * right - n) / np.sqrt(n) if n else 0.0)
    as_given, other = signs
    if as_given > _SURE and other < -_SURE / 2:
        return True
    return False if as_given > _SURE / 2 and other > _SURE / 2 else None


def given_order(votes: Votes, labels: Votes, column: Column) -> tuple[str, str] | None:
    """Return the two words of a column that tells the order, the order as given first; or None.

    ``votes`` and ``labels`` (n_rows,) are as in :func:`are_by_place`. Beside one word verdicts are
    as often for the label as they are against it beside the other: a subset on which judges err,
    however hard it is, is not turned around.
    """
    for first, second in permutations(column.given) if len(column.given) == 2 else ():
        rows = [column.codes == column.words.index(word) for word in (first, second)]
        forward = np.select(rows, [1, 0], MISSING).astype(np.int8)
        known = (votes >= 0) & (labels >= 0)
        shares = [(votes == labels)[own & known].mean() for own in rows if (own & known).any()]
        if are_by_place(votes, labels, forward) and abs(sum(shares) - 1.0) < _MIRRORED:
            return first, second
    return None
