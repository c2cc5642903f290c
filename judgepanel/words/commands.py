r"""The exact command that reproduces a result.

Options are written ``--name=value``, so no value can be mistaken for an option, and words are
quoted for bash and zsh. Unprintable characters (line breaks, escape sequences, direction marks) are
written as ``$'\xHH'``: the shell restores them, and the terminal does not interpret them.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from judgepanel.studies.contract import Spec
from judgepanel.studies.options import written_options
from judgepanel.studies.settings import Settings
from judgepanel.votes import Loaded, Task
from judgepanel.votes.installed import IN_CHECKOUT
from judgepanel.votes.name_list import join_names

if TYPE_CHECKING:
    from judgepanel.decision.recommend_spec import RecommendSpec

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
    from judgepanel.decision.recommend_spec import RecommendSpec  # noqa: PLC0415

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
    mapping, labels = loaded.mapping, loaded.labels
    named = (
        ("--records", loaded.records),
        ("--id-column", mapping.item_column or mapping.id_column),
        ("--labels", None if labels is None else labels.file),
        ("--label-column", mapping.label_column if labels is None else labels.column),
        ("--group-column", mapping.group_column),
        ("--judge-table", loaded.judge_file),
    )
    written = [(option, column) for option, column in named if column]
    for option, column in mapping.chosen:
        value = join_names([column]) if option == "--judge-columns" else column
        written.append((option, value))
    thresholds = loaded.thresholds
    if thresholds.default is not None:
        written.append(("--threshold", repr(thresholds.default)))
    for judge, cut in thresholds.by_judge.items():
        written.append(("--threshold", f"{judge}={cut!r}"))
    return tuple(part for pair in written for part in pair)


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
    options.append(("--splits", str(settings.splits)))
    if settings.fraction != _DEFAULT.fraction:
        options.append(("--fraction", repr(float(settings.fraction))))
    return [*options, ("--seed", str(settings.seed))]


def _grouping(settings: Settings) -> list[Option]:
    return [("--group-duplicates", None)] if settings.group_duplicates else []


def _pairs(columns: tuple[str, ...]) -> list[Option]:
    return list(zip(columns[::2], columns[1::2], strict=True))


def _command(name: str, files: list[str], options: list[Option]) -> str:
    words = [f"./{file}" if file.startswith("-") else file for file in files]
    words += [f"{option}={value}" if value is not None else option for option, value in options]
    return f"{PROGRAM} {name} " + " ".join(quoted(word) for word in words)
