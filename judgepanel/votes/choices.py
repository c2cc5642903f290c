"""What a user says about a file: the roles of columns, thresholds, words; all else is guessed.

One table (``OPTIONS``) names each choice for Python, the command line and files of roles.

Files of column roles (TOML): reading and writing.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from judgepanel.votes.cells import MEANT, NO_WORDS, given_meaning, parsed_words, plain
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.formats import text_of
from judgepanel.votes.matrix import TASKS, Task

if TYPE_CHECKING:
    from judgepanel.votes.load import Loaded


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
        return cls(given.get(""), {judge: cut for judge, cut in given.items() if judge})


def _number(threshold: Any) -> Any:
    """Return a number of NumPy's as one of Python's, which can be written; all else unchanged."""
    return threshold.item() if isinstance(threshold, np.generic) else threshold


GivenThresholds = float | Mapping[str, float] | Thresholds | None
"""Thresholds as callers may give them, see :meth:`Thresholds.of`; None guesses all of them."""


def _said(default: Any, words: str, metavar: str | None = "NAME", **names: str) -> Any:
    """Return a field of :class:`Choices`: its default, and the words of its :class:`Option`."""
    metadata = {"help": words, "metavar": metavar, **names}
    return field(default_factory=lambda: default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user says about a file; what is not said is guessed.

    Each choice is declared here once, with its name in Python and in files of roles, its option in
    the terminal, the help of the option and the word for its value (see :class:`Option`).

    Attributes
    ----------
    task : what an item is.
    records : the path of the list of records in JSON.
    id_column : columns that together are the id of an item.
    label_column, group_column : the labels, and the groups of items.
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

    task: Task | None = _said(None, "what an item is: a pair of responses or a single one")
    records: str | None = _said(
        None, "the keys that lead to the list of votes in JSON, such as results.items", "PATH"
    )
    id_column: tuple[str, ...] = _said(
        (), "the column with the items' ids; repeat it for an id of several columns", name="item_id"
    )
    label_column: str | None = _said(None, "the column with the labels")
    group_column: str | None = _said(
        None, "the column whose values say which items belong together", name="groups"
    )
    judge_columns: tuple[str, ...] = _said(
        (), "the columns of the judges; no other column is a judge", "A,B", name="judges"
    )
    judge_column: tuple[str, ...] = _said(
        (), "with one row per vote, the column with the judge; several columns together may name it"
    )
    verdict_column: str | None = _said(None, "with one row per vote, the column with the verdict")
    order_column: str | None = _said(
        None, "the column that says which response was shown first; verdicts are turned back by it"
    )
    run_column: str | None = _said(
        None, "the column of repeated runs of a judge; the majority of its runs is its vote"
    )
    system_column: tuple[str, ...] = _said(
        (), "a column with the system whose output was judged; can be given repeatedly"
    )
    features: tuple[str, ...] = _said(
        (), "a column that describes the items; can be given repeatedly", flag="--feature-column"
    )
    ignore: tuple[str, ...] = _said((), "a column to leave out; can be given repeatedly")
    transpose: bool = _said(False, "the rows are judges and the columns items", None)
    turn: bool = _said(False, "turn all votes around: 1 becomes 0", None, flag="--turn-votes")
    thresholds: Thresholds = _said(
        Thresholds(),
        "where scores (higher means label 1) are cut into votes, for all judges with scores or for "
        "one; can be given repeatedly",
        "[JUDGE=]NUMBER",
        flag="--threshold",
    )
    label_threshold: float | None = _said(
        None,
        "where labels on a scale are cut: labels above it are 1, labels below it 0, and labels "
        "equal to it unknown",
        "NUMBER",
    )
    words: Mapping[str, int] = _said(
        NO_WORDS,
        "what words mean, in labels and votes, such as 'good=1,bad=0,partial='",
        "WORD=MEANING,...",
    )
    known: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, **given: Any) -> Choices:
        """Return choices as callers give them: one name or several, words as text or mapping.

        Raises
        ------
        InputError
            An unknown task, words without a meaning, a number that is none.
        """
        for name, value in given.items():
            if name in SEVERAL:
                given[name] = _names(value)
            elif name == "thresholds":
                given[name] = Thresholds.of(value)
            elif name == "words":
                given[name] = parsed_words(value) if isinstance(value, str) else _meanings(value)
        choices = cls(**given)
        if choices.task is not None and choices.task not in TASKS:
            raise InputError("unknown task", value=choices.task, allowed=", ".join(TASKS))
        cut = choices.label_threshold
        if cut is not None and not _is_number(cut):
            raise InputError("a threshold is not finite", value=str(cut)[:40], allowed="a number")
        return choices

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The columns that are given by name, by choice."""
        by_name = {name: getattr(self, name) for name in (*SEVERAL, *SINGLE)}
        return {name: _names(value) for name, value in by_name.items() if value}

    @property
    def columns(self) -> set[str]:
        """All columns that are given by name."""
        return {name for names in self.named.values() for name in names}


