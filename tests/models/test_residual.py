"""ResidualCorrection equals its kernel at batch size 1, with users' features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from judgepanel.kernels.residual import feature_columns, fit_encoder, fit_residual
from judgepanel.models.calibrators import ResidualCorrection
from judgepanel.votes import InputError


def data(seed=0, n=150):
    rng = np.random.default_rng(seed)
    logits = 3.0 * rng.normal(size=n)
    table = pd.DataFrame(
        {
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(100.0, 30.0, n)),
            "subset": rng.choice(["chat", "code", "maths"], n),
        }
    )
    tilt = table["subset"].map({"chat": 0.4, "code": -0.4, "maths": 0.0}).to_numpy()
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-logits * (0.5 + tilt)))).astype(int)
    return logits, y, table


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("with_features", [False, True])
class TestEveryForm:
    def test_it_is_its_kernel(self, symmetric, with_features):
        logits, y, table = data()
        features = table if with_features else None
        model = ResidualCorrection(symmetric=symmetric).fit(logits, y, features)
        columns = feature_columns(features)
        encoder = fit_encoder(columns, len(y))
        encoded = encoder.encode(columns, len(y))
        kernel = fit_residual(logits[None], 2.0 * y - 1.0, encoded, symmetric=symmetric)
        assert model.encoder_ == encoder
        assert len(model.gamma_) == len(encoder.columns)
        np.testing.assert_array_equal(model.gamma_, kernel.gamma[0])
        np.testing.assert_array_equal(
            model.transform(logits, features), kernel(logits[None], encoded)[0]
        )

    def test_correcting_lowers_the_log_loss(self, symmetric, with_features):
        logits, y, table = data(1)
        features = table if with_features else None
        result = ResidualCorrection(symmetric=symmetric).fit(logits, y, features)
        p = result.predict_proba(logits, features)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        raw = np.logaddexp(0.0, -(2 * y - 1) * logits).mean()
        assert -np.log(p[np.arange(len(y)), y]).mean() < raw - 0.05

    def test_it_clones_and_keeps_its_parameters(self, symmetric, with_features):
        logits, y, table = data()
        features = table if with_features else None
        copy = clone(ResidualCorrection(symmetric=symmetric).fit(logits, y, features))
        assert copy.get_params() == {"symmetric": symmetric}
        with pytest.raises(NotFittedError):
            copy.transform(logits, features)


def test_the_symmetric_form_is_odd():
    logits, y, table = data()
    model = ResidualCorrection(symmetric=True).fit(logits, y, table)
    np.testing.assert_array_equal(model.transform(-logits, table), -model.transform(logits, table))
    assert model.level_ == 0.0
    weights = dict(zip(model.encoder_.columns, model.gamma_, strict=True))
    assert weights["subset = chat"] > weights["subset = maths"] > weights["subset = code"]


def test_features_may_be_a_mapping_of_lists():
    logits, y, table = data()
    entry = ResidualCorrection().fit(logits, y, table)
    lists = {name: values.tolist() for name, values in table.items()}
    other = ResidualCorrection().fit(logits, y, lists)
    np.testing.assert_array_equal(entry.transform(logits, table), other.transform(logits, lists))


class TestEdges:
    def test_an_unseen_category_gets_the_common_map(self):
        logits, y, table = data()
        table = table[["subset"]]
        model = ResidualCorrection().fit(logits, y, table)
        new = model.transform([1.0, -2.0], pd.DataFrame({"subset": ["poetry", None]}))
        np.testing.assert_allclose(new, model.slope_ * np.array([1.0, -2.0]) + model.level_)

    @pytest.mark.parametrize("values", [7.0, np.nan])
    def test_a_constant_or_absent_feature_changes_nothing(self, values):
        logits, y, _ = data()
        table = pd.DataFrame({"length": np.full(len(y), values)})
        model = ResidualCorrection().fit(logits, y, table)
        assert model.gamma_.tolist() == [0.0]
        plain = ResidualCorrection().fit(logits, y)
        np.testing.assert_allclose(model.transform(logits, table), plain.transform(logits))

    @pytest.mark.parametrize("symmetric", [False, True])
    def test_three_labels_are_enough_for_a_finite_map(self, symmetric):
        table = pd.DataFrame({"subset": ["a", "a", "b"], "length": [1.0, np.nan, 5.0]})
        model = ResidualCorrection(symmetric=symmetric).fit([0.3, -1.0, 2.0], [1, 1, 0], table)
        assert np.isfinite(model.transform([1e3, -1e3, 0.0], table)).all()

    def test_one_class_leaves_the_temperature_and_says_so(self):
        logits, _, table = data()
        model = ResidualCorrection().fit(logits, np.ones(len(logits)), table)
        assert model.replaced_
        assert not model.gamma_.any()
        assert not ResidualCorrection(symmetric=True).fit(logits, np.ones(150), table).replaced_


class TestBadInput:
    @pytest.mark.parametrize(
        ("logits", "labels", "why"),
        [
            ([1.0, 2.0], [1], "as many labels"),
            ([], [], "at least one"),
            ([1.0, 2.0], [1, 2], "0 or 1"),
            ([1.0, np.inf], [1, 0], "finite"),
            ([[1.0], [2.0]], [1, 0], "flat list"),
        ],
    )
    def test_what_is_wrong_is_said(self, logits, labels, why):
        with pytest.raises(InputError, match=why):
            ResidualCorrection().fit(logits, labels)

    def test_features_of_another_length_are_refused(self):
        with pytest.raises(InputError, match=r"column 'a'.*another length than the 2 items"):
            ResidualCorrection().fit([1.0, 2.0], [1, 0], {"a": [1.0, 2.0, 3.0]})

    def test_features_absent_later_are_named(self):
        logits, y, table = data()
        model = ResidualCorrection().fit(logits, y, table)
        with pytest.raises(InputError, match=r"column 'length'.*needed and absent"):
            model.transform(logits)
