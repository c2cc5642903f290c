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
    length = np.where(rng.random(n) < 0.1, np.nan, rng.normal(100.0, 30.0, n))
    subset = rng.choice(["chat", "code", "maths"], n)
    table = pd.DataFrame({"length": length, "subset": subset})
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

    def test_it_clones_and_keeps_its_parameters(self, symmetric, with_features):
        logits, y, table = data()
        features = table if with_features else None
        copy = clone(ResidualCorrection(symmetric=symmetric).fit(logits, y, features))
        assert copy.get_params() == {"symmetric": symmetric}
        with pytest.raises(NotFittedError):
            copy.transform(logits, features)


def test_features_may_be_a_mapping_of_lists():
    logits, y, table = data()
    entry = ResidualCorrection().fit(logits, y, table)
    lists = {name: values.tolist() for name, values in table.items()}
    other = ResidualCorrection().fit(logits, y, lists)
    np.testing.assert_array_equal(entry.transform(logits, table), other.transform(logits, lists))


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
