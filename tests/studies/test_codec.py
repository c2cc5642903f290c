"""Stored values are read back unchanged or not at all, whatever the annotation of a field.

From JSON they are equal; from bytes they have the same bits.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from judgepanel.present.registry import STUDIES
from judgepanel.scoring.interval import OR_ONE_NUMBER
from judgepanel.service.workspace import Analysis
from judgepanel.studies.codec import from_plain, pack, reader_of, to_plain, unpack
from tests.helpers import same_bits, same_values

FLOATS = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
"""What ``NDArray[np.float64]`` stands for: NumPy before 2.5 says this, later ones name an alias."""


def holding(annotation):
    return make_dataclass("Holding", [("value", annotation)], frozen=True)


def read(annotation, data):
    return from_plain(holding(annotation), {"value": data}).value


def round_trip(value):
    return from_plain(type(value), json.loads(json.dumps(to_plain(value), allow_nan=False)))


@pytest.mark.parametrize("name", [*sorted(STUDIES), "analysis"])
def test_every_field_of_what_is_stored_can_be_read_back(name):
    kinds = (Analysis,) if name == "analysis" else (STUDIES[name].spec, STUDIES[name].result)
    for kind in kinds:
        names = sorted(field.name for field in fields(kind))
        with pytest.raises(ValueError, match=re.escape(f"expected {names}")):
            reader_of(kind)({"none": 0}, {})


@pytest.mark.parametrize("annotation", [NDArray[np.float64], FLOATS], ids=("NumPy's", "plain"))
@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, math.nan, -0.0, 1e-320]),
        np.array([[1.0, 2.0], [math.nan, 4.0]]),
        np.ones((2, 1, 3)),
        *(np.empty(shape) for shape in (0, (3, 0), (0, 4), (0, 2, 5), (2, 0, 9))),
    ],
    ids=lambda array: str(array.shape),
)
def test_arrays_come_back_as_arrays_to_the_bit(annotation, array):
    same_values(round_trip(holding(annotation)(array)).value, array)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.intp, np.uint8, np.bool_, np.float32])
def test_arrays_come_back_with_the_type_that_is_declared(dtype):
    array = np.array([[0, 1], [1, 0]], dtype)
    same_values(round_trip(holding(NDArray[dtype])(array)).value, array)


T = TypeVar("T", bound=np.generic)
NAMED = TypeAliasType("NAMED", np.ndarray[tuple[Any, ...], np.dtype[T]], type_params=(T,))
PLAIN = TypeAliasType("PLAIN", NAMED[np.int64])  # type: ignore[valid-type]


@pytest.mark.parametrize("annotation", [NAMED[np.int64], PLAIN, PLAIN | None])
def test_a_named_alias_means_what_it_stands_for(annotation):
    same_values(read(annotation, [1, 2]), np.array([1, 2]))


@dataclass(frozen=True)
class Left:
    kind: Literal["left"]
    inner: Tree | None = None


@dataclass(frozen=True)
class Right:
    kind: Literal["right", "far right"]
    sizes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Tree:
    side: Left | Right
    pair: tuple[int, str] = (1, "x")
    share: float | None = None
    rate: float = math.nan
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    level: Literal[1, 2] = 1
    made: int = field(default=7, init=False)


@pytest.mark.parametrize(
    "tree",
    [
        Tree(Right("far right", ((), (1, 2))), share=0.5),
        Tree(Left("left", Tree(Right("right"), (2, "é"), rate=2.0, level=2))),
        Tree(Left("left"), numbers={"a": 1, "b": 1.0, "c": "1", "d": math.nan}),
    ],
)
def test_what_is_nested_tagged_optional_or_recursive_comes_back(tree):
    same_values(round_trip(tree), tree)


@pytest.mark.parametrize(
    ("annotation", "several"),
    [
        (float, ["1.5", True, 10**400]),
        (int, [1.0, None]),
        (str, [1]),
        (bool, [1]),
        (float | None, ["x"]),
        (int | str, [1.5]),
        (Literal["a", 1], [True]),
        (Literal["a"], [["a"]]),
        (tuple[int, ...], [{"0": 1}]),
        (tuple[int, str], [[1], ["x", 1]]),
        (Mapping[str, int], [[1], {"a": 1.5}]),
        (Left | Right, [{"kind": "middle"}, {"kind": ["left"]}]),
        (Left, [{"kind": "left", "inner": None, "more": 1}]),
        (NDArray[np.float64], [1.5, ["1.5"], [[1.0], [1.0, 2.0]], [True], {"a": 1.0}]),
        (NDArray[np.float64], [{"shape": shape} for shape in ([1, 2], [0, -2], [2.0, 0], 0)]),
        (NDArray[np.int64], [[1.5], [None], [2**80]]),
        (NDArray[np.int8], [[2**40]]),
        (NDArray[np.bool_], [[1]]),
    ],
)
def test_data_that_do_not_fit_are_refused_with_the_field(annotation, several):
    for data in several:
        with pytest.raises(ValueError, match=r"^Holding\.value: "):
            read(annotation, data)


@pytest.mark.parametrize(
    "annotation",
    [
        *(Any, object, complex, bytes, list[int], set[str], dict, Mapping[int, str], tuple),
        *(tuple[Any, ...], int | tuple[int, ...], Left | int, Left | Tree, np.ndarray),
        *(NDArray[Any], NDArray[np.floating], NDArray[np.str_], NDArray[np.object_]),
        *(NDArray[np.complex128], type(None)),
    ],
    ids=str,
)
def test_a_field_that_nobody_knows_how_to_read_is_refused_whatever_the_data(annotation):
    class_of_it = make_dataclass("Outer", [("inner", holding(annotation))])
    for _ in range(2):
        with pytest.raises(TypeError, match=r"^Outer\.inner: Holding\.value: "):
            from_plain(class_of_it, {})
        with pytest.raises(TypeError, match=r"^Outer\.inner: Holding\.value: "):
            unpack(class_of_it, b"")


@pytest.mark.parametrize("value", [{1, 2}, 1j, b"x", object(), [object()], print])
def test_a_value_without_a_form_is_not_written(value):
    for write in (to_plain, pack):
        with pytest.raises(TypeError, match="has no form in JSON"):
            write(value)


def test_an_array_of_objects_is_not_written_as_bytes():
    with pytest.raises(TypeError, match="array of objects"):
        pack(np.array([None]))


def test_a_type_without_a_shape_cannot_be_read():
    with pytest.raises(TypeError, match="cannot be read back"):
        from_plain(dict, {})


DTYPES = (np.float64, np.float32, np.int64, np.int8, np.uint8, np.bool_)


@dataclass(frozen=True)
class Leaf:
    number: float
    count: int | None
    text: str
    table: pd.DataFrame | None
    arrays: tuple[NDArray[np.float64], ...]


FIELDS = [("leaves", tuple[Leaf, ...]), ("by_name", Mapping[str, Leaf])]
FIELDS += [(dtype.__name__, NDArray[dtype]) for dtype in DTYPES]
Some = make_dataclass("Some", FIELDS, frozen=True)
LENGTHS = hnp.array_shapes(min_dims=1, min_side=0, max_side=4)
FRAMES = st.lists(st.tuples(st.floats(), st.booleans(), st.none() | st.text(max_size=3))).map(
    lambda rows: pd.DataFrame(rows, columns=["x", "is", "note"]).astype(
        {"x": "float64", "is": "bool", "note": object}
    )
)
NUMBERS = st.floats(allow_nan=False) | st.just(math.nan)
ARRAYS = st.lists(hnp.arrays(np.float64, LENGTHS), max_size=2).map(tuple)
COUNTS, TABLES = st.none() | st.integers(), st.none() | FRAMES
LEAVES = st.builds(Leaf, NUMBERS, COUNTS, st.text(), TABLES, ARRAYS)
VALUES = st.builds(
    Some,
    st.lists(LEAVES, max_size=2).map(tuple),
    st.dictionaries(st.text(max_size=3) | st.just("array"), LEAVES, max_size=2),
    *(hnp.arrays(dtype, LENGTHS) for dtype in DTYPES),
)


@given(VALUES)
def test_as_bytes_any_value_comes_back_to_the_bit(value):
    same_bits(unpack(Some, pack(value)), value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 20),
        (tuple[Leaf, ...], ()),
        (Annotated[NDArray[np.float64], OR_ONE_NUMBER], np.float64(-0.0)),
        (NDArray[np.int64], np.arange(6).reshape(2, 3).T),
    ],
)
def test_as_bytes_what_is_not_a_dataclass_comes_back_too(annotation, value):
    same_bits(unpack(annotation, pack(value)), value)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    for data in (noise, zlib.compress(noise)):
        with pytest.raises(ValueError, match="cannot be read"):
            unpack(Leaf, data)


WHOLE = pack(Leaf(0.1, 3, "é", pd.DataFrame({"x": [1.5]}), (np.arange(3.0), np.ones((2, 2)))))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_damaged_bytes_are_refused_or_change_nothing(at, change):
    flipped = WHOLE[:at] + bytes([WHOLE[at] ^ change]) + WHOLE[at + 1 :]
    with contextlib.suppress(ValueError):
        same_bits(unpack(Leaf, flipped), unpack(Leaf, WHOLE))
    with pytest.raises(ValueError, match="cannot be read"):
        unpack(Leaf, WHOLE[:at])


def crafted(content, **arrays):
    """What only another program would write."""
    sink = io.BytesIO()
    np.savez(sink, text=np.frombuffer(json.dumps(content).encode(), np.uint8), **arrays)
    return sink.getvalue()


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize(
    "value",
    [{"array": "0"}, {"array": "text"}, {"array": ["ints"]}, {"array": None}, {"array": 0, "x": 1}],
    ids=str,
)
def test_an_array_that_is_not_there_or_of_another_type_is_refused(value):
    data = crafted({"value": value}, ints=np.arange(2))
    with pytest.raises(ValueError, match="cannot be read"):
        unpack(holding(NDArray[np.float64]), data)


def test_a_pickled_array_is_not_loaded():
    data = crafted({"value": {"array": "bomb"}}, bomb=np.array([Bomb()], object))
    with pytest.raises(ValueError, match="cannot be read"):
        unpack(holding(NDArray[np.float64]), data)


COLUMN = {"name": "x", "dtype": "int64", "values": [1, 2]}
WRONG = ({"dtype": "category"}, {"name": []}, {"values": [1, None]}, {"values": [1, 2**70]})
WRONG_COLUMNS = (1, *(COLUMN | change for change in WRONG))


@pytest.mark.parametrize(
    "table",
    [
        *(None, [], {}),
        *({"n_rows": n_rows, "columns": [COLUMN]} for n_rows in (3, "2")),
        *({"n_rows": 2, "columns": [column]} for column in WRONG_COLUMNS),
    ],
    ids=str,
)
def test_what_is_not_a_table_is_refused(table):
    with pytest.raises(ValueError, match=r"^Holding\.value: "):
        read(pd.DataFrame, table)
