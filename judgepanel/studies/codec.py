"""Frozen results to JSON and back without loss: arrays become lists, NaN becomes null.

How a field is read follows from what its annotation means, never from how it is spelled: each
dataclass is described once (:mod:`judgepanel.studies.shapes`), and a field that no shape fits is
refused there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from judgepanel.studies.shapes import record_of

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Dataclasses, tuples, mappings and NumPy arrays as JSON values; no NaN or inf passes.

    An array of several dimensions that holds nothing is written as ``{"shape": [2, 0, 9]}``: its
    lists would lose lengths.

    Raises
    ------
    TypeError
        A value of any other type.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        lengths: tuple[int, ...] = value.shape
        if lengths[1:] and 0 in lengths:
            return {"shape": list(lengths)}
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__qualname__} has no form in JSON")


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a dataclass written by :func:`to_plain`.

    Raises
    ------
    ValueError
        The data do not fit ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    rebuilt: T = record_of(kind).read(data)
    return rebuilt


def spec_sha(spec: object) -> str:
    """SHA-256 over a spec's canonical JSON."""
    text = json.dumps(to_plain(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
