"""Conformal sets against MAPIE's (LAC score)."""

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

from judgepanel.models.calibrators import SplitConformal


class AsGiven(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is P(label 1)."""

    def __init__(self):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 1

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return (X[:, 0] >= 0.5).astype(int)


@pytest.mark.parametrize(
    ("n", "level"), [(5, 0.8), (10, 0.9), (40, 0.8), (40, 0.9), (99, 0.9), (100, 0.8), (109, 0.9)]
)
def test_sets_are_mapies(n, level):
    rng = np.random.default_rng(n)
    p = np.round(rng.beta(1.5, 1.0, n + 300), 3)  # rounded: scores tie
    labels = (rng.random(len(p)) < p).astype(int)
    theirs = SplitConformalClassifier(AsGiven(), confidence_level=level, prefit=True)
    theirs.conformalize(p[:n, None], labels[:n])
    _, sets = theirs.predict_set(p[n:, None])
    ours = SplitConformal(level=level).fit(p[:n], labels[:n]).predict_sets(p[n:])
    np.testing.assert_array_equal(ours, sets[:, :, 0])
    assert len({tuple(row) for row in ours.tolist()}) > 1
