"""Two-parameter logistic model: likelihoods, recovery, odd panels; accelerated fixed points."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import expit

from judgepanel.kernels import irt


def simulated(seed=0, n_items=300, n_judges=20, *, mu=1.0, sigma=1.0, t=0.4, missing=0.0):
    """Marks of a panel with known theta, log alpha, beta."""
    rng = np.random.default_rng(seed)
    theta, log_alpha = rng.normal(mu, sigma, n_judges), rng.normal(0.0, t, n_judges)
    beta = rng.normal(size=n_items)
    p = expit(np.exp(log_alpha) * (theta - beta[:, None]))
    marks = np.where(rng.random(p.shape) < p, 1, -1)
    marks[rng.random(p.shape) < missing] = 0
    return marks.astype(np.int8), theta, log_alpha, beta


def integral(row, theta, alpha, weight=lambda beta: 1.0):
    """Adaptive quadrature over beta ~ N(0, 1)."""

    def density(beta):
        p = expit(alpha * (theta - beta))
        likelihood = np.prod(np.where(row > 0, p, np.where(row < 0, 1 - p, 1.0)))
        return likelihood * stats.norm.pdf(beta) * weight(beta)

    return integrate.quad(density, -12, 12, epsabs=1e-13, epsrel=1e-10, limit=400)[0]


def log_likelihood(marks, theta, alpha):
    """Of all items, on a grid far finer and wider than the kernel's."""
    beta = np.linspace(-9, 9, 601)
    eta = alpha * (theta - beta[:, None])
    right, wrong = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
    log_p = (marks > 0) @ right.T + (marks < 0) @ wrong.T + stats.norm.logpdf(beta)
    return float(np.logaddexp.reduce(log_p + np.log(beta[1] - beta[0]), axis=1).sum())


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.4, 0.95])
def test_difficulties_are_integrated_out_exactly(missing):
    marks, theta, log_alpha, _ = simulated(1, 12, 5, missing=missing)
    alpha = np.exp(log_alpha)
    posterior = irt.item_posterior(irt.as_marks(marks), theta, alpha)
    evidence = [integral(row, theta, alpha) for row in marks]
    assert posterior.log_likelihood == pytest.approx(np.log(evidence).sum(), abs=1e-7)
    for i, row in enumerate(marks):
        mean = integral(row, theta, alpha, lambda b: b) / evidence[i]
        square = integral(row, theta, alpha, lambda b: b * b) / evidence[i]
        assert posterior.mean[i] == pytest.approx(mean, abs=1e-7)
        assert posterior.variance[i] == pytest.approx(square - mean**2, abs=1e-7)


def test_expected_counts_add_up_to_the_votes_of_each_judge():
    marks, theta, log_alpha, _ = simulated(2, 200, 8, missing=0.3)
    posterior = irt.item_posterior(irt.as_marks(marks), theta, np.exp(log_alpha))
    np.testing.assert_allclose(posterior.counts.sum(axis=1), (marks != 0).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("missing", [0.02, 0.3, 0.93])
@pytest.mark.parametrize("block", [50, 10**6])
def test_dense_sparse_and_blocked_forms_agree(missing, block, monkeypatch):
    marks, theta, log_alpha, _ = simulated(3, 90, 11, missing=missing)
    plain = irt.item_posterior(irt.as_marks(marks), theta, np.exp(log_alpha))
    monkeypatch.setattr(irt, "_BLOCK_CELLS", block)
    for share in (0.0, 1.1):
        monkeypatch.setattr(irt, "_SPARSE_SHARE", share)
        other = irt.item_posterior(irt.as_marks(marks), theta, np.exp(log_alpha))
        np.testing.assert_allclose(other.counts, plain.counts, atol=1e-9)
        np.testing.assert_allclose(other.mean, plain.mean, atol=1e-11)
        assert other.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-8)


