"""Values of judges on panels whose truth is known."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide import value as value_study
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.helpers import make_votes, matrix_of

ORDERS = 8
FAMILIES = ("a", "a", "b", "b", "b", "")


def spec(splits=5, **more):
    given = {"aggregator": "one_coin", "calibrator": "temperature", "permutations": ORDERS}
    return value_study.ValueSpec(Settings(splits=splits), **(given | more))


def joint(splits=6, **more):
    return spec(splits, **({"aggregator": "joint", "calibrator": "none"} | more))


def of(votes, given):
    return run(value_study.VALUE, votes, given, jobs=1)


def small():
    return replace(make_votes(2, 80, 6), judge_table=pd.DataFrame({"family": FAMILIES}))


@cache
def result():
    return of(small(), spec())


@cache
def copies(aggregator):
    votes = simulate(
        SimulationSpec(240, 6, accuracies=(0.85, 0.7, 0.7, 0.65), copies=2, copy_flip=0.0, seed=3)
    )
    return of(votes, joint(3) if aggregator == "joint" else spec(8))


def test_no_exchangeable_judge_is_singled_out():
    outcome = of(simulate(SimulationSpec(200, 5, accuracies=(0.75,) * 5, seed=1)), joint(2))
    assert {judge.role for judge in outcome.judges} <= {"complement", "ordinary"}
    values = np.array([judge.value.value for judge in outcome.judges])
    assert all(judge.value.lo < np.median(values) < judge.value.hi for judge in outcome.judges)
    assert (outcome.droppable, outcome.droppable_judges) == (0, ())


def test_noise_is_worth_nothing_and_goes_first():
    accuracies = (0.8,) * 4 + (0.5,) * 3
    outcome = of(simulate(SimulationSpec(1500, 7, accuracies=accuracies, seed=2)), spec(8))
    useful, noise = outcome.judges[:4], outcome.judges[4:]
    assert all(entry.value.lo > 0.0 and entry.role == "complement" for entry in useful)
    assert all(abs(judge.value.value) < outcome.margin and judge.value.lo < 0.0 for judge in noise)
    assert {judge.rank for judge in noise} == {1, 2, 3}
    assert outcome.droppable == 3
    assert set(outcome.droppable_judges) == {judge.judge for judge in noise}
    assert [judge.droppable for judge in outcome.judges] == [False] * 4 + [True] * 3
    assert outcome.removal[-1].verdict == "keep all"


def test_noise_is_worth_nothing_to_joint():
    accuracies = (0.85,) * 3 + (0.5,) * 2
    outcome = of(simulate(SimulationSpec(300, 5, accuracies=accuracies, seed=2)), joint(2))
    assert all(
        judge.value.lo < 0.0 and abs(judge.value.value) < 0.02 for judge in outcome.judges[3:]
    )
    assert {judge.rank for judge in outcome.judges[3:]} == {1, 2}
    assert min(judge.value.value for judge in outcome.judges[:3]) > 0.03


def test_exact_copies_are_called_copies_and_joint_does_not_miss_one():
    value = copies("joint")
    alike = {value.judges[j].judge for j in (0, 4, 5)}
    for judge in value.judges:
        assert (judge.role == "copy") == (judge.judge in alike)
    for name in alike:
        judge = value.judge(name)
        assert abs(judge.value.value) < 0.02
        assert judge.nearest in alike - {name}
        assert judge.correlation.lo > 0.9
    (cluster,) = [group for group in value.groups if set(group.members) == alike]
    assert cluster.value.value > 0.1
    assert cluster.value.lo > 0.0


def test_copies_move_one_coin_and_hardly_joint():
    counted_twice, seen_through = copies("one_coin").copies[0], copies("joint").copies[0]
    assert counted_twice.judge == seen_through.judge
    assert (counted_twice.times, counted_twice.why) == (4, "most accurate")
    assert counted_twice.delta.lo > copies("one_coin").margin
    assert abs(seen_through.delta.value) < 0.4 * counted_twice.delta.value


@pytest.mark.parametrize("given", [spec(8), joint(2)], ids=["one_coin", "joint"])
def test_anti_experts_are_worth_something(given):
    votes = simulate(
        SimulationSpec(300, 4, accuracies=(0.7, 0.7), anti_experts=2, anti_accuracy=0.1, seed=4)
    )
    for judge in of(votes, given).judges[2:]:
        assert judge.value.value > 0.05
        assert judge.shapley.value > 0.05
        assert judge.value.lo > 0.0 or given.aggregator == "joint"


def specialist_votes():
    """Four judges right on .7 of all items, and one that knows a third of them and no others."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 360).astype(np.int8)
    kind = np.arange(360) % 3
    chance = np.full((360, 5), 0.7)
    chance[:, 4] = np.where(kind == 0, 0.97, 0.5)
    right = rng.random((360, 5)) < chance
    table = pd.DataFrame({"kind": [("maths", "prose", "code")[k] for k in kind]})
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    return matrix_of(votes, labels, task="pairwise", features=table)


def test_a_specialist_is_found_with_its_slice():
    outcome = of(specialist_votes(), spec(7))
    assert (outcome.feature, set(outcome.slices)) == ("kind", {"maths", "prose", "code"})
    judge = outcome.judge("j4")
    assert (judge.role, judge.slice) == ("specialist", "maths")
    assert judge.slice_gap.lo > 0.0
    assert judge.slice_p < 0.05
    assert all(other.role != "specialist" for other in outcome.judges[:4])


