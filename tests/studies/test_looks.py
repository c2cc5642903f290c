"""The number of splits may be left to the answer: the same places to look, and the same bits."""

from dataclasses import fields, replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.registry import STUDIES
from judgepanel.scoring.inference import Estimate
from judgepanel.scoring.interval import Interval
from judgepanel.studies import accumulate, codec, results, runner
from judgepanel.studies import contract as looking
from judgepanel.studies.contract import MANY
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.votes import InputError
from tests.helpers import make_votes
from tests.present.results import spec_of
from tests.present.results import votes as small_votes

OPEN = looking.Settings(splits=None)
CURVE = PanelCurveSpec(OPEN, calibrators=("temperature",), compare=(3,))


ALL_SPLITS = {"label_budget", "permutation", "judges", "value", "narrow_band"}
"""Studies of splits that are not looked at: splits, halves or replicates are what is measured."""
OF_SPLITS = {name for name, study in STUDIES.items() if study.rounds(spec_of(name)) > 1}


def settled_after(n_splits):
    """The panel curve, settled at a number of splits whatever the votes."""
    return replace(PANEL_CURVE, settled=lambda _v, _s, partial: len(partial.numbers) >= n_splits)


VOTES = make_votes(5, 120, 6)


def kept_of(study, votes, spec):
    """The partial of every chunk, by number."""
    pieces = {}
    for _ in runner.steps(
        study, votes, spec, jobs=1, keep=lambda c, p: pieces.update({c.number: p})
    ):
        pass
    return pieces


def difference(tally, votes):
    """Top-3 against all judges, as an estimate."""
    estimated = accumulate.Estimator.of(tally, looking.prepare(votes, CURVE.settings).ballots.units)
    arms = [int(tally.compared[0]), tally.reference]
    items, splits = tally.item_means()[0][0, 0], tally.split_means[:, 0, 0]
    return estimated(items[arms[:1]] - items[arms[1:]], splits[:, arms[:1]] - splits[:, arms[1:]])


def figures(result):
    return codec.to_plain(replace(result, warnings=()))


@pytest.mark.parametrize("looks", [(), looking.LOOKS])
@given(st.integers(0, 300), st.integers(1, 20), st.none() | st.integers(1, 20))
def test_a_chunk_ends_at_every_look_and_every_split_is_in_one(looks, n, size, first):
    chunks = looking.split_chunks(n, size, first, looks)
    assert [k for c in chunks for k in range(c.first, c.first + c.count)] == list(range(n))
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert all(0 < chunk.count <= max(size, 0 if looks else first or 0) for chunk in chunks)
    assert {end for end in looks if end <= n} <= {c.first + c.count for c in chunks}


def test_most_votes_are_looked_at_from_20_splits_on_and_very_many_items_from_4():
    assert looking.looks(VOTES, OPEN, 100) == (20, 30, 50, 70, 100)
    assert (looking.looks(VOTES, OPEN, 25), looking.looks(VOTES, OPEN, 20)) == ((20, 25), (20,))
    assert looking.looks(make_votes(1, 2 * MANY, 2), OPEN, 100) == looking.LOOKS
    assert (looking.FEWEST, looking.FEWEST_OF_MANY) == (20, 4)


def test_a_number_of_splits_and_the_protocol_of_the_paper_are_not_looked_at():
    assert looking.looks(VOTES, looking.Settings(splits=100), 100) == (100,)
    assert looking.looks(VOTES, replace(OPEN, protocol="paper"), 100) == (100,)


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_result_is_that_of_as_many_splits_to_the_bit(backend, jobs):
    states = list(runner.steps(settled_after(30), VOTES, CURVE, jobs=jobs, backend=backend))
    result = states[-1].result()
    assert (result.n_splits, result.planned_splits, result.partial) == (30, 30, False)
    fixed = runner.run(
        PANEL_CURVE, VOTES, replace(CURVE, settings=looking.Settings(splits=30)), jobs=1
    )
    assert figures(result) == figures(fixed)


def test_progress_counts_what_is_known_to_be_needed():
    states = list(runner.steps(settled_after(30), VOTES, CURVE, jobs=1))
    totals = [state.result().planned_splits for state in states]
    assert [state.result().n_splits for state in states] == [4, 7, 10, 15, 20, 25, 30]
    assert totals == [20, 20, 20, 20, 30, 30, 30]
    assert [state.over for state in states] == [False] * 6 + [True]


def test_what_never_settles_takes_all_splits():
    result = runner.run(settled_after(10**6), VOTES, CURVE, jobs=1)
    assert (result.n_splits, result.planned_splits) == (looking.MOST_SPLITS, looking.MOST_SPLITS)


def test_a_run_goes_on_from_any_kept_chunks_to_the_same_bits():
    study = settled_after(30)
    pieces = kept_of(study, VOTES, CURVE)
    whole = figures(runner.run(study, VOTES, CURVE, jobs=1))
    for numbers in ([0], [1, 2], [0, 1, 2, 3, 4], [5], list(pieces)):
        kept = {number: pieces[number] for number in numbers}
        again = list(runner.steps(study, VOTES, CURVE, jobs=1, finished=kept))
        assert figures(again[-1].result()) == whole
        assert again[-1].kept == len(kept)
    seen = runner.merged(study, VOTES, CURVE, {n: pieces[n] for n in range(5)})
    assert (seen.n_splits, seen.planned_splits) == (20, 30)