def test_the_quadrature_holds_items_that_everyone_got_wrong():
    theta, alpha = np.full(150, 3.0), np.full(150, 2.0)
    marks = np.stack([np.full(150, -1), np.full(150, 1)]).astype(np.int8)
    posterior = irt.item_posterior(irt.as_marks(marks), theta, alpha)
    points = irt.quadrature(theta, alpha, 150)
    reach = 5 * np.sqrt(posterior.variance)
    assert posterior.mean[0] > 4
    assert (points[0] < posterior.mean - reach).all()
    assert (posterior.mean + reach < points[-1]).all()
    assert points[1] - points[0] <= np.sqrt(posterior.variance).min()
    fine = log_likelihood(marks, theta, alpha)
    assert posterior.log_likelihood == pytest.approx(fine, abs=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_fit_is_a_stationary_point(missing):
    """Central differences of the marginal likelihood and the priors vanish at the mode."""
    marks, *_ = simulated(4, 150, 6, missing=missing)
    fit = irt.fit_two_pl(marks)
    assert fit.converged
    where = fit.population

    def objective(point):
        theta, log_alpha = point[:6], point[6:]
        return (
            log_likelihood(marks, theta, np.exp(log_alpha))
            - 0.5 * (((theta - where.mu) / where.sigma) ** 2).sum()
            - 0.5 * (((log_alpha - where.m) / where.t) ** 2).sum()
            - fit.resolved @ log_alpha
        )

    best = np.concatenate([fit.theta, fit.log_alpha])
    se = np.concatenate([fit.theta_se, fit.log_alpha_se])
    for i in range(12):
        step = np.zeros(12)
        step[i] = 1e-3
        slope = (objective(best + step) - objective(best - step)) / 2e-3
        assert abs(slope) * se[i] < 1e-3  # standard errors away from the mode


def test_standard_errors_are_those_of_the_observed_information():
    """Against the inverse Hessian of all judges together, by differences on a fine grid."""
    marks, *_ = simulated(5, 300, 4)
    fit = irt.fit_two_pl(marks)
    where, n = fit.population, 4

    def objective(point):
        theta, log_alpha = point[:n], point[n:]
        spread = ((theta - theta.mean()) ** 2).sum() / where.sigma**2
        spread += ((log_alpha - log_alpha.mean()) ** 2).sum() / where.t**2
        return log_likelihood(marks, theta, np.exp(log_alpha)) - 0.5 * spread

    best, h = np.concatenate([fit.theta, fit.log_alpha]), 0.02
    unit = np.eye(2 * n) * h
    hessian = np.zeros((2 * n, 2 * n))
    for i, j in zip(*np.triu_indices(2 * n), strict=True):
        hessian[i, j] = hessian[j, i] = (
            objective(best + unit[i] + unit[j])
            - objective(best + unit[i] - unit[j])
            - objective(best - unit[i] + unit[j])
            + objective(best - unit[i] - unit[j])
        ) / (4 * h * h)
    wanted = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    result = np.concatenate([fit.theta_se, fit.log_alpha_se])
    np.testing.assert_allclose(result, wanted, rtol=0.15)


def test_parameters_and_shares_of_a_complete_panel_are_recovered():
    marks, theta, log_alpha, beta = simulated(6, 1000, 100)
    fit = irt.fit_two_pl(marks)
    assert fit.converged
    assert np.corrcoef(fit.theta, theta)[0, 1] > 0.98
    assert np.corrcoef(fit.log_alpha, log_alpha)[0, 1] > 0.95
    assert np.corrcoef(fit.beta, beta)[0, 1] > 0.95
    ratio = theta.var(ddof=1) / beta.var(ddof=1)
    shares = irt.variance_shares(fit)
    assert shares.judges == pytest.approx(ratio / (1 + ratio), abs=0.03)
    assert shares.lo < shares.judges < shares.hi
    assert fit.population.t == pytest.approx(log_alpha.std(ddof=1), abs=0.1)
    assert np.mean(np.abs(fit.theta - theta) < 1.96 * fit.theta_se) > 0.85
    assert np.mean(np.abs(fit.beta - beta) < 1.96 * fit.beta_sd) > 0.92


@pytest.mark.simulation
@pytest.mark.parametrize(("sigma", "share"), [(0.4, 0.14), (2.0, 0.80)])
def test_shares_are_not_pulled_to_one_half(sigma, share):
    errors = []
    for seed in range(4):
        marks, theta, _, beta = simulated(seed, 600, 80, sigma=sigma, missing=0.3)
        ratio = theta.var(ddof=1) / beta.var(ddof=1)
        errors.append(irt.variance_shares(irt.fit_two_pl(marks)).judges - ratio / (1 + ratio))
        assert abs(ratio / (1 + ratio) - share) < 0.1
    assert abs(np.mean(errors)) < 0.02
    assert np.abs(errors).max() < 0.05


def test_votes_missing_at_random_cost_precision_only():
    marks, *_ = simulated(7, 800, 40)
    fewer = np.where(np.random.default_rng(1).random(marks.shape) < 0.5, 0, marks).astype(np.int8)
    whole, part = irt.fit_two_pl(marks), irt.fit_two_pl(fewer)
    z = (part.theta - whole.theta) / part.theta_se
    assert np.abs(z).max() < 4
    assert (part.theta_se > whole.theta_se).all()
    assert abs(irt.variance_shares(part).judges - irt.variance_shares(whole).judges) < 0.05


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.floats(0.0, 0.6))
def test_permuting_judges_and_items_permutes_the_fit(seed, missing):
    marks, *_ = simulated(seed, 150, 7, missing=missing)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(150), rng.permutation(7)
    first, other = irt.fit_two_pl(marks), irt.fit_two_pl(marks[rows][:, columns])
    assume(first.converged and other.converged)  # what has not come to rest says so, and may differ
    np.testing.assert_allclose(other.theta, first.theta[columns], atol=2e-3)
    np.testing.assert_allclose(other.log_alpha, first.log_alpha[columns], atol=2e-3)
    np.testing.assert_allclose(other.beta, first.beta[rows], atol=2e-3)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_turning_right_and_wrong_round_mirrors_abilities_and_difficulties(seed):
    marks, *_ = simulated(seed, 80, 6, mu=0.0, missing=0.2)
    first, other = irt.fit_two_pl(marks), irt.fit_two_pl(-marks)
    assume(first.converged and other.converged)  # else it warns, and stops somewhere on the way
    np.testing.assert_allclose(other.theta, -first.theta, atol=2e-3)
    np.testing.assert_allclose(other.log_alpha, first.log_alpha, atol=2e-3)
    np.testing.assert_allclose(other.beta, -first.beta, atol=2e-3)


