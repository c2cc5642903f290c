"""SplitConformal: its array functions as an estimator, and the guarantee of each Mondrian form."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from judgepanel.models.calibrators import SplitConformal
from judgepanel.scoring.conformal import nonconformity, set_kinds, threshold
from judgepanel.votes import InputError


def draws(seed, n, rate=0.5, strength=2.0):
    """Probabilities of a panel that is right more often where it is sure, and labels."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < rate).astype(int)
    logits = strength * rng.normal(2.0 * labels - 1.0, 1.0)
    return 1.0 / (1.0 + np.exp(-logits)), labels


def test_it_is_its_array_functions():
    p, y = draws(0, 80)
    new, _ = draws(1, 50)
    model = SplitConformal(level=0.8).fit(p, y)
    limit = threshold(nonconformity(p, y), 0.8)
    assert (model.thresholds_.tolist(), model.n_.tolist()) == ([[limit], [limit]], [[80], [80]])
    kinds = set_kinds(new, limit, limit)
    assert_array_equal(model.predict_kinds(new), kinds)
    assert_array_equal(
        model.predict_sets(new) @ np.array([1, 2]), kinds, err_msg="label 0, label 1"
    )


def test_it_clones_and_keeps_its_parameters():
    copy = clone(SplitConformal(level=0.8, mondrian="stratum", symmetric=True))
    assert copy.get_params() == {"level": 0.8, "mondrian": "stratum", "symmetric": True}
    with pytest.raises(NotFittedError):
        copy.predict_sets([0.5], strata=["a"])


def test_under_symmetric_swapping_items_moves_no_threshold():
    p, y = draws(2, 61)
    flip = np.random.default_rng(0).random(61) < 0.5
    entry = SplitConformal(symmetric=True).fit(p, y)
    other = SplitConformal(symmetric=True).fit(np.where(flip, 1.0 - p, p), np.where(flip, 1 - y, y))
    assert_array_equal(entry.thresholds_, other.thresholds_)
    assert entry.n_.tolist() == [[61], [61]]


class TestTooFew:
    def test_eight_labels_give_every_label_and_say_how_many_they_need(self):
        model = SplitConformal(level=0.9).fit([0.9] * 8, [1] * 8)
        assert model.predict_sets([0.001, 0.999]).all()
        (sentence,) = model.warnings_
        assert "has 8 labels, and sets at 90% need 9" in sentence
        assert model.report([0.9, 0.1], [1, 0]).warnings == (sentence,)
        assert not SplitConformal(level=0.9).fit([0.9] * 9, [1] * 9).warnings_

    def test_a_class_without_labels_is_in_every_set(self):
        model = SplitConformal(level=0.8, mondrian="class").fit([0.9] * 20, [1] * 20)
        assert_array_equal(model.predict_sets([0.99, 0.01]), [[True, True], [True, False]])
        assert model.warnings_ == (
            "Label 0 of the held-out slice has 0 labels, and sets at 80% need 4: until then label 0"
            " is in every set.",
        )


class TestStrata:
    def test_each_stratum_has_the_threshold_of_a_model_of_its_own(self):
        p, y = draws(3, 90)
        strata = np.array(["easy", "hard", "odd"])[np.arange(90) % 3]
        model = SplitConformal(level=0.8, mondrian="stratum").fit(p, y, strata)
        assert model.strata_ == ("easy", "hard", "odd")
        for name in model.strata_:
            own = strata == name
            alone = SplitConformal(level=0.8).fit(p[own], y[own])
            assert_array_equal(model.predict_sets(p[own], strata[own]), alone.predict_sets(p[own]))

    def test_an_unseen_stratum_gets_every_label_and_is_named(self):
        p, y = draws(4, 40)
        model = SplitConformal(level=0.8, mondrian="stratum").fit(p, y, ["a"] * 40)
        assert model.predict_sets([0.999], ["b"]).all()
        assert not model.predict_sets([0.999], ["a"]).all()
        assert model.unseen(["b", "a", "c", "b"]) == ("b", "c")
        report = model.report([0.999, 0.999], [1, 1], ["b", "a"])
        assert (report.both, report.only_1) == (1, 1)
        assert "No label of the held-out slice belongs to 'b'" in report.warnings[0]

    def test_missing_strata_are_one_stratum_and_numbers_are_strata_too(self):
        p, y = draws(5, 30)
        strata = np.array([1.0, np.nan, 2.0] * 10)
        model = SplitConformal(level=0.8, mondrian="stratum").fit(p, y, strata)
        assert model.strata_ == (1.0, None, 2.0)
        assert model.unseen([1, None, float("nan"), 2, 3]) == (3,)


class TestBadInput:
    @pytest.mark.parametrize(
        ("p", "y", "why"),
        [
            ([0.5], [1, 0], "as many labels"),
            ([], [], "at least one"),
            ([[0.5]], [[1]], "flat list"),
            ([0.5, 1.2], [1, 0], r"not a probability \(found '1.2'\)"),
            ([0.5, np.nan], [1, 0], "not a probability"),
            ([0.5, 0.5], [1, 2], "0 or 1"),
            ([0.5, 0.5], [1, np.nan], "0 or 1"),
        ],
    )
    def test_what_is_wrong_is_said(self, p, y, why):
        with pytest.raises(InputError, match=why):
            SplitConformal().fit(p, y)

    @pytest.mark.parametrize(
        ("parameters", "why"),
        [
            ({"level": 1.0}, "out of range"),
            ({"mondrian": "magic"}, r"'magic'.*class, stratum"),
            ({"mondrian": "class", "symmetric": True}, "there is no class"),
        ],
    )
    def test_parameters_are_checked_at_fit(self, parameters, why):
        with pytest.raises(InputError, match=why):
            SplitConformal(**parameters).fit([0.5], [1])

    @pytest.mark.parametrize(
        ("mondrian", "strata", "why"),
        [
            ("stratum", None, "needs the stratum of every item"),
            ("stratum", ["a"], "1 entries where 2 are needed"),
            ("stratum", [["a", "b"]], "flat list"),
            (None, ["a", "b"], "mondrian='stratum' only"),
        ],
    )
    def test_strata_that_do_not_fit_are_refused(self, mondrian, strata, why):
        with pytest.raises(InputError, match=why):
            SplitConformal(mondrian=mondrian).fit([0.5, 0.6], [1, 0], strata)
