"""Serialisation of frozen values as JSON, or bit-exactly as bytes.

Both forms decompose values in the same way; reading follows annotations, with each class described
once. The forms differ in their leaves. JSON is also for people:
arrays are lists, and NaN is null. Bytes keep every bit of numbers: arrays are stored as .npy beside
the JSON, all in one compressed .npz. Nothing is pickled, and the data do not determine which types
are built.

Readers: how JSON values and arrays are read back according to type annotations.

A type annotation is converted to a ``Reader`` once per class. Aliases are resolved first, so that
``Floats`` means the same as a generic alias (NumPy before 2.5) and as a type alias
(2.5 and later). An annotation that cannot be read raises a TypeError that names the field: no value
passes through unchecked.

Result files: everything needed to check and reproduce a figure.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import threading
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd

from judgepanel import ENGINE, __version__
from judgepanel.scoring.interval import OR_ONE_NUMBER
from judgepanel.studies.contract import Result, Spec, Study
from judgepanel.votes import VoteMatrix

Arrays = Mapping[str, np.ndarray]
"""Arrays stored beside the JSON, by the names used there."""

_SCALARS = (bool, int, float, str)
_CELLS: dict[str, set[type]] = {"f": {float, int, type(None)}, "i": {int}, "u": {int}, "b": {bool}}
"""JSON types allowed in a cell of an array, by the kind of its dtype."""


_CONCRETE = frozenset(np.sctypeDict.values())
_COLUMNS = ("float64", "int64", "bool", "str", "object")
"""Dtypes of a table's columns; any other dtype is stored as object."""


Reader = Callable[[Any, Arrays], Any]
"""Reads one JSON value, beside these arrays; raises ValueError if it does not fit."""


def _scalar(kinds: tuple[type, ...]) -> Reader:
    """A number, text or truth value of one of these types; null is NaN if one of them is float."""

    def read(data: Any, _: Arrays) -> Any:
        if float in kinds:
            if data is None:
                return math.nan
            if type(data) is int and int not in kinds:
                try:
                    return float(data)
                except OverflowError:
                    raise ValueError("a number is out of the range of a float") from None
        if type(data) in kinds:
            return data
        raise ValueError(
            f"{data!r:.60} is not of type {' or '.join(kind.__name__ for kind in kinds)}"
        )

    return read


def _array(arguments: tuple[Any, ...], *, alone: bool = False) -> Reader | None:
    """Nested lists of equal lengths as an array of one dtype; null is NaN among floats.

    Only the dtype counts: NumPy does not keep dimensions in its types. ``{"array": name}`` is the
    array of that name, which must have this dtype, and ``{"shape": lengths}`` an empty one.
    ``alone``: a single number is read as a scalar of the dtype.
    """
    given = _unaliased(arguments[-1]) if len(arguments) == 2 else None
    (scalar,) = get_args(given) if get_origin(given) is np.dtype else (None,)
    if scalar not in _CONCRETE:  # Such as np.floating, which has no precision.
        return None
    dtype = np.dtype(scalar)
    allowed = _CELLS.get(dtype.kind, set())

    def read(data: Any, arrays: Arrays) -> Any:
        if isinstance(data, dict):
            if set(data) == {"array"}:
                return _array_of(dtype, arrays, str(data["array"]))
            # Lengths of an empty array.
            lengths = data.get("shape")
            if set(data) != {"shape"} or not isinstance(lengths, list):
                raise ValueError("an array needs a list")
            if 0 not in lengths or any(type(n) is not int or not 0 <= n < 2**31 for n in lengths):
                raise ValueError("an array that holds nothing has a length of 0")
            return np.empty(tuple(lengths), dtype)
        if not isinstance(data, list) and not (alone and not isinstance(data, str)):
            raise ValueError("an array needs a list")
        cells = np.array(data, dtype=object)
        kinds = set(map(type, cells.ravel().tolist()))
        if not kinds <= allowed:
            names = ", ".join(sorted(kind.__name__ for kind in kinds - allowed))
            raise ValueError(f"an array of {dtype} cannot hold {names}")
        try:
            return cells.astype(dtype)[()]
        except OverflowError:
            raise ValueError(f"a number is out of the range of {dtype}") from None

    return read if allowed else None