def test_an_item_without_votes_keeps_the_prior_and_changes_no_judge():
    marks, *_ = simulated(8, 100, 6)
    more = np.vstack([marks, np.zeros((1, 6), np.int8)])
    first, other = irt.fit_two_pl(marks), irt.fit_two_pl(more)
    assert (other.beta[-1], other.beta_sd[-1]) == pytest.approx((0.0, 1.0), abs=1e-6)
    np.testing.assert_allclose(other.theta, first.theta, atol=1e-3)


COLUMNS = {"always right": 1, "always wrong": -1, "silent": 0}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_degenerate_judge_stays_finite_and_is_named_in_the_warnings(kind):
    marks, *_ = simulated(9, 120, 8)
    marks[:, 3] = COLUMNS[kind]
    fit = irt.fit_two_pl(marks)
    assert_finite(fit)
    rank = np.argsort(np.argsort(fit.theta))[3]
    assert rank == {"always right": 7, "always wrong": 0}.get(kind, rank)
    if kind == "silent":
        assert fit.theta[3] == pytest.approx(fit.population.mu, abs=0.1)
        assert fit.theta_se[3] >= 0.95 * fit.population.sigma
    assert any("1 of 8 judges were right on every item" in line for line in fit.warnings)


PANELS = {
    "one judge": lambda: simulated(0, 80, 1)[0],
    "one judge, always right": lambda: np.ones((30, 1)),
    "one item": lambda: simulated(0, 1, 6)[0],
    "one vote": lambda: np.ones((1, 1)),
    "all right": lambda: np.ones((40, 5)),
    "all wrong": lambda: -np.ones((40, 5)),
    "copies of one judge": lambda: np.tile(simulated(0, 80, 1)[0], (1, 6)),
    "two opposite judges": lambda: simulated(0, 80, 1)[0] * np.array([1, -1]),
    "perfectly ordered": lambda: np.where(8 * np.arange(10) > np.arange(80)[:, None], 1, -1),
    "no votes": lambda: np.zeros((5, 3)),
    "coin tosses": lambda: np.where(np.random.default_rng(0).random((100, 6)) < 0.5, 1, -1),
}


@pytest.mark.parametrize("panel", PANELS)
def test_odd_panels_give_finite_figures(panel):
    fit = irt.fit_two_pl(PANELS[panel]().astype(np.int8))
    assert_finite(fit)
    assert 0.0 <= irt.variance_shares(fit).lo <= irt.variance_shares(fit).judges <= 1.0


def assert_finite(fit):
    arrays = (fit.theta, fit.theta_se, fit.log_alpha, fit.log_alpha_se, fit.beta, fit.beta_sd)
    for values in (*arrays, fit.resolved, *fit.theta_interval(), *fit.alpha_interval()):
        assert np.isfinite(values).all()
    where = fit.population
    assert np.isfinite([where.mu, where.sigma, where.m, where.t, fit.log_likelihood]).all()
    assert np.isfinite(
        list(vars_of(irt.variance_shares(fit)) + vars_of(irt.logit_variance(fit)))
    ).all()


def vars_of(slotted):
    return [getattr(slotted, name) for name in slotted.__slots__]


def test_an_anti_expert_has_a_very_low_ability_and_a_positive_discrimination():
    marks, *_ = simulated(10, 400, 12)
    marks[:, 0] = -marks[:, 1]
    fit = irt.fit_two_pl(marks)
    assert fit.theta.argmin() == 0
    assert fit.alpha[0] > 0


