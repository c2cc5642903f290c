"""Best and Lean: the smallest panel within a price, chosen in every split, and the rule."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision.lean import PRICE, PRICES, lean_choice, sizes_of
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec, preferring, run_chunk
from judgepanel.decision.recommend_result import CAUTION, SAVES, cards_of, choose, within
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.panel.curator import Known, Rules
from judgepanel.studies.panel.recommended import (
    Terms,
    average_losses,
    bootstrap,
    candidates_of,
    compete,
)
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.helpers import make_votes

SPEC = RecommendSpec(settings=Settings(splits=4), folds=3)
TERMS = Terms(3, 0, Known(("",) * 12, None), Rules())


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 80, 12)


@pytest.fixture(scope="module")
def result(votes):
    return run(RECOMMEND, votes, SPEC, jobs=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("price", PRICES)
def test_lean_is_the_smallest_within_the_price(seed, price):
    rng = np.random.default_rng(seed)
    panels, costs = rng.random((12, 6)) < 0.5, rng.integers(1, 4, 6).astype(float)
    losses = rng.uniform(-0.01, 0.06, 12)
    for known in (None, costs):
        sizes = sizes_of(panels, known)
        taken = lean_choice(sizes, losses, (1e9, 6), price)
        size = panels.sum(axis=1) if known is None else (panels * costs).sum(axis=1)
        affordable = losses <= price
        if affordable.any():
            assert size[taken] == size[affordable].min()
        else:
            assert taken is None


def test_the_average_is_lean_where_no_smaller_panel_is_within_the_price():
    sizes = [(0.0, 3), (0.0, 5), (0.0, 2)]
    losses = np.array([0.03, -0.01, np.inf])
    assert lean_choice(sizes, losses, (0.0, 5), 0.02) is None
    assert lean_choice(sizes, losses, (0.0, 6), 0.02) == 1
    assert lean_choice(sizes, losses, (0.0, 6), 0.03) == 0


def test_at_a_price_of_zero_lean_loses_nothing():
    sizes, losses = [(0.0, 3), (0.0, 5)], np.array([1e-12, 0.0])
    assert lean_choice(sizes, losses, (0.0, 9), 0.0) == 1


def test_of_equal_sizes_the_one_that_loses_less_is_lean_and_a_cheap_one_before_a_small_one():
    losses = np.array([0.02, 0.01, 0.0])
    assert lean_choice([(0.0, 3), (0.0, 3), (0.0, 4)], losses, (0.0, 9), 0.02) == 1
    assert lean_choice([(5.0, 1), (2.0, 3), (2.0, 2)], losses, (9.0, 9), 0.02) == 2


def test_lean_is_chosen_in_every_split_on_calibration_rows_and_scored_on_the_others(votes, result):
    ballots = prepare(votes, SPEC.settings).ballots
    choices = candidates_of("default", ballots.n_judges, symmetric=ballots.symmetric)
    total, times = np.zeros((len(PRICES), 3, 80)), np.zeros(80)
    for number in range(SPEC.settings.splits):
        drawn = split(ballots.units, number)
        held = compete(ballots, drawn, choices, TERMS)
        made = choose(
            held.standing.losses,
            held.standing.panels,
            ballots.units[drawn.calibration],
            choices,
            bootstrap(0, (number, 1)),
        )
        best = average_losses(held.items.nll, made.by_preference["nll"].used)
        times[drawn.evaluation] += 1
        for place, price in enumerate(PRICES):
            nll = average_losses(held.items.nll, made.lean[price].used)
            p_true = np.exp(-nll)
            sure = np.maximum(p_true, 1.0 - p_true) >= 0.9
            total[place, :, drawn.evaluation] += np.stack(
                [nll - best, sure, sure & (p_true > 0.5)], axis=1
            )
    seen = times > 0
    for place, price in enumerate(PRICES):
        loss, sure, right = (total[place][:, seen] / times[seen]).mean(axis=1)
        reading = result.reading("lean", price)
        assert float(reading.against_best.value) == pytest.approx(loss, abs=1e-11)
        assert float(reading.sure.value) == pytest.approx(sure)
        assert float(reading.sure_right.value) == pytest.approx(right / sure)
        assert reading.sure.lo <= reading.sure.value <= reading.sure.hi


def test_what_lean_chooses_does_not_depend_on_evaluation_labels(votes):
    ballots = prepare(votes, SPEC.settings).ballots
    held = split(ballots.units, 0).evaluation
    labels = votes.labels.copy()
    labels[held] = 1 - labels[held]
    honest, spoilt = (
        run_chunk(each, SPEC, Chunk(0, 0, 1)) for each in (votes, replace(votes, labels=labels))
    )
    np.testing.assert_array_equal(honest.taken, spoilt.taken)


def test_best_differs_from_itself_by_nothing_and_names_its_judges(votes, result):
    best = result.reading("nll", PRICE)
    assert tuple(best.against_best) == (0.0, 0.0, 0.0)
    assert set(best.judges) == set(result.model.judges)
    assert float(best.right.value) == pytest.approx(best.accuracy)


def carded(result, *, judges, loss, cost=(None, None)):
    """The result with a Lean of some judges that loses ``loss`` (value, lo, hi) of Best's NLL."""
    best, lean = result.reading("nll", PRICE), result.reading("lean", PRICE)
    nll = float(best.nll.value)
    panel = replace(result.candidates[0], cost=cost[1])
    changed = replace(
        lean,
        taken=0,
        judges=best.judges[:judges],
        against_best=Interval(*(nll * np.array(loss))),
    )
    first = replace(best, average=replace(best.average, cost=cost[0]))
    readings = tuple(
        changed if reading is lean else first if reading is best else reading
        for reading in result.readings
    )
    return cards_of(
        replace(result, readings=readings, candidates=(panel, *result.candidates[1:])), PRICE
    )


