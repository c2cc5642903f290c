"""Two-parameter logistic item response model of correctness: P(right) = s(alpha (theta - beta)).

Judge j has ability theta_j and discrimination alpha_j > 0, item i has difficulty beta_i, s is the
logistic function (Lord & Novick 1968, with chapters by Birnbaum). Difficulties are N(0, 1), which
fixes origin and scale; theta ~ N(mu, sigma^2) and log alpha ~ N(m, t^2), with mu, sigma, m, t
estimated from the votes. Missing votes are ignored.

Difficulties are integrated out by quadrature (Bock & Aitkin 1981, doi:10.1007/BF02293801); theta
and log alpha are at the mode of the marginal posterior; mu, sigma, m, t maximise its Laplace
approximation, with weak hyperpriors that keep panels of one judge, or of perfect judges, finite.
The whole fit is one fixed point. Plain updates converge slowly along the directions in which all
judges move together: the first few are rescaled by the items' mean and spread (parameter expansion,
Liu, Rubin & Wu 1998, doi:10.1093/biomet/85.4.755), the rest are accelerated.

Item difficulties of the 2PL model integrated out: posteriors, expected counts, likelihood.

With logits eta = alpha_j (theta_j - beta), the log-likelihood of an item's marks at difficulty beta
is the sum of eta over the judges that were right plus the sum of log(1 - P) over those that voted.
The first sum is linear in beta, so right marks enter by two matrix-vector products; the second is
one column sum for all items, minus the part of judges that did not vote. Complete marks therefore
cost O(items x judges + items x points), not O(items x judges x points).

The judges' update of the 2PL model: abilities and discriminations given expected item counts.

Fixed points of slow updates, by Anderson acceleration (Walker & Ni 2011, doi:10.1137/10078356X).

The next point is the combination of past updates that minimises the residual in least squares, so a
few directions of slow convergence are covered in a few steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import expit, logit

from judgepanel.arrays import Floats
from judgepanel.kernels.maps import column_blocks

VOTES_TO_EXPAND = 10
_BLOCK_CELLS = 2_000_000
_SPARSE_SHARE = 0.1
_DENSE_CELLS = 20_000_000
_TAIL = 6.0
_COARSE_POINTS = 65


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Right and wrong marks as matrices, each in the form that makes products cheap.

    ``right`` (n_items, n_judges) is 1 where a judge was right. ``mask`` of the same shape is 1
    where a judge voted, or where it did not if ``inverted``; both are dense or CSR. ``complete``
    means that every judge voted on every item, ``is_sparse`` that ``mask`` is CSR. ``n_right`` and
    ``n_voted`` are (n_judges,), ``most_votes`` is the maximum over items. ``few_votes`` means fewer
    than ``VOTES_TO_EXPAND`` votes per item on average.
    """

    right: Any
    mask: Any
    inverted: bool
    complete: bool
    is_sparse: bool
    n_right: Floats
    n_voted: Floats
    most_votes: int
    few_votes: bool

    @property
    def n_items(self) -> int:
        return int(self.right.shape[0])

    def voted(self, rows: slice) -> Floats:
        """Dense (n_rows, n_judges): 1 where a judge voted, else 0."""
        mask = self.mask[rows]
        dense = np.asarray(mask.toarray() if self.is_sparse else mask)
        return 1.0 - dense if self.inverted else dense


@dataclass(frozen=True, slots=True, eq=False)
class ItemPosterior:
    """Statistics of the items for the judges' update.

    ``points`` (Q,) are difficulties; ``counts``, ``spread`` and ``spread_squared`` are (n_judges or
    1, Q): expected number of voted items at each point, unweighted and weighted by the item's
    posterior variance or by its square. ``mean``, ``variance`` (n_items,) are of the posterior of
    beta; ``log_likelihood`` is the sum over items of the log of the integral. ``information`` (3,
    n_judges) is the sum of outer products of mean scores in (theta, log alpha), tt, ta, aa, if
    items have few votes, else None.
    """

    points: Floats
    counts: Floats
    spread: Floats
    spread_squared: Floats
    mean: Floats
    variance: Floats
    log_likelihood: float
    information: Floats | None


