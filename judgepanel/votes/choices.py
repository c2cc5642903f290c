"""What a user says about a file: the roles of columns, thresholds, words; all else is guessed.

One table (``OPTIONS``) names each choice for Python, the command line and files of roles.

Files of column roles (TOML): reading and writing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.formats import text_of
from judgepanel.votes.matrix import TASKS, Task
from judgepanel.votes.words import MEANT, NO_WORDS, parsed_words, plain

if TYPE_CHECKING:
    from judgepanel.votes.build import Loaded


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
class Choices:
    """What a user says about a file; what is not said is guessed.

    Attributes
    ----------
    task : what an item is.
    records : the path of the list of records in JSON.
    id_column : columns that together are the id of an item.
    label_column, group_column : the labels, and what keeps items together.
    judge_columns : one column per judge; no other column is a judge then.
    judge_column, verdict_column : of a table with one row per vote: the columns that together name
        the judge, and the verdict.
    order_column : which of the two responses was shown first.
    run_column : what tells repeated votes of a judge on an item apart.
    system_column : the systems whose outputs were judged; features of the items.
    features, ignore : columns that describe the items, and columns to leave out.
    transpose : whether the rows are judges and the columns items.
    turn : whether all votes are to be turned around.
    thresholds, label_threshold : where the judges' grades and the labels are cut.
    words : meanings of words, in labels and votes (:func:`votes.words.parsed_words`).
    known : judges of the panel that is to score the votes, with the thresholds of their grades; NaN
        for a judge that gave none.
    """

    task: Task | None = None
    records: str | None = None
    id_column: tuple[str, ...] = ()
    label_column: str | None = None
    group_column: str | None = None
    judge_columns: tuple[str, ...] = ()
    judge_column: tuple[str, ...] = ()
    verdict_column: str | None = None
    order_column: str | None = None
    run_column: str | None = None
    system_column: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    transpose: bool = False
    turn: bool = False
    thresholds: Thresholds = Thresholds()
    label_threshold: float | None = None
    words: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, **given: Any) -> Choices:
        """Return choices as callers give them: one name or several, words as text or mapping.

        Raises
        ------
        InputError
            An unknown task, words without a meaning, a number that is none.
        """
        values: dict[str, Any] = {}
        for name, value in given.items():
            values[name] = value
            if name in SEVERAL:
                values[name] = _names(value)
            elif name == "thresholds":
                values[name] = Thresholds.of(value)
            elif name == "words":
                values[name] = parsed_words(value) if isinstance(value, str) else _meanings(value)
        choices = cls(**values)
        if choices.task is not None and choices.task not in TASKS:
            raise InputError("unknown task", value=choices.task, allowed=", ".join(TASKS))
        cut = choices.label_threshold
        if cut is not None and not np.isfinite(cut):
            raise InputError("a threshold is not finite", value=cut, allowed="a number")
        return choices

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The columns that are given by name, by choice."""
        by_name = {name: getattr(self, name) for name in (*SEVERAL, *SINGLE)}
        return {
            name: (value,) if isinstance(value, str) else value
            for name, value in by_name.items()
            if value
        }


SINGLE = ("label_column", "group_column", "verdict_column", "order_column", "run_column")
SEVERAL = ("id_column", "judge_columns", "judge_column", "system_column", "features", "ignore")
"""Choices of one column, and of several."""


def _names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name or several, in whatever holds them, as a tuple."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _meanings(words: Mapping[str, Any] | None) -> Mapping[str, int]:
    """Return meanings given as 1, 0, ``tie`` or None by word."""
    if not words:
        return NO_WORDS
    coded = {plain(word): code for word, code in words.items() if isinstance(code, int)}
    text = ",".join(f"{word}={words[word] or ''}" for word in words if plain(word) not in coded)
    return MappingProxyType(coded | parsed_words(text))


@dataclass(frozen=True, slots=True)
class Option:
    """How a choice is given: ``name`` in Python and in roles files, ``flag`` in the terminal."""

    choice: str
    name: str
    flag: str
    help: str
    metavar: str | None = "NAME"