NO_CHOICES = Choices()


@dataclass(frozen=True, slots=True)
class Option:
    """How a choice is given: ``name`` in Python and in roles files, ``flag`` in the terminal."""

    choice: str
    name: str
    flag: str
    help: str
    metavar: str | None = "NAME"

    @classmethod
    def of(cls, choice: str, *, name: str = "", flag: str = "", **words: Any) -> Option:
        """Return the option of a choice, which is named after it unless another name is given."""
        usual = f"--{choice.replace('_', '-')}"
        return cls(choice, name or choice.removesuffix("_column"), flag or usual, **words)


OPTIONS = tuple(Option.of(own.name, **own.metadata) for own in fields(Choices) if own.metadata)
_UNSAID = {option.choice: getattr(Choices(), option.choice) for option in OPTIONS}
SEVERAL = tuple(choice for choice, unsaid in _UNSAID.items() if unsaid == ())
SINGLE = tuple(name for name in _UNSAID if name.endswith("_column") and name not in SEVERAL)
"""Choices of several columns, and of one."""
ROLES_FILE = "roles.toml"
_BY_NAME = {option.name: option.choice for option in OPTIONS}
_LARGEST = 1 << 20


def _names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name or several, in whatever holds them, as a tuple."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _meanings(words: Mapping[str, Any] | None) -> Mapping[str, int]:
    """Return meanings given as 1, 0, ``tie`` or None by word."""
    if not words:
        return NO_WORDS
    meanings: dict[str, int] = {}
    for word, meant in words.items():
        code = given_meaning(meant)
        if code is None or not word.strip():
            problem, allowed = "the meaning of a word cannot be read", "1, 0, 'tie', or None"
            raise InputError(problem, f"{allowed} for no verdict", value=f"{word}={meant}"[:40])
        meanings[plain(word)] = code
    return MappingProxyType(meanings)


def read_roles(path: str | Path) -> dict[str, Any]:
    """Return arguments of ``load_votes`` by name; the file's keys are those of ``judgepanel.load``.

    Raises
    ------
    InputError
        Not TOML, an unknown key, a value of another kind, or an unknown task.
    """
    path = Path(path)
    if path.is_file() and path.stat().st_size > _LARGEST:
        raise InputError("too large", "at most 1 MiB", "keep only the roles in it", file=path.name)
    text = text_of(path)
    try:
        return dict(_checked(key, value) for key, value in tomllib.loads(text).items())
    except InputError as error:
        raise error.in_file(path.name) from None
    except (ValueError, RecursionError) as error:  # Also a number too long to be written.
        problem = f"not a TOML file: {quote_value(error, 120)[1:-1]}"
        allowed = 'lines such as label = "gold" and judges = ["a", "b"]'
        raise InputError(problem, allowed, file=path.name) from None