def _row(arguments: tuple[Any, ...]) -> Reader:
    """A list as a tuple, with one reader per item, or one for all of any number of items."""
    any_number = len(arguments) == 2 and arguments[1] is Ellipsis
    readers = [_reader(part) for part in arguments if part is not Ellipsis]

    def read(data: Any, arrays: Arrays) -> Any:
        if not isinstance(data, list):
            raise ValueError("a list is needed")
        own = readers * len(data) if any_number else readers
        if len(data) != len(own):
            raise ValueError(f"a list of {len(own)} is needed, this has {len(data)}")
        return tuple(one(item, arrays) for one, item in zip(own, data, strict=True))

    return read


def _table(arguments: tuple[Any, ...]) -> Reader | None:
    """An object as a dictionary from text to values of one type."""
    if _unaliased(arguments[0]) is not str:
        return None
    value = _reader(arguments[1])

    def read(data: Any, arrays: Arrays) -> Any:
        if not isinstance(data, dict):
            raise ValueError("an object is needed")
        return {key: value(item, arrays) for key, item in data.items()}

    return read


def _frame(data: Any, arrays: Arrays) -> Any:
    """Columns in order, each with its type, as a DataFrame; null is a missing cell."""
    try:
        index = range(data["n_rows"])
        columns = {}
        for column in data["columns"]:
            if column["dtype"] not in _COLUMNS:
                raise ValueError(f"{column['dtype']!r:.60} is no type of a column")
            values = _values(column["values"], arrays)
            columns[column["name"]] = pd.Series(values, dtype=column["dtype"], index=index)
        return pd.DataFrame(columns, index=index)
    except (KeyError, TypeError, OverflowError, IndexError) as error:
        raise ValueError(f"no table: {error}") from None


def _values(data: Any, arrays: Arrays) -> Any:
    """Return the cells of a column: a list, an array, or words with a code for each cell."""
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return arrays[data["array"]]
    words = np.array([*data["words"], None], dtype=object)
    codes = data["codes"]
    return words[np.asarray(arrays[codes["array"]] if isinstance(codes, dict) else codes, np.intp)]


def columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a table in the form that is read back; texts are words and codes."""
    columns = []
    for name, column in frame.items():
        dtype = str(column.dtype) if str(column.dtype) in _COLUMNS else "object"
        values: Any = column.tolist()
        if dtype in ("float64", "int64"):
            values = column.to_numpy()
        elif dtype == "str":
            codes, words = pd.factorize(column)
            values = {"words": words.tolist(), "codes": codes.astype(np.int32)}
        columns.append({"name": str(name), "dtype": dtype, "values": values})
    return {"n_rows": len(frame), "columns": columns}


def _choice(values: tuple[Any, ...]) -> Reader:
    """One of a fixed set of values."""

    def read(data: Any, _: Arrays) -> Any:
        for value in values:
            if type(value) is type(data) and value == data:
                return value
        raise ValueError(f"{data!r:.60} is none of {values}")

    return read


def _union(arguments: tuple[Any, ...]) -> Reader | None:
    """One of several scalars or of dataclasses that differ by their ``kind``; None where allowed.

    In a field that may be None, null is None, so such a field must not hold NaN.
    """
    inner = tuple(_unaliased(argument) for argument in arguments if argument is not type(None))
    if len(inner) == 1:
        reader = _reader(inner[0])
    elif all(kind in _SCALARS for kind in inner):
        reader = _scalar(inner)
    elif all(is_dataclass(kind) and isinstance(kind, type) for kind in inner):
        reader = _tagged(inner)
    else:
        return None
    if len(inner) == len(arguments):
        return reader
    return lambda data, arrays: None if data is None else reader(data, arrays)


def _tagged(kinds: tuple[Any, ...]) -> Reader:
    """The dataclass whose ``kind`` matches the data."""
    records: dict[str, Reader] = {}
    for kind in kinds:
        tags = get_args(_unaliased(get_type_hints(kind).get("kind")))
        if not tags or any(tag in records for tag in tags):
            raise TypeError(f"{kind.__name__} of a union needs a literal 'kind' of its own")
        records |= dict.fromkeys(tags, _record(kind))

    def read(data: Any, arrays: Arrays) -> Any:
        tag = data.get("kind") if isinstance(data, dict) else None
        record = records.get(tag) if isinstance(tag, str) else None
        if record is None:
            raise ValueError(f"{tag!r:.60} is not a kind of {', '.join(records)}")
        return record(data, arrays)

    return read


_RECORDS: dict[type, Reader] = {}
_LOCK = threading.RLock()


def _record(kind: Any) -> Reader:
    """An object as a dataclass; its keys are the fields of the constructor."""
    if kind in _RECORDS:
        return _RECORDS[kind]
    readers: dict[str, Reader] = {}

    def read(data: Any, arrays: Arrays) -> Any:
        if not isinstance(data, dict):
            raise ValueError(f"{kind.__name__} needs an object")
        if set(data) != set(readers):
            raise ValueError(f"{kind.__name__} has keys {sorted(data)}, expected {sorted(readers)}")
        values = {}
        for name, reader in readers.items():
            try:
                values[name] = reader(data[name], arrays)
            except ValueError as error:
                raise ValueError(f"{kind.__name__}.{name}: {error}") from None
        return kind(**values)

    # Registered before its fields are described, because a class may refer to itself.
    _RECORDS[kind] = read
    hints = get_type_hints(kind, include_extras=True)
    for name in stored_fields(kind):
        try:
            readers[name] = _reader(hints[name])
        except TypeError as error:
            raise TypeError(f"{kind.__name__}.{name}: {error}") from None
    return read


def reader_of(annotation: Any) -> Reader:
    """Return what reads an annotated value, whichever way it is spelled; cached per class.

    Raises
    ------
    TypeError
        The annotation, or that of a nested field, cannot be read; the message names the field.
    """
    with _LOCK:
        known = set(_RECORDS)
        try:
            return _reader(annotation)
        except BaseException:
            # Classes that refer to each other are described together or not at all.
            for unfinished in set(_RECORDS) - known:
                del _RECORDS[unfinished]
            raise


def _reader(annotation: Any) -> Reader:
    meant = _unaliased(annotation)
    reader: Reader | None
    if get_origin(meant) is Annotated:
        held, *marks = get_args(meant)
        array = _unaliased(held)
        if OR_ONE_NUMBER not in marks or get_origin(array) is not np.ndarray:
            return _reader(held)
        reader = _array(get_args(array), alone=True)
    elif meant in _SCALARS:
        return _scalar((meant,))
    elif is_dataclass(meant):
        return _record(meant)
    elif meant is pd.DataFrame:
        return _frame
    else:
        make = _READERS.get(get_origin(meant))
        reader = None if make is None else make(get_args(meant))
    if reader is None:
        raise TypeError(f"{annotation!r} cannot be read back")
    return reader


@cache
def stored_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields with which a dataclass is stored and built again."""
    return tuple(f.name for f in fields(kind) if f.init and f.metadata.get("stored", True))