def test_a_fit_that_was_stopped_says_so():
    marks, *_ = simulated(11, 100, 6)
    fit = irt.fit_two_pl(marks, max_iterations=3)
    assert not fit.converged
    assert "not settled after 3 iterations" in fit.warnings[0]
    assert irt.fit_two_pl(marks).converged


def test_items_of_a_group_widen_the_interval():
    marks, *_ = simulated(12, 100, 30)
    fit = irt.fit_two_pl(np.tile(marks, (4, 1)))
    alone, grouped = irt.variance_shares(fit), irt.variance_shares(fit, np.tile(np.arange(100), 4))
    assert grouped.judges == alone.judges
    assert grouped.hi - grouped.lo > alone.hi - alone.lo


def test_probabilities_of_being_right_are_posterior_means():
    marks, theta, log_alpha, _ = simulated(13, 6, 4, missing=0.3)
    alpha = np.exp(log_alpha)
    probability = irt.right_probability(irt.as_marks(marks), theta, alpha)
    for i, row in enumerate(marks):
        for j in range(4):
            mean = integral(row, theta, alpha, lambda b, j=j: expit(alpha[j] * (theta[j] - b)))
            assert probability[i, j] == pytest.approx(mean / integral(row, theta, alpha), abs=1e-6)


def test_the_parts_of_the_logit_variance_add_up():
    fit = irt.fit_two_pl(simulated(14, 100, 9)[0])
    parts = irt.logit_variance(fit)
    beta = np.array([-1.0, 1.0])  # mean 0 and variance 1, as the model's difficulties
    logits = fit.alpha * (fit.theta - beta[:, None])
    assert parts.judges + parts.items + parts.interaction == pytest.approx(logits.var())


def test_reliability_is_a_share():
    result = irt.reliability(np.array([0.0, 1.0, 4.0, 9.0]), 2.0)
    np.testing.assert_allclose(result, [1.0, 0.75, 0.0, 0.0])


def test_the_hyperpriors_are_weak_beside_a_panel():
    """A fourth of the prior's precision, or four times it, moves no share by .01."""
    marks, *_ = simulated(15, 300, 60)
    share = irt.variance_shares(irt.fit_two_pl(marks)).judges
    for factor in (0.5, 2.0):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("MU_PRIOR", "M_PRIOR", "LOG_SIGMA_PRIOR", "LOG_T_PRIOR"):
                mean, sd = getattr(irt, name)
                patch.setattr(irt, name, (mean, sd * factor))
            assert irt.variance_shares(irt.fit_two_pl(marks)).judges == pytest.approx(
                share, abs=0.01
            )


def test_judges_of_one_family_count_as_one_draw():
    marks, *_ = simulated(9, 300, 6)
    copies = np.repeat(marks, 5, axis=1)  # six families of five copies
    fit = irt.fit_two_pl(copies)
    alone = irt.variance_shares(fit)
    together = irt.variance_shares(fit, None, np.repeat(np.arange(6), 5))
    assert together.judges == alone.judges
    assert together.hi - together.lo > 1.2 * (alone.hi - alone.lo)


def contraction(seed, n=12, rate=0.999):
    """A linear map with a known fixed point and rates up to ``rate``."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis @ np.diag(np.append(np.linspace(0, 0.1, n - 3), [0.9, 0.99, rate])) @ basis.T
    goal = rng.normal(size=n)
    return (lambda x, iteration: (goal + matrix @ (x - goal), np.ones(n))), goal


@pytest.mark.parametrize("seed", range(4))
def test_slow_directions_are_crossed_in_a_few_steps(seed):
    update, goal = contraction(seed)
    point = irt.fixed_point(update, np.zeros(12), plain=2, tolerance=1e-10, max_iterations=40)
    assert point.converged
    np.testing.assert_allclose(point.point, goal, atol=1e-6)


def test_an_update_without_a_fixed_point_ends_and_says_so():
    point = irt.fixed_point(
        lambda x, _: (x + 1.0, np.ones(1)), np.zeros(1), plain=2, tolerance=1e-6, max_iterations=25
    )
    assert not point.converged
    assert point.iterations == 25
    assert np.isfinite(point.point).all()


def test_a_nonlinear_map_is_solved():
    def cosine(x, _):
        return np.cos(x), np.ones(1)

    point = irt.fixed_point(cosine, np.zeros(1), plain=1, tolerance=1e-12, max_iterations=50)
    assert point.converged
    assert point.point[0] == pytest.approx(0.7390851332151607, abs=1e-10)
