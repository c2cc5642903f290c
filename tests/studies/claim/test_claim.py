"""The claim: each step changes one thing, and figures of one-class coding are marked."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.kernels.calibration import INPUT_CLIP
from judgepanel.scoring import interval, metrics
from judgepanel.studies import accumulate, results
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.paper.claim import (
    CLAIM,
    CODING,
    MAP_NAMES,
    STEPS,
    ClaimSpec,
    Reversal,
    apply,
    codings,
    fitted_maps,
    run_chunk,
)
from judgepanel.studies.runner import run
from judgepanel.votes import InputError, load_votes
from tests.helpers import flip_items, larger, make_votes

SETTINGS = Settings(splits=6)
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@cache
def votes():
    """Balanced pairs."""
    return make_votes(1, 120, 9)


@cache
def flattering():
    """The same kind of panel, every label 1."""
    return make_votes(2, 120, 9, one_class=True)


@cache
def result(**options):
    return run(CLAIM, votes(), ClaimSpec(SETTINGS, **{"joint": False, **options}), jobs=1)


@cache
def one_class_result():
    return run(CLAIM, flattering(), ClaimSpec(SETTINGS, panels=(3, 5)), jobs=1)


def level(claim, step):
    return claim.nll.value[claim.row(step)]


def curve(given_votes, calibrators, protocol="honest"):
    spec = PanelCurveSpec(
        Settings(splits=6, protocol=protocol), calibrators=calibrators, ks=(2, 3, 5), compare=(3,)
    )
    return run(PANEL_CURVE, given_votes, spec, jobs=1)


def test_the_papers_rows_are_the_curve_under_the_papers_protocol():
    claim = one_class_result()
    names = ("none", "beta_clipped", "beta", "temperature")
    wanted = curve(flattering(), names, "paper")
    steps = ("raw_one_class", "paper", "paper_unclipped", "paper_temperature")
    at = [claim.sizes.tolist().index(k) for k in (2, 3, 5)] + [-1]
    there = [wanted.k.tolist().index(k) for k in (2, 3, 5, 9)]
    for step, name in zip(steps, names, strict=True):
        c, s = wanted.row(name), claim.row(step)
        np.testing.assert_allclose(claim.nll.value[s, at], wanted.nll.value[c, there], **CLOSE)
        np.testing.assert_allclose(claim.nll.hi[s, at], wanted.nll.hi[c, there], **CLOSE)
        assert claim.constant_nll[s] == pytest.approx(wanted.constant_nll[c], abs=1e-12)
        assert claim.null_nll[s] == pytest.approx(wanted.null_nll, abs=1e-12)


@pytest.mark.parametrize("given_votes", [votes, flattering])
def test_the_honest_row_is_the_curve_by_default(given_votes):
    claim = result() if given_votes is votes else one_class_result()
    wanted = curve(given_votes(), ("beta",))
    np.testing.assert_allclose(level(claim, "honest")[-1], wanted.nll.value[0, -1], **CLOSE)
    three = wanted.comparison("beta", "top-3")
    at = claim.row("honest"), claim.sizes.tolist().index(3)
    assert claim.against_all.value[at] == pytest.approx(three.delta.value, abs=1e-12)
    assert claim.against_all.lo[at] == pytest.approx(three.delta.lo, abs=1e-12)
    assert claim.verdict("honest", at[1]) == three.verdict


def test_swapped_items_change_no_figure_of_one_class_coding():
    flip = np.random.default_rng(0).random(120) < 0.5
    other = run(CLAIM, flip_items(votes(), flip), ClaimSpec(SETTINGS, joint=False), jobs=1)
    for step in other.steps_for("one_class"):
        np.testing.assert_array_equal(level(other, step.name), level(result(), step.name))


def test_each_step_differs_from_the_one_before_it_in_one_thing():
    message = list(STEPS)
    for step in STEPS.values():
        if step.before is None:
            continue
        assert message.index(step.before) < message.index(step.name)
        before = STEPS[step.before]
        parts = ("coding", "aggregator", "own_label")
        changed = sum(getattr(step, part) != getattr(before, part) for part in parts)
        if family(step) != family(before):
            changed += 1
        else:
            changed += (step.input_clipped != before.input_clipped) + (free(step) != free(before))
        assert changed == 1, step.name


def family(step):
    return "beta" if step.calibrator.startswith("beta") else step.calibrator


def free(step):
    return step.calibrator == "beta_clipped"


def test_the_constant_score_and_the_base_rate_flatter_without_a_judge():
    claim = result()
    paper, honest = claim.row("paper"), claim.row("honest")
    assert claim.constant_nll[paper] == pytest.approx(0.025, abs=0.001)
    assert claim.null_nll[paper] == pytest.approx(-np.log(1 - metrics.CLIP))
    assert claim.constant_nll[claim.row("paper_temperature")] == pytest.approx(np.log(2))
    assert claim.constant_nll[honest] > 0.68
    assert claim.null_nll[honest] > 0.68
    skill = claim.frame().set_index(["step", "panel"])["skill"]
    assert skill["paper", "all"] < -1.0 < 0.0 < skill["honest", "all"]


def test_signs_that_are_free_make_a_map_fall_and_bound_ones_never_do():
    claim = result()
    assert (claim.falling[claim.row("paper")] > 0.5).all()
    assert claim.falling[claim.row("paper_monotone")].max() == 0.0
    maps = dict(zip(MAP_NAMES, claim.maps, strict=True))
    assert maps["paper"][0] < 0.0 <= maps["paper_monotone"][0]
    p = np.linspace(0.001, 0.999, 999)
    assert np.diff(apply(maps["paper"], p)).min() < 0.0
    assert np.diff(apply(maps["paper_monotone"], p)).min() > 0.0
    assert apply(maps["constant"], np.array([0.5]))[0] > 0.97
    assert -np.log(apply(maps["constant"], np.array([0.5]))[0]) == pytest.approx(0.025, abs=0.001)


def test_a_drawn_map_is_the_formula_of_the_paper():
    p, (a, b, c) = np.array([0.02, 0.4, 0.9]), (0.7, -1.3, 0.2)
    m = a * np.log(p) + b * np.log(1 - p) + c
    np.testing.assert_allclose(apply(np.array([a, b, c]), p), 1 / (1 + np.exp(-m)))
    far = apply(np.array([a, b, c]), np.array([1e-9]))
    np.testing.assert_allclose(far, apply(np.array([a, b, c]), np.array([0.001])))
    assert np.log(0.999 / 0.001) == pytest.approx(INPUT_CLIP)


def test_maps_see_the_scores_that_the_paper_calibrates():
    maps = fitted_maps(codings(flattering(), SETTINGS))
    assert maps.shape == (len(MAP_NAMES), 3)
    assert maps[3, 0] == -maps[3, 1]  # each pair with its swap: no map can tell the two apart


def test_without_an_intercept_the_coding_makes_no_difference():
    claim = one_class_result()
    np.testing.assert_allclose(
        level(claim, "paper_temperature"), level(claim, "honest_temperature"), **CLOSE
    )
    np.testing.assert_allclose(level(claim, "raw_one_class"), level(claim, "raw_honest"), **CLOSE)


def test_only_one_class_coding_flatters_and_its_rows_say_so():
    frame = one_class_result().frame()
    tiny = frame[frame["nll"] < 0.1]
    assert set(tiny["step"]) == {"paper", "paper_monotone", "paper_unclipped"}
    assert set(tiny["measures"]) == {CODING}
    assert set(frame.loc[frame["coding"] != "one_class", "measures"]) == {"the judges"}
    assert frame.loc[frame["measures"] == "the judges", "accuracy"].max() < 0.99
    for row in one_class_result().summary()["all_judges"]:
        assert (row["nll"] > 0.1) or row["measures"] == CODING


def test_changes_and_differences_have_the_intervals_of_paired_means():
    spec = ClaimSpec(SETTINGS, joint=False)
    tally = results.combine(*(run_chunk(votes(), spec, c) for c in CLAIM.plan(spec))).steps
    claim, items = result(), tally.item_means()[0][0]
    row, before = claim.row("honest_clipped"), claim.row("paper")
    wanted = accumulate.Estimator.of(tally, np.arange(120))(
        items[row, :-1] - items[before, :-1],
        tally.split_means[:, 0, row, :-1] - tally.split_means[:, 0, before, :-1],
    )
    np.testing.assert_allclose(claim.change.value[row], wanted.value, **CLOSE)
    np.testing.assert_allclose(claim.change.lo[row], wanted.lo, **CLOSE)
    nll = claim.nll.value
    np.testing.assert_allclose(
        claim.against_all.value, nll - nll[:, [-1]] + np.array([0.0] * 4 + [np.nan]), **CLOSE
    )
    assert np.isnan(claim.change.value[claim.row("raw_one_class")]).all()


def test_joint_stands_beside_one_coin_at_the_panels_compared():
    claim = one_class_result()
    joint, honest = claim.row("joint"), claim.row("honest")
    nll, change = claim.nll.value, claim.change.value
    known = np.isfinite(nll[joint])
    assert claim.sizes.tolist() == [1, 2, 3, 5]
    assert known.tolist() == [False, False, True, True, True]
    np.testing.assert_allclose(change[joint, known], (nll[joint] - nll[honest])[known], **CLOSE)
    frame = claim.frame()
    assert frame.loc[frame["step"] == "joint", "panel"].tolist() == ["top-3", "top-5", "all"]
    assert not result().has("joint")
    assert result().reversal("joint", 3) is None


@pytest.mark.parametrize(
    "options", [{"protocol": "paper"}, {"orientation": "as_given"}, {"orientation": "symmetric"}]
)
def test_the_variants_are_pinned_whatever_the_settings_say(options):
    spec = ClaimSpec(Settings(splits=6, **options), panels=(3, 5), joint=False)
    claim = run(CLAIM, flattering(), spec, jobs=1)
    assert claim.orientation == "symmetric"
    for step in claim.steps:
        np.testing.assert_array_equal(level(claim, step), level(one_class_result(), step))


def test_under_the_coin_there_is_one_step_less():
    claim = run(CLAIM, votes(), ClaimSpec(Settings(splits=2, orientation="randomized")), jobs=1)
    assert claim.orientation == "randomized"
    assert not claim.has("honest_random")


def test_answers_that_are_no_pairs_are_not_turned():
    claim = run(CLAIM, make_votes(task="pointwise"), ClaimSpec(Settings(splits=2)), jobs=1)
    assert claim.orientation == "as_given"
    assert not claim.has("honest_random")
    assert claim.has("paper")
    with pytest.raises(InputError, match="every label is the same"):
        run(CLAIM, make_votes(task="pointwise", one_class=True), ClaimSpec(SETTINGS), jobs=1)


def test_a_judge_set_aside_still_votes_under_one_class_coding():
    broken = np.array(flattering().votes)
    broken[:, 4] = 0
    wanted = ClaimSpec(Settings(splits=2), panels=(3, 8), joint=False)
    claim = run(CLAIM, replace(flattering(), votes=broken), wanted, jobs=1)
    assert (claim.n_judges[claim.row("paper")], claim.n_judges[claim.row("honest")]) == (9, 8)
    assert claim.panels.tolist() == [3]  # eight judges are all of them in one coding
    assert "Under one-class coding it votes all the same: nothing is dropped there." in (
        claim.warnings
    )


def test_one_judge_has_steps_but_no_reversal():
    claim = run(CLAIM, make_votes(3, 40, 1), ClaimSpec(Settings(splits=2)), jobs=1)
    assert (claim.reversals(), claim.columns(), claim.arm("paper", 0)) == ((), [0], "all 1")
    assert len(claim.frame()) == len(claim.steps)


@pytest.mark.parametrize(
    ("raw", "calibrated", "outcome"),
    [
        ((-0.3, -0.4, -0.2), (0.1, 0.05, 0.15), "appears"),
        ((-0.3, -0.4, -0.2), (0.1, -0.05, 0.25), "points that way"),
        ((-0.3, -0.4, -0.2), (-0.1, -0.15, -0.05), "does not appear"),
        ((0.3, 0.2, 0.4), (0.1, 0.05, 0.15), "does not appear"),
        ((0.1, -0.2, 0.4), (0.1, 0.05, 0.15), "undecided"),
        ((-0.1, np.nan, np.nan), (0.1, np.nan, np.nan), "points that way"),
    ],
)
def test_the_reversal_needs_both_intervals(raw, calibrated, outcome):
    before, after = (interval.Interval(*map(np.float64, ends)) for ends in (raw, calibrated))
    assert Reversal("raw_honest", "honest", 5, before, after).outcome == outcome


SPLITS = 15


@cache
def claim(path, *, joint=False, splits=SPLITS):
    return run(CLAIM, load_votes(path).votes, ClaimSpec(Settings(splits=splits), joint=joint))


def levels(result, step):
    """NLL of top-3, top-5, top-10 and all judges."""
    return result.nll.value[result.row(step), result.columns()].tolist()


@pytest.mark.parametrize(
    ("name", "step", "wanted", "rel"),
    [
        larger("rewardbench_correctness", "raw_one_class", [0.211, 0.224, 0.270, 0.449], 0.10),
        larger("rewardbench_correctness", "paper", [0.0083, 0.0074, 0.0068, 0.0064], 0.08),
        larger("rewardbench", "honest_clipped", [0.145, 0.149, 0.169, 0.272], 0.08),
        larger("rewardbench", "honest_beta", [0.140, 0.133, 0.133, 0.212], 0.08),
        larger("rewardbench", "honest_temperature", [0.139, 0.132, 0.133, 0.211], 0.08),
        ("llmbar", "honest_clipped", [0.345, 0.353, 0.394, 0.384], 0.08),
        ("llmbar", "honest_beta", [0.344, 0.331, 0.339, 0.329], 0.08),
        ("llmbar", "paper", [0.0146, 0.0116, 0.0093, 0.0082], 0.08),
    ],
)
def test_the_table_is_reproduced(real_votes, name, step, wanted, rel):
    result = claim(real_votes(f"{name}_votes.csv"))
    assert levels(result, step) == pytest.approx(wanted, rel=rel)


@pytest.mark.real_votes
def test_more_judges_help_under_one_class_coding_only_where_the_map_may_fall(real_votes):
    result = claim(real_votes("rewardbench_correctness_votes.csv"))
    three, *_, all_judges = levels(result, "paper")
    assert all_judges < three
    three, *_, all_judges = levels(result, "paper_monotone")
    assert 0.014 < three < all_judges < 0.023
    assert result.falling[result.row("paper")].min() == 1.0
    assert result.n_judges[result.row("paper")] == 149
    assert result.n_judges[result.row("honest")] == 148


@pytest.mark.real_votes
def test_the_reversal_is_not_there_with_honest_labels(real_votes):
    result = claim(real_votes("rewardbench_correctness_votes.csv"))
    assert result.reversal("honest", 5).outcome == "does not appear"
    assert result.reversal("honest_clipped", 5).outcome == "does not appear"
    assert result.reversal("paper", 5).delta.value > 0.0


def test_it_is_there_where_votes_are_seen_jointly(real_votes):
    result = claim(real_votes("llmbar_votes.csv"), joint=True, splits=5)
    assert result.reversal("joint", 5).delta.value > 0.05
    assert result.nll.value[result.row("joint"), -1] < 0.26
    assert result.change[result.row("joint"), -1].below()
