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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from judgepanel.arrays import Floats
from judgepanel.kernels.judges.fixed_point import fixed_point
from judgepanel.kernels.judges.irt_items import ItemPosterior, Marks, as_marks, item_posterior
from judgepanel.kernels.judges.irt_judges import (
    Judges,
    Population,
    joint_variances,
    posterior_variances,
    reliability,
    updated_judges,
    updated_normal,
)

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
        return tuple(_warnings(self))


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
    table = as_marks(marks)
    n = marks.shape[1]

    def update(point: Floats, iteration: int) -> tuple[Floats, Floats]:
        return _updated(table, point, stretched=iteration <= _STRETCHED)

    solution = fixed_point(
        update,
        _start(table),
        plain=_STRETCHED,
        tolerance=_TOLERANCE,
        max_iterations=max_iterations,
    )
    judges, population = (
        Judges(solution.point[:n], solution.point[n : 2 * n]),
        _population(solution.point),
    )
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


def _start(marks: Marks) -> Floats:
    """Abilities from smoothed accuracies at discrimination 1."""
    share = (marks.n_right + 1.0) / (marks.n_voted + 2.0)
    theta = 1.16 * logit(share)
    mu, sigma = theta.mean(), max(float(theta.std()), 0.3)
    return np.concatenate([theta, np.zeros(len(theta)), [mu, np.log(sigma), 0.0, np.log(0.5)]])


def _population(point: Floats) -> Population:
    mu, log_sigma, m, log_t = point[-4:]
    return Population(float(mu), float(np.exp(log_sigma)), float(m), float(np.exp(log_t)))


def _updated(marks: Marks, point: Floats, *, stretched: bool) -> tuple[Floats, Floats]:
    """One plain update of (theta, log alpha, mu, log sigma, m, log t), and the scale of each."""
    n = len(marks.n_right)
    population = _population(point)
    before = Judges(point[:n], point[n : 2 * n])
    items = item_posterior(marks, before.theta, np.exp(before.log_alpha))
    judges = updated_judges(marks, items, before, population)
    if stretched:
        judges, population = _stretched(items, judges, population)
    variances = posterior_variances(items, judges, population)
    mu, log_sigma = updated_normal(
        judges.theta,
        variances.theta,
        population.mu,
        float(np.log(population.sigma)),
        MU_PRIOR,
        LOG_SIGMA_PRIOR,
    )
    m, log_t = updated_normal(
        judges.log_alpha,
        variances.log_alpha,
        population.m,
        float(np.log(population.t)),
        M_PRIOR,
        LOG_T_PRIOR,
    )
    hyper = np.array([mu, log_sigma, m, log_t])
    scale = np.concatenate([*np.sqrt(variances), np.full(4, 1.0 / np.sqrt(n))])
    return np.concatenate([*judges, hyper]), scale


def _stretched(
    items: ItemPosterior, judges: Judges, population: Population
) -> tuple[Judges, Population]:
    """Rescale judges so that the items' posteriors together have mean 0 and variance 1."""
    shift = float(items.mean.mean())
    square = float((items.variance + (items.mean - shift) ** 2).mean())
    resolved = float((np.clip(1.0 - items.variance, 0.0, 1.0) ** 2).mean())
    log_scale = float(np.clip(0.5 * np.log(square) / max(resolved, 0.05), -0.5, 0.5))
    scale = np.exp(log_scale)
    moved = Judges((judges.theta - shift) / scale, judges.log_alpha + log_scale)
    return moved, Population(
        (population.mu - shift) / scale,
        population.sigma / scale,
        population.m + log_scale,
        population.t,
    )


def variance_shares(
    fit: TwoPLFit,
    units: NDArray[np.int64] | None = None,
    families: NDArray[np.int64] | None = None,
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
    return LogitVariance(
        judges=float(np.var(alpha * fit.theta)),
        items=float(alpha.mean() ** 2),
        interaction=float(np.var(alpha)),
    )


def _warnings(fit: TwoPLFit) -> list[str]:
    n = len(fit.theta)
    warnings = []
    if not fit.converged:
        warnings.append(
            f"The item response model had not settled after {fit.iterations} iterations: take its "
            "figures as rough."
        )
    if n < FEW_JUDGES:
        warnings.append(
            f"With {n} {'judge' if n == 1 else 'judges'} it is hardly known how much judges "
            "differ: the shares rest mostly on the weak prior."
        )
    flat = int(((fit.n_right == 0) | (fit.n_right == fit.n_voted)).sum())
    if flat:
        warnings.append(
            f"{flat} of {n} judges were right on every item they voted on, wrong on every one, or "
            "did not vote: only the population keeps their abilities finite."
        )
    blunt = int((fit.alpha < BLUNT).sum())
    if blunt:
        warnings.append(
            f"{blunt} of {n} judges have a discrimination below {BLUNT}: their curves are nearly "
            "flat, so their abilities lie far out and raise the judges' share. Read it beside the "
            "parts of the fitted logits' variance."
        )
    median = float(np.median(fit.n_voted))
    if median < FEW_VOTES:
        warnings.append(
            f"Half of the judges have {median:.0f} votes or fewer: discriminations are drawn "
            "towards each other."
        )
    return warnings
