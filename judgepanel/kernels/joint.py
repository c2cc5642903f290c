"""Stacking and joint: judges weighed together, with the ridge chosen by inner cross-validation.

Write V in {-1, 0, +1} for votes. Stacking is ridge logistic regression on V. Joint is

    logit p = b + tau l(V) + V delta + g(V),

l the one-coin score and g a smooth function of which past items the votes resemble
(:mod:`kernels.joint_features`). Only delta and g are shrunk by the ridge C, so that without
evidence of more it is the one-coin sum on a fitted temperature. tau is fitted to one-coin scores
whose counts leave the item's own unit out.

The ridge is averaged over: every C counts by its likelihood on folds its inner models have not
seen. Logits are linear in the parameters, so the average is one model. The inner model of fit f
that leaves out fold g learns from the same rows as that of fit g leaving out fold f: 5 folds need
16 models at every C, not 31.

Monotone forms are linear in the votes, and hold the weights of judges at 0 or above, but for judges
that are shown to be below chance. No other vote counts against what it says, whoever else is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots, cells_of, has_votes, taken
from judgepanel.kernels.joint_features import (
    MOST_JUDGES,
    Agreement,
    Features,
    Record,
    design,
    features,
    problem,
)
from judgepanel.kernels.maps import softplus
from judgepanel.kernels.prefixes import Fit, Ranking, rank
from judgepanel.kernels.ridge import Floor, Prior, solve_path, solve_paths
from judgepanel.kernels.threads import each

if TYPE_CHECKING:
    from judgepanel.kernels.ballots import Cells

CS = tuple(float(c) for c in np.geomspace(1e-4, 1.0, 9))
BATCH_CELLS = 300_000
_ROWS = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class JointPanel:
    """A fitted panel: logit = intercept + sum of V_j w_j + what agreement adds.

    Attributes
    ----------
    judges : int (k,), columns of the ballots; all else is in this order.
    weights : float (k,), w = tau * (one-coin weights) + delta.
    intercept : 0 under ``symmetric``.
    tau : how much of the one-coin weights is in the weights; 0 for stacking.
    agreement : similarity to m prototypes, None for a panel that is linear in the votes.
    agreement_weights : float (m,), what similarity to each prototype adds.
    Cs, C_weights, cv_nll : float (n_C,), the ridges, their share in the panel, and the NLL of each
        on folds left out; ``cv_nll`` is None where there was one C, or one fold only: the smallest
        C is taken then.
    """

    judges: Ints
    weights: Floats
    intercept: float
    tau: float
    agreement: Agreement | None
    agreement_weights: Floats
    Cs: Floats
    C_weights: Floats
    cv_nll: Floats | None

    def logits(self, votes: NDArray[np.int8]) -> Floats:
        """Raw logits (n,) of signed votes (n, n_judges); 0 where none of the judges voted."""
        return self._logits(
            np.arange(len(votes)), lambda rows: cells_of(taken(votes, rows, self.judges))
        )

    def scores(self, ballots: Ballots, rows: Ints) -> Floats:
        """The same of the votes on some items (n,) of ballots."""
        return self._logits(rows, lambda block: ballots.part(block, self.judges))

    def _logits(self, rows: Ints, votes_on: Callable[[Ints], Cells]) -> Floats:
        logits = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS):
            seen = votes_on(rows[start : start + _ROWS])
            sums = seen.astype(np.float64) @ self.weights + self.intercept
            if self.agreement is not None:
                sums += self.agreement.similarity(seen) @ self.agreement_weights
            logits[start : start + _ROWS] = np.where(has_votes(seen), sums, 0.0)
        return logits


@dataclass(frozen=True, slots=True)
class Form:
    """What panels of one aggregator learn from. It is a ``Kernel`` (:mod:`kernels.prefixes`).

    Attributes
    ----------
    one_coin, agreement : whether the one-coin score and agreement with past items are features;
        joint has both, stacking neither.
    monotone : whether the weight of every judge is at least 0 unless the learn rows show the judge
        to be below chance. Agreement is not bounded.
    """

    one_coin: bool
    agreement: bool = False
    monotone: bool = False

    def panels(
        self,
        ballots: Ballots,
        fits: Sequence[Fit],
        k: int,
        ranking: Ranking = "accuracy",
        *,
        Cs: Sequence[float] = CS,
        learn: Callable[[Ints], Features] | None = None,
    ) -> list[JointPanel]:
        """Fit the panel of the ``k`` best judges of every fit.

        Parameters
        ----------
        fits : fits of one cross-fitting, which share the numbering of folds.
        Cs : ridges, ascending; each fit starts from that of the C before.
        learn : features of ``k`` columns of the ballots from the rows of a model, where they are
            not those of the k best judges.
        """
        fitted = _fit_sizes(ballots, fits, [k], ranking, self, Cs, learn)
        return [panels[0] for panels in fitted]

    def __call__(
        self, ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking
    ) -> list[Floats]:
        fitted = _fit_sizes(ballots, fits, ks.tolist(), ranking, self, CS)
        return [
            np.stack([panel.scores(ballots, fit.score) for panel in panels])
            for fit, panels in zip(fits, fitted, strict=True)
        ]


stacking = Form(one_coin=False)
joint = Form(one_coin=True, agreement=True)
stacking_monotone = Form(one_coin=False, monotone=True)
joint_monotone = Form(one_coin=True, monotone=True)


def _fit_sizes(
    ballots: Ballots,
    fits: Sequence[Fit],
    ks: Sequence[int],
    ranking: Ranking,
    form: Form,
    Cs: Sequence[float],
    learn: Callable[[Ints], Features] | None = None,
) -> list[list[JointPanel]]:
    """For every fit, the panels of its ``ks`` best judges; ``learn`` as in :meth:`Form.panels`."""
    problems, outer, inner = _plan(fits, choose=len(Cs) > 1)
    features_of = (
        _of_votes(ballots, problems, ks, ranking, form)
        if learn is None
        else _of_rows(problems, learn)
    )

    def fitted(batch: list[tuple[int, _Left]]) -> list[_Model]:
        learned = [features_of(k, left) for k, left in batch]
        return _fit(learned, Cs, scale=form.one_coin, intercept=not ballots.symmetric)

    batches = list(_batches(problems, ks, of_one_size=form.monotone))
    models: dict[tuple[int, _Left], _Model] = {}
    for batch, result in zip(batches, each(fitted, batches), strict=True):
        models.update(zip(batch, result, strict=True))
    ridges = np.asarray(Cs, dtype=np.float64)

    def averaged(number: int) -> list[JointPanel]:
        own, left_out = outer[number], inner[number]
        return [
            _average(
                ballots,
                fits[number],
                models[k, own],
                {fold: models[k, left] for fold, left in left_out.items()},
                ridges,
            )
            for k in ks
        ]

    return each(averaged, range(len(fits)))


_Left = frozenset[int]
"""The folds that a model has not seen."""


_FeaturesOf = Callable[[int, _Left], Features]
"""Features of k judges of the model that has not seen some folds."""


def _of_rows(problems: dict[_Left, Ints], learn: Callable[[Ints], Features]) -> _FeaturesOf:
    return lambda _k, left: learn(problems[left])


def _of_votes(
    ballots: Ballots,
    problems: dict[_Left, Ints],
    ks: Sequence[int],
    ranking: Ranking,
    form: Form,
) -> _FeaturesOf:
    """Features of the k best judges of a model; panels of all sizes share counts and copies."""
    compared = max((k for k in ks if k <= MOST_JUDGES), default=0) if form.one_coin else 0

    def record(rows: Ints) -> Record:
        return Record.of(ballots, rows, rank(ballots, rows, ranking)[: max(ks)], compared)

    records = dict(zip(problems, each(record, list(problems.values())), strict=True))

    def of_votes(k: int, left: _Left) -> Features:
        return features(
            ballots,
            problems[left],
            records[left].judges[:k],
            one_coin=form.one_coin,
            agreement=form.agreement,
            monotone=form.monotone,
            distinct=not form.monotone,
            record=records[left],
        )

    return of_votes


def _plan(
    fits: Sequence[Fit], *, choose: bool
) -> tuple[dict[_Left, Ints], list[_Left], list[dict[int, _Left]]]:
    """Rows of every model to be fitted; for each fit its own model and its inner ones by fold."""
    everywhere = set[int]().union(*(fit.fold.tolist() for fit in fits))
    problems: dict[_Left, Ints] = {}
    outer: list[_Left] = []
    inner: list[dict[int, _Left]] = []
    for fit in fits:
        present = sorted(set(fit.fold.tolist()))
        own = frozenset(everywhere.difference(present))
        problems.setdefault(own, fit.learn)
        outer.append(own)
        left_out = {fold: own | {fold} for fold in present} if choose and len(present) > 1 else {}
        inner.append(left_out)
        for fold, left in left_out.items():
            problems.setdefault(left, fit.learn[fit.fold != fold])
    return problems, outer, inner


def _batches(
    problems: dict[_Left, Ints], ks: Sequence[int], *, of_one_size: bool
) -> Iterator[list[tuple[int, _Left]]]:
    """Models, so many that their votes stay within ``BATCH_CELLS``; of one panel size if asked."""
    batch: list[tuple[int, _Left]] = []
    cells = 0
    order = sorted(problems, key=lambda left: -len(problems[left]))
    for k, left in ((k, left) for k in sorted(ks, reverse=True) for left in order):
        rows = len(problems[left])
        full = cells + rows * k > BATCH_CELLS
        if batch and (full or (of_one_size and k != batch[0][0])):
            yield batch
            batch, cells = [], 0
        batch.append((k, left))
        cells += rows * k
    yield batch


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """One model at every C: ``weights`` (n_C, k), ``intercept`` and ``tau`` (n_C,); ``pull``
    (n_C, m) are the weights of the prototypes.
    """

    judges: Ints
    weights: Floats
    intercept: Floats
    tau: Floats
    agreement: Agreement | None
    pull: Floats

    def logits(self, seen: Cells) -> Floats:
        """Logits (n_C, n) of signed votes (n, k) of its judges."""
        values = self.weights @ seen.T.astype(np.float64) + self.intercept[:, None]
        if self.agreement is not None:
            values += self.pull @ self.agreement.similarity(seen).T
        return np.asarray(values)


def _fit(
    batch: list[Features], Cs: Sequence[float], *, scale: bool, intercept: bool
) -> list[_Model]:
    """Models of a batch along the path of ridges."""
    if all(example.bounded is None and isinstance(example.votes, np.ndarray) for example in batch):
        taught = [problem(example, scale=scale, intercept=intercept) for example in batch]
        optima = solve_paths([fit for fit, _ in taught], Cs)
        return [
            _model(example, path, centre, scale=scale, intercept=intercept)
            for example, path, (_, centre) in zip(batch, optima, taught, strict=True)
        ]
    signed_features = design(batch, scale=scale, intercept=intercept)
    prior = Prior(
        n_weights=len(batch[0].judges) + batch[0].span.shape[1],
        rate=np.array([example.rate for example in batch]) if scale else None,
        level=np.array([example.level for example in batch]) if intercept else None,
    )
    paths = solve_path(signed_features, prior, Cs, _floor(batch, prior), problems=len(batch))
    return [
        _model(example, paths[:, b], example.centre(scale=scale), scale=scale, intercept=intercept)
        for b, example in enumerate(batch)
    ]


def _floor(batch: list[Features], prior: Prior) -> Floor | None:
    """The bounds of a batch, None where nobody is bounded."""
    bounded = [example.bounded for example in batch if example.bounded is not None]
    if len(bounded) < len(batch):
        return None
    return Floor(
        np.stack(bounded),
        np.stack([example.base for example in batch]),
        None if prior.rate is None else prior.n_weights,
    )


def _model(
    example: Features, optima: Floats, centre: Floats, *, scale: bool, intercept: bool
) -> _Model:
    """A model in terms of raw votes, from parameters (n_C, p) of features around a centre."""
    k, r = len(example.judges), example.span.shape[1]
    none: Floats = np.zeros(len(optima))
    tau = optima[:, k + r] if scale else none
    level = optima[:, -1] - optima[:, : len(centre)] @ centre if intercept else none
    return _Model(
        judges=example.judges,
        weights=optima[:, :k] + tau[:, None] * example.base,
        intercept=level,
        tau=tau,
        agreement=example.agreement,
        pull=optima[:, k : k + r] @ example.directions.T,
    )


def _average(
    ballots: Ballots, fit: Fit, own: _Model, left_out: dict[int, _Model], Cs: Floats
) -> JointPanel:
    """The fit's own model, every C weighed by its likelihood on the folds that were left out."""
    total, scored = np.zeros(len(Cs)), 0
    for fold, model in left_out.items():
        rows = fit.learn[fit.fold == fold]
        seen = ballots.part(rows, model.judges)
        some = has_votes(seen)
        margins = model.logits(seen[some]) * ballots.signs[rows[some]]
        total += softplus(-margins).sum(axis=1)
        scored += len(margins[0])
    shares = np.exp(total.min() - total) if scored else np.eye(len(Cs))[0]
    shares /= shares.sum()
    return JointPanel(
        judges=own.judges,
        weights=shares @ own.weights,
        intercept=float(shares @ own.intercept),
        tau=float(shares @ own.tau),
        agreement=own.agreement,
        agreement_weights=shares @ own.pull,
        Cs=Cs,
        C_weights=shares,
        cv_nll=total / scored if scored else None,
    )
