"""Frozen results to JSON and back without loss: arrays become lists, NaN becomes null."""

from __future__ import annotations

import hashlib
import json
import math
import types
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Dataclasses, tuples, mappings and NumPy arrays as JSON values; no NaN or inf passes."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a dataclass written by :func:`to_plain`; what does not fit is a ValueError."""
    return _build(kind, data)  # type: ignore[no-any-return]


def spec_sha(spec: object) -> str:
    """SHA-256 over a spec's canonical JSON."""
    text = json.dumps(to_plain(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _build(kind: Any, data: Any) -> Any:
    if is_dataclass(kind):
        return _build_dataclass(kind, data)
    builder = _BUILDERS.get(get_origin(kind))
    if builder is not None:
        return builder(kind, data)
    if kind is float:
        if data is not None and (isinstance(data, bool) or not isinstance(data, int | float)):
            raise ValueError(f"{data!r} is not a number")
        return math.nan if data is None else float(data)
    if kind in (int, str, bool) and type(data) is not kind:
        raise ValueError(f"{data!r} is not of type {kind.__name__}")
    return data


def _build_dataclass(kind: Any, data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{kind.__name__} needs an object")
    hints = get_type_hints(kind)
    names = {f.name for f in fields(kind) if f.init}
    if set(data) != names:
        raise ValueError(f"{kind.__name__} has keys {sorted(data)}, expected {sorted(names)}")
    return kind(**{name: _build(hints[name], data[name]) for name in names})


def _build_optional(kind: Any, data: Any) -> Any:
    if data is None:
        return None
    inner = [arg for arg in get_args(kind) if arg is not type(None)]
    return _build(inner[0] if len(inner) == 1 else _tagged(inner, data), data)


def _tagged(kinds: list[Any], data: Any) -> Any:
    """The dataclass of a union whose ``kind`` is the one in the data."""
    tag = data.get("kind") if isinstance(data, dict) else None
    for kind in kinds:
        if tag in get_args(get_type_hints(kind)["kind"]):
            return kind
    raise ValueError(f"{tag!r} is no kind of {[kind.__name__ for kind in kinds]}")


def _build_tuple(kind: Any, data: Any) -> Any:
    if not isinstance(data, list):
        raise ValueError("a list is needed")
    return tuple(_build(get_args(kind)[0], item) for item in data)


def _build_literal(kind: Any, data: Any) -> Any:
    if data not in get_args(kind):
        raise ValueError(f"{data!r} is none of {get_args(kind)}")
    return data


def _build_array(kind: Any, data: Any) -> Any:
    (scalar,) = get_args(get_args(kind)[1])
    if issubclass(scalar, np.floating):
        return np.array(data, dtype=object).astype(np.float64)
    return np.array(data, dtype=scalar)


_BUILDERS: dict[Any, Any] = {
    Union: _build_optional,
    types.UnionType: _build_optional,
    tuple: _build_tuple,
    Literal: _build_literal,
    np.ndarray: _build_array,
}
