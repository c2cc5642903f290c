"""Residual correction against scikit-learn, where a fit has no optimum, and encoded features."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from judgepanel.kernels.calibration import fit
from judgepanel.kernels.maps import MAX_SLOPE, sigmoid
from judgepanel.kernels.residual import (
    MAX_CATEGORIES,
    FeatureEncoder,
    cross_fitted_residual,
    feature_columns,
    fit_encoder,
    fit_residual,
    rows_of,
)
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.votes import InputError


def draws(seed=0, n=400, n_features=3, *, gamma=None, slope=0.6, level=0.4, symmetric=False):
    """Logits, signs and features of items that follow the model."""
    rng = np.random.default_rng(seed)
    logits, x = 3.0 * rng.normal(size=n), rng.normal(size=(n, n_features))
    gamma = np.linspace(-0.8, 0.8, n_features) if gamma is None else gamma
    own = logits * (slope + x @ gamma) if symmetric else slope * logits + x @ gamma + level
    return logits, np.where(rng.random(n) < sigmoid(own), 1.0, -1.0), x


NONE = np.zeros((400, 0))


def objective(fitted, logits, signs, x, prior_variance, unit=1.0):
    loss = np.logaddexp(0.0, -signs * fitted(logits[None], x)[0]).sum()
    return loss + (fitted.gamma[0] / unit) @ (fitted.gamma[0] / unit) / (2.0 * prior_variance)


class TestAsGiven:
    @pytest.mark.parametrize("seed", range(4))
    def test_without_a_prior_it_is_scikit_learns_logistic_regression(self, seed):
        logits, signs, x = draws(seed)
        fitted = fit_residual(logits[None], signs, x, prior_variance=1e9)
        theirs = LogisticRegression(C=1e9, tol=1e-10, max_iter=5000)
        theirs.fit(np.column_stack([logits, x]), signs)
        assert fitted.slope[0] == pytest.approx(theirs.coef_[0, 0], abs=2e-5)
        assert fitted.level[0] == pytest.approx(theirs.intercept_[0], abs=2e-5)
        np.testing.assert_allclose(fitted.gamma[0], theirs.coef_[0, 1:], atol=2e-5)

    def test_a_score_that_points_the_wrong_way_gets_slope_zero_and_the_rest_its_optimum(self):
        logits, signs, x = draws(6)
        fitted = fit_residual(-logits[None], signs, x, prior_variance=1e9)
        assert fitted.slope[0] == 0.0
        theirs = LogisticRegression(C=1e9, tol=1e-10, max_iter=5000).fit(x, signs)
        np.testing.assert_allclose(fitted.gamma[0], theirs.coef_[0], atol=2e-5)
        assert fitted.level[0] == pytest.approx(theirs.intercept_[0], abs=2e-5)

    def test_simulated_weights_are_recovered(self):
        gamma = np.array([1.0, -0.5, 0.0])
        logits, signs, x = draws(7, 20_000, gamma=gamma, slope=0.7, level=-0.3)
        fitted = fit_residual(logits[None], signs, x)
        np.testing.assert_allclose(fitted.gamma[0], gamma, atol=0.07)
        assert fitted.slope[0] == pytest.approx(0.7, abs=0.03)
        assert fitted.level[0] == pytest.approx(-0.3, abs=0.06)


class TestSymmetric:
    def test_it_is_the_fit_to_every_item_and_its_swap(self):
        logits, signs, x = draws(9, symmetric=True)
        design = logits[:, None] * np.column_stack([np.ones(len(x)), x])
        theirs = LogisticRegression(C=1e9, tol=1e-11, max_iter=5000, fit_intercept=False)
        theirs.fit(np.concatenate([design, -design]), np.concatenate([signs, -signs]))
        fitted = fit_residual(logits[None], signs, x, symmetric=True, prior_variance=1e9)
        assert fitted.slope[0] == pytest.approx(theirs.coef_[0, 0], abs=2e-5)
        np.testing.assert_allclose(fitted.gamma[0], theirs.coef_[0, 1:], atol=2e-5)
        assert fitted.level[0] == 0.0

    def test_it_is_odd_to_the_last_bit(self):
        logits, signs, x = draws(10, symmetric=True)
        fitted = fit_residual(logits[None], signs, x, symmetric=True)
        assert fitted.gamma.any()
        np.testing.assert_array_equal(fitted(-logits[None], x), -fitted(logits[None], x))

    def test_swapping_items_moves_no_bit_of_the_fit(self):
        logits, signs, x = draws(11, symmetric=True)
        flip = np.where(np.random.default_rng(0).random(len(signs)) < 0.5, -1.0, 1.0)
        fitted = fit_residual(logits[None], signs, x, symmetric=True)
        other = fit_residual(flip * logits[None], flip * signs, x, symmetric=True)
        np.testing.assert_array_equal(fitted.slope, other.slope)
        np.testing.assert_array_equal(fitted.gamma, other.gamma)

    def test_simulated_weights_are_recovered(self):
        gamma = np.array([0.3, -0.2, 0.0])
        logits, signs, x = draws(12, 20_000, gamma=gamma, slope=0.7, symmetric=True)
        fitted = fit_residual(logits[None], signs, x, symmetric=True)
        np.testing.assert_allclose(fitted.gamma[0], gamma, atol=0.04)
        assert fitted.slope[0] == pytest.approx(0.7, abs=0.04)

    def test_the_unit_of_the_logit_does_not_matter(self):
        logits, signs, x = draws(13, symmetric=True)
        fitted = fit_residual(logits[None], signs, x, symmetric=True)
        other = fit_residual(50.0 * logits[None], signs, x, symmetric=True)
        np.testing.assert_allclose(fitted.gamma, 50.0 * other.gamma, rtol=1e-5)
        np.testing.assert_allclose(
            fitted(logits[None], x), other(50.0 * logits[None], x), rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("symmetric", [False, True])
class TestBoth:
    def test_without_features_it_is_platt_or_the_temperature(self, symmetric):
        logits, signs, _ = draws(5, symmetric=symmetric)
        fitted = fit_residual(logits[None], signs, NONE, symmetric=symmetric)
        name = "temperature" if symmetric else "platt"
        wanted = fit((name,), logits[None], signs)[name](logits[None])
        np.testing.assert_allclose(fitted(logits[None], NONE), wanted, rtol=0, atol=1e-6)
        assert not fitted.replaced[0]

    def test_no_step_away_from_the_fit_lowers_the_objective(self, symmetric):
        logits, signs, x = draws(14, 60, symmetric=symmetric)
        fitted = fit_residual(logits[None], signs, x, symmetric=symmetric)
        unit = 1.0
        if symmetric:
            unit = fit(("temperature",), logits[None], signs)["temperature"](np.ones((1, 1)))[0, 0]
        at = objective(fitted, logits, signs, x, 1.0, unit)
        rng = np.random.default_rng(1)
        for _ in range(50):
            away = rng.normal(scale=1e-3, size=2 + x.shape[1])
            slope = fitted.slope + away[0]
            level = fitted.level + away[1] * (not symmetric)
            gamma = fitted.gamma + away[2:]
            near = replace(fitted, slope=slope, level=level, gamma=gamma)
            assert objective(near, logits, signs, x, 1.0, unit) > at

    def test_columns_are_fitted_as_if_alone_and_weights_leave_items_out(self, symmetric):
        entry, signs, x = draws(15, 120, symmetric=symmetric)
        logits = np.stack([entry, 0.5 * entry + x[:, 0], -entry])
        weights = np.ones_like(logits)
        weights[1, :40] = 0.0
        fitted = fit_residual(logits, signs, x, weights, symmetric=symmetric)
        for row, rows in enumerate((slice(None), slice(40, None), slice(None))):
            alone = fit_residual(logits[[row], rows], signs[rows], x[rows], symmetric=symmetric)
            np.testing.assert_allclose(fitted.slope[row], alone.slope[0], rtol=0, atol=1e-8)
            np.testing.assert_allclose(fitted.gamma[row], alone.gamma[0], rtol=0, atol=1e-8)

    def test_a_feature_that_separates_the_labels_stays_finite(self, symmetric):
        logits, signs, _ = draws(16, symmetric=symmetric)
        side = signs * np.sign(logits) if symmetric else signs
        fitted = fit_residual(logits[None], signs, side[:, None], symmetric=symmetric)
        assert not fitted.replaced[0]
        assert 1.0 < abs(fitted.gamma[0, 0]) < 20.0
        assert (fitted(logits[None], side[:, None])[0] * signs > 0).all()

    def test_a_threshold_on_the_logit_leaves_the_temperature(self, symmetric):
        logits = np.linspace(-3.0, 3.0, 40)
        signs, x = np.sign(logits), np.random.default_rng(0).normal(size=(40, 2))
        fitted = fit_residual(logits[None], signs, x, symmetric=symmetric)
        assert fitted.replaced[0]
        assert not fitted.gamma.any()
        assert 0.0 < fitted.slope[0] <= MAX_SLOPE

    def test_no_item_with_votes_leaves_a_finite_map(self, symmetric):
        logits, signs, x = draws(17, 30, symmetric=symmetric)
        fitted = fit_residual(logits[None], signs, x, np.zeros((1, 30)), symmetric=symmetric)
        assert np.isfinite(fitted(logits[None], x)).all()

    @settings(max_examples=60)
    @given(data=st.data())
    def test_it_is_finite_whatever_the_data(self, symmetric, data):
        n = data.draw(st.integers(1, 12))
        value = st.floats(-500.0, 500.0, allow_subnormal=False)
        row = st.lists(value, min_size=n, max_size=n)
        logits = np.array([data.draw(row), data.draw(row)])
        signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
        features = {"a": np.array(data.draw(row)), "b": np.array(["x", "y"] * n)[:n]}
        x = fit_encoder(features, n).encode(features, n)
        fitted = fit_residual(logits, signs, x, symmetric=symmetric)
        assert np.isfinite(fitted.gamma).all()
        assert (fitted.slope >= 0.0).all()
        assert (fitted.slope <= MAX_SLOPE).all()
        out = fitted(logits, x)
        assert np.isfinite(out).all()
        if symmetric:
            np.testing.assert_array_equal(fitted(-logits, x), -out)


def test_labels_of_one_class_leave_the_temperature_as_given_and_are_no_matter_when_swapped():
    logits, _, x = draws(18)
    ones = np.ones(len(logits))
    assert fit_residual(logits[None], ones, x).replaced[0]
    swapped = fit_residual(logits[None], ones, x, symmetric=True)
    mixed, signs = logits * np.sign(x[:, 0]), np.sign(x[:, 0])
    wanted = fit_residual(mixed[None], signs, x, symmetric=True)
    assert not swapped.replaced[0]
    np.testing.assert_array_equal(swapped.gamma, wanted.gamma)


def test_a_plain_loop_in_the_order_of_the_features_agrees_to_the_bit():
    logits, signs, x = draws(19, 50)
    fitted = fit_residual(logits[None], signs, x)
    for i in range(50):
        total = 0.0
        for value, weight in zip(x[i].tolist(), fitted.gamma[0].tolist(), strict=True):
            total += weight * value
        slope, level = float(fitted.slope[0]), float(fitted.level[0])
        assert fitted(logits[None], x)[0, i] == slope * float(logits[i]) + total + level


class TestCrossFitted:
    @pytest.mark.parametrize("symmetric", [False, True])
    def test_each_fold_is_corrected_by_a_map_of_the_others(self, symmetric):
        logits, signs, x = draws(20, 90, symmetric=symmetric)
        features = {"length": x[:, 0], "subset": np.array(["a", "b", "c"])[np.arange(90) % 3]}
        fold = np.random.default_rng(0).integers(0, 4, 90)
        both = np.stack([logits, 2.0 * logits])
        residual = cross_fitted_residual(both, signs, features, fold, symmetric=symmetric)
        for number in range(4):
            own, rest = fold == number, fold != number
            encoder = fit_encoder(rows_of(features, rest), rest.sum())
            learnt = encoder.encode(rows_of(features, rest), rest.sum())
            fitted = fit_residual(both[:, rest], signs[rest], learnt, symmetric=symmetric)
            encoded = encoder.encode(rows_of(features, own), own.sum())
            np.testing.assert_array_equal(residual[:, own], fitted(both[:, own], encoded))

    def test_the_label_of_an_item_never_reaches_its_own_score(self):
        logits, signs, x = draws(21, 80)
        features, fold = {"length": x[:, 0]}, np.arange(80) % 5
        before = cross_fitted_residual(logits[None], signs, features, fold)
        for item in (0, 33):
            turned = signs.copy()
            turned[item] *= -1.0
            after = cross_fitted_residual(logits[None], turned, features, fold)
            own = fold == fold[item]
            np.testing.assert_array_equal(before[:, own], after[:, own])
            assert (before[:, ~own] != after[:, ~own]).any()

    def test_features_that_mean_nothing_look_useful_in_sample_and_useless_across_folds(self):
        rng = np.random.default_rng(22)
        n = 120
        signs, x = rng.choice([-1.0, 1.0], n), rng.normal(size=(n, 25))
        logits = np.zeros((1, n))
        seen = fit_residual(logits, signs, x)(logits, x)[0]
        features = {f"x{j}": x[:, j] for j in range(25)}
        held = cross_fitted_residual(logits, signs, features, np.arange(n) % 6)[0]
        null = np.log(2.0)
        assert np.logaddexp(0.0, -signs * seen).mean() < null - 0.08
        assert np.logaddexp(0.0, -signs * held).mean() > null


NAN = float("nan")


def columns(**features):
    return feature_columns(pd.DataFrame(features))


def encoded(features, n, new=None, n_new=None):
    encoder = fit_encoder(features, n)
    return encoder, encoder.encode(features if new is None else new, n if n_new is None else n_new)


class TestNumbers:
    def test_they_are_standardised_by_the_fit_rows(self):
        encoder, result = encoded(columns(length=[1.0, 2.0, 3.0, 6.0]), 4)
        assert encoder.columns == ("length",)
        np.testing.assert_allclose(result.mean(axis=0), 0.0, atol=1e-15)
        np.testing.assert_allclose(result.std(axis=0), 1.0)
        later = encoder.encode(columns(length=[3.0]), 1)
        np.testing.assert_allclose(later, [[0.0]], atol=1e-15)

    def test_a_missing_one_is_the_mean_and_flagged(self):
        encoder, result = encoded(columns(length=[1.0, NAN, 3.0, NAN]), 4)
        assert encoder.columns == ("length", "length is missing")
        np.testing.assert_allclose(result[:, 0], [-1.0, 0.0, 1.0, 0.0])
        assert result[:, 1].tolist() == [0.0, 1.0, 0.0, 1.0]

    def test_missing_later_only_is_the_mean_without_a_flag(self):
        encoder, _ = encoded(columns(length=[1.0, 2.0]), 2)
        assert encoder.encode(columns(length=[NAN]), 1).tolist() == [[0.0]]

    @pytest.mark.parametrize("values", [[7.0, 7.0, 7.0], [NAN, NAN, NAN], [0.1, 0.1, 0.1]])
    def test_a_constant_or_absent_number_is_a_column_of_zeros(self, values):
        encoder, result = encoded(columns(length=values), 3)
        assert encoder.columns == ("length",)
        assert not result.any()

    def test_a_value_far_out_counts_as_ten_standard_deviations(self):
        features = columns(length=[0.0, 1.0])
        _, result = encoded(features, 2, columns(length=[1e300, -1e300, 0.5]), 3)
        assert result[:, 0].tolist() == [10.0, -10.0, 0.0]

    def test_the_largest_numbers_overflow_nothing(self):
        big = 1.5e308
        encoder, result = encoded(columns(length=[big, -big, big, 0.0]), 4)
        assert np.isfinite([*encoder.means, *encoder.sds]).all()
        assert np.isfinite(result).all()
        assert result[0, 0] > 0.5

    def test_an_infinite_number_is_refused_by_name(self):
        with pytest.raises(InputError, match=r"column 'length'.*infinite"):
            fit_encoder({"length": np.array([1.0, np.inf])}, 2)

    def test_whole_numbers_and_truth_values_are_numbers(self):
        encoder, _ = encoded(columns(turns=[1, 2, 4], long=[True, False, True]), 3)
        assert encoder.kinds == ("numeric", "numeric")

    def test_numbers_with_pandas_missing_values_are_numbers(self):
        values = pd.Series([1, None, 3], dtype="Int64")
        encoder = fit_encoder(feature_columns(pd.DataFrame({"turns": values})), 3)
        assert (encoder.kinds, encoder.flagged) == (("numeric",), (True,))


class TestCategories:
    def test_each_has_a_column_in_the_order_of_their_names(self):
        encoder, result = encoded(columns(subset=["code", "chat", "code", "chat"]), 4)
        assert encoder.columns == ("subset = chat", "subset = code")
        assert result.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]

    def test_unseen_ones_are_zero_everywhere_and_so_is_one_that_came_once(self):
        encoder, result = encoded(columns(subset=["a", "a", "b"]), 3)
        assert encoder.categories == (("a",),)
        assert result[2].tolist() == [0.0]
        assert encoder.encode(columns(subset=["z"]), 1).tolist() == [[0.0]]

    def test_a_missing_category_is_one_of_its_own(self):
        encoder, result = encoded(columns(subset=["a", None, "a", None]), 4)
        assert encoder.categories == (("", "a"),)
        assert result[:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]

    def test_many_are_cut_to_the_most_frequent(self):
        names = [f"c{i:04d}" for i in range(300)] * 2 + ["often"] * 3
        encoder = fit_encoder(columns(subset=names), len(names))
        assert len(encoder.categories[0]) == MAX_CATEGORIES
        assert "often" in encoder.categories[0]

    def test_a_file_whose_categories_all_look_like_numbers_finds_them_again(self):
        encoder, _ = encoded(columns(subset=["1", "1", "2", "2", "x", "x"]), 6)
        later = encoder.encode(columns(subset=[1.0, 2.0, NAN]), 3)
        assert later.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


class TestLater:
    def test_the_order_of_features_does_not_matter_and_others_are_ignored(self):
        features = columns(length=[1.0, 2.0, 3.0], subset=["a", "b", "a"])
        encoder, result = encoded(features, 3)
        turned = {"extra": np.zeros(3), **dict(reversed(list(features.items())))}
        np.testing.assert_array_equal(encoder.encode(turned, 3), result)

    @pytest.mark.parametrize("later", [None, {}, {"other": np.zeros(2)}])
    def test_an_absent_feature_is_named(self, later):
        encoder = fit_encoder(columns(length=[1.0, 2.0]), 2)
        with pytest.raises(InputError, match=r"column 'length'.*needed and absent"):
            encoder.encode(later, 2)

    def test_text_where_numbers_were_is_refused_with_its_value(self):
        encoder = fit_encoder(columns(length=[1.0, 2.0]), 2)
        with pytest.raises(InputError, match=r"column 'length'.*\(found 'long'\)"):
            encoder.encode(columns(length=["3", "long"]), 2)
        assert np.isfinite(encoder.encode(columns(length=["3", ""]), 2)).all()

    def test_another_number_of_rows_is_refused(self):
        encoder = fit_encoder(columns(length=[1.0, 2.0]), 2)
        with pytest.raises(InputError, match="another length than the 3 items"):
            encoder.encode(columns(length=[1.0]), 3)

    def test_no_features_are_no_columns(self):
        encoder = fit_encoder(None, 4)
        assert encoder == FeatureEncoder()
        assert encoder.encode(None, 4).shape == (4, 0)

    def test_the_fitted_state_survives_json(self):
        features = columns(length=[1.0, NAN, 1 / 3], subset=["a", "b", "a"])
        encoder = fit_encoder(features, 3)
        text = json.dumps(to_plain(encoder), allow_nan=False)
        back = from_plain(FeatureEncoder, json.loads(text))
        assert back == encoder
        np.testing.assert_array_equal(back.encode(features, 3), encoder.encode(features, 3))
