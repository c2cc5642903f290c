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
    if isinstance(value, np.ndarray):
        return [to_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a dataclass written by :func:`to_plain`; unknown or absent keys are a ValueError."""
    return _build(kind, data)  # type: ignore[no-any-return]


def spec_sha(spec: object) -> str:
    """SHA-256 over a spec's canonical JSON."""
    text = json.dumps(to_plain(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _build(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _build_dataclass(kind, data)
    if origin is Union or origin is types.UnionType:
        if data is None:
            return None
        (inner,) = (arg for arg in get_args(kind) if arg is not type(None))
        return _build(inner, data)
    if origin is tuple:
        inner = get_args(kind)[0]
        return tuple(_build(inner, item) for item in data)
    if origin is np.ndarray:
        scalar = get_args(get_args(kind)[1])[0]
        return _array(data, scalar)
    if origin is Literal:
        if data not in get_args(kind):
            raise ValueError(f"{data!r} is none of {get_args(kind)}")
        return data
    if kind is float:
        return math.nan if data is None else float(data)
    if kind in (int, str, bool) and not isinstance(data, kind):
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


def _array(data: Any, scalar: Any) -> Any:
    if issubclass(scalar, np.floating):
        return np.array(data, dtype=object).astype(np.float64)
    return np.array(data, dtype=scalar)
