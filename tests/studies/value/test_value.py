"""What judges are worth, on panels whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.scoring.splits import split
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.studies.contract import Chunk
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings, prepare
from judgepanel.studies.value.one_split import (
    STAND_IN,
    Rules,
    layout_of,
    left_after,
    values_of,
)
from judgepanel.studies.value.plan import plan_of
from judgepanel.studies.value.value import VALUE, Value, ValueSpec, combine, merge, run_chunk
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.simulate import simulate
from judgepanel.votes.simulation_spec import SimulationSpec
from tests.helpers import make_votes

ORDERS = 8
FAMILIES = ("a", "a", "b", "b", "b", "")


def spec(splits=5, **more):
    given = {"aggregator": "one_coin", "calibrator": "temperature", "permutations": ORDERS}
    return ValueSpec(Settings(splits=splits), **(given | more))


def joint(splits=6, **more):
    return spec(splits, **({"aggregator": "joint", "calibrator": "none"} | more))


def of(votes, given):
    return run(VALUE, votes, given, jobs=1)


def small():
    table = pd.DataFrame({"family": FAMILIES})
    return replace(make_votes(2, 80, 6), judge_table=table)


@cache
def result() -> Value:
    return of(small(), spec())


@cache
def copies(aggregator) -> Value:
    votes = simulate(
        SimulationSpec(240, 6, accuracies=(0.85, 0.7, 0.7, 0.65), copies=2, copy_flip=0.0, seed=3)
    )
    return of(votes, joint(3) if aggregator == "joint" else spec(8))


def test_no_exchangeable_judge_is_singled_out():
    found = of(simulate(SimulationSpec(200, 5, accuracies=(0.75,) * 5, seed=1)), joint(2))
    assert {one.role for one in found.judges} <= {"complement", "ordinary"}
    values = np.array([one.value for one in found.judges])
    assert all(one.lo < np.median(values) < one.hi for one in found.judges)
    assert found.droppable == 0
    assert found.droppable_judges == ()


def test_noise_is_worth_nothing_and_goes_first():
    accuracies = (0.8,) * 4 + (0.5,) * 3
    found = of(simulate(SimulationSpec(1500, 7, accuracies=accuracies, seed=2)), spec(8))
    useful, noise = found.judges[:4], found.judges[4:]
    assert all(one.lo > 0.0 and one.role == "complement" for one in useful)
    assert all(abs(one.value) < found.margin and one.lo < 0.0 for one in noise)
    assert {one.rank for one in noise} == {1, 2, 3}
    assert found.droppable == 3
    assert set(found.droppable_judges) == {one.judge for one in noise}
    assert [one.droppable for one in found.judges] == [False] * 4 + [True] * 3
    assert found.removal[-1].verdict == "keep all"


def test_noise_is_worth_nothing_to_joint():
    accuracies = (0.85,) * 3 + (0.5,) * 2
    found = of(simulate(SimulationSpec(300, 5, accuracies=accuracies, seed=2)), joint(2))
    assert all(one.lo < 0.0 and abs(one.value) < 0.02 for one in found.judges[3:])
    assert {one.rank for one in found.judges[3:]} == {1, 2}
    assert min(one.value for one in found.judges[:3]) > 0.03


def test_exact_copies_are_called_copies_and_joint_does_not_miss_one():
    found = copies("joint")
    alike = {found.judges[j].judge for j in (0, 4, 5)}
    for one in found.judges:
        assert (one.role == "copy") == (one.judge in alike)
    for name in alike:
        one = found.judge(name)
        assert abs(one.value) < 0.02
        assert one.nearest in alike - {name}
        assert one.correlation_lo > 0.9
    (cluster,) = [one for one in found.groups if set(one.members) == alike]
    assert cluster.value > 0.1
    assert cluster.lo > 0.0


def test_copies_move_one_coin_and_hardly_joint():
    counted_twice, seen_through = copies("one_coin").copies[0], copies("joint").copies[0]
    assert counted_twice.judge == seen_through.judge
    assert (counted_twice.times, counted_twice.why) == (4, "most accurate")
    assert counted_twice.lo > copies("one_coin").margin
    assert abs(seen_through.delta) < 0.4 * counted_twice.delta


@pytest.mark.parametrize("given", [spec(8), joint(2)], ids=["one_coin", "joint"])
def test_anti_experts_are_worth_something(given):
    votes = simulate(
        SimulationSpec(300, 4, accuracies=(0.7, 0.7), anti_experts=2, anti_accuracy=0.1, seed=4)
    )
    for one in of(votes, given).judges[2:]:
        assert one.value > 0.05
        assert one.shapley > 0.05
        assert one.lo > 0.0 or given.aggregator == "joint"


def specialist_votes():
    """Four judges right on .7 of all items, and one that knows a third of them and no others."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 360).astype(np.int8)
    kind = np.arange(360) % 3
    chance = np.full((360, 5), 0.7)
    chance[:, 4] = np.where(kind == 0, 0.97, 0.5)
    right = rng.random((360, 5)) < chance
    return VoteMatrix(
        votes=np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8),
        labels=labels,
        item_ids=tuple(f"item{i}" for i in range(360)),
        judges=tuple(f"judge{j}" for j in range(5)),
        task="pairwise",
        features=pd.DataFrame({"kind": [("maths", "prose", "code")[k] for k in kind]}),
    )


