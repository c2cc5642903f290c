"""Serialisation of frozen values as JSON, or bit-exactly as bytes.

Both forms decompose values in the same way; reading follows annotations, with each class described
once (:mod:`judgepanel.studies.shapes`). The forms differ in their leaves. JSON is also for people:
arrays are lists, and NaN is null. Bytes keep every bit of numbers: arrays are stored as .npy beside
the JSON, all in one compressed .npz. Nothing is pickled, and the data do not determine which types
are built.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd

from judgepanel.studies.shapes import columns_of, shape_of, stored_fields

T = TypeVar("T")

_TEXT = "text"
_LEVEL = 1
"""Compression level: sums of scores hardly become smaller with more effort."""


def to_plain(value: object) -> Any:
    """Return dataclasses, tuples, mappings, tables and arrays as JSON values, without NaN or inf.

    An empty array of several dimensions is written as ``{"shape": [2, 0, 9]}``, because its lists
    would lose lengths.

    Raises
    ------
    TypeError
        A value of any other type.
    """
    return _apart(value, _listed)


def from_plain(kind: type[T], data: Any) -> T:
    """Return the value annotated as ``kind`` that :func:`to_plain` wrote.

    Raises
    ------
    ValueError
        The data do not match ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    rebuilt: T = shape_of(kind).read(data, {})
    return rebuilt


def pack(value: object) -> bytes:
    """Return a value as bytes for :func:`unpack`; TypeError as in :func:`to_plain`.

    Numbers keep their bits, except the payload of a NaN outside an array.
    """
    arrays: dict[str, np.ndarray] = {}

    def beside(leaf: np.ndarray | float) -> Any:
        if isinstance(leaf, float):
            return leaf
        if leaf.dtype.hasobject:
            raise TypeError("an array of objects has no form in bytes")
        arrays[name := str(len(arrays))] = leaf
        return {"array": name}

    text = json.dumps(_apart(value, beside)).encode()
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as file:
        for name, array in {_TEXT: np.frombuffer(text, np.uint8), **arrays}.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return buffer.getvalue()


def unpack(
    kind: type[T],
    data: bytes,
    migrate: Callable[[Any, Collection[str]], Any] = lambda content, _: content,
) -> T:
    """Return the value annotated as ``kind`` that :func:`pack` wrote.

    ``migrate(content, names)`` converts the JSON of an older version, which refers to arrays of
    these names, to the current version.

    Raises
    ------
    ValueError
        The data are damaged or do not match ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    shape = shape_of(kind)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            content = json.loads(arrays[_TEXT].tobytes())
            rebuilt: T = shape.read(migrate(content, arrays.files), arrays)
            return rebuilt
    except Exception as error:  # A damaged .npy may raise any error of Python's parser.
        raise ValueError(f"these bytes cannot be read: {type(error).__name__}") from None


def spec_sha(spec: object) -> str:
    """Return the SHA-256 of a spec's canonical JSON."""
    text = json.dumps(to_plain(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _apart(value: object, leaf: Callable[[np.ndarray | float], Any]) -> Any:
    """Return a value as JSON values; ``leaf`` converts arrays and floats."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.ndarray):
        return leaf(value)
    if isinstance(value, list | tuple):
        return [_apart(item, leaf) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _apart(getattr(value, name), leaf) for name in stored_fields(type(value))}
    if isinstance(value, pd.DataFrame):
        value = columns_of(value)
    if isinstance(value, Mapping):
        return {str(key): _apart(item, leaf) for key, item in value.items()}
    raise TypeError(f"{type(value).__qualname__} has no form in JSON")


def _listed(leaf: np.ndarray | float) -> Any:
    if isinstance(leaf, float):
        return leaf if math.isfinite(leaf) else None
    lengths: tuple[int, ...] = leaf.shape
    if lengths[1:] and 0 in lengths:
        return {"shape": list(lengths)}
    return _apart(leaf.tolist(), _listed)
