"""Item features as numbers: standardised or one-hot, with the fitted state to encode new items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats
from judgepanel.votes.errors import InputError

Features = pd.DataFrame | Mapping[str, ArrayLike]
FeatureColumns = Mapping[str, NDArray[Any]]
Kind = Literal["numeric", "categorical"]

MAX_CATEGORIES = 100
MIN_CATEGORY = 2
FARTHEST = 10.0


@dataclass(frozen=True, slots=True)
class FeatureEncoder:
    """The encoding of item features as numeric columns; plain values, so it can be exported.

    Attributes
    ----------
    names : the features, in order.
    kinds : ``numeric`` or ``categorical``.
    means, sds : over the fit rows with a value; 0 and 1 for categorical features. Constant features
        have an sd of 1, so their column is 0 on the fit rows.
    flagged : whether a column indicates missing numbers: some but not all were missing in the fit.
    categories : categories with a column, sorted; () for numeric features. A category needs at
        least two occurrences, and a feature has columns for its 100 most frequent categories at
        most.
    """

    names: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    means: tuple[float, ...] = ()
    sds: tuple[float, ...] = ()
    flagged: tuple[bool, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of each encoded column."""
        columns: list[str] = []
        for i, name in enumerate(self.names):
            if self.kinds[i] == "categorical":
                columns += [f"{name} = {category}" for category in self.categories[i]]
            else:
                columns += [name, f"{name} is missing"][: 1 + self.flagged[i]]
        return tuple(columns)

    def encode(self, features: FeatureColumns | None, n: int) -> Floats:
        """Return columns (n, len(self.columns)) of item features (n,); ignores other features.

        A number becomes (x - mean) / sd, limited to [-10, 10], and 0 if missing. A category without
        a column is 0 in all columns.

        Raises
        ------
        InputError
            A feature that is absent, infinite or of another length, or text instead of numbers.
        """
        parts = [np.zeros((n, 0))]
        for i, name in enumerate(self.names):
            if features is None or name not in features:
                raise InputError(
                    "this feature is needed and absent",
                    column=name,
                    remedy=f"add the column feat_{name}, as the panel was fitted with it",
                )
            values = _sized(name, features[name], n)
            if self.kinds[i] == "numeric":
                numbers = _numbers(name, values)
                missing = np.isnan(numbers)
                # Halved, because the difference of two large numbers may overflow.
                far = (numbers / 2.0 - self.means[i] / 2.0) / (self.sds[i] / 2.0)
                parts.append(np.where(missing, 0.0, np.clip(far, -FARTHEST, FARTHEST))[:, None])
                if self.flagged[i]:
                    parts.append(missing[:, None].astype(np.float64))
            else:
                place = {category: j for j, category in enumerate(self.categories[i])}
                codes = np.array([place.get(text, -1) for text in _texts(values)], dtype=np.int64)
                parts.append((codes[:, None] == np.arange(len(place))).astype(np.float64))
        return np.concatenate(parts, axis=1)


def feature_columns(features: Features | None) -> FeatureColumns | None:
    """Return a table as arrays: float64 with NaN for numbers, else objects with None if missing."""
    if features is None:
        return None
    return {str(name): _plain(pd.Series(values)) for name, values in features.items()}


def _plain(values: pd.Series[Any]) -> NDArray[Any]:
    if pd.api.types.is_numeric_dtype(values):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(values.astype(object).where(values.notna(), None).to_numpy())


def fit_encoder(features: FeatureColumns | None, n: int) -> FeatureEncoder:
    """Fit means, sds and categories to the features (n,) of the fit rows, without labels.

    Raises
    ------
    InputError
        A feature of another length, or an infinite number.
    """
    names = tuple(features or ())
    learnt = [_learn(name, _sized(name, (features or {})[name], n)) for name in names]
    kinds, means, sds, flagged, categories = zip(*learnt, strict=True) if learnt else ((),) * 5
    return FeatureEncoder(names, kinds, means, sds, flagged, categories)


def _learn(name: str, values: NDArray[Any]) -> tuple[Kind, float, float, bool, tuple[str, ...]]:
    if values.dtype.kind not in "fiub":
        counted = Counter(_texts(values))
        seen = sorted(counted.items(), key=lambda result: (-result[1], result[0]))[:MAX_CATEGORIES]
        categories = tuple(sorted(text for text, times in seen if times >= MIN_CATEGORY))
        return "categorical", 0.0, 1.0, False, categories
    numbers = _numbers(name, values)
    given = numbers[~np.isnan(numbers)]
    if not len(given):
        return "numeric", 0.0, 1.0, False, ()
    largest = float(np.abs(given).max()) or 1.0
    scaled = given / largest
    mean, sd = float(scaled.mean()), float(scaled.std())
    constant = sd <= 1e-12 * max(abs(mean), 1e-300)
    if constant:
        return "numeric", float(given[0]), 1.0, len(given) < len(numbers), ()
    return "numeric", mean * largest, sd * largest, len(given) < len(numbers), ()


def _sized(name: str, values: NDArray[Any], n: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"this feature has another length than the {n} items",
            column=name,
            remedy="give one value per item",
        )
    return array


def _numbers(name: str, values: NDArray[Any]) -> Floats:
    """Return float64 with NaN if missing; refuse text and infinite numbers with their location."""
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number(name, value) for value in values.tolist()])
    if np.isinf(numbers).any():
        raise InputError(
            "an infinite number",
            column=name,
            allowed="finite numbers, or blank for a missing one",
            remedy="correct the cell, or leave it blank",
        )
    return numbers


def _number(name: str, value: Any) -> float:
    if value is None or str(value).strip() == "":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(
            "this feature was a number where the panel was fitted",
            column=name,
            value=value,
            allowed="numbers, or blank for a missing one",
            remedy="correct the cell, or leave it blank",
        ) from None


def _texts(values: NDArray[Any]) -> list[str]:
    """Return categories as text: missing as "", whole numbers without decimals."""
    return [_text(value) for value in values.tolist()]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.15g}"  # noqa: PLR0124 - NaN
    return "" if value is None else str(value)