def test_a_specialist_is_found_with_its_slice():
    found = of(specialist_votes(), spec(7))
    assert (found.feature, set(found.slices)) == ("kind", {"maths", "prose", "code"})
    one = found.judge("judge4")
    assert (one.role, one.slice) == ("specialist", "maths")
    assert one.slice_lo > 0.0
    assert one.slice_p < 0.05
    assert all(other.role != "specialist" for other in found.judges[:4])


def test_values_are_those_of_panels_fitted_without_the_judge():
    """In plain arithmetic: means over splits of mean losses."""
    from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split

    votes, given = small(), spec(3)
    prepared = prepare(votes, given.settings)
    recipe = Recipe("one_coin", ("temperature",))
    sums, seen = np.zeros((2, 80)), np.zeros(80)
    for number in range(3):
        one = split(prepared.ballots.units, number)
        for place, columns in enumerate((np.arange(6), np.array([0, 1, 3, 4, 5]))):
            some = replace(prepared.ballots, votes=prepared.ballots.votes[:, columns])
            scores = evaluate_split(some, one, np.array([len(columns)]), recipe)
            sums[place, one.evaluation] += scores.evaluation["temperature"].nll[0]
        seen[one.evaluation] += 1
    items = sums[:, seen > 0] / seen[seen > 0]
    found = of(votes, given)
    assert found.nll_all == pytest.approx(items[0].mean())
    assert found.judges[2].value == pytest.approx((items[1] - items[0]).mean())