def with_roles(path: str | Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of ``load_votes``: those of the file, overridden by ``given``."""
    roles = {} if path is None else read_roles(path)
    return roles | {
        name: value
        for name, value in given.items()
        if name not in roles or value or (isinstance(value, int | float) and value is not False)
    }


def _checked(key: str, value: Any) -> tuple[str, Any]:
    """Return the choice that a key of a file names, and its value, which has to be of its kind."""
    if key not in _BY_NAME:
        raise InputError("there is no such key", ", ".join(_BY_NAME), value=key)
    choice = _BY_NAME[key]
    if choice == "thresholds":
        return choice, _checked_thresholds(value)
    if choice == "words" and isinstance(value, dict):
        _meanings(value)
        return choice, value
    if choice in SEVERAL and not (choice.endswith("_column") and isinstance(value, str)):
        fits = isinstance(value, list) and all(isinstance(name, str) for name in value)
        what, example = "a list of column names", '["a", "b"]'
    elif _UNSAID[choice] is False:
        fits, what, example = isinstance(value, bool), "true or false", "true"
    elif choice == "label_threshold":
        fits, what, example = _is_number(value), "a number", "3"
    else:
        fits, what, example = isinstance(value, str) and value != "", "a text", '"..."'
    if not fits:
        raise InputError(f"{key} is not {what}", f"{key} = {example}", value=value)
    if key == "task" and value not in TASKS:
        raise InputError("there is no such task", ", ".join(TASKS), value=value)
    return choice, tuple(value) if isinstance(value, list) else value


def _checked_thresholds(value: Any) -> Thresholds:
    """Return thresholds from a number, a table by judge, or a table with ``by_judge`` inside it."""
    names = value.keys() if isinstance(value, dict) else set()
    nested = "by_judge" in names <= {"default", "by_judge"} and isinstance(value["by_judge"], dict)
    thresholds = Thresholds(**value) if nested else Thresholds.of(value)
    cuts = [thresholds.default, *thresholds.by_judge.values()]
    if not all(cut is None or _is_number(cut) for cut in cuts):
        allowed = (
            'thresholds = 3, or below [thresholds] lines such as "a" = 3, or default = 3 '
            "there and such lines below [thresholds.by_judge]"
        )
        raise InputError("thresholds are not numbers", allowed, value=value)
    return thresholds


def _is_number(value: object) -> bool:
    """Whether a value is a number that a cut may have: finite, and no integer beyond floats."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def roles_text(loaded: Loaded) -> str:
    """Return the content of a role file that makes these votes load the same way again."""
    roles, lines = loaded.roles, []
    own = {name: getattr(roles, name) for name in (*SINGLE, *SEVERAL) if hasattr(roles, name)}
    own["features"] = roles.feature_columns
    own["ignore"] = tuple(role.column for role in roles.columns if role.role == "ignore")
    if loaded.labels is not None:
        own["label_column"] = loaded.labels.column
    choices = replace(loaded.choices, task=loaded.votes.task, known={}, **own)
    for option in OPTIONS:
        value = getattr(choices, option.choice)
        if option.choice in ("thresholds", "words") or value in (None, ()) or value is False:
            continue
        one = isinstance(value, tuple) and len(value) == 1 and option.choice.endswith("_column")
        lines.append(f"{option.name} = {_written(value[0] if one else value)}")
    lines += _threshold_lines(choices.thresholds)
    if choices.words:
        names = {code: name for name, code in MEANT.items()}
        meant = {word: names[code] for word, code in choices.words.items()}
        lines += ["[words]", *(f"{_written(word)} = {_written(meant[word])}" for word in meant)]
    return "\n".join((*lines, ""))


def _threshold_lines(thresholds: Thresholds) -> list[str]:
    default = thresholds.default
    of_judges = [f"{_written(judge)} = {cut!r}" for judge, cut in thresholds.by_judge.items()]
    if not of_judges:
        return [] if default is None else [f"thresholds = {default!r}"]
    if default is None:
        return ["[thresholds]", *of_judges]
    return ["[thresholds]", f"default = {default!r}", "[thresholds.by_judge]", *of_judges]


def _written(value: object) -> str:
    """Return a value in TOML, which is JSON's form, plus DEL as an escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
