"""Residual correction: a logistic map of the logit that may vary with item features (step 2).

With a raw logit l and encoded features x of an item (the paper's section on step 2),

    as given    l' = a l + x . gamma + b
    symmetric   l' = l (a + x . gamma)

where a >= 0. Swapping an item's responses turns l into -l and leaves x unchanged, so the symmetric
form has no additive terms and l' is exactly odd. The fit minimises the summed log-loss plus
|gamma|^2 / (2 C), a normal prior of variance C = 1 on the logit scale: weak, but enough to keep
separable data and rare categories finite. Under symmetric gamma is a share of the temperature slope
t, l' = t l (a + x . gamma), so that the prior does not depend on the unit of l. a and b are not
penalised, so without features this is Platt scaling (or temperature) with a >= 0.

Item features as numbers: standardised or one-hot, with the fitted state to encode new items.

Importance weights: the estimated density ratio of target to source items.

A classifier separates source rows from target rows by summaries of their votes; its odds, times the
ratio of the two sizes, estimate the density ratio (Sugiyama, Suzuki and Kanamori 2012,
doi:10.1017/CBO9781139035613, chapter 4). Weights transfer a calibrator if label given score is the
same in both and only the mix of items differs (Shimodaira 2000, doi:10.1016/S0378-3758(00)00115-4).
They cannot replace items that the source lacks: the effective sample size says how many labels the
weights leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.maps import MAX_SLOPE, descend, fit_scale, sigmoid, softplus
from judgepanel.votes.errors import CORRECT_CELL, InputError

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
                remedy = f"add the column feat_{name}, as the panel was fitted with it"
                raise InputError("this feature is needed and absent", column=name, remedy=remedy)
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
        why = f"this feature has another length than the {n} items"
        raise InputError(why, column=name, remedy="give one value per item")
    return array


def _numbers(name: str, values: NDArray[Any]) -> Floats:
    """Return float64 with NaN if missing; refuse text and infinite numbers with their location."""
    if values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([_number(name, value) for value in values.tolist()])
    if np.isinf(numbers).any():
        allowed = "finite numbers, or blank for a missing one"
        raise InputError("an infinite number", column=name, allowed=allowed, remedy=CORRECT_CELL)
    return numbers


def _number(name: str, value: Any) -> float:
    if value is None or str(value).strip() == "":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        why = "this feature was a number where the panel was fitted"
        allowed = "numbers, or blank for a missing one"
        raise InputError(
            why, column=name, value=value, allowed=allowed, remedy=CORRECT_CELL
        ) from None


def _texts(values: NDArray[Any]) -> list[str]:
    """Return categories as text: missing as "", whole numbers without decimals."""
    return [_text(value) for value in values.tolist()]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.15g}"  # noqa: PLR0124 - NaN
    return "" if value is None else str(value)


Flags = NDArray[np.bool_]

PRIOR_VARIANCE = 1.0
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ResidualFit:
    """Maps of B columns: ``slope`` a (B,), ``level`` b (B,), ``gamma`` (B, d).

    ``replaced`` (B,) marks columns without a finite fit (one class, or separated by a threshold on
    the logit); they fall back to temperature, so gamma and b are 0.
    """

    slope: Floats
    level: Floats
    gamma: Floats
    replaced: Flags
    symmetric: bool

    def __call__(self, logits: Floats, encoded: Floats) -> Floats:
        """Return corrected logits of raw logits (B, n) and encoded features (n, d).

        Terms are added in the order of the features, so that a plain loop agrees to the bit.
        """
        tilt = np.zeros((len(self.gamma), len(encoded)))
        for column, weight in zip(encoded.T, self.gamma.T, strict=True):
            tilt += weight[:, None] * column
        if self.symmetric:
            return np.asarray(logits * (self.slope[:, None] + tilt))
        return np.asarray(self.slope[:, None] * logits + tilt + self.level[:, None])


def fit_residual(
    logits: Floats,
    signs: Floats,
    encoded: Floats,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
    prior_variance: float = PRIOR_VARIANCE,
) -> ResidualFit:
    """Fit the correction to every column of raw logits.

    Parameters
    ----------
    logits : float (B, n), raw logits not fitted to the item's own label.
    signs : float (n,), +1 for label 1 and -1 for label 0.
    encoded : float (n, d), see :class:`judgepanel.kernels.residual.FeatureEncoder`.
    weights : float (B, n), at least 0, or None for ones; 0 leaves an item out.
    symmetric : fit on every item and its swap.
    prior_variance : C.
    """
    weights = np.ones_like(logits) if weights is None else weights
    temperature = fit_scale(logits, signs, weights)
    unit = np.where(temperature > 0.0, temperature, 1.0) if symmetric else np.ones(len(logits))
    problem = _Problem(logits * unit[:, None], signs, encoded, weights, symmetric, prior_variance)
    x, nll, converged = problem.solve(temperature / unit)
    falling = np.flatnonzero(x[:, 0] < 0.0)
    if len(falling):  # convex: if the best slope is below 0, the best allowed slope is 0
        level_logits = np.zeros((len(falling), logits.shape[1]))
        flat = replace(problem, logits=level_logits, weights=weights[falling])
        x[falling], nll[falling], converged[falling] = flat.solve(np.zeros(len(falling)))
    own = x[:, :1] * unit[:, None] if symmetric else x[:, :2]
    fitted = converged & (nll > 1e-6) & (np.abs(own).max(-1) < MAX_SLOPE)
    if not symmetric:
        used = weights > 0
        fitted &= (used & (signs > 0)).any(-1) & (used & (signs < 0)).any(-1)
    level = np.zeros(len(x)) if symmetric else x[:, 1]
    gamma = x[:, own.shape[1] :] * unit[:, None]
    return ResidualFit(
        slope=np.where(fitted, own[:, 0], temperature),
        level=np.where(fitted, level, 0.0),
        gamma=np.where(fitted[:, None], gamma, 0.0),
        replaced=~fitted,
        symmetric=symmetric,
    )


def cross_fitted_residual(
    logits: Floats,
    signs: Floats,
    features: FeatureColumns | None,
    fold: Ints,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
) -> Floats:
    """Return corrected logits (B, n) of the fit rows, each fold by a map fitted to the other folds.

    A calibrator after the correction must be fitted to these: a correction fitted to all rows has
    seen their labels. The feature encoder is refitted in each fold. ``fold`` (n,) must keep groups
    whole and have at least two values.
    """
    corrected = np.empty_like(logits)
    for number in np.unique(fold):
        own, rest = fold == number, fold != number
        others, n = rows_of(features, rest), int(rest.sum())
        encoder = fit_encoder(others, n)
        encoded = encoder.encode(others, n)
        inner = None if weights is None else weights[:, rest]
        fitted = fit_residual(logits[:, rest], signs[rest], encoded, inner, symmetric=symmetric)
        encoded = encoder.encode(rows_of(features, own), int(own.sum()))
        corrected[:, own] = fitted(logits[:, own], encoded)
    return corrected


def rows_of(features: FeatureColumns | None, rows: Ints | Flags) -> FeatureColumns | None:
    """Return the features of some of the items."""
    if features is None:
        return None
    return {name: np.asarray(values)[rows] for name, values in features.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Weighted logistic regressions of B columns; parameters are a, then b as given, then gamma."""

    logits: Floats
    signs: Floats
    encoded: Floats
    weights: Floats
    symmetric: bool
    prior_variance: float

    def solve(self, slope: Floats) -> tuple[Floats, Floats, Flags]:
        """Return parameters (B, p), objectives (B,) and convergence (B,), from these slopes."""
        n_own = 1 if self.symmetric else 2
        size = n_own + self.encoded.shape[1]
        total = np.maximum(self.weights.sum(-1), 1.0)
        ridge = np.zeros((len(total), size))
        ridge[:, n_own:] = 1.0 / (self.prior_variance * total[:, None])

        def measure(x: Floats, rows: Ints) -> Floats:
            sums = np.empty((len(rows), 1 + size + size * size))
            for out, row, theta in zip(sums, rows, x, strict=True):
                out[:] = self._sums(int(row), theta) / total[row]
            sums[:, 0] += 0.5 * (ridge[rows] * x * x).sum(-1)
            sums[:, 1 : 1 + size] += ridge[rows] * x
            bend = sums[:, 1 + size :].reshape(-1, size, size)
            bend[:, range(size), range(size)] += ridge[rows] + _FLAT
            return sums

        def step(x: Floats, sums: Floats) -> Floats:
            gradient, bend = sums[:, 1 : 1 + size], sums[:, 1 + size :].reshape(-1, size, size)
            moved = x - np.linalg.solve(bend, gradient[:, :, None])[:, :, 0]
            return np.asarray(np.clip(moved, -2.0 * MAX_SLOPE, 2.0 * MAX_SLOPE))

        start = np.zeros((len(total), size))
        start[:, 0] = slope
        return descend(start, measure, step)

    def _sums(self, row: int, theta: Floats) -> Floats:
        """Return loss, gradient (p,) and Hessian (p, p) of one column, concatenated."""
        logit = self.logits[row][:, None]
        if self.symmetric:
            design = np.concatenate([logit, logit * self.encoded], axis=1)
        else:
            design = np.concatenate([logit, np.ones_like(logit), self.encoded], axis=1)
        margin = (design @ theta) * self.signs
        wrong = sigmoid(-margin)
        weight = self.weights[row]
        bend = weight * wrong * (1.0 - wrong)
        loss = np.vecdot(weight, softplus(-margin))
        gradient = -(weight * wrong * self.signs) @ design
        return np.concatenate([[loss], gradient, (design.T @ (design * bend[:, None])).ravel()])


