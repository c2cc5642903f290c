"""Batched calibrators against SciPy and on doubled data, their Newton steps, and isotonic ones."""

import itertools

import numpy as np
import pytest

from judgepanel.kernels import maps
from judgepanel.kernels.calibration import CALIBRATORS, INPUT_CLIP, MAPS, apply_map, fit
from judgepanel.kernels.maps import fit_isotonic, sigmoid
from judgepanel.votes import InputError
from tests.kernels.calibrate.calibration_oracle import brute_fit, objective

FITTED = ("temperature", "platt", "beta", "beta_clipped", "beta_l2", "beta_free")


def column(seed, *, scale=2.0, n=80, shift=0.5, extreme=False):
    """Raw logits (n,) of moderate skill and their signs (n,)."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], n)
    logits = scale * (rng.normal(0.0, 1.0, n) + shift * signs)
    if extreme:
        logits[:3] = 500.0, -500.0, 500.0
    return logits, signs


def weights_of(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "none": None,
        "zeros and ones": rng.integers(0, 2, n).astype(float),
        "any size": rng.uniform(0.1, 2.0, n),
        "small": rng.uniform(0.0, 0.01, n),
    }[kind]


def fit_one(name, logits, signs, weights=None, **options):
    fitted = fit(
        (name,), logits[None], signs, None if weights is None else weights[None], **options
    )[name]
    return fitted.params[0], bool(fitted.replaced[0])


def assert_same_optimum(result, best, name, logits, signs, weights=None):
    value = objective(result, name, logits, signs, weights)
    assert value <= objective(best, name, logits, signs, weights) + 1e-9
    np.testing.assert_allclose(result, best, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("scale", [0.3, 2.0, 30.0, 200.0])
@pytest.mark.parametrize("extreme", [False, True])
def test_a_fit_is_the_optimum_that_scipy_finds(name, scale, extreme):
    for seed in range(2):
        logits, signs = column(seed, scale=scale, extreme=extreme)
        result, replaced = fit_one(name, logits, signs)
        assert not replaced
        assert_same_optimum(result, brute_fit(name, logits, signs), name, logits, signs)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("kind", ["zeros and ones", "any size", "small"])
def test_weights_weigh(name, kind):
    logits, signs = column(5)
    weights = weights_of(kind, len(logits))
    result, _ = fit_one(name, logits, signs, weights)
    best = brute_fit(name, logits, signs, weights)
    assert_same_optimum(result, best, name, logits, signs, weights)


@pytest.mark.parametrize("name", FITTED)
def test_large_columns_are_fitted_as_well_as_small_ones(name):
    logits, signs = column(6, n=1500, scale=12.0)
    result, _ = fit_one(name, logits, signs)
    assert_same_optimum(result, brute_fit(name, logits, signs), name, logits, signs)


@pytest.mark.parametrize("name", FITTED)
def test_a_weight_of_zero_is_a_row_left_out(name):
    logits, signs = column(7)
    weights = weights_of("zeros and ones", len(logits))
    remaining = weights > 0
    with_zeros, _ = fit_one(name, logits, signs, weights)
    without, _ = fit_one(name, logits[remaining], signs[remaining])
    np.testing.assert_allclose(with_zeros, without, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("seed", range(3))
def test_a_symmetric_fit_is_a_fit_to_every_item_and_its_swap(name, seed):
    logits, signs = column(seed, scale=3.0)
    symmetric, _ = fit_one(name, logits, signs, symmetric=True)
    doubled, replaced = fit_one(name, np.r_[logits, -logits], np.r_[signs, -signs])
    assert not replaced
    np.testing.assert_allclose(symmetric, doubled, rtol=0, atol=1e-7)
    assert symmetric[0] == -symmetric[1]
    assert symmetric[2] == 0.0


@pytest.mark.parametrize("bounded", [True, False])
def test_the_elastic_net_on_doubled_data_ties_a_and_b_by_itself(bounded):
    logits, signs = column(3, scale=3.0)
    start = np.array([[0.3, -1.2, 0.7]])
    params, converged = maps.fit_beta(
        np.r_[logits, -logits][None], np.r_[signs, -signs][None], None, start=start, bounded=bounded
    )
    assert converged.all()
    assert abs(params[0, 0] + params[0, 1]) < 1e-8
    assert abs(params[0, 2]) < 1e-8


def test_swapping_any_items_moves_no_bit_of_a_symmetric_fit():
    logits, signs = column(4)
    flip = np.where(np.random.default_rng(0).random(len(logits)) < 0.5, -1.0, 1.0)
    new = np.linspace(-9.0, 9.0, 37)[None]
    entry = fit(CALIBRATORS, logits[None], signs, symmetric=True)
    other = fit(CALIBRATORS, (logits * flip)[None], signs * flip, symmetric=True)
    for name in CALIBRATORS:
        np.testing.assert_array_equal(entry[name](new), other[name](new))


@pytest.mark.parametrize("seed", range(4))
def test_beta_is_monotone_and_its_bounds_bind_where_scores_point_the_wrong_way(seed):
    logits, signs = column(seed, shift=-0.7)
    (a, b, _), _ = fit_one("beta", logits, signs)
    assert a >= 0.0
    assert b <= 0.0
    assert a == 0.0 or b == 0.0


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_papers_beta_may_turn_round(symmetric):
    logits, signs = column(1, shift=-1.5)
    params, _ = fit_one("beta_clipped", logits, signs, symmetric=symmetric)
    assert params[0] < 0.0 < params[1]
    best = brute_fit("beta_clipped", logits, signs, tied=symmetric)
    assert_same_optimum(params, best, "beta_clipped", logits, signs)


def test_the_papers_beta_does_not_see_beyond_its_clip():
    logits, signs = column(2, scale=50.0)
    entry, _ = fit_one("beta_clipped", logits, signs)
    clipped = np.clip(logits, -INPUT_CLIP, INPUT_CLIP)
    other, _ = fit_one("beta_clipped", clipped, signs)
    np.testing.assert_allclose(entry, other, rtol=0, atol=1e-8)
    fitted = fit(("beta_clipped",), logits[None], signs)["beta_clipped"]
    np.testing.assert_array_equal(fitted(logits[None]), fitted(clipped[None]))


def separated(kind):
    logits = np.array([-3.0, -1.0, -0.5, 0.5, 1.0, 3.0])
    signs = np.sign(logits)
    return {
        "separated": (logits, signs),
        "separated, huge": (500.0 * logits, signs),
        "separated, tiny": (1e-3 * logits, signs),
        "separated the wrong way": (logits, -signs),
        "touching": (np.array([-1.0, 0.0, 0.0, 1.0]), np.array([-1.0, -1.0, 1.0, 1.0])),
        "touching, huge": (np.array([-300.0, 0.0, 0.0, 300.0]), np.array([-1.0, -1.0, 1.0, 1.0])),
        "separated off the middle": (logits + 10.0, signs),
        "all ones": (logits, np.ones(6)),
        "all zeros": (logits, -np.ones(6)),
        "all ones, one score": (np.full(6, 2.0), np.ones(6)),
        "no score": (np.zeros(6), np.array([1.0, -1.0] * 3)),
        "one score": (np.full(40, 2.0), np.array([1.0, 1.0, 1.0, -1.0] * 10)),
        "huge": (np.repeat([-700.0, 700.0], 20), np.tile([-1.0, -1.0, -1.0, 1.0], 10)),
        "3 labels": (np.array([-1.0, 2.0, 0.5]), np.array([-1.0, 1.0, -1.0])),
        "1 label": (np.array([0.3]), np.ones(1)),
        "no weight": (logits, signs),
    }[kind]


SEPARATED = (
    *("separated", "separated, huge", "separated, tiny", "separated the wrong way", "touching"),
    *("touching, huge", "separated off the middle", "all ones", "all zeros", "all ones, one score"),
)


@pytest.mark.parametrize("kind", SEPARATED)
def test_platt_without_a_finite_optimum_is_replaced_by_temperature_and_says_so(kind):
    logits, signs = separated(kind)
    fits = fit(("temperature", "platt"), logits[None], signs)
    assert fits["platt"].replaced.tolist() == [True]
    assert fits["temperature"].replaced.tolist() == [False]
    np.testing.assert_array_equal(fits["platt"].params, fits["temperature"].params)


def test_platt_is_replaced_only_in_the_columns_that_need_it():
    hard, signs = column(0)
    easy = 3.0 * signs
    fits = fit(("temperature", "platt"), np.stack([hard, easy, hard]), signs)
    assert fits["platt"].replaced.tolist() == [False, True, False]
    assert fits["platt"].params[1].tolist() == fits["temperature"].params[1].tolist()
    np.testing.assert_array_equal(fits["platt"].params[0], fits["platt"].params[2])


def test_platt_sees_one_class_only_where_weights_leave_one_class():
    logits, signs = column(0)
    assert fit_one("platt", logits, signs, (signs > 0).astype(float))[1]


AWKWARD = (*SEPARATED, "no score", "one score", "huge", "3 labels", "1 label", "no weight")
MAY_BE_REPLACED = ("platt", "beta_free", "isotonic", "auto")


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("symmetric", [True, False])
def test_no_fit_gives_nan_inf_or_a_slope_beyond_its_limit(kind, symmetric):
    """Where there is no finite optimum temperature stands in, and says so."""
    logits, signs = separated(kind)
    weights = np.zeros((1, 6)) if kind == "no weight" else None
    wide = np.r_[logits, np.linspace(-700.0, 700.0, 281)][None]
    fits = fit(CALIBRATORS, logits[None], signs, weights, symmetric=symmetric)
    for name, fitted in fits.items():
        assert np.isfinite(fitted(wide)).all(), name
        if fitted.replaced[0]:
            assert name in MAY_BE_REPLACED
            assert not symmetric
            assert fitted.shape(0) == fits["temperature"].shape(0)
            np.testing.assert_array_equal(fitted(wide), fits["temperature"](wide))
        if name in MAPS:
            assert np.isfinite(fitted.params).all(), name
            assert np.abs(fitted.params[0, 0]) <= maps.MAX_SLOPE


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_batch_is_its_columns_one_at_a_time(weights, symmetric):
    rng = np.random.default_rng(9)
    _, signs = column(9, n=300)
    skill = rng.uniform(-0.5, 3.0, (120, 1))
    scale = 10.0 ** rng.uniform(-1.0, 2.0, (120, 1))
    logits = scale * (rng.normal(0, 1, (120, 300)) + skill * signs)
    given = (rng.random(logits.shape) < 0.8).astype(float) if weights else None
    batch = fit(CALIBRATORS, logits, signs, given, symmetric=symmetric)
    for i in range(0, 120, 7):
        own = None if given is None else given[i : i + 1]
        single = fit(CALIBRATORS, logits[i : i + 1], signs, own, symmetric=symmetric)
        for name in CALIBRATORS:
            calibration_fit, alone = batch[name].part(slice(i, i + 1)), single[name]
            if name in MAPS:
                np.testing.assert_allclose(calibration_fit.params, alone.params, rtol=0, atol=1e-10)
            at = logits[i : i + 1]
            np.testing.assert_allclose(calibration_fit(at), alone(at), rtol=1e-10, atol=1e-10)
            assert calibration_fit.replaced == alone.replaced
            assert calibration_fit.shape(0).kind == alone.shape(0).kind


def test_the_identity_leaves_logits_alone():
    logits, signs = column(0, scale=300.0)
    fitted = fit(("none",), logits[None], signs)["none"]
    np.testing.assert_array_equal(fitted(logits[None])[0], logits)


def test_a_map_is_a_log_p_plus_b_log_q_plus_c():
    logits = np.linspace(-8.0, 8.0, 33)
    p = 1.0 / (1.0 + np.exp(-logits))
    params = np.array([[0.7, -1.3, 0.2], [0.9, -0.9, -0.4]])
    wanted = params[:, :1] * np.log(p) + params[:, 1:2] * np.log(1 - p) + params[:, 2:]
    np.testing.assert_allclose(apply_map(params, np.tile(logits, (2, 1))), wanted, atol=1e-12)


def test_softplus_and_sigmoid_survive_huge_logits():
    x = np.array([-1e4, -30.0, 0.0, 30.0, 1e4])
    np.testing.assert_allclose(maps.softplus(x), np.logaddexp(0.0, x), rtol=1e-15)
    np.testing.assert_allclose(maps.sigmoid(x), [0.0, np.exp(-30.0), 0.5, 1.0, 1.0], rtol=1e-12)


def test_an_unknown_calibrator_is_refused_by_name():
    with pytest.raises(InputError, match=r"unknown calibrator.*'magic'.*temperature"):
        fit(("magic",), np.zeros((1, 2)), np.array([1.0, -1.0]))


LOW, HIGH = np.array([0.0, -np.inf, -np.inf]), np.array([np.inf, 0.0, np.inf])


def models(seed, n):
    """Points in the box, some at kinks or bounds; slopes, curvatures and lassos of n models."""
    rng = np.random.default_rng(seed)
    x = np.clip(
        maps.IDENTITY + rng.normal(size=(n, 3)) * rng.choice([0.0, 0.3, 3.0], (n, 3)), LOW, HIGH
    )
    factor = rng.normal(size=(n, 3, 3))
    hessian = factor.transpose(0, 2, 1) @ factor + np.eye(3) * 1e-2
    return x, rng.normal(size=(n, 3)), hessian, rng.choice([5e-5, 0.05, 0.5], n)


def value(y, x, slope, hessian, lasso):
    move = y - x
    return slope @ move + move @ hessian @ move / 2.0 + lasso * np.abs(y - maps.IDENTITY).sum()


def lowest(x, slope, hessian, lasso):
    """The lowest value over all ways to hold coordinates at a kink or bound, or on one side."""
    best = np.inf
    for sides in itertools.product((-1, 0, 1, None), repeat=3):
        y = np.where([side == 0 for side in sides], maps.IDENTITY, 0.0)  # None: at the bound
        free = [i for i, side in enumerate(sides) if side in (-1, 1)]
        if sides[2] is None:
            continue
        move = y - x
        pull = slope[free] + lasso * np.array([sides[i] for i in free])
        held = [i for i in range(3) if i not in free]
        y[free] = x[free] + np.linalg.solve(
            hessian[np.ix_(free, free)], -pull - hessian[np.ix_(free, held)] @ move[held]
        )
        if (y >= LOW).all() and (y <= HIGH).all():
            best = min(best, value(y, x, slope, hessian, lasso))
    return best


def test_every_column_ends_at_the_lowest_point_of_the_box():
    x, slope, hessian, lasso = models(0, 300)
    y = maps.elastic_newton(x, slope, hessian, lasso, maps.Box(maps.IDENTITY, LOW, HIGH))
    assert (y >= LOW).all()
    assert (y <= HIGH).all()
    for own in zip(y, x, slope, hessian, lasso, strict=True):
        assert value(*own) == pytest.approx(lowest(*own[1:]), rel=1e-9, abs=1e-9)


def test_a_column_moves_no_bit_of_another():
    arrays = models(1, 40)
    together = maps.elastic_newton(*arrays, maps.Box(maps.IDENTITY, LOW, HIGH))
    for b in range(40):
        alone = maps.elastic_newton(
            *(part[b : b + 1] for part in arrays), maps.Box(maps.IDENTITY, LOW, HIGH)
        )
        np.testing.assert_array_equal(alone[0], together[b])


def p_at(knots, x):
    return sigmoid(knots(np.asarray(x, dtype=float)))


def test_between_knots_p_is_linear_in_the_logit_and_beyond_them_flat():
    knots = fit_isotonic(
        np.array([-2.0, -1.0, -1.0, 3.0, 3.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    )
    assert knots.logits.tolist() == [-2.0, -1.0, 3.0]
    np.testing.assert_allclose(knots.p, [0.0, 1 / 2, 2 / 3])
    np.testing.assert_allclose(p_at(knots, [1.0, 3.0, 9.0]), [7 / 12, 2 / 3, 2 / 3], atol=1e-12)
    np.testing.assert_allclose(p_at(knots, [-9.0, -2.0]), 0.001, atol=1e-12)


def test_scores_that_differ_by_rounding_alone_are_one_score():
    logits, signs = column(3, n=60)
    logits = np.round(logits)
    noise = 1e-15 * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 60) * (1.0 + np.abs(logits))
    for symmetric in (False, True):
        knots = fit_isotonic(logits, signs, symmetric=symmetric)
        other = fit_isotonic(logits + noise, signs, symmetric=symmetric)
        assert len(knots.p) == len(other.p)
        np.testing.assert_allclose(p_at(knots, logits), p_at(other, logits), rtol=0, atol=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
def test_without_a_weight_it_knows_nothing(symmetric):
    knots = fit_isotonic(np.array([1.0, 2.0]), np.ones(2), np.zeros(2), symmetric=symmetric)
    np.testing.assert_array_equal(knots(np.array([-5.0, 0.0, 5.0])), 0.0)


def test_only_columns_of_one_class_are_replaced_by_temperature():
    logits, signs = column(0, n=40)
    weight = np.stack([np.ones(40), (signs > 0).astype(float), np.zeros(40)])
    fits = fit(("temperature", "isotonic"), np.tile(logits, (3, 1)), signs, weight)
    assert fits["isotonic"].replaced.tolist() == [False, True, True]
    assert [fits["isotonic"].shape(b).kind for b in range(3)] == [
        *("isotonic", "temperature", "temperature")
    ]
    both = fits["isotonic"](np.tile(logits, (3, 1))), fits["temperature"](np.tile(logits, (3, 1)))
    np.testing.assert_array_equal(both[0][1:], both[1][1:])
    np.testing.assert_array_equal(both[0][0], fit_isotonic(logits, signs)(logits))