def _unaliased(annotation: Any) -> Any:
    """Resolve a type alias: ``type X = ...`` of Python 3.12, with or without arguments."""
    while hasattr(alias := get_origin(annotation) or annotation, "__value__"):
        meant = alias.__value__
        if arguments := get_args(annotation):
            given = dict(zip(alias.__type_params__, arguments, strict=True))
            meant = meant[tuple(given[parameter] for parameter in meant.__parameters__)]
        annotation = meant
    return annotation


_READERS: Mapping[Any, Callable[[tuple[Any, ...]], Reader | None]] = types.MappingProxyType(
    {
        np.ndarray: _array,
        Union: _union,
        types.UnionType: _union,
        tuple: _row,
        dict: _table,
        Mapping: _table,
        Literal: _choice,
    }
)


def _array_of(dtype: np.dtype[Any], arrays: Arrays, name: str) -> np.ndarray:
    array = arrays.get(name)
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise ValueError(f"there is no array of {dtype} named {name:.60}")
    return array


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
    rebuilt: T = reader_of(kind)(data, {})
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


def unpack(kind: type[T], data: bytes) -> T:
    """Return the value annotated as ``kind`` that :func:`pack` wrote.

    Raises
    ------
    ValueError
        The data are damaged or do not match ``kind``.
    TypeError
        ``kind`` has a field that cannot be read back, whatever the data.
    """
    reader = reader_of(kind)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            rebuilt: T = reader(json.loads(arrays[_TEXT].tobytes()), arrays)
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


def result_content(
    study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec, result: Result
) -> dict[str, Any]:
    """Return the content of a result file: study, spec, votes, engine, table, summary, warnings."""
    summary = result.summary()
    return {
        "study": study.name,
        "judgepanel": __version__,
        "engine": ENGINE,
        "spec": to_plain(spec),
        "votes": {
            "n_items": votes.n_items,
            "n_judges": votes.n_judges,
            "n_labelled": int(votes.labelled.sum()),
            "sha256": votes.sha256,
            "orientation": summary.get("orientation"),
        },
        "table": to_plain(result.frame().to_dict(orient="records")),
        "summary": to_plain(summary),
        "warnings": list(result.warnings),
    }


def result_json(content: dict[str, Any]) -> str:
    """Return the text of a result file."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
