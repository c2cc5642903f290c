"""Stored values read back as what they were, or not at all, however a field is annotated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from judgepanel.present.registry import STUDIES
from judgepanel.service.workspace import Analysis
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.studies.shapes import record_of
from tests.helpers import same_values

FLOATS = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
"""What ``NDArray[np.float64]`` stands for: NumPy before 2.5 says this, later ones name an alias."""


def holding(annotation: object) -> type:
    return make_dataclass("Holding", [("value", annotation)], frozen=True)


def read(annotation: object, data: object) -> Any:
    return from_plain(holding(annotation), {"value": data}).value


def round_trip(value: Any) -> Any:
    return from_plain(type(value), json.loads(json.dumps(to_plain(value), allow_nan=False)))


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_spec_and_result_of_the_registry_can_be_read_back(name: str) -> None:
    for kind in (STUDIES[name].spec, STUDIES[name].result):
        assert set(record_of(kind).shapes) == {field.name for field in fields(kind)}


def test_an_analysis_can_be_read_back() -> None:
    assert set(record_of(Analysis).shapes) == {field.name for field in fields(Analysis)}


@pytest.mark.parametrize("annotation", [NDArray[np.float64], FLOATS], ids=("NumPy's", "plain"))
@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, math.nan, -0.0, 1e-320]),
        np.array([[1.0, 2.0], [math.nan, 4.0]]),
        np.ones((2, 1, 3)),
        np.empty(0),
        np.empty((3, 0)),
        np.empty((0, 4)),
        np.empty((0, 2, 5)),
        np.empty((2, 0, 9)),
    ],
    ids=lambda array: str(array.shape),
)
def test_arrays_come_back_as_arrays_to_the_bit(annotation: object, array: np.ndarray) -> None:
    same_values(round_trip(holding(annotation)(array)).value, array)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.intp, np.uint8, np.bool_, np.float32])
def test_arrays_come_back_with_the_type_that_is_declared(dtype: Any) -> None:
    array = np.array([[0, 1], [1, 0]], dtype)
    same_values(round_trip(holding(NDArray[dtype])(array)).value, array)


T = TypeVar("T", bound=np.generic)
NAMED = TypeAliasType("NAMED", np.ndarray[tuple[Any, ...], np.dtype[T]], type_params=(T,))
PLAIN = TypeAliasType("PLAIN", NAMED[np.int64])  # type: ignore[valid-type]


@pytest.mark.parametrize("annotation", [NAMED[np.int64], PLAIN, PLAIN | None])
def test_a_named_alias_means_what_it_stands_for(annotation: object) -> None:
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
def test_what_is_nested_tagged_optional_or_recursive_comes_back(tree: Tree) -> None:
    same_values(round_trip(tree), tree)


@pytest.mark.parametrize(
    ("annotation", "data"),
    [
        (float, "1.5"),
        (float, True),
        (float, 10**400),
        (int, 1.0),
        (int, None),
        (str, 1),
        (bool, 1),
        (float | None, "x"),
        (int | str, 1.5),
        (Literal["a", 1], True),
        (Literal["a"], ["a"]),
        (tuple[int, ...], {"0": 1}),
        (tuple[int, str], [1]),
        (tuple[int, str], ["x", 1]),
        (Mapping[str, int], [1]),
        (Mapping[str, int], {"a": 1.5}),
        (Left | Right, {"kind": "middle"}),
        (Left | Right, {"kind": ["left"]}),
        (Left, {"kind": "left", "inner": None, "more": 1}),
        (NDArray[np.float64], 1.5),
        (NDArray[np.float64], ["1.5"]),
        (NDArray[np.float64], [[1.0], [1.0, 2.0]]),
        (NDArray[np.float64], [True]),
        (NDArray[np.float64], {"shape": [1, 2]}),
        (NDArray[np.float64], {"shape": [0, -2]}),
        (NDArray[np.float64], {"shape": [2.0, 0]}),
        (NDArray[np.float64], {"shape": 0}),
        (NDArray[np.float64], {"a": 1.0}),
        (NDArray[np.int64], [1.5]),
        (NDArray[np.int64], [None]),
        (NDArray[np.int8], [2**40]),
        (NDArray[np.int64], [2**80]),
        (NDArray[np.bool_], [1]),
    ],
)
def test_data_that_do_not_fit_are_refused_with_the_field(annotation: object, data: object) -> None:
    with pytest.raises(ValueError, match=r"^Holding\.value: "):
        read(annotation, data)


@pytest.mark.parametrize(
    "annotation",
    [
        Any,
        object,
        complex,
        bytes,
        list[int],
        set[str],
        dict,
        Mapping[int, str],
        tuple,
        tuple[Any, ...],
        int | tuple[int, ...],
        Left | int,
        Left | Tree,
        np.ndarray,
        NDArray[Any],
        NDArray[np.floating],
        NDArray[np.str_],
        NDArray[np.object_],
        NDArray[np.complex128],
        type(None),
    ],
    ids=str,
)
def test_a_field_that_nobody_knows_how_to_read_is_refused_whatever_the_data(
    annotation: object,
) -> None:
    class_of_it = make_dataclass("Outer", [("inner", holding(annotation))])
    for _ in range(2):
        with pytest.raises(TypeError, match=r"^Outer\.inner: Holding\.value: "):
            from_plain(class_of_it, {})


@pytest.mark.parametrize("value", [{1, 2}, 1j, b"x", object(), [object()]])
def test_a_value_without_a_form_in_json_is_not_written(value: object) -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        to_plain(value)


def test_what_is_no_dataclass_cannot_be_read() -> None:
    with pytest.raises(TypeError, match="is no dataclass"):
        from_plain(dict, {})
