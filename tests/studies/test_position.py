"""With lopsided labels a panel is compared with a constant position."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.present.decide.panel_curve import curve_sentence
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes.simulate import SimulationSpec, one_class, simulate


def lopsided(accuracy=0.97, n_items=400, seed=0):
    spec = SimulationSpec(
        n_items=n_items, n_judges=5, base_rate=0.1, accuracies=(accuracy,) * 5, seed=seed
    )
    return simulate(spec)


def permuted(prevalence, seed):
    """Judges that vote at the rate of the labels and know nothing."""
    rng = np.random.default_rng(seed)
    votes = lopsided(n_items=200, seed=seed)
    ones = max(2, round(200 * prevalence))
    labels = rng.permutation(np.repeat([1, 0], [ones, 200 - ones])).astype(np.int8)
    return replace(votes, labels=labels, votes=(rng.random((200, 5)) < prevalence).astype(np.int8))


def curve_of(votes, orientation="symmetric"):
    settings = Settings(orientation=orientation, splits=6)
    return run(PANEL_CURVE, votes, PanelCurveSpec(settings, calibrators=("temperature",)), jobs=1)


@pytest.mark.parametrize("prevalence", [0.02, 0.05, 0.10])
@pytest.mark.parametrize("seed", range(3))
def test_judges_that_know_nothing_are_explained_by_a_constant_position(prevalence, seed):
    curve = curve_of(permuted(prevalence, seed))
    position = curve.position("temperature")
    assert position.explains
    assert position.label == 0
    sentence = curve_sentence(curve, "temperature")
    assert sentence.startswith(
        "A constant position explains this: on the file as given, 'always 0'"
    )
    assert "Only if no judge prefers a position:" in sentence


def test_judges_that_know_the_answer_beat_it():
    curve = curve_of(lopsided())
    position = curve.position("temperature")
    assert position.gap.below()
    assert not position.explains
    assert "constant position" not in curve_sentence(curve, "temperature")


def test_the_constant_scores_the_entropy_of_the_labels_and_the_gap_is_the_difference():
    votes = permuted(0.05, 1)
    curve = curve_of(votes)
    share = float(np.mean(votes.labels == 1))
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    position = curve.position("temperature")
    assert position.nll == pytest.approx(entropy)
    assert position.gap.value == pytest.approx(float(curve.nll.value[0, -1]) - entropy, abs=0.01)
    assert position.gap.lo < position.gap.value < position.gap.hi


def test_the_file_as_it_was_given_counts_under_every_way_of_turning_items():
    votes = permuted(0.05, 2)
    assert curve_of(votes, "randomized").position("temperature").nll == pytest.approx(
        curve_of(votes, "auto").position("temperature").nll
    )


@pytest.mark.parametrize("case", ["as given", "common labels", "one class", "pointwise"])
def test_where_it_is_no_rival_nothing_is_said(case):
    votes, orientation = permuted(0.1, 0), "auto"
    if case == "as given":
        orientation = "as_given"
    elif case == "common labels":
        votes = replace(votes, labels=np.tile(np.int8([0, 1]), 100))
    elif case == "one class":
        votes = one_class(lopsided())
    else:
        votes = votes.with_task("pointwise")
    assert curve_of(votes, orientation).position("temperature") is None