OPTIONS = (
    Option("task", "task", "--task", "what an item is: a pair of responses or a single one"),
    Option(
        *("records", "records", "--records"),
        "the keys that lead to the list of votes in JSON, such as results.items",
        "PATH",
    ),
    Option(
        *("id_column", "item_id", "--id-column"),
        "the column with the items' ids; repeat it for an id of several columns",
    ),
    Option("label_column", "label", "--label-column", "the column with the labels"),
    Option("group_column", "groups", "--group-column", "the column of what keeps items together"),
    Option(
        *("judge_columns", "judges", "--judge-columns"),
        "the columns of the judges; no other column is a judge",
        "A,B",
    ),
    Option(
        *("judge_column", "judge", "--judge-column"),
        "with one row per vote, the column that names the judge; repeat it for a name of several",
    ),
    Option(
        *("verdict_column", "verdict", "--verdict-column"),
        "with one row per vote, the column with the verdict",
    ),
    Option(
        *("order_column", "order", "--order-column"),
        "the column that says which response was shown first; verdicts are turned back by it",
    ),
    Option(
        *("run_column", "run", "--run-column"),
        "the column of repeated runs of a judge; the majority of its runs is its vote",
    ),
    Option(
        *("system_column", "system", "--system-column"),
        "a column with the system whose output was judged; can be given repeatedly",
    ),
    Option(
        *("features", "features", "--feature-column"),
        "a column that describes the items; can be given repeatedly",
    ),
    Option("ignore", "ignore", "--ignore", "a column to leave out; can be given repeatedly"),
    Option(
        "transpose", "transpose", "--transpose", "the rows are judges and the columns items", None
    ),
    Option("turn", "turn", "--turn-votes", "turn all votes around: 1 becomes 0", None),
    Option(
        *("thresholds", "thresholds", "--threshold"),
        "where scores (higher means label 1) are cut into votes, for all judges with scores or for "
        "one; can be given repeatedly",
        "[JUDGE=]NUMBER",
    ),
    Option(
        *("label_threshold", "label_threshold", "--label-threshold"),
        "where labels on a scale are cut: above it a label is 1, below it 0, on it none",
        "NUMBER",
    ),
    Option(
        *("words", "words", "--words"),
        "what words mean, in labels and votes, such as 'good=1,bad=0,partial='",
        "WORD=MEANING,...",
    ),
)


ROLES_FILE = "roles.toml"
_BY_NAME = {option.name: option.choice for option in OPTIONS}
_FLAGS = ("transpose", "turn")
_LARGEST = 1 << 20


