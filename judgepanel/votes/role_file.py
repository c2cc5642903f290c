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
from judgepanel.votes.grades import ALL_OTHERS, by_judge
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
        raise InputError("too large", file=path.name, allowed="at most 1 MiB")
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
        name: value
        for name, value in given.items()
        if value not in (None, (), []) or name not in roles
    }


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


def _checked_thresholds(value: object) -> float | dict[str, float]:
    by_judge: dict[str, object] = value if isinstance(value, dict) else {"": value}
    cuts: dict[str, float] = {
        judge: cut
        for judge, cut in by_judge.items()
        if isinstance(cut, float | int) and not isinstance(cut, bool)
    }
    if len(cuts) < len(by_judge):
        raise InputError(
            "thresholds are not numbers",
            value=value,
            allowed='thresholds = 3, or below [thresholds] lines such as "a" = 3',
        )
    return cuts if isinstance(value, dict) else cuts[""]


def roles_text(loaded: Loaded) -> str:
    """Return the content of a role file that makes these votes load the same way again."""
    mapping = loaded.mapping
    label = mapping.label_column if loaded.labels is None else loaded.labels.column
    one = {
        "task": loaded.votes.task,
        "records": loaded.records,
        "item_id": mapping.item_column or mapping.id_column,
        "label": label,
        "groups": mapping.group_column,
    }
    several = {
        "judges": mapping.judge_columns,
        "features": mapping.feature_columns,
        "ignore": tuple(role.column for role in mapping.roles if role.role == "ignore"),
    }
    lines = [f"{key} = {_quoted(value)}" for key, value in one.items() if value is not None]
    for key, names in several.items():
        if names:
            lines += [f"{key} = [", *(f"    {_quoted(name)}," for name in names), "]"]
    cuts = by_judge(loaded.thresholds)
    if set(cuts) == {ALL_OTHERS}:
        lines.append(f"{_THRESHOLDS} = {cuts[ALL_OTHERS]!r}")
    elif cuts:
        lines.append(f"[{_THRESHOLDS}]")
        lines += [f"{_quoted(judge)} = {cut!r}" for judge, cut in cuts.items()]
    return "\n".join((*lines, ""))


def _quoted(text: str) -> str:
    """Return a TOML basic string: JSON's escapes, plus DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
