"""Files of column roles (TOML): reading and writing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgepanel.votes.build import Loaded
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.files import text_of
from judgepanel.votes.grades import Thresholds
from judgepanel.votes.matrix import TASKS

ROLES_FILE = "roles.toml"
_ONE = {
    "item_id": "id_column",
    "label": "label_column",
    "groups": "group_column",
    "records": "records",
}
_SEVERAL = {"judges": "judge_columns", "features": "features", "ignore": "ignore"}
_THRESHOLDS = "thresholds"
_PARAMETERS = {"task": "task", **_ONE, **_SEVERAL, _THRESHOLDS: _THRESHOLDS}
_LARGEST = 1 << 20


def read_roles(path: str | Path) -> dict[str, Any]:
    """Return arguments of ``load_votes`` by name; the file's keys are those of ``judgepanel.load``.

    Raises
    ------
    InputError
        Not TOML, an unknown key, a name that is not a text, or an unknown task.
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
        return {_parameter(key): _checked(key, value) for key, value in content.items()}
    except InputError as error:
        raise error.in_file(path.name) from None


def with_roles(path: str | Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of ``load_votes``: those of the file, overridden by ``given``."""
    roles = {} if path is None else read_roles(path)
    return roles | {
        name: value for name, value in given.items() if name not in roles or not _is_blank(value)
    }


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, tuple | list) and not value)


def _parameter(key: str) -> str:
    if key not in _PARAMETERS:
        raise InputError("there is no such key", value=key, allowed=", ".join(_PARAMETERS))
    return _PARAMETERS[key]


def _checked(key: str, value: object) -> object:
    if key in _SEVERAL:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise InputError(
                f"{key} is not a list of column names",
                value=value,
                allowed=f'{key} = ["a", "b"]',
            )
        return tuple(value)
    if key == _THRESHOLDS:
        return _checked_thresholds(value)
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
    if not known or not all(_is_number(cut) for cut in cuts):
        raise InputError(
            "thresholds are not numbers",
            value=value,
            allowed='thresholds = 3, or below [thresholds] lines such as "a" = 3, or default = 3 '
            "there and such lines below [thresholds.by_judge]",
        )
    return thresholds


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def roles_text(loaded: Loaded) -> str:
    """Return the content of a role file that makes these votes load the same way again."""
    mapping = loaded.mapping
    label = mapping.label_column if loaded.labels is None else loaded.labels.column
    scalars = {
        "task": loaded.votes.task,
        "records": loaded.records,
        "item_id": mapping.item_column or mapping.id_column,
        "label": label,
        "groups": mapping.group_column,
    }
    lists = {
        "judges": mapping.judge_columns,
        "features": mapping.feature_columns,
        "ignore": tuple(role.column for role in mapping.roles if role.role == "ignore"),
    }
    lines = [f"{key} = {_quoted(value)}" for key, value in scalars.items() if value is not None]
    for key, names in lists.items():
        if names:
            lines += [f"{key} = [", *(f"    {_quoted(name)}," for name in names), "]"]
    return "\n".join((*lines, *_threshold_lines(loaded.thresholds), ""))


def _threshold_lines(thresholds: Thresholds) -> list[str]:
    default = thresholds.default
    of_judges = [f"{_quoted(judge)} = {cut!r}" for judge, cut in thresholds.by_judge.items()]
    if not of_judges:
        return [] if default is None else [f"{_THRESHOLDS} = {default!r}"]
    if default is None:
        return [f"[{_THRESHOLDS}]", *of_judges]
    named = [f"[{_THRESHOLDS}.by_judge]", *of_judges]
    return [f"[{_THRESHOLDS}]", f"default = {default!r}", *named]


def _quoted(text: str) -> str:
    """Return a TOML basic string: JSON's escapes, plus DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
