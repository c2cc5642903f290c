"""Items that are scored and that calibrate: what both roles add to the variance of a mean."""

import numpy as np
import pytest
from scipy import stats

from judgepanel.scoring.inference import estimate
from judgepanel.scoring.splits import FEWEST_SPLITS, Sides, split

N = 60


def evaluated_in(n_splits, units=N, share=0.5):
    """A share of the items, or of groups ``units``, calibrates.

    Items that no split scores are scored in the first.
    """
    units = np.arange(units) if np.ndim(units) == 0 else units
    values = np.zeros((n_splits, len(units)), dtype=bool)
    for number, row in enumerate(values):
        row[split(units, number, fraction=share).evaluation] = True
    values[0] |= ~values.any(axis=0)
    return values


def world(rng, evaluated, correlation=0.0, *, scale=1.0, units=None, pairs=0.0, n_sets=300):
    """Item and split means where an item adds a when scored and b when it calibrates.

    Both have mean 0 and variance 1 and this correlation; b is multiplied by ``scale``, and half of
    the variance is that of groups ``units``, if there are any. If ``pairs``, pairs of calibration
    items have effects of that variance instead of b. The truth is 0.
    """
    n_items = evaluated.shape[1]

    def draw():
        own = rng.standard_normal((n_sets, n_items))
        if units is None:
            return own
        return (own + rng.standard_normal((n_sets, units.max() + 1))[:, units]) / np.sqrt(2.0)

    a = draw()
    b = scale * (correlation * a + np.sqrt(1 - correlation**2) * draw())
    outside = (~evaluated).astype(float)
    n = outside.sum(axis=1)
    panels = b @ outside.T / n
    if pairs:
        effects = np.sqrt(pairs) * np.triu(rng.standard_normal((n_sets, n_items, n_items)), 1)
        sums = np.einsum("si,dij,sj->ds", outside, effects, outside, optimize=True)
        panels = sums / (n * (n - 1) / 2)
    inside = evaluated.astype(float)
    split_means = a @ inside.T / inside.sum(axis=1) + panels
    item_means = a + panels @ inside / inside.sum(axis=0)
    return item_means, split_means.T


def sides_of(evaluated, units=None):
    """All items that a split does not score calibrate; without ``units`` each is its own group."""
    units = np.arange(evaluated.shape[1]) if units is None else units
    return Sides.of(~evaluated, evaluated, units)


def estimates(means, evaluated, *, known=True):
    n_items = evaluated.shape[1]
    sides = sides_of(evaluated) if known else None
    half = n_items / 2
    return estimate(*means, np.arange(n_items), half, half, sides=sides, joint=False)


def coverage(interval):
    return float(((interval.lo <= 0) & (interval.hi >= 0)).mean())


@pytest.mark.parametrize("n_splits", [10, 40])
def test_intervals_hold_where_costly_items_make_panels_worse(n_splits):
    """Without the covariance they are far too narrow; that is what a rise under flips is like."""
    evaluated = evaluated_in(n_splits)
    means = world(np.random.default_rng(4), evaluated, 0.8)
    assert coverage(estimates(means, evaluated, known=False)) < 0.88
    assert coverage(estimates(means, evaluated)) > 0.93


@pytest.mark.parametrize("n_splits", [4, 20, 40])
@pytest.mark.parametrize("correlation", [0.0, -0.8])
def test_intervals_hold_where_the_roles_are_not_or_negatively_related(correlation, n_splits):
    evaluated = evaluated_in(n_splits)
    means = world(np.random.default_rng(4), evaluated, correlation)
    assert coverage(estimates(means, evaluated)) > 0.93


def test_effects_of_pairs_make_the_interval_narrower_and_it_still_holds():
    """Not by much: in a sample, two thirds of such effects look like those of single items."""
    evaluated = evaluated_in(100)
    means = world(np.random.default_rng(5), evaluated, pairs=50.0)
    narrow, wide = (estimates(means, evaluated, known=known) for known in (True, False))
    assert coverage(narrow) > 0.93
    assert narrow.se.mean() < 0.96 * wide.se.mean()


@pytest.mark.parametrize("correlation", [0.6, -0.6])
def test_many_splits_know_the_covariance(correlation):
    evaluated = evaluated_in(200)
    means = world(np.random.default_rng(1), evaluated, correlation)
    roles = sides_of(evaluated).roles(*means)
    assert np.mean(roles.covariance) * N == pytest.approx(correlation + 1 / np.sqrt(199), abs=0.06)