def test_lean_is_marked_where_it_saves_enough_and_its_loss_is_within_the_price(result):
    n = len(result.reading("nll", PRICE).judges)
    few, many = int(n * (1 - SAVES)), n - 1
    small = (0.0, -0.01, 0.01)
    assert carded(result, judges=few, loss=small).marked == "Lean"
    assert carded(result, judges=many, loss=small).marked == "Best"
    assert carded(result, judges=few, loss=(PRICE + 0.001, 0.0, 0.05)).marked == "Best"
    assert carded(result, judges=many, loss=small, cost=(3.0, 2.0)).marked == "Lean"
    assert carded(result, judges=many, loss=small, cost=(3.0, 2.5)).marked == "Best"


def test_part_of_the_upper_half_of_the_interval_of_the_loss_counts_too(result):
    n = len(result.reading("nll", PRICE).judges)
    reach = PRICE / CAUTION
    for share, marked in ((0.9, "Lean"), (1.1, "Best")):
        loss = (0.0, -0.1, share * reach)
        assert carded(result, judges=n // 3, loss=loss).marked == marked


def test_from_a_single_split_lean_is_not_marked():
    assert not within(Interval(0.0, float("nan"), float("nan")), 0.1, CAUTION)


def test_where_lean_is_the_same_panel_there_is_one_card(result):
    same = [reading for reading in result.readings if reading.prefer != "lean"]
    lean = replace(result.reading("nll", PRICE), prefer="lean", price=PRICE)
    cards = cards_of(replace(result, readings=(*same, lean)), PRICE)
    assert (cards.lean, cards.marked) == (None, "Best")
    assert [card.name for card in cards.all] == ["Best"]


def test_the_panel_file_of_a_lean_panel_names_its_price_and_has_its_own_figures(votes, result):
    table = pd.DataFrame({"cost": np.linspace(1.0, 2.0, 12)}, index=list(votes.judges))
    priced = replace(votes, judge_table=table)
    spec = replace(SPEC, prefer="lean", price=max(PRICES))
    general = run(RECOMMEND, priced, SPEC, jobs=1)
    read = preferring(priced, spec, general, "lean")
    reading = general.reading("lean", max(PRICES))
    content = load_panel(panel_json(export_panel(read, priced, spec, ()))).content
    assert (content["spec"]["prefer"], content["spec"]["price"]) == ("lean", max(PRICES))
    assert set(content["judges"]) == set(reading.judges)
    assert content["figures"]["nll"] == float(reading.nll.value)
    assert read.cost <= general.cost


def test_a_price_that_no_run_chooses_for_is_refused_with_those_that_are():
    with pytest.raises(InputError, match=r"largest loss accepted.*0\.04.*0\.005, 0\.01, 0\.02"):
        replace(SPEC, price=0.04)
