"""Frozen values written as JSON, or as bytes to the bit, and read back as what they were.

Writing takes values apart in one way; reading follows annotations, each class described once
(:mod:`judgepanel.studies.shapes`). The two forms differ in their leaves. JSON is for people, too:
arrays are lists, and NaN is null. Bytes keep every bit of numbers: arrays stand beside the JSON as
.npy, all of it in one compressed .npz. Nothing is pickled, and the data do not say what is made of
them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd

from judgepanel.studies.shapes import columns_of, shape_of

T = TypeVar("T")

_TEXT = "text"
_LEVEL = 1
"""Of compression: sums of scores hardly become smaller with more effort."""


def to_plain(value: object) -> Any:
    """Dataclasses, tuples, mappings, tables and NumPy arrays as JSON values; no NaN or inf passes.

    An array of several dimensions that holds nothing is written as ``{"shape": [2, 0, 9]}``: its
    lists would lose lengths.

    Raises
    ------
    TypeError
        A value of any other type.
    """
    return _apart(value, _listed)


def from_plain(kind: type[T], data: Any) -> T:
    """What :func:`to_plain` has written of a value that is annotated as ``kind``.

    Raises
    ------
    ValueError
        The data do not fit ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    rebuilt: T = shape_of(kind).read(data, {})
    return rebuilt


def pack(value: object) -> bytes:
    """A value as bytes that :func:`unpack` reads; TypeError as in :func:`to_plain`.

    Numbers keep their bits; of a NaN outside an array only that it is one.
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
    """What :func:`pack` was given, a value that is annotated as ``kind``.

    ``migrate(content, names)`` turns the JSON of an older version, beside which arrays of these
    names stand, into that of this one.

    Raises
    ------
    ValueError
        The data are damaged or do not fit ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    shape = shape_of(kind)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            content = json.loads(arrays[_TEXT].tobytes())
            rebuilt: T = shape.read(migrate(content, arrays.files), arrays)
            return rebuilt
    except Exception as error:  # A damaged .npy raises whatever Python's parser does.
        raise ValueError(f"these bytes cannot be read: {type(error).__name__}") from None


def spec_sha(spec: object) -> str:
    """SHA-256 over a spec's canonical JSON."""
    text = json.dumps(to_plain(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _apart(value: object, leaf: Callable[[np.ndarray | float], Any]) -> Any:
    """A value as JSON values; ``leaf`` says what becomes of arrays and floats."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.ndarray):
        return leaf(value)
    if isinstance(value, list | tuple):
        return [_apart(item, leaf) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _apart(getattr(value, f.name), leaf) for f in fields(value) if f.init}
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