def read_roles(path: str | Path) -> dict[str, Any]:
    """Return arguments of ``load_votes`` by name; the file's keys are those of ``judgepanel.load``.

    Raises
    ------
    InputError
        Not TOML, an unknown key, a value of another kind, or an unknown task.
    """
    path = Path(path)
    if path.is_file() and path.stat().st_size > _LARGEST:
        raise InputError(
            "too large", file=path.name, allowed="at most 1 MiB", remedy="keep only the roles in it"
        )
    try:
        content = tomllib.loads(text_of(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = quote_value(error, 120)[1:-1]
        raise InputError(
            f"not a TOML file: {reason}",
            file=path.name,
            allowed='lines such as label = "gold" and judges = ["a", "b"]',
        ) from None
    try:
        return {_choice(key): _checked(key, value) for key, value in content.items()}
    except InputError as error:
        raise error.in_file(path.name) from None


def with_roles(path: str | Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of ``load_votes``: those of the file, overridden by ``given``."""
    roles = {} if path is None else read_roles(path)
    return roles | {
        name: value
        for name, value in given.items()
        if name not in roles or value or (isinstance(value, int | float) and value is not False)
    }


def _choice(key: str) -> str:
    if key not in _BY_NAME:
        raise InputError("there is no such key", value=key, allowed=", ".join(_BY_NAME))
    return _BY_NAME[key]


def _checked(key: str, value: Any) -> Any:
    choice = _BY_NAME[key]
    if choice in SEVERAL and not (choice.endswith("_column") and isinstance(value, str)):
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise InputError(
                f"{key} is not a list of column names",
                value=value,
                allowed=f'{key} = ["a", "b"]',
            )
        return tuple(value)
    if choice == "thresholds":
        return _checked_thresholds(value)
    if choice in _FLAGS:
        if not isinstance(value, bool):
            raise InputError(f"{key} is not true or false", value=value, allowed=f"{key} = true")
        return value
    if choice == "label_threshold":
        if not _is_number(value):
            raise InputError(f"{key} is not a number", value=value, allowed=f"{key} = 3")
        return value
    if choice == "words" and isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise InputError(f"{key} is not a text", value=value, allowed=f'{key} = "..."')
    if key == "task" and value not in TASKS:
        raise InputError("there is no such task", value=value, allowed=", ".join(TASKS))
    return value


def _checked_thresholds(value: Any) -> Thresholds:
    """Return thresholds from a number, a table by judge, or a table with ``by_judge`` inside it."""
    if isinstance(value, dict) and isinstance(value.get("by_judge"), dict):
        thresholds = Thresholds(value.get("default"), value["by_judge"])
        known = value.keys() <= {"default", "by_judge"}
    else:
        thresholds, known = Thresholds.of(value), True
    cuts = [*thresholds.by_judge.values()]
    if thresholds.default is not None:
        cuts.append(thresholds.default)
    if not known or not all(map(_is_number, cuts)):
        raise InputError(
            "thresholds are not numbers",
            value=value,
            allowed='thresholds = 3, or below [thresholds] lines such as "a" = 3, or default = 3 '
            "there and such lines below [thresholds.by_judge]",
        )
    return thresholds


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def used_choices(loaded: Loaded) -> Choices:
    """Return choices that make a file like this one load in the same way, without a guess."""
    roles, given = loaded.roles, loaded.choices
    label = roles.label_column if loaded.labels is None else loaded.labels.column
    wide = roles.layout == "wide"
    return Choices(
        task=loaded.votes.task,
        records=given.records,
        id_column=roles.id_column,
        label_column=label,
        group_column=roles.group_column,
        judge_columns=roles.judge_columns if wide else (),
        judge_column=() if wide else roles.judge_column,
        verdict_column=None if wide else roles.verdict_column,
        order_column=roles.order_column,
        run_column=roles.run_column,
        system_column=roles.system_column,
        features=roles.feature_columns,
        ignore=tuple(role.column for role in roles.columns if role.role == "ignore"),
        transpose=given.transpose,
        turn=given.turn,
        thresholds=given.thresholds,
        label_threshold=given.label_threshold,
        words=given.words,
    )


def roles_text(loaded: Loaded) -> str:
    """Return the content of a role file that makes these votes load the same way again."""
    choices, scalars, lists = used_choices(loaded), [], []
    for option in OPTIONS:
        value = getattr(choices, option.choice)
        if option.choice in ("thresholds", "words") or value in (None, False, ()):
            continue
        if isinstance(value, tuple) and len(value) == 1 and option.choice.endswith("_column"):
            scalars.append(f"{option.name} = {_quoted(value[0])}")
        elif isinstance(value, tuple):
            lists += [f"{option.name} = [", *(f"    {_quoted(name)}," for name in value), "]"]
        else:
            written = _quoted(value) if isinstance(value, str) else str(value).lower()
            scalars.append(f"{option.name} = {written}")
    tables = [*_threshold_lines(choices.thresholds), *_word_lines(choices.words)]
    return "\n".join((*scalars, *lists, *tables, ""))


def _threshold_lines(thresholds: Thresholds) -> list[str]:
    default = thresholds.default
    of_judges = [f"{_quoted(judge)} = {cut!r}" for judge, cut in thresholds.by_judge.items()]
    if not of_judges:
        return [] if default is None else [f"thresholds = {default!r}"]
    if default is None:
        return ["[thresholds]", *of_judges]
    return ["[thresholds]", f"default = {default!r}", "[thresholds.by_judge]", *of_judges]


def _word_lines(words: Mapping[str, int]) -> list[str]:
    if not words:
        return []
    names = {code: name for name, code in MEANT.items()}
    return ["[words]", *(f"{_quoted(word)} = {_quoted(names[c])}" for word, c in words.items())]


def _quoted(text: str) -> str:
    """Return a TOML basic string: JSON's escapes, plus DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