def test_values_are_those_of_panels_fitted_without_the_judge():
    """In plain arithmetic: means over splits of mean losses."""
    from judgepanel.kernels.evaluation import Recipe, evaluate_split

    votes, given = small(), spec(3)
    prepared = prepare(votes, given.settings)
    recipe = Recipe("one_coin", ("temperature",))
    sums, seen = np.zeros((3, 80)), np.zeros(80)
    for number in range(3):
        one_split = split(prepared.ballots.units, number)
        for place, columns in enumerate((np.arange(6), np.array([0, 1, 3, 4, 5]))):
            some = replace(prepared.ballots, votes=prepared.ballots.votes[:, columns])
            scores = evaluate_split(some, one_split, np.array([len(columns)]), recipe)
            sums[place, one_split.evaluation] += scores.evaluation["temperature"].nll[0]
        rate = np.mean(prepared.ballots.signs[one_split.calibration] > 0)
        true = prepared.ballots.signs[one_split.evaluation] > 0
        sums[2, one_split.evaluation] -= np.log(np.where(true, rate, 1.0 - rate))
        seen[one_split.evaluation] += 1
    items = sums[:, seen > 0] / seen[seen > 0]
    outcome = of(votes, given)
    assert not prepared.ballots.symmetric
    assert outcome.null_nll == pytest.approx(items[2].mean())
    assert outcome.nll_all.value == pytest.approx(items[0].mean())
    assert outcome.judges[2].value.value == pytest.approx((items[1] - items[0]).mean())


@pytest.mark.parametrize("given", [spec(4), joint(3)], ids=["one_coin", "joint"])
def test_shapley_values_add_up_to_the_losses_that_are_shown(given):
    """Items are seen in different numbers of splits, so means over splits would not do."""
    outcome = of(small(), given)
    total = sum(judge.shapley.value for judge in outcome.judges)
    assert total == pytest.approx(outcome.null_nll - outcome.shapley_nll, abs=1e-9)
    of_shapley = (outcome.shapley_aggregator, outcome.shapley_calibrator)
    same = of_shapley == (outcome.aggregator, outcome.calibrator)
    assert same == (given.aggregator == "one_coin")
    assert (outcome.shapley_nll == outcome.nll_all.value) == same


def test_joint_takes_its_shapley_values_from_a_quicker_panel_and_says_so():
    outcome = of(small(), joint(2))
    assert (outcome.shapley_aggregator, outcome.shapley_calibrator) == value_study.STAND_IN
    assert (outcome.aggregator, outcome.calibrator) == ("joint", "none")
    plain = value_study.ValueSpec(aggregator="majority", calibrator="beta")
    assert plain.shapley == ("majority", "beta")


def test_families_are_valued_whole_and_as_players():
    families = [group for group in result().groups if group.kind == "family"]
    assert [(family.name, len(family.members)) for family in families] == [("a", 2), ("b", 3)]
    for family in families:
        ends = [family.value.value, family.value.lo, family.shapley.value, family.shapley.lo]
        assert np.isfinite(ends).all()
    assert [judge.family for judge in result().judges] == list(FAMILIES)


def test_the_least_valuable_go_first():
    left = value_study.left_after(np.array([0.3, -0.1, 0.2, -0.1]), (1, 2, 3))
    np.testing.assert_array_equal(
        left, [[True, False, True, True], [True, False, True, False], [True, False, False, False]]
    )


def test_removal_is_free_only_while_every_step_is():
    for value in (result(), copies("joint"), copies("one_coin")):
        free = [row.free for row in value.removal]
        assert free == sorted(free, reverse=True)
        assert value.droppable == max((row.m for row in value.removal if row.free), default=0)
        for row in value.removal:
            assert row.band.lo <= row.delta.lo <= row.delta.value <= row.delta.hi <= row.band.hi
            assert not row.free or row.delta.hi < value.margin
            assert row.nll.value == pytest.approx(value.nll_all.value + row.delta.value)


def test_splits_are_capped():
    assert value_study.VALUE.rounds(spec(100)) == 20
    assert len(value_study.VALUE.plan(spec(100))) == 4


@pytest.mark.parametrize(
    "votes",
    [
        make_votes(1, 40, 1),
        make_votes(1, 40, 2, missing=0.7),
        make_votes(1, 40, 2, groups=12),
        make_votes(1, 40, 2, one_class=True),
    ],
    ids=["one judge", "two sparse", "groups", "one class"],
)
@pytest.mark.parametrize("given", [spec(2), joint(2)], ids=["one_coin", "joint"])
def test_awkward_votes_get_an_answer(votes, given):
    outcome = of(votes, given)
    assert np.isfinite([judge.value.value for judge in outcome.judges]).all()
    assert len(outcome.removal) == len({row.m for row in outcome.removal})
    json.dumps(outcome.summary(), allow_nan=False)


def test_a_calibrator_under_joint_is_cross_fitted():
    outcome = of(make_votes(2, 40, 3), joint(2, calibrator="temperature"))
    assert outcome.calibrator == "temperature"
    assert outcome.nll_all.value < 2.0 * outcome.null_nll


def test_judges_to_copy_can_be_named():
    outcome = of(small(), spec(2, copied=("judge003",)))
    assert [(copy.judge, copy.why) for copy in outcome.copies] == [("judge003", "asked for")]


def test_what_is_not_there_is_refused():
    with pytest.raises(InputError, match="no such judge to copy"):
        of(small(), spec(2, copied=("nobody",)))
    with pytest.raises(InputError, match="no such feature"):
        of(small(), spec(2, feature="length"))
    with pytest.raises(InputError, match="paper's protocol"):
        value_study.ValueSpec(Settings(protocol="paper"))
