"""Conformal sets keep their promise, in each group that it covers; too few labels are reported."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.models.calibrators import SplitConformal
from judgepanel.scoring.conformal import labels_needed, nonconformity
from judgepanel.studies import contract, slices
from judgepanel.studies.runner import run
from judgepanel.studies.trust.conformal import CONFORMAL, ConformalSpec, sets_within, strata_of
from judgepanel.votes import InputError
from tests.helpers import make_votes

SETTINGS = contract.Settings(splits=6)


def votes(seed=1, n=160, **options):
    made = make_votes(seed, n, 9, **options)
    table = pd.DataFrame({"topic": np.where(np.arange(n) % 8 == 0, "rare", "common")})
    return replace(made, features=table)


@cache
def result():
    return run(CONFORMAL, votes(), ConformalSpec(SETTINGS, feature="topic"), jobs=1)


def test_sets_cover_as_promised_over_all_items():
    conformal = result()
    assert conformal.methods == ("all", "class", "difficulty", "feature")
    for level in range(2):
        assert conformal.kept(0, level, 0) == "holds"
        assert conformal.coverage.value[0, level, 0] >= conformal.levels[level] - 0.05
    assert (np.diff(conformal.coverage.value[:, :, 0]) >= 0).all()


def test_kinds_add_up_and_give_the_size():
    conformal = result()
    np.testing.assert_allclose(conformal.kinds.sum(axis=-1), 1.0)
    sizes = conformal.kinds @ np.array([0.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(conformal.size.value, sizes)


def test_groups_of_one_grouping_are_all_items_and_average_to_their_coverage():
    conformal = result()
    for way in conformal.methods:
        rows = [i for i, grouping in enumerate(conformal.groupings) if grouping == way]
        assert conformal.items[rows].sum() == conformal.items[0]
        coverage = conformal.coverage.value[0, 1]
        mean = (coverage[rows] * conformal.items[rows]).sum() / conformal.items[0]
        assert mean == pytest.approx(coverage[0])


def test_sets_are_those_of_the_estimator():
    made, spec = votes(), ConformalSpec(SETTINGS)
    prepared = contract.prepare(made, SETTINGS)
    rng = np.random.default_rng(0)
    own, new = rng.random(40), rng.random(30)
    labels = (rng.random(40) < own).astype(int)
    part = slices.Strata(("label 0", "label 1"), np.append(labels, np.zeros(30, int)))
    items = (np.arange(40), np.arange(40, 70))
    within = sets_within(nonconformity(own, labels), new, part, items, 0.9, "class")
    peer = SplitConformal(level=0.9, mondrian="class").fit(own, labels)
    np.testing.assert_array_equal(within, peer.predict_kinds(new))
    assert "class" in strata_of(prepared, spec)


def test_under_symmetric_there_are_no_classes_and_that_is_said():
    conformal = run(
        CONFORMAL, make_votes(2, 100, 8, one_class=True), ConformalSpec(SETTINGS), jobs=1
    )
    assert conformal.methods == ("all", "difficulty")
    assert conformal.symmetric
    assert any("coverage by label does not apply" in note for note in conformal.warnings)
    np.testing.assert_array_equal(conformal.kinds[..., 1], conformal.kinds[..., 2])
    assert conformal.summary()["class_conditional"] is None


def test_too_few_labels_for_a_level_or_a_value_say_what_it_needs():
    conformal = run(CONFORMAL, votes(3, 40), ConformalSpec(SETTINGS, feature="topic"), jobs=1)
    needed = f"too few labels. Sets at 90% need {labels_needed(0.9)}."
    assert any(
        f"the value 'rare' has, in the held-out slice, {needed}" in w for w in conformal.warnings
    )
    assert any("the held-out slice has too few" in w for w in conformal.warnings)
    rare = conformal.groups.index("rare")
    assert (conformal.infinite[3, 1], conformal.coverage.value[3, 1, rare]) == (6, 1.0)
    assert conformal.kinds[3, 1, rare, 3] == 1.0


def test_no_features_and_unknown_ones_are_said():
    plain = make_votes(1, 80, 7)
    conformal = run(CONFORMAL, plain, ConformalSpec(SETTINGS), jobs=1)
    assert any("no item features" in note for note in conformal.warnings)
    with pytest.raises(InputError, match="no such feature"):
        run(CONFORMAL, plain, ConformalSpec(SETTINGS, feature="topic"), jobs=1)
    with pytest.raises(InputError, match="conformal level"):
        ConformalSpec(levels=(1.0,))


@cache
def coverages():
    """Mean coverage over data sets: (method, level), and within the groups each method names."""
    spec = ConformalSpec(contract.Settings(splits=4), feature="topic")
    overall, within = [], []
    for seed in range(24):
        conformal = run(CONFORMAL, votes(100 + seed, missing=0.0), spec, jobs=1)
        overall.append(conformal.coverage.value[:, :, 0])
        ways = np.array(conformal.groupings)
        own = [
            conformal.coverage.value[m][:, ways == method].T
            for m, method in enumerate(conformal.methods)
            if method in ("class", "feature")
        ]
        within.append(np.array([np.array(entry) for entry in own]))
    return np.array(overall), np.array(within)


@pytest.mark.simulation
def test_simulated_coverage_is_at_least_the_level_over_all_items():
    overall, _ = coverages()
    mean, error = overall.mean(axis=0), overall.std(axis=0) / np.sqrt(len(overall))
    levels = np.array([0.8, 0.9])
    assert (mean + 3 * error >= levels).all()
    # 24 of 80 calibration items are in the slice: without ties at most 1/25 more is covered.
    assert (mean[0] - 3 * error[0] <= levels + 1 / 25 + 0.03).all()


def test_simulated_mondrian_coverage_is_at_least_the_level_within_its_groups():
    _, within = coverages()
    mean, error = within.mean(axis=0), within.std(axis=0) / np.sqrt(len(within))
    assert (mean + 3 * error >= np.array([0.8, 0.9])).all()
