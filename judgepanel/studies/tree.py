"""Partials of studies as bytes and back to the bit, without pickle: what resumes is only data.

A tree is JSON whose leaves stand for what JSON has not: arrays (as .npy, never of objects),
tuples, dictionaries, floats by their bits, and dataclasses by module and name. Reading makes only
dataclasses of judgepanel's own modules that are loaded already; nothing is imported, and nothing
but a dataclass is called.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_PACKAGE = "judgepanel."
_LEVEL = 1
"""Of compression: most of a partial is sums of scores, which more effort hardly makes smaller."""
_HEAD = struct.Struct(">Q")


def encode(value: object) -> bytes:
    """A partial as bytes; TypeError for what is no array, number, text or dataclass of ours."""
    arrays: list[bytes] = []
    text = json.dumps(_node(value, arrays), ensure_ascii=True, allow_nan=False).encode()
    parts = [_HEAD.pack(len(text)), text]
    for array in arrays:
        parts += [_HEAD.pack(len(array)), array]
    return zlib.compress(b"".join(parts), _LEVEL)


def decode(data: bytes) -> Any:
    """What :func:`encode` was given, to the bit; ValueError for anything that is damaged."""
    try:
        parts = _parts(zlib.decompress(data))
        tree = json.loads(parts[0])
        return _value(tree, parts[1:])
    except Exception as error:  # Reading a damaged .npy raises whatever Python's parser does.
        raise ValueError(f"no partial of a study: {type(error).__name__}") from None


def _parts(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        (size,) = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if size > len(data) - at:
            raise ValueError("cut off")
        parts.append(data[at : at + size])
        at += size
    return parts


def _node(value: object, arrays: list[bytes]) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return {"array" if isinstance(value, np.ndarray) else "scalar": _stored(value, arrays)}
    if type(value) is float:
        return {"float": struct.pack(">d", value).hex()}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    return _branch(value, arrays)


def _branch(value: object, arrays: list[bytes]) -> dict[str, Any]:
    if type(value) in (list, tuple):
        return {type(value).__name__: [_node(item, arrays) for item in value]}  # type: ignore[attr-defined]
    if type(value) is dict:
        return {"dict": [[_node(k, arrays), _node(item, arrays)] for k, item in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        name = f"{kind.__module__}:{kind.__qualname__}"
        if _dataclass(name) is kind:
            held = {f.name: _node(getattr(value, f.name), arrays) for f in fields(value)}
            return {"dataclass": name, "fields": held}
    raise TypeError(f"a partial cannot hold {type(value).__module__}.{type(value).__qualname__}")


def _stored(value: np.ndarray | np.generic, arrays: list[bytes]) -> int:
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError("a partial cannot hold an array of objects")
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    arrays.append(buffer.getvalue())
    return len(arrays) - 1


def _value(node: Any, arrays: list[bytes]) -> Any:
    if not isinstance(node, dict):
        if isinstance(node, list | float):
            raise ValueError("no node of a tree")
        return node
    kind = next(iter(node))
    if kind == "dataclass":
        return _made(_dataclass(node["dataclass"]), node["fields"], arrays)
    return _READERS[kind](node[kind], arrays)


def _made(kind: type, held: Mapping[str, Any], arrays: list[bytes]) -> Any:
    if set(held) != {f.name for f in fields(kind)}:
        raise ValueError("other fields")
    values = {name: _value(node, arrays) for name, node in held.items()}
    made = kind(**{f.name: values[f.name] for f in fields(kind) if f.init})
    for field in fields(kind):
        if not field.init:
            object.__setattr__(made, field.name, values[field.name])
    return made


def _dataclass(name: str) -> type:
    """The dataclass of this name in a module of judgepanel that is loaded; ValueError else."""
    module, _, path = name.partition(":")
    dataclass: Any = sys.modules.get(module) if module.startswith(_PACKAGE) else None
    for part in path.split("."):
        dataclass = vars(dataclass).get(part) if hasattr(dataclass, "__dict__") else None
    if isinstance(dataclass, type) and is_dataclass(dataclass) and dataclass.__module__ == module:
        return dataclass
    raise ValueError("no dataclass of ours")


def _array(number: int, arrays: list[bytes]) -> np.ndarray:
    loaded: np.ndarray = np.load(io.BytesIO(arrays[number]), allow_pickle=False)
    return loaded


_READERS: dict[str, Callable[[Any, list[bytes]], Any]] = {
    "float": lambda bits, _: struct.unpack(">d", bytes.fromhex(bits))[0],
    "bytes": lambda text, _: base64.b64decode(text, validate=True),
    "array": _array,
    "scalar": lambda number, arrays: _array(number, arrays)[()],
    "list": lambda nodes, arrays: [_value(node, arrays) for node in nodes],
    "tuple": lambda nodes, arrays: tuple(_value(node, arrays) for node in nodes),
    "dict": lambda pairs, arrays: {_value(k, arrays): _value(v, arrays) for k, v in pairs},
}