def test_a_verdict_that_may_flip_is_not_settled():
    differences = Estimate(
        *np.array([[0.05], [0.01], [50.0], [0.03], [0.07], [0.0]]),
        covariance=np.zeros((0, 0)),
        monte_carlo=np.array([0.002]),
    )
    assert looking.same_verdicts(differences, 1.0)
    assert not looking.same_verdicts(replace(differences, monte_carlo=np.array([0.004])), 1.0)
    assert not looking.same_verdicts(differences, 1.4)


@pytest.mark.parametrize(
    ("study", "spec"),
    [(PANEL_CURVE, CURVE), (RECOMMEND, RecommendSpec(settings=OPEN, folds=2))],
    ids=["panel_curve", "recommend"],
)
def test_clear_votes_settle_at_the_first_look(study, spec):
    result = runner.run(study, make_votes(3, 400, 3, low=0.6, high=0.95), spec, jobs=2)
    assert result.n_splits == looking.FEWEST
    assert not result.partial


def test_the_monte_carlo_error_is_the_spread_of_other_splits_of_the_same_items():
    pieces = kept_of(PANEL_CURVE, VOTES, replace(CURVE, settings=looking.Settings(splits=240)))
    numbers = range(0, len(pieces), 4)
    runs = [reduce(results.combine, [pieces[n + k] for k in range(4)]) for n in numbers]
    assert {len(run.numbers) for run in runs} == {20}
    estimates = [difference(run, VOTES) for run in runs]
    spread = np.std([float(e.value[0]) for e in estimates], ddof=1)
    stated = np.mean([float(e.monte_carlo[0]) for e in estimates])
    assert 0.6 < stated / spread < 1.6


def test_a_number_out_of_range_is_refused_with_the_word():
    with pytest.raises(InputError, match=r"allowed: auto, or 2\.\.10000"):
        looking.Settings(splits=1)


def test_every_study_of_splits_is_looked_at_but_those_that_say_why_not():
    assert {name for name in OF_SPLITS if STUDIES[name].settled is None} == ALL_SPLITS


@pytest.mark.parametrize("name", sorted(OF_SPLITS - ALL_SPLITS))
def test_every_study_gives_the_bits_of_as_many_splits(name, monkeypatch):
    """Looked at after 4 splits, as with very many items; Scope has a fewest number of its own."""
    monkeypatch.setattr(looking, "MANY", 0)
    n_splits = 30 if name == "scope" else 4
    study, spec = STUDIES[name], replace(spec_of(name), settings=OPEN)
    kept = {}

    def settled(votes, spec, partial):
        kept["partial"] = partial
        return len(next(runs_of(partial))) >= n_splits

    auto = runner.run(replace(study, settled=settled), small_votes(), spec, jobs=1)
    assert (auto.n_splits, auto.planned_splits, auto.partial) == (n_splits, n_splits, False)
    fixed = replace(spec, settings=looking.Settings(splits=n_splits))
    assert figures(auto) == figures(runner.run(study, small_votes(), fixed, jobs=1))
    # Every deciding figure states its Monte Carlo error: without one, it would never be settled.
    monkeypatch.setattr(looking, "REACH", 0.0)
    monkeypatch.setattr(looking, "MOST_OF_REACH", np.inf)
    assert study.settled(small_votes(), spec, kept["partial"])


def runs_of(partial):
    """The numbers of the splits in a partial, or in its parts."""
    if hasattr(partial, "numbers"):
        yield partial.numbers
    elif isinstance(partial, tuple):
        yield from runs_of(partial[0])
    else:
        for field in fields(partial):
            yield from runs_of(getattr(partial, field.name))


def interval(value, reach, error):
    return Interval(
        *(np.array([x]) for x in (value, value - reach, value + reach)), monte_carlo=error
    )


def test_a_figure_holds_if_its_verdict_is_far_and_its_interval_as_narrow_as_it_gets():
    assert looking.holds(interval(0.05, 0.02, np.array([0.002])), 0.01)
    assert not looking.holds(interval(0.05, 0.02, np.array([0.002])), 0.027), "the verdict may flip"
    assert not looking.holds(interval(0.5, 0.02, np.array([0.005])), 0.01), (
        "the interval may narrow"
    )
    assert not looking.holds(interval(0.05, 0.02, None), 0.01)
    assert not looking.holds(interval(0.05, 0.02, np.array([np.nan])), 0.01)
    assert looking.holds(interval(0.05, np.nan, np.array([np.nan])), 0.01), "nothing was estimated"


def test_an_interval_near_either_margin_is_not_settled_inside_them():
    for value in (0.0, 0.025, -0.025):
        figure = interval(value, 0.024, np.array([0.002]))
        near = abs(value) == 0.025
        assert all(looking.holds(*entry) for entry in looking.inside(figure, 0.047)) is not near
    assert looking.at_level(interval(0.0, 1.96, np.zeros(1)), 0.9).hi == pytest.approx(
        1.645, abs=1e-3
    )


def test_a_first_answer_may_come_from_fewer_splits():
    wanted = tuple(looking.Chunk(*chunk) for chunk in ((0, 0, 2), (1, 2, 5), (2, 7, 5)))
    assert looking.split_chunks(12, 5, 2) == wanted