def test_many_splits_know_the_part_of_single_items():
    """A sample of pairs has a part of single items of its own, about 4 p / N."""
    evaluated = evaluated_in(200)
    sides = sides_of(evaluated)
    single = sides.roles(*world(np.random.default_rng(2), evaluated)).single
    assert np.mean(single) * N == pytest.approx(1.0, rel=0.1)
    of_pairs = sides.roles(*world(np.random.default_rng(2), evaluated, pairs=50.0)).single
    assert np.mean(of_pairs) * N == pytest.approx(4 * 50 / N, rel=0.15)


def test_twelve_splits_know_the_part_of_single_items_on_average():
    """Centred effects of splits alone would give five sixths of it."""
    parts = []
    for seed in range(6):
        evaluated = evaluated_in(12, 400)
        means = world(np.random.default_rng(seed), evaluated, n_sets=400)
        parts.append(400 * sides_of(evaluated).roles(*means).single.mean())
    assert np.mean(parts) == pytest.approx(1.0, abs=0.1)


def test_few_splits_count_all_effects_as_those_of_single_items():
    few = evaluated_in(FEWEST_SPLITS - 1)
    roles = sides_of(few).roles(*world(np.random.default_rng(3), few))
    assert np.isinf(roles.single).all()


def test_panels_and_covariance_are_those_of_the_least_squares_fit():
    """Every score is a_i + B_s plus noise; the fit needs its margins alone."""
    rng, evaluated = np.random.default_rng(3), evaluated_in(6)
    rows, columns = np.nonzero(evaluated)
    scores = rng.normal(size=len(rows)) + 2.0 * rng.normal(size=N)[columns]
    design = np.zeros((len(rows), 6 + N))
    design[np.arange(len(rows)), rows] = design[np.arange(len(rows)), 6 + columns] = 1.0
    fit = np.linalg.lstsq(design, scores, rcond=None)[0]
    panels, items = fit[:6] - fit[:6].mean(), fit[6:]
    draws = np.array([items[row].mean() for row in evaluated])
    draws -= draws.mean()
    wanted = np.sqrt((draws @ draws) * (panels @ panels) / 5) / 5 - (draws @ panels) / 5
    item_means = np.bincount(columns, scores, N) / np.bincount(columns, minlength=N)
    split_means = np.bincount(rows, scores, 6) / np.bincount(rows)
    roles = sides_of(evaluated).roles(item_means[None], split_means[:, None])
    assert roles.covariance[0] == pytest.approx(wanted, rel=1e-9)
    assert roles.panels[0] == pytest.approx(panels, abs=1e-12)


def test_the_single_part_is_the_slope_on_shared_calibration_items():
    evaluated = evaluated_in(12)
    items, splits = world(np.random.default_rng(6), evaluated, n_sets=1)
    inside, outside = evaluated.astype(float), (~evaluated).astype(float)
    laplacian = np.diag(inside.sum(axis=1)) - (inside / inside.sum(axis=0)) @ inside.T
    sums = inside.sum(axis=1) * splits[:, 0] - inside @ items[0]
    panels = np.linalg.lstsq(laplacian, sums, rcond=None)[0]
    panels -= panels.mean()
    first, second = np.triu_indices(12, 1)
    shared = (outside @ outside.T)[first, second] / 30**2
    shared -= shared.mean()
    rows = np.bincount(first, shared, 12) + np.bincount(second, shared, 12)
    kept = 1.0 - (rows**2).sum() / (12 * (shared**2).sum())
    slope = np.polyfit(shared, panels[first] * panels[second], 1)[0] / kept
    error = panels.var(ddof=1) / np.sqrt((shared**2).sum()) / kept
    roles = sides_of(evaluated).roles(items, splits)
    assert roles.single[0] == pytest.approx(slope / N, rel=1e-9)
    assert roles.error[0] == pytest.approx(error / N, rel=1e-9)


@pytest.mark.parametrize("n_splits", [FEWEST_SPLITS - 1, 12, 200])
def test_the_standard_error_is_the_formula(n_splits):
    """Its terms by hand: also where the part of single items is limited or unknown."""
    evaluated = evaluated_in(n_splits, share=0.25)
    means = world(np.random.default_rng(10), evaluated, scale=3.0, n_sets=40)
    roles = sides_of(evaluated).roles(*means)
    v = means[0].var(axis=1, ddof=1) / N
    training = roles.panels.var(axis=1, ddof=1)
    odds = 15 / 45
    single = np.minimum(np.maximum(roles.single, 0), odds * training)
    pairs = (training - single / odds) * 0.25**2 / (1 - 0.25**2)

    def total(one, two):
        return np.maximum(training / n_splits + one + two + 2 * roles.covariance, 0)

    rest = total(single, pairs)
    error = np.minimum(roles.error, odds * training / np.sqrt(12)) * (1 - 0.25 / (1 + 0.25))
    squares = v**2 / (N - 1) + rest**2 / (n_splits - 1)
    df, unsure = ((v + rest) ** 2 / part for part in (squares, squares + error**2 / 2))
    wider = stats.t.ppf(0.975, np.minimum(unsure, N - 1)) / stats.t.ppf(0.975, df.clip(max=N - 1))
    wanted = np.minimum((v + rest) * wider**2, v + total(odds * training, 0))
    interval = estimate(*means, np.arange(N), 15, 45, sides=sides_of(evaluated), joint=False)
    assert interval.se**2 == pytest.approx(wanted, rel=1e-9)
    assert (wider.max() > 1.01) == (n_splits < 200)


