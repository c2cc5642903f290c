"""DataFrame -> RawTable, with the same cells as the same table in a Parquet file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from judgepanel.votes.arrow_columns import ColumnParts, check_kind, texts_of
from judgepanel.votes.columns import FEATURE_PREFIX
from judgepanel.votes.errors import InputError
from judgepanel.votes.table import RawTable, check_size, column_names, no_column

FRAME = "the frame"
"""Name for a frame in messages, which has no file name."""


def read_frame(frame: pd.DataFrame, *, features: Sequence[str] = (), name: str = FRAME) -> RawTable:
    """Return a frame as a table of texts; its index is ignored and rows are numbered from 1.

    ``features`` are columns that describe the items; they are renamed with a leading ``feat_`` as
    in a file.

    Raises
    ------
    InputError
        No rows, a duplicate or unnamed column, a feature that is not a column, nested or binary
        values.
    """
    try:
        names = column_names([str(column) for column in frame.columns], None)
        if not len(frame):
            raise InputError(
                "columns but no rows", allowed="at least one row", remedy="add rows to the frame"
            )
        check_size(len(frame), len(names))
        renamed = _with_features(names, features)
        dtypes: dict[tuple[str, ...], pd.CategoricalDtype] = {}
        columns = {
            column: _column(frame.iloc[:, position], column, dtypes)
            for position, column in enumerate(renamed)
        }
    except InputError as error:
        raise error.in_file(name) from None
    return RawTable(pd.DataFrame(columns, copy=False), name, "frame", first_row=1)


def _with_features(names: list[str], features: Sequence[str]) -> list[str]:
    if isinstance(features, str):
        features = (features,)
    for feature in features:
        if feature not in names:
            raise no_column(names, str(feature), "name features that are columns of the frame")
    wanted = {feature for feature in features if not feature.startswith(FEATURE_PREFIX)}
    return column_names([f"{FEATURE_PREFIX}{n}" if n in wanted else n for n in names], None)


def _column(
    values: pd.Series, column: str, dtypes: dict[tuple[str, ...], pd.CategoricalDtype]
) -> pd.Categorical:
    array = _array(values)
    check_kind(array.type, column)
    parts = ColumnParts()
    parts.add(*texts_of(array, column))
    return parts.finish(dtypes)


def _array(values: pd.Series) -> pa.Array:
    """Return the cells as an Arrow array; a column of mixed types becomes text."""
    try:
        array = pa.Array.from_pandas(values)
        if _is_extension(array.type):
            array = _texts(values)
    except (pa.ArrowException, TypeError):
        array = _texts(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _is_extension(kind: pa.DataType) -> bool:
    """Whether values are of a type of pandas' own, such as intervals or periods."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return isinstance(kind, pa.BaseExtensionType)


def _texts(values: pd.Series) -> pa.Array:
    return pa.array([_text(value) for value in values.tolist()], pa.string())


def _text(value: Any) -> str | None:
    if value is None or value is pd.NA or value is pd.NaT or _is_nan(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