def as_marks(marks: NDArray[np.int8]) -> Marks:
    """Marks int8 (n_items, n_judges) in {-1 wrong, 0 no vote, +1 right} as matrices."""
    voted = marks != 0
    inverted = bool(voted.mean() > 0.5)
    mask = _matrix(~voted if inverted else voted)
    return Marks(
        right=_matrix(marks > 0),
        mask=mask,
        inverted=inverted,
        complete=bool(voted.all()),
        is_sparse=sparse.issparse(mask),
        n_right=(marks > 0).sum(axis=0).astype(np.float64),
        n_voted=voted.sum(axis=0).astype(np.float64),
        most_votes=int(voted.sum(axis=1).max(initial=0)),
        few_votes=bool(voted.sum() < VOTES_TO_EXPAND * len(voted)),
    )


def _matrix(flags: NDArray[np.bool_]) -> Any:
    if flags.mean() < _SPARSE_SHARE or flags.size > _DENSE_CELLS:
        return sparse.csr_array(flags, dtype=np.float64)
    return flags.astype(np.float64)


def log_wrong(eta: Floats) -> Floats:
    """log(1 - P) = -log(1 + exp(eta)), without overflow."""
    return np.asarray(-np.maximum(eta, 0.0) - np.log1p(np.exp(-np.abs(eta))))


def quadrature(theta: Floats, alpha: Floats, most_votes: int) -> Floats:
    """Return equally spaced difficulties (Q,), fine and wide enough for every item's posterior.

    The step is at most the smallest posterior standard deviation an item can have, at which the
    trapezoid rule for a normal density has an error of 5e-9; the ends lie six standard deviations
    beyond the modes of items that every judge got wrong, or right. Step and ends are rounded (to
    powers of two, to integers), so they stay constant while parameters converge.
    """
    low, high = -_extreme_mode(-theta, alpha), _extreme_mode(theta, alpha)
    ends = (np.floor(min(low, 0.0) - _TAIL), np.ceil(max(high, 0.0) + _TAIL))
    coarse = np.linspace(*ends, _COARSE_POINTS)
    p = expit(alpha[:, None] * (theta[:, None] - coarse))
    information = np.sort(alpha[:, None] ** 2 * p * (1.0 - p), axis=0)[-max(most_votes, 1) :]
    finest = 1.0 / np.sqrt(1.0 + information.sum(axis=0).max())
    step = 2.0 ** np.floor(np.log2(finest))
    return np.asarray(np.arange(ends[0], ends[1] + step / 2, step))


def _extreme_mode(theta: Floats, alpha: Floats) -> float:
    """Posterior mode of an item that every judge got wrong: b = sum alpha P(b), by bisection."""
    low, high = 0.0, float(alpha.sum())
    for _ in range(30):
        middle = (low + high) / 2
        above = float(alpha @ expit(alpha * (theta - middle))) > middle
        low, high = (middle, high) if above else (low, middle)
    return high


def item_posterior(marks: Marks, theta: Floats, alpha: Floats) -> ItemPosterior:
    """Posterior of every beta ~ N(0, 1) given the judges, (n_judges,) each."""
    points = quadrature(theta, alpha, marks.most_votes)
    counts = np.zeros((1 if marks.complete else len(theta), len(points)))
    spread, squared = np.zeros_like(counts), np.zeros_like(counts)
    mean, variance = np.empty(marks.n_items), np.empty(marks.n_items)
    total = 0.0
    information = np.zeros((3, len(theta))) if marks.few_votes else None
    for rows, density, log_mass in _densities(marks, theta, alpha, points):
        mean[rows] = density @ points
        variance[rows] = np.maximum(density @ points**2 - mean[rows] ** 2, 0.0)
        total += float(log_mass.sum())
        counts += _voted_sums(marks, rows, density, np.ones(len(density)))
        spread += _voted_sums(marks, rows, density, variance[rows])
        squared += _voted_sums(marks, rows, density, variance[rows] ** 2)
        if information is not None:
            information += _score_products(marks, rows, density, theta, alpha, points)
    return ItemPosterior(points, counts, spread, squared, mean, variance, total, information)


def _score_products(
    marks: Marks, rows: slice, density: Floats, theta: Floats, alpha: Floats, points: Floats
) -> Floats:
    """Products (3, n_judges) of posterior mean scores, summed over the votes of these items."""
    items, judges = np.nonzero(marks.voted(rows))
    distance = theta[:, None] - points
    wrong = expit(alpha[:, None] * distance)
    result = np.zeros((3, len(theta)))
    for block in column_blocks(len(items), len(points), _BLOCK_CELLS):
        i, j = items[block], judges[block]
        right = np.asarray(marks.right[rows][i, j]).ravel()[:, None]
        score = density[i] * (right - wrong[j]) * alpha[j, None]
        pull, turn = score.sum(axis=1), (score * distance[j]).sum(axis=1)
        for k, product in enumerate((pull**2, pull * turn, turn**2)):
            result[k] += np.bincount(j, weights=product, minlength=len(theta))
    return result