def test_intervals_hold_with_few_scored_items_and_one_large_group():
    """The variance of the split means less that of drawing items holds the truth in 91 %."""
    units = np.concatenate([np.zeros(24, dtype=np.int64), 1 + np.arange(96) // 2])
    evaluated = evaluated_in(20, units, share=0.8)
    means = world(np.random.default_rng(11), evaluated, scale=2.0, units=units, n_sets=1_000)
    sides = sides_of(evaluated, units)
    n_evaluation = float(evaluated.sum(axis=1).mean())
    interval = estimate(*means, units, 120 - n_evaluation, n_evaluation, sides=sides, joint=False)
    assert coverage(interval) > 0.92


def test_where_few_large_groups_decide_what_splits_share_all_counts_as_single_items():
    """Else rows of large groups, which move panels little, stand for all rows: 84 % or less."""
    units = np.concatenate([np.arange(200) // 20, 10 + np.arange(200)])
    evaluated = evaluated_in(100, units)
    a, b = np.random.default_rng(13).standard_normal((2, 1_000, 400))
    b *= np.where(units < 10, 0.5, 5.0)
    inside = evaluated.astype(float)
    panels = b @ (1.0 - inside).T / (1.0 - inside).sum(axis=1)
    items = a + panels @ inside / inside.sum(axis=0)
    means = items, (a @ inside.T / inside.sum(axis=1) + panels).T
    sides = sides_of(evaluated, units)
    assert np.isinf(sides.roles(*means).single).all()
    assert coverage(estimate(*means, units, 200, 200, sides=sides, joint=False)) > 0.93
    trusting = sides_of(evaluated)
    assert coverage(estimate(*means, units, 200, 200, sides=trusting, joint=False)) < 0.88


@pytest.mark.parametrize("units", [np.arange(N) // 4, np.maximum(np.arange(N), 1)])
def test_groups_of_one_size_or_a_single_pair_leave_the_part_of_single_items_known(units):
    evaluated = evaluated_in(20)
    roles = sides_of(evaluated, units).roles(*world(np.random.default_rng(1), evaluated))
    assert np.isfinite(roles.single).all()


def test_where_no_shared_items_join_the_splits_the_interval_is_the_wider_one():
    evaluated = np.zeros((4, N), dtype=bool)
    evaluated[:2, : N // 2] = evaluated[2:, N // 2 :] = True
    means = world(np.random.default_rng(12), evaluated, n_sets=3)
    narrow, wide = (estimates(means, evaluated, known=known) for known in (True, False))
    assert narrow.se == pytest.approx(wide.se, rel=1e-12)


def test_each_value_can_have_its_own_calibration_sets():
    evaluated = evaluated_in(12)
    items, splits = world(np.random.default_rng(7), evaluated, n_sets=2)
    fewer = ~evaluated & (np.arange(N) % 3 > 0)
    sides = [sides_of(evaluated), Sides.of(fewer, evaluated, np.arange(N))]
    sizes = np.array([30.0, 20.0])
    both = estimate(items, splits, np.arange(N), sizes, 30, n_others=N - sizes, sides=sides)
    for j in range(2):
        alone = estimate(
            items[[j]], splits[:, [j]], np.arange(N), sizes[j], 30, n_others=N - sizes[j],
            sides=sides[j],
        )  # fmt: skip
        assert both.se[j] == pytest.approx(alone.se[0], rel=1e-12)


def test_splits_that_share_no_scored_item_have_no_covariance():
    evaluated = np.zeros((2, N), dtype=bool)
    evaluated[0, : N // 2] = evaluated[1, N // 2 :] = True
    roles = sides_of(evaluated).roles(*world(np.random.default_rng(8), evaluated, n_sets=3))
    assert roles.covariance == pytest.approx(np.zeros(3), abs=1e-12)
