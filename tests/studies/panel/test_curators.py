"""Curators: the rows they may use, what they choose, and their figures."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide.curators import CURATORS_STUDY, CuratorsSpec, stability
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.panel.curated import CURATORS, NAMES, ORACLE, SELECTOR, curated, evidence_in
from judgepanel.studies.panel.curator import (
    JudgeAttributes,
    Rules,
    costs_of,
    known_judges,
    prices_of,
    with_costs,
)
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.helpers import make_ballots, make_votes

FAMILIES = ("a", "a", "b", "b", "c", "", "c")
COSTS = (3.0, 1.0, 2.0, 5.0, 1.0, 0.5, 4.0)
DEPLOYABLE = tuple(name for name in NAMES if CURATORS[name].deployable)
RULES = Rules(calibrator="temperature", folds=3, size=3, steps=4, groups=4)


def votes(**more):
    made = make_votes(**({"seed": 1, "n_items": 80, "n_judges": 7} | more))
    table = pd.DataFrame({"family": FAMILIES[: made.n_judges], "cost": COSTS[: made.n_judges]})
    return replace(made, judge_table=table)


def spec(splits=3, **more):
    given = {"calibrator": "temperature", "folds": 3, "size": 3, "steps": 4, "groups": 4}
    given["budget"] = 6.0
    return CuratorsSpec(Settings(splits=splits), **(given | more))


def curated_by(given, splits=3, **more):
    return run(CURATORS_STUDY, given, spec(splits, **more), jobs=1)


@cache
def result():
    return curated_by(votes())


def evidence(ballots, rows, rules=RULES):
    n = ballots.n_judges
    return evidence_in(ballots, rows, JudgeAttributes(FAMILIES[:n], COSTS[:n]), rules, 0)


@pytest.mark.parametrize("name", DEPLOYABLE)
def test_labels_of_evaluation_rows_move_no_choice_and_no_calibrator(name):
    ballots = make_ballots(3, 60, 7, missing=0.2)
    one_split = split(ballots.units, 0)
    signs = ballots.signs.copy()
    signs[one_split.evaluation] = np.random.default_rng(0).permutation(signs[one_split.evaluation])
    made = []
    for given in (ballots, replace(ballots, signs=signs)):
        seen = evidence(given, one_split.calibration)
        made.append(curated(given, one_split, CURATORS[name], seen, "one_coin"))
    np.testing.assert_array_equal(made[0].chosen.judges, made[1].chosen.judges)
    assert made[0].chosen.nll == made[1].chosen.nll
    np.testing.assert_array_equal(made[0].scores.calibration, made[1].scores.calibration)


def test_evidence_holds_nothing_but_calibration_rows():
    ballots = make_ballots(3, 60, 7)
    rows = split(ballots.units, 0).calibration
    seen = evidence(replace(ballots, unlabelled=ballots.votes[:3]), rows).ballots
    np.testing.assert_array_equal(seen.votes, ballots.votes[rows])
    np.testing.assert_array_equal(seen.signs, ballots.signs[rows])
    assert seen.unlabelled is None


@pytest.mark.parametrize(
    "name", sorted(set(DEPLOYABLE) - {"accuracy", "informativeness", SELECTOR})
)
def test_turning_the_label_of_a_calibration_row_does_not_move_its_own_score(name):
    """Those left out may take another number of judges for it; their ranking is tested with the
    prefixes.
    """
    ballots = make_ballots(5, 50, 5, missing=0.1)
    one_split = split(ballots.units, 1)
    signs = ballots.signs.copy()
    signs[one_split.calibration[4]] *= -1
    first, second = (
        curated(
            given, one_split, CURATORS[name], evidence(given, one_split.calibration), "one_coin"
        ).scores
        for given in (ballots, replace(ballots, signs=signs))
    )
    assert not first.calibration_empty[0, 4]
    assert first.calibration[0, 4] == pytest.approx(second.calibration[0, 4], abs=1e-12)
    assert (first.evaluation != second.evaluation).any()


@pytest.mark.parametrize("name", DEPLOYABLE)
@pytest.mark.parametrize("kind", ["one judge", "constant", "sparse", "one class", "groups"])
def test_every_curator_answers_on_awkward_votes(name, kind):
    made = {
        "one judge": lambda: make_ballots(1, 40, 1),
        "constant": lambda: constant(make_ballots(1, 40, 4)),
        "sparse": lambda: make_ballots(1, 60, 7, missing=0.85),
        "one class": lambda: one_class(make_ballots(1, 40, 4, symmetric=True)),
        "groups": lambda: make_ballots(1, 60, 4, groups=9),
    }
    ballots = made[kind]()
    one_split = split(ballots.units, 0)
    outcome = curated(
        ballots, one_split, CURATORS[name], evidence(ballots, one_split.calibration), "one_coin"
    )
    assert 1 <= outcome.chosen.size <= ballots.n_judges
    assert np.isfinite(outcome.chosen.nll)
    assert np.isfinite(outcome.scores.calibration).all()
    assert np.isfinite(outcome.scores.evaluation).all()


def constant(ballots):
    cast = ballots.votes.copy()
    cast[:, 0] = 1
    return replace(ballots, votes=cast)


def one_class(ballots):
    turned = ballots.votes * ballots.signs[:, None]
    return Ballots(turned, np.ones_like(ballots.signs), ballots.units, symmetric=True)


def test_rules_of_thumb_do_what_they_say():
    ballots = make_ballots(2, 80, 7, missing=0.0)
    seen = evidence(ballots, np.arange(80))
    right = (ballots.votes == ballots.signs[:, None]).mean(axis=0)
    chosen = {name: CURATORS[name].choose(seen) for name in DEPLOYABLE}
    assert chosen["all"].size == 7
    assert set(np.flatnonzero(chosen["fixed_size"].judges)) == set(np.argsort(-right)[:3])
    assert chosen["random"].size == 3
    best = {max((0, 1), key=right.__getitem__), max((2, 3), key=right.__getitem__), 5}
    best.add(max((4, 6), key=right.__getitem__))
    assert set(np.flatnonzero(chosen["one_per_family"].judges)) == best
    by_cost = np.argsort(COSTS, kind="stable")
    cheapest = chosen["cheapest"]
    assert set(np.flatnonzero(cheapest.judges)) == set(by_cost[: cheapest.size])


def test_a_broken_judge_fails_the_checks_and_one_below_chance_only_where_that_is_asked():
    ballots = make_ballots(2, 200, 5, missing=0.0)
    cast = ballots.votes.copy()
    cast[:, 0] = 1
    cast[:, 1] = -ballots.signs
    cast[::7, 1] *= -1
    seen = evidence(replace(ballots, votes=cast), np.arange(200))
    assert CURATORS["checks"].choose(seen).judges.tolist()[:2] == [False, True]
    assert CURATORS["above_chance"].choose(seen).judges.tolist()[:2] == [False, False]


def test_the_selector_takes_a_table_where_judges_interact_and_sums_where_they_add_up():
    rng = np.random.default_rng(1)
    cast = np.where(rng.random((400, 3)) < 0.5, 1, -1).astype(np.int8)
    signs = (cast[:, 0] * cast[:, 1]).astype(np.int8)
    interact = Ballots(cast, signs, np.arange(400))
    choose = CURATORS[SELECTOR].choose
    assert choose(evidence(interact, np.arange(300))).table
    assert not choose(evidence(make_ballots(3, 200, 6, missing=0.0), np.arange(200))).table
    one_split = split(interact.units, 0)
    seen = evidence(interact, one_split.calibration)
    outcome = curated(interact, one_split, CURATORS[SELECTOR], seen, "one_coin")
    assert (np.sign(outcome.scores.evaluation[0]) == signs[one_split.evaluation]).mean() > 0.95


def test_a_search_sees_too_good_an_nll_on_judges_that_know_nothing():
    rng = np.random.default_rng(4)
    cast = np.where(rng.random((240, 12)) < 0.5, 1, -1).astype(np.int8)
    signs = np.where(rng.random(240) < 0.5, 1, -1).astype(np.int8)
    verdicts, labels = (((signed + 1) // 2).astype(np.int8) for signed in (cast, signs))
    noise = replace(make_votes(0, 240, 12), votes=verdicts, labels=labels)
    curators = curated_by(noise, 4, curators=("backward", "forward"))
    for name in ("backward", "forward", "looked_best"):
        curator = curators.named(name)
        assert curator.optimism.value > 0.0, name
        assert curator.nll.value > 0.68


def test_all_judges_and_top_k_are_those_of_the_panel_curve():
    settings = Settings(splits=3)
    wanted = PanelCurveSpec(settings, calibrators=("temperature",), ks=(3,), compare=(3,))
    curve = run(PANEL_CURVE, votes(), wanted, jobs=1)
    assert result().everyone.nll.value == pytest.approx(float(curve.nll.value[0, -1]), abs=1e-12)
    curator, wanted = result().named("fixed_size"), curve.comparison("temperature", "top-3")
    assert (curator.nll.value, *curator.delta, curator.verdict) == pytest.approx(
        (wanted.nll.value, *wanted.delta, wanted.verdict)
    )


def test_a_curator_that_keeps_everybody_ties_with_all_judges():
    curators = curated_by(votes(missing=0.0), 2, curators=("checks",))
    assert (curators.named("checks").size, curators.named("checks").verdict) == (7, "tie")
    assert np.isnan([curators.named("checks").delta.lo, curators.named("checks").band.hi]).all()
    assert curators.named("checks").nll.value == curators.everyone.nll.value


def test_every_curator_has_its_figures():
    curators = result()
    assert [figures.curator for figures in curators.curators] == [*NAMES, "looked_best"]
    assert (curators.everyone.verdict, curators.everyone.size) == ("tie", 7)
    for curator in curators.curators[:-1]:
        assert curator.nll.lo < curator.nll.value < curator.nll.hi
        if curator.deployable:
            assert curator.optimism.value == pytest.approx(curator.nll.value - curator.seen)
        assert curators.shares(curator.curator).sum() == pytest.approx(curator.size)
    seen = [curator_figures.seen for curator_figures in curators.deployable[:-1]]
    assert curators.curators[-1].seen <= min(seen) + 1e-12


def test_the_oracle_is_marked_and_never_looks_best():
    curator = result().named(ORACLE)
    assert not curator.deployable
    assert curator.note == "not deployable: chosen on the evaluation rows"
    assert np.isnan(curator.seen)
    assert curator.looked_best_share == 0.0
    assert curator.nll.value <= result().named("accuracy").nll.value + 1e-12


def test_chosen_judges_can_be_refitted_jointly():
    wanted = spec(2, curators=("backward", "fixed_size", SELECTOR), refit="joint")
    curators = run(CURATORS_STUDY, votes(), wanted, jobs=1)
    plain = run(CURATORS_STUDY, votes(), replace(wanted, refit=None), jobs=1)
    assert curators.refit == "joint"
    for first, other in zip(curators.curators, plain.curators, strict=True):
        if first.curator != "looked_best":
            assert (first.size, first.seen) == (other.size, other.seen)
            assert first.nll.value != other.nll.value
            assert np.isnan(first.optimism.value)
    assert any("no optimism is given" in line for line in curators.warnings)
    pipeline = {"aggregator": "joint", "calibrators": ("temperature",)}
    top = PanelCurveSpec(Settings(splits=2), **pipeline, ks=(3,), compare=(3,))
    curve = run(PANEL_CURVE, votes(), top, jobs=1)
    assert curators.everyone.nll.value == pytest.approx(float(curve.nll.value[0, -1]), abs=1e-9)


def test_what_is_missing_is_said():
    curators = curated_by(replace(votes(), judge_table=None), 2)
    assert curators.named("cheapest") is None
    assert curators.named("one_per_family") is None
    join = " ".join(curators.warnings)
    assert "a cost for every judge" in join
    assert "a judge table with families" in join


def test_long_searches_are_left_out_unless_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("judgepanel.studies.panel.curated.MOST_CELLS", 100.0)
    curators = curated_by(votes(), 2)
    assert curators.named("backward") is None
    assert any("ask for it by name (backward)" in line for line in curators.warnings)
    asked = curated_by(votes(), 2, curators=("backward",))
    assert asked.named("backward") is not None


def test_where_a_cost_is_blank_costs_are_unknown():
    made = make_votes(1, 30, 2)
    made = replace(made, judge_table=pd.DataFrame({"cost": ["1", ""]}))
    assert known_judges(made, prepare(made, Settings())).costs is None


def test_stability_is_one_for_equal_panels_and_about_zero_for_random_ones():
    assert stability(np.array([5, 5, 0, 0]), 5) == 1.0
    rng = np.random.default_rng(0)
    picked = sum(np.isin(np.arange(30), rng.permutation(30)[:10]) for _ in range(200))
    assert stability(picked, 200) == pytest.approx(0.0, abs=0.02)
    assert np.isnan(stability(np.array([4, 4]), 4))
    assert np.isnan(stability(np.array([1, 0]), 1))


def test_given_costs_replace_those_of_the_judge_table():
    before = votes()
    cost = np.arange(7.0)
    priced = with_costs(before, cost, "USD")
    assert list(priced.judge_table) == ["family", "cost_usd"]
    assert costs_of(priced, priced.judges).unit == "usd"
    np.testing.assert_equal(prices_of(priced)[0], cost)
    np.testing.assert_equal(prices_of(with_costs(priced, cost + 1.0))[0], cost + 1.0)
    np.testing.assert_equal(prices_of(before)[0], COSTS)
    bare = replace(before, judge_table=None)
    assert np.isnan(prices_of(bare)[0]).all()
    np.testing.assert_equal(prices_of(with_costs(bare, cost))[0], cost)


@pytest.mark.parametrize(
    ("cost", "unit", "problem"),
    [(-1.0, "", "not a price"), (np.inf, "", "not a price"), (1.0, "US $", "not a word")],
)
def test_a_cost_below_zero_or_a_unit_of_two_words_is_refused(cost, unit, problem):
    with pytest.raises(InputError, match=problem):
        with_costs(votes(), np.full(7, cost), unit)