def test_shapley_values_of_a_split_add_up():
    votes, given = small(), spec()
    prepared = prepare(votes, given.settings)
    plan = plan_of(votes, prepared, None, None)
    done = values_of(prepared, split(prepared.ballots.units, 0), plan, given.rules)
    part = layout_of(plan).parts
    null, full = done.values[part["null"]], done.values[part["shapley_everyone"]]
    total = done.values[part["shapley"]].sum(axis=0)
    np.testing.assert_allclose(total, (null - full)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("given", [spec(4), joint(3)], ids=["one_coin", "joint"])
def test_shapley_values_add_up_to_the_losses_that_are_shown(given):
    """Items are seen in different numbers of splits, so means over splits would not do."""
    found = of(small(), given)
    total = sum(one.shapley for one in found.judges)
    assert total == pytest.approx(found.null_nll - found.shapley_nll, abs=1e-9)
    same = (found.shapley_aggregator, found.shapley_calibrator) == (
        found.aggregator,
        found.calibrator,
    )
    assert same == (given.aggregator == "one_coin")
    assert (found.shapley_nll == found.nll_all) == same


def test_the_null_is_averaged_over_items_as_the_panel_is():
    votes, given = small(), spec(3)
    prepared = prepare(votes, given.settings)
    sums, seen = np.zeros(80), np.zeros(80)
    for number in range(3):
        one = split(prepared.ballots.units, number)
        rate = np.mean(prepared.ballots.signs[one.calibration] > 0)
        true = prepared.ballots.signs[one.evaluation] > 0
        sums[one.evaluation] -= np.log(np.where(true, rate, 1.0 - rate))
        seen[one.evaluation] += 1
    assert not prepared.ballots.symmetric
    found = of(votes, given)
    assert found.null_nll == pytest.approx((sums[seen > 0] / seen[seen > 0]).mean())


def test_joint_takes_its_shapley_values_from_a_quicker_panel_and_says_so():
    found = of(small(), joint(2))
    assert (found.shapley_aggregator, found.shapley_calibrator) == STAND_IN
    assert (found.aggregator, found.calibrator) == ("joint", "none")
    assert Rules("majority", "beta", 8, 0).shapley == ("majority", "beta")


def test_families_are_valued_whole_and_as_players():
    families = [one for one in result().groups if one.kind == "family"]
    assert [(one.name, len(one.members)) for one in families] == [("a", 2), ("b", 3)]
    assert all(
        np.isfinite([one.value, one.lo, one.shapley, one.shapley_lo]).all() for one in families
    )
    assert [one.family for one in result().judges] == list(FAMILIES)


def test_the_least_valuable_go_first():
    inner = np.array([0.3, -0.1, 0.2, -0.1])
    left = left_after(inner, (1, 2, 3))
    np.testing.assert_array_equal(
        left, [[True, False, True, True], [True, False, True, False], [True, False, False, False]]
    )


def test_removal_is_free_only_while_every_step_is():
    for found in (result(), copies("joint"), copies("one_coin")):
        free = [row.free for row in found.removal]
        assert free == sorted(free, reverse=True)
        assert found.droppable == max((row.m for row in found.removal if row.free), default=0)
        for row in found.removal:
            assert row.band_lo <= row.lo <= row.delta <= row.hi <= row.band_hi
            assert not row.free or row.hi < found.margin
            assert row.nll == pytest.approx(found.nll_all + row.delta)


def test_chunks_add_up_in_any_order():
    votes, given = small(), spec(6)
    parts = [run_chunk(votes, given, chunk) for chunk in VALUE.plan(given)]
    assert len(parts) == 2
    one, other = (merge(votes, given, combine(*order)) for order in (parts, parts[::-1]))
    pd.testing.assert_frame_equal(one.frame(), other.frame(), check_exact=True)
    pd.testing.assert_frame_equal(one.removal_frame(), other.removal_frame(), check_exact=True)


def test_a_part_of_the_splits_says_that_it_is_one():
    votes, given = small(), spec(6)
    found = merge(votes, given, run_chunk(votes, given, Chunk(0, 0, 1)))
    assert found.partial
    assert found.droppable_judges == ()
    assert all(one.rank == 0 and np.isnan(one.inner) for one in found.judges)
    assert np.isnan(found.judges[0].lo)
    assert np.isfinite(found.judges[0].value)
    json.dumps(found.summary(), allow_nan=False)


def test_results_survive_a_file():
    found = result()
    again = from_plain(Value, json.loads(json.dumps(to_plain(found), allow_nan=False)))
    pd.testing.assert_frame_equal(found.frame(), again.frame())
    pd.testing.assert_frame_equal(found.group_frame(), again.group_frame())
    json.dumps(found.summary(), allow_nan=False)


def test_the_order_of_columns_moves_nothing():
    turned = small().with_judges(small().judges[::-1])
    found, again = of(small(), spec(2)), of(turned, spec(2))
    pd.testing.assert_frame_equal(found.frame(), again.frame())
    pd.testing.assert_frame_equal(found.removal_frame(), again.removal_frame())


def test_splits_are_capped():
    assert VALUE.rounds(spec(100)) == 20
    assert len(VALUE.plan(spec(100))) == 4


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
    found = of(votes, given)
    assert np.isfinite([one.value for one in found.judges]).all()
    assert len(found.removal) == len({row.m for row in found.removal})
    json.dumps(found.summary(), allow_nan=False)


def test_a_calibrator_under_joint_is_cross_fitted():
    found = of(make_votes(2, 40, 3), joint(2, calibrator="temperature"))
    assert found.calibrator == "temperature"
    assert found.nll_all < 2.0 * found.null_nll


def test_judges_to_copy_can_be_named():
    found = of(small(), spec(2, copied=("judge003",)))
    assert [(one.judge, one.why) for one in found.copies] == [("judge003", "asked for")]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"aggregator": "dawid_skene"}, "unknown aggregator that judges are valued under"),
        ({"calibrator": "best"}, "unknown calibrator"),
        ({"permutations": 10}, "orders come in four designs of pairs"),
        ({"copied": ("judge001", "judge001")}, "given twice"),
    ],
)
def test_wrong_knobs_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        spec(**wrong)


def test_what_is_not_there_is_refused():
    with pytest.raises(InputError, match="no such judge to copy"):
        of(small(), spec(2, copied=("nobody",)))
    with pytest.raises(InputError, match="no such feature"):
        of(small(), spec(2, feature="length"))
    with pytest.raises(InputError, match="paper's protocol"):
        ValueSpec(Settings(protocol="paper"))