def right_probability(marks: Marks, theta: Floats, alpha: Floats) -> Floats:
    """Posterior mean of P(right) for every item and judge, voted or not, (n_items, n_judges)."""
    points = quadrature(theta, alpha, marks.most_votes)
    curve = expit(alpha * (theta - points[:, None]))
    result = np.empty(marks.right.shape)
    for rows, density, _ in _densities(marks, theta, alpha, points):
        result[rows] = density @ curve
    return np.clip(result, 0.0, 1.0)


def _densities(
    marks: Marks, theta: Floats, alpha: Floats, points: Floats
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield item blocks: rows, posterior masses (n_rows, Q), log likelihoods (n_rows,)."""
    table = log_wrong(alpha[:, None] * (theta[:, None] - points))
    offset = marks.right @ (alpha * theta)
    slope = marks.right @ alpha
    prior = -0.5 * points**2
    prior -= np.log(np.exp(prior).sum())
    for rows in column_blocks(marks.n_items, len(points), _BLOCK_CELLS):
        density = prior - slope[rows, None] * points
        density += _voted_part(marks, rows, table)
        top = density.max(axis=1)
        density -= top[:, None]
        np.exp(density, out=density)
        mass = density.sum(axis=1)
        density /= mass[:, None]
        yield rows, density, np.log(mass) + top + offset[rows]


def _voted_part(marks: Marks, rows: slice, table: Floats) -> Floats:
    """Sum of the table's rows over the judges that voted, (n_rows, Q) or (1, Q)."""
    if not marks.inverted:
        return np.asarray(marks.mask[rows] @ table)
    total = table.sum(axis=0)[None, :]
    return total if marks.complete else np.asarray(total - marks.mask[rows] @ table)


def _voted_sums(marks: Marks, rows: slice, density: Floats, weight: Floats) -> Floats:
    """Weighted densities summed over the items each judge voted on, (n_judges, Q) or (1, Q)."""
    total = (weight @ density)[None, :]
    if marks.complete:
        return total
    mask = marks.mask[rows]
    weighted = mask.multiply(weight[:, None]).tocsr() if marks.is_sparse else mask * weight[:, None]
    part = np.asarray(weighted.T @ density)
    return total - part if marks.inverted else part


_NEWTON_STEPS = 3
_HALVINGS = 30
_LARGEST_MOVE = 2.0
_JOINT_JUDGES = 2_000
_JUDGE_BLOCK_CELLS = 4_000_000
_POSITIVE = 1.0001
_MOST_LOST = 0.95


@dataclass(frozen=True, slots=True)
class Population:
    """Population of judges: theta ~ N(mu, sigma^2), log alpha ~ N(m, t^2)."""

    mu: float
    sigma: float
    m: float
    t: float


class Judges(NamedTuple):
    """``theta`` and ``log_alpha``, each (n_judges,), or the posterior variances of both."""

    theta: Floats
    log_alpha: Floats


class _Curvature(NamedTuple):
    """Symmetric 2 x 2 matrices in (theta, log alpha), one per judge."""

    tt: Floats
    ta: Floats
    aa: Floats

    def determinant(self) -> Floats:
        return self.tt * self.aa - self.ta**2


def updated_judges(
    marks: Marks, items: ItemPosterior, judges: Judges, population: Population
) -> Judges:
    """Damped Newton steps towards each judge's mode, all judges together.

    The objective is the expected log-likelihood, plus the priors of theta and log alpha, minus
    ``reliability * log alpha``. The last term is the first-order change of the Laplace determinant
    of theta with the scale of the abilities: the mode is then the mode over (alpha theta, log
    alpha). Without it the joint mode of many thetas shrinks the whole scale.
    """
    theta, log_alpha = judges
    tilt = reliability(posterior_variances(items, judges, population).theta, population.sigma)
    weighted = marks.right.T @ items.mean

    def objective(theta: Floats, log_alpha: Floats) -> Floats:
        alpha = np.exp(log_alpha)
        wrong = log_wrong(alpha[:, None] * (theta[:, None] - items.points))
        value = alpha * (theta * marks.n_right - weighted) + (items.counts * wrong).sum(axis=1)
        value -= 0.5 * ((theta - population.mu) / population.sigma) ** 2
        value -= 0.5 * ((log_alpha - population.m) / population.t) ** 2
        return np.asarray(value - tilt * log_alpha)

    value = objective(theta, log_alpha)
    for _ in range(_NEWTON_STEPS):
        moves = _newton_move(marks, items, Judges(theta, log_alpha), population, tilt, weighted)
        for _ in range(_HALVINGS):
            reached = objective(theta + moves[0], log_alpha + moves[1])
            climbs = reached >= value - 1e-12 * (1.0 + np.abs(value))
            if climbs.all():
                break
            moves[:, ~climbs] *= 0.5
        theta, log_alpha, value = theta + moves[0], log_alpha + moves[1], reached
    return Judges(theta, log_alpha)


def _newton_move(
    marks: Marks,
    items: ItemPosterior,
    judges: Judges,
    population: Population,
    tilt: Floats,
    weighted: Floats,
) -> Floats:
    """Return bounded moves (2, n_judges); expected curvature if the observed is not positive."""
    theta, log_alpha = judges
    alpha = np.exp(log_alpha)
    distance = theta[:, None] - items.points
    expected = items.counts * expit(alpha[:, None] * distance)
    pull = alpha * (marks.n_right - expected.sum(axis=1))
    turn = alpha * (theta * marks.n_right - weighted - (expected * distance).sum(axis=1))
    fisher = _curvature(items, judges, population)
    observed = _Curvature(fisher.tt, fisher.ta - pull, fisher.aa - turn)
    positive = observed.tt * observed.aa > _POSITIVE * observed.ta**2
    bent = _Curvature(*(np.where(positive, o, f) for o, f in zip(observed, fisher, strict=True)))
    pull = pull - (theta - population.mu) / population.sigma**2
    turn = turn - (log_alpha - population.m) / population.t**2 - tilt
    move = np.stack([bent.aa * pull - bent.ta * turn, bent.tt * turn - bent.ta * pull])
    move /= bent.determinant()
    return np.asarray(move / np.maximum(1.0, np.abs(move).max(axis=0) / _LARGEST_MOVE))


def _curvature(items: ItemPosterior, judges: Judges, population: Population) -> _Curvature:
    """Expected information for known difficulties, plus prior precision."""
    alpha = np.exp(judges.log_alpha)[:, None]
    distance = judges.theta[:, None] - items.points
    p = expit(alpha * distance)
    weight = items.counts * alpha**2 * p * (1.0 - p)
    tt, aa = weight.sum(axis=1), (weight * distance**2).sum(axis=1)
    ta = (weight * distance).sum(axis=1)
    return _Curvature(tt + population.sigma**-2, ta, aa + population.t**-2)


def _missing(items: ItemPosterior, judges: Judges) -> _Curvature:
    """Information lost because difficulties are unknown: the variance of the scores (Louis 1982).

    With score s(beta) and v = Var(beta), Var(s) = v s'^2 + v^2 s''^2 / 2, to second order; squared
    residuals in s' are replaced by their expectation.
    """
    alpha = np.exp(judges.log_alpha)[:, None]
    distance = judges.theta[:, None] - items.points
    p = expit(alpha * distance)
    slope = alpha**2 * p * (1.0 - p)
    bend = alpha * slope * (1.0 - 2.0 * p)
    turn = bend * distance + 2.0 * slope
    first, second = items.spread, items.spread_squared / 2.0
    return _Curvature(
        (first * slope**2 + second * bend**2).sum(axis=1),
        (first * slope**2 * distance + second * bend * turn).sum(axis=1),
        (first * (slope**2 * distance**2 + slope) + second * turn**2).sum(axis=1),
    )


def posterior_variances(items: ItemPosterior, judges: Judges, population: Population) -> Judges:
    """Laplace variances of each judge given the others.

    The information is the complete information minus the missing part or, if items have few votes
    and that expansion does not hold, the sum of squared scores. At most ``_MOST_LOST`` is
    subtracted.
    """
    if items.information is not None:
        tt, ta, aa = items.information
        seen = _Curvature(tt + population.sigma**-2, ta, aa + population.t**-2)
        return Judges(seen.aa / seen.determinant(), seen.tt / seen.determinant())
    bent = _curvature(items, judges, population)
    lost = _missing(items, judges)
    mixed = bent.tt * lost.aa + bent.aa * lost.tt - 2.0 * bent.ta * lost.ta
    half = mixed / bent.determinant() / 2.0
    root = np.sqrt(np.maximum(half**2 - lost.determinant() / bent.determinant(), 0.0))
    share = np.minimum(1.0, _MOST_LOST / np.maximum(half + root, 1e-300))
    remaining = _Curvature(*(b - share * missing for b, missing in zip(bent, lost, strict=True)))
    determinant = remaining.determinant()
    return Judges(remaining.aa / determinant, remaining.tt / determinant)


def reliability(variance: Floats, sd: float) -> Floats:
    """Share of the population's variance resolved by the votes, in [0, 1]."""
    return np.asarray(np.clip(1.0 - variance / sd**2, 0.0, 1.0))


def updated_normal(
    values: Floats, variances: Floats, mean: float, sd: float, *priors: tuple[float, float]
) -> tuple[float, float]:
    """Return the next mean and log sd of a normal population, from posterior modes and variances.

    A step towards the maximum of the Laplace marginal likelihood with the mean integrated out and
    the hyperpriors (mean, sd) of both added; its fixed points are exactly that maximum.
    """
    (mean_prior, log_sd_prior), log_sd = priors, float(np.log(sd))
    square = np.exp(2.0 * log_sd)
    resolved = reliability(variances, np.exp(log_sd))
    mean_precision = resolved.sum() / square + mean_prior[1] ** -2
    pull = (values - mean).sum() / square - (mean - mean_prior[0]) * mean_prior[1] ** -2
    mean = float(mean + pull / mean_precision)
    excess = ((values - mean) ** 2 + variances + 1.0 / mean_precision) / square - 1.0
    precision = log_sd_prior[1] ** -2
    score = excess.sum() - (log_sd - log_sd_prior[0]) * precision
    step = score / (2.0 * resolved.sum() + precision)
    return mean, float(log_sd + np.clip(step, -0.7, 0.7))


def joint_variances(
    marks: Marks, items: ItemPosterior, judges: Judges, population: Population
) -> Judges:
    """Variances that include uncertainty shared by judges: unknown items, mu and m.

    Inverts the information of all judges together (2 n_judges square). Beyond 2,000 judges, where
    the shared part is small, and if items have few votes, the variances given the others are used.
    """
    n = len(judges.theta)
    if n > _JOINT_JUDGES or items.information is not None:
        return posterior_variances(items, judges, population)
    bent = _curvature(items, judges, population)
    # Missing information of all pairs of judges, as in _missing, with the observed residuals.
    missing = np.zeros((2 * n, 2 * n))
    for rows in column_blocks(marks.n_items, n, _JUDGE_BLOCK_CELLS):
        scores = _scores(marks, items, judges, rows)
        product = scores.T @ scores
        missing += product if isinstance(product, np.ndarray) else product.toarray()
    precision = -missing
    diagonal = np.arange(n)
    precision[diagonal, diagonal] += bent.tt
    precision[diagonal + n, diagonal + n] += bent.aa
    precision[diagonal, diagonal + n] += bent.ta
    precision[diagonal + n, diagonal] += bent.ta
    # Integrating a flat mean out of n normal priors of precision p subtracts p / n from every pair.
    precision[:n, :n] -= population.sigma**-2 / n
    precision[n:, n:] -= population.t**-2 / n
    try:
        factor = linalg.cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return posterior_variances(items, judges, population)
    root = linalg.solve_triangular(factor, np.eye(2 * n), lower=True, overwrite_b=True)
    variances = (root**2).sum(axis=0)
    return Judges(variances[:n], variances[n:])


def _scores(marks: Marks, items: ItemPosterior, judges: Judges, rows: slice) -> Any:
    """Standardised first and second derivatives of the judges' scores in beta.

    (2 n_rows, 2 n_judges): v^(1/2) s', then v s'' / 2^(1/2), at the posterior mean of beta.
    """
    variance, beta = items.variance[rows], items.mean[rows]
    alpha = np.exp(judges.log_alpha)
    weights = np.sqrt(variance), variance / np.sqrt(2.0)
    if marks.is_sparse and not marks.inverted:
        voted = marks.mask[rows].tocoo()
        i, j = voted.coords
        parts = _derivatives(alpha[j], judges.theta[j] - beta[i])
        first, bend, first_a, bend_a = (
            sparse.csr_array((weights[order][i] * part, (i, j)), voted.shape)
            for part, order in zip(parts, (0, 1, 0, 1), strict=True)
        )
        right = marks.right[rows].multiply(weights[0][:, None] * alpha).tocsr()
        return sparse.block_array([[first, first_a - right], [bend, bend_a]], format="csr")
    parts = _derivatives(alpha, judges.theta - beta[:, None])
    voted = marks.voted(rows)
    pairs = zip(parts, (0, 1, 0, 1), strict=True)
    table = [weights[order][:, None] * part * voted for part, order in pairs]
    seen: Any = marks.right[rows]
    hits = seen if isinstance(seen, np.ndarray) else seen.toarray()
    return np.block(
        [[table[0], table[2] - weights[0][:, None] * alpha * hits], [table[1], table[3]]]
    )


def _derivatives(alpha: Floats, distance: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Derivatives in beta of a wrong mark's score: s', s'' in theta, s', s'' in log alpha."""
    p = expit(alpha * distance)
    slope = alpha**2 * p * (1.0 - p)
    bend = -alpha * slope * (1.0 - 2.0 * p)
    return slope, bend, slope * distance + alpha * p, bend * distance - 2.0 * slope


_MEMORY = 10
_LARGEST_MIX = 3.0
_WORSE = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """The last update (n,), the number of updates, and whether it moved less than the tolerance."""

    point: Floats
    iterations: int
    converged: bool


@dataclass(slots=True)
class _History:
    """Past points and residuals, and the best update so far."""

    points: list[Floats] = field(default_factory=list)
    residuals: list[Floats] = field(default_factory=list)
    best: Floats | None = None
    least: float = np.inf

    def clear(self) -> None:
        self.points.clear()
        self.residuals.clear()
        self.best, self.least = None, np.inf

    def next(self, point: Floats, after: Floats, scale: Floats) -> Floats:
        """Return the mixed point, or the best plain update if mixing increased the residual."""
        residual = after - point
        size = float(np.linalg.norm(residual / scale))
        if self.best is not None and size > _WORSE * self.least:
            best = self.best
            self.clear()
            return best
        if size < self.least:
            self.best, self.least = after, size
        self.points = [*self.points, point][-_MEMORY:]
        self.residuals = [*self.residuals, residual][-_MEMORY:]
        if len(self.points) < 2:
            return after
        bends = np.diff(np.array(self.residuals), axis=0)
        moves = np.diff(np.array(self.points), axis=0)
        weights = np.linalg.lstsq((bends / scale).T, residual / scale, rcond=1e-10)[0]
        mixed = after - (moves + bends).T @ weights
        if np.abs(mixed - point).max() > _LARGEST_MIX:
            self.clear()
            return after
        return np.asarray(mixed)


def fixed_point(
    update: Callable[[Floats, int], tuple[Floats, Floats]],
    start: Floats,
    *,
    plain: int,
    tolerance: float,
    max_iterations: int,
) -> FixedPoint:
    """Iterate ``update(point, iteration) -> (next point, scale)`` until it converges.

    The first ``plain`` iterations are not mixed. Moves are measured in units of ``scale`` (n,); the
    iteration stops when the largest element is at most ``tolerance``.
    """
    history, point, iteration = _History(), start, 0
    while True:
        iteration += 1
        after, scale = update(point, iteration)
        still = bool(np.abs((after - point) / scale).max() <= tolerance)
        if (still and iteration > plain) or iteration >= max_iterations:
            return FixedPoint(after, iteration, still)
        point = after if iteration <= plain else history.next(point, after, scale)


MU_PRIOR = (0.0, 5.0)
M_PRIOR = (0.0, 1.5)
LOG_SIGMA_PRIOR = (0.0, 2.0)
LOG_T_PRIOR = (-0.7, 0.5)
"""Mean and standard deviation of the normal hyperpriors; log(.5) = -.7."""

MAX_ITERATIONS = 300
FEW_JUDGES = 5
FEW_VOTES = 100
BLUNT = 0.3
_TOLERANCE = 1e-5
_STRETCHED = 4
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False)
class TwoPLFit:
    """A fitted model.

    Per judge, (n_judges,): ``n_right`` of ``n_voted`` marks were right; ``theta``, ``log_alpha``
    and their standard errors ``theta_se``, ``log_alpha_se``; ``resolved``, the share of Var(theta)
    resolved by the judge's own votes. ``beta``, ``beta_sd`` (n_items,) are posterior means and
    standard deviations. ``log_likelihood`` is in nats, difficulties integrated out. Units of theta
    and beta are standard deviations of difficulty.
    """

    n_right: Floats
    n_voted: Floats
    theta: Floats
    theta_se: Floats
    log_alpha: Floats
    log_alpha_se: Floats
    resolved: Floats
    beta: Floats
    beta_sd: Floats
    population: Population
    log_likelihood: float
    iterations: int
    converged: bool

    @property
    def alpha(self) -> Floats:
        """Discriminations (n_judges,), positive."""
        return np.asarray(np.exp(self.log_alpha))

    def theta_interval(self) -> tuple[Floats, Floats]:
        """95 % interval of the abilities."""
        return self.theta - _Z * self.theta_se, self.theta + _Z * self.theta_se

    def alpha_interval(self) -> tuple[Floats, Floats]:
        """95 % interval of the discriminations, symmetric on the log scale."""
        reach = _Z * self.log_alpha_se
        return np.exp(self.log_alpha - reach), np.exp(self.log_alpha + reach)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that must accompany the numbers."""
        n = len(self.theta)
        warnings = []
        if not self.converged:
            warnings.append(
                f"The item response model had not settled after {self.iterations} iterations: take "
                "its figures as rough."
            )
        if n < FEW_JUDGES:
            warnings.append(
                f"With {n} {'judge' if n == 1 else 'judges'} it is hardly known how much judges "
                "differ: the shares rest mostly on the weak prior."
            )
        flat = int(((self.n_right == 0) | (self.n_right == self.n_voted)).sum())
        if flat:
            warnings.append(
                f"{flat} of {n} judges were right on every item they voted on, wrong on every one, "
                "or did not vote: only the population keeps their abilities finite."
            )
        blunt = int((self.alpha < BLUNT).sum())
        if blunt:
            warnings.append(
                f"{blunt} of {n} judges have a discrimination below {BLUNT}: their curves are "
                "nearly flat, so their abilities lie far out and raise the judges' share. Read it "
                "beside the parts of the fitted logits' variance."
            )
        median = float(np.median(self.n_voted))
        if median < FEW_VOTES:
            warnings.append(
                f"Half of the judges have {median:.0f} votes or fewer: discriminations are drawn "
                "towards each other."
            )
        return tuple(warnings)


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of Var(theta) and Var(beta), in [0, 1], with a 95 % interval of the judges' share.

    ``judges`` + ``items`` = 1: neither includes the interaction Var(alpha) (theta - beta)^2.
    """

    judges: float
    lo: float
    hi: float

    @property
    def items(self) -> float:
        return 1.0 - self.judges


@dataclass(frozen=True, slots=True)
class LogitVariance:
    """Variance of the fitted logits alpha_j (theta_j - beta_i) over judges and items, by component.

    ``judges`` = Var(alpha theta), ``items`` = E[alpha]^2, ``interaction`` = Var(alpha), each times
    Var(beta) = 1 where it applies; they sum to the total.
    """

    judges: float
    items: float
    interaction: float


def fit_two_pl(marks: NDArray[np.int8], *, max_iterations: int = MAX_ITERATIONS) -> TwoPLFit:
    """Fit the model to marks int8 (n_items, n_judges): -1 wrong, 0 no vote, +1 right.

    Time is O(items x (judges + Q)) per iteration for complete marks, with Q of 100 to 700
    difficulty points; about a dozen iterations are typical. If ``converged`` is False, the last
    point is returned.
    """
    table, n = as_marks(marks), marks.shape[1]
    # Abilities start from smoothed accuracies at discrimination 1.
    theta = 1.16 * logit((table.n_right + 1.0) / (table.n_voted + 2.0))
    mu, sigma = theta.mean(), max(float(theta.std()), 0.3)
    start = np.concatenate([theta, np.zeros(n), [mu, np.log(sigma), 0.0, np.log(0.5)]])
    solution = fixed_point(
        partial(_updated, table),
        start,
        plain=_STRETCHED,
        tolerance=_TOLERANCE,
        max_iterations=max_iterations,
    )
    judges = Judges(solution.point[:n], solution.point[n : 2 * n])
    population = _population(solution.point)
    items = item_posterior(table, judges.theta, np.exp(judges.log_alpha))
    variances = joint_variances(table, items, judges, population)
    own = posterior_variances(items, judges, population)
    return TwoPLFit(
        n_right=table.n_right,
        n_voted=table.n_voted,
        theta=judges.theta,
        theta_se=np.sqrt(variances.theta),
        log_alpha=judges.log_alpha,
        log_alpha_se=np.sqrt(variances.log_alpha),
        resolved=reliability(own.theta, population.sigma),
        beta=items.mean,
        beta_sd=np.sqrt(items.variance),
        population=population,
        log_likelihood=items.log_likelihood,
        iterations=solution.iterations,
        converged=solution.converged,
    )


def _population(point: Floats) -> Population:
    mu, log_sigma, m, log_t = point[-4:]
    return Population(float(mu), float(np.exp(log_sigma)), float(m), float(np.exp(log_t)))


def _updated(marks: Marks, point: Floats, iteration: int) -> tuple[Floats, Floats]:
    """One plain update of (theta, log alpha, mu, log sigma, m, log t), and the scale of each."""
    n = len(marks.n_right)
    population = _population(point)
    before = Judges(point[:n], point[n : 2 * n])
    items = item_posterior(marks, before.theta, np.exp(before.log_alpha))
    judges = updated_judges(marks, items, before, population)
    if iteration <= _STRETCHED:
        # Rescale judges so that the items' posteriors together have mean 0 and variance 1.
        shift = float(items.mean.mean())
        square = float((items.variance + (items.mean - shift) ** 2).mean())
        resolved = float((np.clip(1.0 - items.variance, 0.0, 1.0) ** 2).mean())
        log_scale = float(np.clip(0.5 * np.log(square) / max(resolved, 0.05), -0.5, 0.5))
        scale = np.exp(log_scale)
        judges = Judges((judges.theta - shift) / scale, judges.log_alpha + log_scale)
        mu, sigma = (population.mu - shift) / scale, population.sigma / scale
        population = Population(mu, sigma, population.m + log_scale, population.t)
    variances = posterior_variances(items, judges, population)
    mu, log_sigma = updated_normal(
        judges.theta, variances.theta, population.mu, population.sigma, MU_PRIOR, LOG_SIGMA_PRIOR
    )
    m, log_t = updated_normal(
        judges.log_alpha, variances.log_alpha, population.m, population.t, M_PRIOR, LOG_T_PRIOR
    )
    scales = np.concatenate([*np.sqrt(variances), np.full(4, 1.0 / np.sqrt(n))])
    return np.concatenate([*judges, [mu, log_sigma, m, log_t]]), scales


def variance_shares(
    fit: TwoPLFit, units: NDArray[np.int64] | None = None, families: NDArray[np.int64] | None = None
) -> Shares:
    """Shares of Var(theta) and Var(beta) on the logit scale, E[alpha^2] common to both.

    The interval is a normal one for log(sigma^2 / Var(beta)). The variance of each log variance is
    the larger of the inverse information of the marginal likelihood and its robust form (squared
    scores), so heavy tails widen it; items of one unit (``units`` (n_items,), integer codes) and
    judges of one family (``families`` (n_judges,)) count as one draw. Near-copies not declared as a
    family count as several judges, which makes the interval too narrow. The estimand is a
    population of judges and of items like these.
    """
    sigma = fit.population.sigma
    variance = (1.0 - fit.resolved) * sigma**2
    judge_scores = ((fit.theta - fit.population.mu) ** 2 + variance) / sigma**2 - 1.0
    item_scores = fit.beta**2 + fit.beta_sd**2 - 1.0
    resolved = np.clip(1.0 - fit.beta_sd**2, 0.0, 1.0)
    judge_scores, item_scores = _by_code(judge_scores, families), _by_code(item_scores, units)
    spread = _log_variance(judge_scores, fit.resolved, LOG_SIGMA_PRIOR[1] ** -2 / 2.0)
    spread += _log_variance(item_scores, resolved, 0.0)
    odds, reach = 2.0 * np.log(sigma), _Z * np.sqrt(spread)
    low, middle, high = expit(odds + np.array([-reach, 0.0, reach]))
    return Shares(float(middle), float(low), float(high))


def _by_code(scores: Floats, codes: NDArray[np.int64] | None) -> Floats:
    if codes is None:
        return scores
    return np.bincount(np.unique(codes, return_inverse=True)[1], weights=scores).astype(np.float64)


def _log_variance(scores: Floats, resolved: Floats, prior: float) -> float:
    """Variance of a log variance whose score is sum(scores) / 2."""
    information = 0.5 * float((resolved**2).sum()) + prior
    if information <= 0.0:
        return float(np.log(1e6) ** 2)
    n = len(scores)
    robust = 0.25 * float((scores**2).sum()) * n / max(n - 1, 1) / information**2
    return max(1.0 / information, robust)


def logit_variance(fit: TwoPLFit) -> LogitVariance:
    """Components of the variance of the fitted logits; point values for these judges."""
    alpha = fit.alpha
    judges = float(np.var(alpha * fit.theta))
    return LogitVariance(judges, items=float(alpha.mean() ** 2), interaction=float(np.var(alpha)))
