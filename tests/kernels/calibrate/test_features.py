"""Features as numbers: what is learned, what is repeated, and what a later file may contain."""

import json

import numpy as np
import pandas as pd
import pytest

from judgepanel.kernels.residual import MAX_CATEGORIES, FeatureEncoder, feature_columns, fit_encoder
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.votes import InputError

NAN = float("nan")


def columns(**features):
    return feature_columns(pd.DataFrame(features))


def encoded(features, n, new=None, n_new=None):
    encoder = fit_encoder(features, n)
    return encoder, encoder.encode(features if new is None else new, n if n_new is None else n_new)


class TestNumbers:
    def test_they_are_standardised_by_the_fit_rows(self):
        features = columns(length=[1.0, 2.0, 3.0, 6.0])
        encoder, result = encoded(features, 4)
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
        assert encoder.kinds == ("numeric",)
        assert encoder.flagged == (True,)


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
