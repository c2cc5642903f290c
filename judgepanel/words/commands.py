r"""The exact command that reproduces a result.

Options are written ``--name=value``, so no value can be mistaken for an option, and words are
quoted for bash and zsh. Unprintable characters (line breaks, escape sequences, direction marks) are
written as ``$'\xHH'``: the shell restores them, and the terminal does not interpret them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from judgepanel.studies.contract import AUTO_SPLITS, Settings, Spec
from judgepanel.studies.options import written_options
from judgepanel.votes import Loaded, Task
from judgepanel.votes.cells import join_names, words_text
from judgepanel.votes.choices import OPTIONS, Thresholds
from judgepanel.votes.errors import IN_CHECKOUT

if TYPE_CHECKING:
    from judgepanel.decision.recommend_result import RecommendSpec

PROGRAM = "./run cli" if IN_CHECKOUT else "judgepanel"
"""The command line: in a checkout of the repository, or where the package is installed."""
_DEFAULT = Settings()
Option = tuple[str, str | None]
"""An option and its value, None for one without a value."""


def recommend_command(
    file: str, spec: RecommendSpec, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the ``recommend`` command of a spec."""
    options = [*_shared(spec.settings, task, columns), *written_options(spec)]
    options.append(("--out", "panel.json"))
    return _command("recommend", [file], options)


def study_command(name: str, file: str, spec: Spec, *, task: Task, columns: tuple[str, ...]) -> str:
    """Return the command that runs a study, with the options that differ from their defaults."""
    # Imported here because reading votes needs only the column options.
    from judgepanel.decision.recommend_result import RecommendSpec  # noqa: PLC0415

    if isinstance(spec, RecommendSpec):
        return recommend_command(file, spec, task=task, columns=columns)
    options = [*_shared(spec.settings, task, columns), *written_options(spec)]
    return _command(f"study {name}", [file], [*options, ("--out", f"{name}.json")])


def score_command(file: str) -> str:
    """Return the command that scores new votes with an exported panel."""
    return _command("score", ["panel.json", file], [("--out", "scored.csv")])


def inspect_command(
    file: str, settings: Settings = _DEFAULT, *, task: Task, columns: tuple[str, ...]
) -> str:
    """Return the command that prints a file's checks."""
    options: list[Option] = [("--task", task), *_pairs(columns)]
    if settings.orientation != _DEFAULT.orientation:
        options.append(("--orientation", settings.orientation))
    options += _grouping(settings)
    return _command("inspect", [file], options)


def column_options(loaded: Loaded) -> tuple[str, ...]:
    """Return the options with which the command line reads the file the same way."""
    choices, roles, labels = loaded.choices, loaded.roles, loaded.labels
    written: list[tuple[str, str]] = []
    for option in OPTIONS:
        value = getattr(choices, option.choice)
        if option.choice == "id_column":
            value = value or roles.id_column
        if option.choice in ("label_column", "group_column"):
            value = value or getattr(roles, option.choice)
        if option.choice == "label_column" and labels is not None:
            written.append(("--labels", labels.file))
            value = labels.column
        if option.choice != "task":
            written += [(option.flag, text) for text in _values(option.flag, value)]
    if loaded.judge_file:
        written.append(("--judge-table", loaded.judge_file))
    return tuple(part for pair in written for part in pair)


def _values(flag: str, value: Any) -> list[str]:
    """Return the values that an option is given with."""
    if value is None or value is False:
        return []
    if value is True:
        return [""]
    if isinstance(value, Thresholds):
        default = [] if value.default is None else [repr(value.default)]
        return [*default, *(f"{judge}={cut!r}" for judge, cut in value.by_judge.items())]
    if isinstance(value, Mapping):
        return [words_text(value)] if value else []
    if isinstance(value, tuple):
        return [join_names([name]) if flag == "--judge-columns" else name for name in value]
    return [value if isinstance(value, str) else repr(value)]


def quoted(word: str) -> str:
    """Return one word quoted for bash or zsh, on one line, without control characters."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_escaped(char) for char in word) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))


def _shared(settings: Settings, task: Task, columns: tuple[str, ...]) -> list[Option]:
    options: list[Option] = [("--task", task), *_pairs(columns)]
    options.append(("--orientation", settings.orientation))
    options += _grouping(settings)
    if settings.protocol != _DEFAULT.protocol:
        options.append(("--protocol", settings.protocol))
    options += [("--judge", name) for name in settings.judges or ()]
    options.append(("--splits", str(settings.splits or AUTO_SPLITS)))
    if settings.fraction != _DEFAULT.fraction:
        options.append(("--fraction", repr(float(settings.fraction))))
    return [*options, ("--seed", str(settings.seed))]


def _grouping(settings: Settings) -> list[Option]:
    return [("--group-duplicates", None)] if settings.group_duplicates else []


def _pairs(columns: tuple[str, ...]) -> list[Option]:
    return [(flag, text or None) for flag, text in zip(columns[::2], columns[1::2], strict=True)]


def _command(name: str, files: list[str], options: list[Option]) -> str:
    words = [f"./{file}" if file.startswith("-") else file for file in files]
    words += [f"{option}={value}" if value is not None else option for option, value in options]
    return f"{PROGRAM} {name} " + " ".join(quoted(word) for word in words)