_STEEPEST = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """``weights`` (n_source,) with mean 1; ``clipped`` is the share of weights that was clipped."""

    weights: Floats
    clipped: float

    @property
    def effective(self) -> float:
        """Kish's effective sample size (sum w)^2 / sum w^2, from 1 to n_source."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


def disagreement(ballots: Ballots) -> Floats:
    """1 - |A - B| / (A + B) for A votes one way and B the other, (n_items,) in [0, 1].

    0 if the judges agree or none voted, 1 if they are evenly split. It uses no labels, and swapping
    the responses of an item does not change it.
    """
    total = np.abs(ballots.votes.sum(axis=1, dtype=np.float64))
    cast = np.count_nonzero(ballots.votes, axis=1)
    return np.asarray(np.where(cast > 0, 1.0 - total / np.maximum(cast, 1), 0.0))


def vote_summaries(ballots: Ballots) -> Floats:
    """Disagreement, its square and log(1 + votes) of every item, (n_items, 3); no label needed."""
    split = disagreement(ballots)
    cast = np.count_nonzero(ballots.votes, axis=1).astype(np.float64)
    return np.stack([split, split**2, np.log1p(cast)], axis=-1)


def importance(source: Floats, target: Floats, *, most: float) -> Importance:
    """Weights of source rows (n_source, d) that make them look like the target rows (n_target, d).

    The classifier is logistic with a normal prior of variance 1 on standardised summaries, so that
    perfectly separated rows still get finite weights. Weights above ``most`` times their mean are
    set to that value, so that no single row dominates.
    """
    both = np.concatenate([source, target])
    spread = both.std(axis=0)
    scaled = (both - both.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    from_target = np.repeat([-1.0, 1.0], [len(source), len(target)])
    fitted = fit_residual(np.zeros((1, len(both))), from_target, scaled)
    logits = fitted(np.zeros((1, len(source))), scaled[: len(source)])[0]
    ratio = np.exp(np.clip(logits - logits.max(), -_STEEPEST, 0.0))
    ratio /= ratio.mean()
    weights = ratio
    while weights.max() > most * (1.0 + 1e-9):  # A cut lowers the mean, and so the bound.
        weights = np.minimum(weights, most)
        weights = weights / weights.mean()
    return Importance(weights, float(np.mean(ratio > most)))
