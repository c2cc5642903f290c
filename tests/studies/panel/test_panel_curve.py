"""The panel curve: its numbers, and running it in parts, cancelled, resumed and stored."""

import collections
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.evaluation import evaluate_split, inner_losses
from judgepanel.scoring.splits import split
from judgepanel.studies import accumulate
from judgepanel.studies.codec import from_plain, spec_sha, to_plain
from judgepanel.studies.contract import Cancelled, Gate, Settings, prepare
from judgepanel.studies.decide import panel_curve
from judgepanel.studies.decide.panel_curve import (
    CHOICE_FOLDS,
    PANEL_CURVE,
    PanelCurveSpec,
    choice_sizes,
    run_chunk,
)
from judgepanel.studies.runner import run, steps
from judgepanel.votes import MISSING, InputError
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.helpers import flip_items, make_votes
from tests.studies.panel.curves import ALL, bits, curve, spec_of

VOTES = make_votes(1, 60, 8)


@pytest.fixture(scope="module")
def result():
    return curve(VOTES, spec_of(calibrators=ALL))


class TestNumbers:
    def test_the_curve_is_the_mean_over_items_of_their_mean_over_splits(self, result):
        prepared = prepare(VOTES, Settings())
        spec = spec_of(calibrators=ALL)
        total, times = np.zeros((len(ALL), 8, 60)), np.zeros(60)
        for number in range(10):
            drawn = split(prepared.ballots.units, number)
            scores = evaluate_split(prepared.ballots, drawn, np.arange(1, 9), spec.recipe)
            for c, name in enumerate(ALL):
                total[c][:, drawn.evaluation] += scores.evaluation[name].nll
            times[drawn.evaluation] += 1
        seen = times > 0
        wanted = (total[..., seen] / times[seen]).mean(axis=-1)
        np.testing.assert_allclose(result.nll.value, wanted, rtol=0, atol=1e-11)

    def test_deltas_are_differences_to_all_judges(self, result):
        for name in ALL:
            comparison = result.comparison(name, "top-3")
            row = result.row(name)
            assert comparison.nll.value == pytest.approx(result.nll.value[row, 2], abs=1e-12)
            assert comparison.nll_all == pytest.approx(result.nll.value[row, -1], abs=1e-12)
            (value, lo, hi), band = comparison.delta, comparison.band
            assert value == pytest.approx(comparison.nll.value - comparison.nll_all, abs=1e-12)
            assert band.lo <= lo <= value <= hi <= band.hi
            assert comparison.margin == pytest.approx(0.02 * comparison.nll_all)

    def test_the_best_k_shows_its_optimism(self, result):
        for name in ALL:
            best = result.comparison(name, "best k")
            assert best.k_lo <= best.k <= best.k_hi
            assert best.optimism == pytest.approx(best.nll.value - best.chosen_on, abs=1e-12)

    def test_the_best_k_is_the_best_of_folds_inside_the_calibration_rows(self):
        votes = make_votes(5, 80, 8)
        spec = spec_of()
        tally = run_chunk(votes, spec, PANEL_CURVE.plan(spec)[0])
        ballots = prepare(votes, spec.settings).ballots
        ks = np.arange(1, 9)
        for position, number in enumerate(tally.numbers):
            rows = split(ballots.units, int(number)).calibration
            losses = inner_losses(
                ballots, rows, ks, spec.recipe, n_folds=CHOICE_FOLDS, key=(int(number), 3)
            )
            nll = losses.mean(axis=-1)
            np.testing.assert_array_equal(tally.chosen_on[position], nll)
            np.testing.assert_array_equal(tally.chosen[position], nll.argmin(axis=1))

    def test_the_choice_is_among_a_dozen_sizes_with_1_and_all(self):
        np.testing.assert_array_equal(choice_sizes(np.arange(1, 6)), np.arange(1, 6))
        many = choice_sizes(np.arange(1, 149))
        assert (many[0], many[-1]) == (1, 148)
        assert len(many) <= 12

    def test_the_null_of_balanced_labels_is_near_a_coin_and_skill_follows(self, result):
        frame = result.frame()
        assert abs(result.null_nll - math.log(2)) < 0.05
        np.testing.assert_allclose(frame["skill"], 1 - frame["nll"] / result.null_nll)
        assert len(frame) == len(ALL) * 8

    def test_a_tie_has_no_interval(self):
        """Nothing was estimated, so [0, 0] would claim a certainty that nobody has."""
        single = curve(make_votes(3, 40, 1), spec_of(compare=(3, 5, 10)))
        rows = to_plain(single.summary())["comparisons"]
        assert [row["arm"] for row in rows] == ["best k"] * 3
        for row in rows:
            assert (row["verdict"], row["delta"]) == ("tie", 0.0)
            for name in ("lo", "hi", "p", "band_lo", "band_hi", "paper_lo", "paper_hi", "paper_p"):
                assert row[name] is None


class TestInvariance:
    def test_the_order_of_the_judges_moves_no_bit(self, result):
        shuffled = VOTES.with_judges([VOTES.judges[j] for j in (5, 2, 7, 0, 1, 6, 4, 3)])
        assert bits(curve(shuffled, spec_of(calibrators=ALL))) == bits(result)

    def test_ties_are_broken_by_name_whatever_the_order_of_the_columns(self):
        same = replace(VOTES, votes=np.tile(VOTES.votes[:, :1], (1, 8)))
        assert curve(same.with_judges(same.judges[::-1])).ranking == tuple(sorted(VOTES.judges))

    def test_swapping_responses_does_change_what_is_taken_as_given(self):
        flip = np.random.default_rng(0).random(VOTES.n_items) < 0.5
        spec = spec_of(orientation="as_given")
        flipped = curve(flip_items(VOTES, flip), spec)
        assert (flipped.nll.value != curve(VOTES, spec).nll.value).any()

    @pytest.mark.parametrize("orientation", ["as_given", "symmetric"])
    def test_items_without_a_label_change_nothing(self, orientation):
        labels = VOTES.labels.copy()
        labels[[0, 17, 59]] = MISSING
        spec = spec_of(orientation=orientation)
        with_extra = replace(VOTES, labels=labels)
        without = VOTES.with_items(labels != MISSING)
        assert bits(curve(with_extra, spec)) == bits(curve(without, spec))

    def test_an_unlabelled_item_cannot_hide_a_constant_judge(self):
        verdicts = VOTES.votes.copy()
        verdicts[:, 3] = 1
        labels = VOTES.labels.copy()
        verdicts[10, 3], labels[10] = 0, MISSING
        outcome = replace(VOTES, votes=verdicts, labels=labels)
        spec = spec_of(orientation="symmetric")
        without = outcome.with_items(labels != MISSING)
        assert bits(curve(outcome, spec)) == bits(curve(without, spec))
        assert "judge003" not in curve(outcome, spec).ranking

    def test_temperature_and_platt_are_the_same_bits_under_symmetric(self):
        names = ("temperature", "platt")
        outcome = curve(VOTES, spec_of(calibrators=names, orientation="symmetric"))
        np.testing.assert_array_equal(outcome.nll.value[0], outcome.nll.value[1])


class TestOneClass:
    def test_by_default_one_class_labels_never_look_better_than_their_swaps(self):
        votes = make_votes(5, 80, 6, one_class=True)
        flip = np.random.default_rng(1).random(80) < 0.5
        coded = curve(votes, spec_of(calibrators=ALL))
        balanced = curve(flip_items(votes, flip), spec_of(calibrators=ALL, orientation="symmetric"))
        np.testing.assert_array_equal(coded.nll.value, balanced.nll.value)
        assert coded.orientation == "symmetric"
        assert coded.one_class
        assert coded.null_nll == pytest.approx(math.log(2))
        np.testing.assert_allclose(coded.constant_nll, math.log(2), atol=1e-12)
        assert any("Every label is 1" in notice for notice in coded.warnings)

    def test_the_papers_protocol_gives_the_tiny_number_and_says_what_it_measures(self):
        votes = make_votes(5, 300, 6, one_class=True)
        paper = curve(votes, spec_of(calibrators=ALL, protocol="paper"))
        assert paper.nll.value[paper.row("beta_clipped")].max() < 0.05
        assert paper.constant_nll[paper.row("beta_clipped")] < 0.05
        assert any("measure the coding, not the judges" in notice for notice in paper.warnings)
        assert any("platt could not be fitted" in notice for notice in paper.warnings)

    @pytest.mark.parametrize("policy", ["randomized", "symmetric", "auto"])
    def test_no_honest_policy_makes_random_judges_look_skilled(self, policy):
        votes = make_votes(6, 200, 10, one_class=True, low=0.45, high=0.55)
        outcome = curve(votes, spec_of(orientation=policy))
        calibrated = outcome.nll.value[[outcome.row("temperature"), outcome.row("beta")]]
        assert calibrated.min() > 0.66


class TestSizes:
    def test_up_to_200_judges_take_every_size_and_more_a_grid(self):
        assert PanelCurveSpec(compare=()).panel_sizes(200).tolist() == list(range(1, 201))
        grid = PanelCurveSpec(compare=(5, 10)).panel_sizes(1000).tolist()
        assert (grid[:40], grid[-1]) == (list(range(1, 41)), 1000)
        assert len(grid) <= 120
        assert PanelCurveSpec(ks=(), compare=()).panel_sizes(1000).tolist() == list(range(1, 1001))

    def test_sizes_asked_for_come_with_one_all_and_those_compared(self):
        assert PanelCurveSpec(ks=(7, 99), compare=(3, 50)).panel_sizes(30).tolist() == [1, 3, 7, 30]

    @pytest.mark.parametrize(("ks", "compare"), [((0,), ()), (None, (-1,))])
    def test_a_panel_of_nobody_is_refused(self, ks, compare):
        with pytest.raises(InputError, match="at least one judge"):
            PanelCurveSpec(ks=ks, compare=compare).panel_sizes(5)

    def test_a_grid_is_a_slice_of_the_full_curve(self, result):
        outcome = curve(VOTES, replace(spec_of(calibrators=ALL), ks=(2, 5)))
        wanted = result.nll.value[:, outcome.k - 1]
        np.testing.assert_allclose(outcome.nll.value, wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "option",
    [{"splits": 1}, {"splits": 10_001}, {"fraction": 0.0}, {"fraction": 1.0}, {"seed": -1}],
)
def test_settings_out_of_range_are_refused(option):
    with pytest.raises(InputError):
        Settings(**option)


def test_perfect_judges_overflow_nothing():
    votes = make_votes(9, 400, 150, low=1.0, high=1.0, missing=0.0)
    outcome = curve(votes, spec_of(splits=5, calibrators=ALL, judges=votes.judges))
    np.testing.assert_allclose(outcome.nll.value[:, -1], -math.log(0.999), atol=0.01)


def test_under_the_paper_s_protocol_k_is_still_chosen_on_rows_a_fit_has_not_seen():
    votes = make_votes(7, 80, 12, low=0.5, high=0.5)  # nobody knows anything
    settings = Settings(splits=5, protocol="paper")
    spec = PanelCurveSpec(settings, "stacking", calibrators=("none",), compare=(3,))
    tally = run_chunk(votes, spec, PANEL_CURVE.plan(spec)[0])
    offered = tally.chosen_on[np.isfinite(tally.chosen_on)]
    assert offered.mean() > math.log(2) - 0.02  # in-sample scores would promise far less


def test_a_curve_on_grades_knows_more_than_one_on_their_votes_and_nothing_else():
    votes = simulate(SimulationSpec(n_items=300, n_judges=5, levels=3, seed=2))
    spec = PanelCurveSpec(Settings(splits=3), calibrators=("temperature",), ks=(5,), compare=())
    graded = replace(spec, aggregator="one_coin_graded")
    plain, better = (run(PANEL_CURVE, votes, one) for one in (spec, graded))
    assert better.nll.value[0, -1] < 0.97 * plain.nll.value[0, -1]
    assert better.ranking == plain.ranking
    bare = replace(votes, grades=None, thresholds=None)
    assert np.array_equal(run(PANEL_CURVE, bare, graded).nll.value, plain.nll.value)


class TestSeeds:
    def test_a_large_study_adds_every_chunk_to_one_partial_with_the_same_bits(self, monkeypatch):
        spec = spec_of(splits=13)
        wanted = bits(curve(VOTES, spec, jobs=2))
        monkeypatch.setattr(panel_curve, "_LARGE", 0)
        states = list(steps(PANEL_CURVE, VOTES, spec, jobs=2))
        assert bits(states[-1].result()) == wanted
        assert len({state.partial.item_sums.ctypes.data for state in states}) == 1
        kept = {}
        for state in steps(
            PANEL_CURVE, VOTES, spec, jobs=1, keep=lambda c, piece: kept.update({c.number: piece})
        ):
            assert len(kept) == state.done
        assert sorted(len(piece.numbers) for piece in kept.values()) == [3, 5, 5]

    def test_items_are_summed_in_blocks_with_the_same_bits(self, monkeypatch):
        wanted = self.tally(VOTES, spec_of(calibrators=ALL))
        monkeypatch.setattr(accumulate, "_CELLS", 7)
        blocks = self.tally(VOTES, spec_of(calibrators=ALL))
        for name in ("item_sums", "item_hits", "evaluated", "chosen_on", "chosen"):
            np.testing.assert_array_equal(getattr(blocks, name), getattr(wanted, name))
        # Means over a split are sums of floats, block by block.
        np.testing.assert_allclose(blocks.split_means, wanted.split_means, rtol=1e-13)

    def test_ten_splits_are_the_first_ten_of_thirty(self):
        few, many = (self.tally(VOTES, spec_of(splits=splits)) for splits in (10, 30))
        for name in ("numbers", "split_means", "chosen_on", "chosen", "null_nll", "flip_p"):
            np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:10])

    def test_another_seed_gives_other_numbers(self, result):
        other = curve(VOTES, spec_of(calibrators=ALL, seed=1))
        assert (other.nll.value != result.nll.value).any()

    @staticmethod
    def tally(votes, spec):
        for progress in steps(PANEL_CURVE, votes, spec, jobs=1):
            partial = progress.partial
        return partial


class Paused(Gate):
    """Lets so many chunks start, then has to be waited for; notes what was kept by then."""

    def __init__(self, at_once):
        self.at_once, self.left = at_once, 0
        self.kept, self.started, self.waits = [], [], []

    def is_open(self):
        self.left -= 1
        return self.left >= 0

    def wait(self):
        self.left = self.at_once
        self.waits.append((sorted(self.kept), sorted(self.started)))

    def keep(self, chunk, _piece):
        self.kept.append(chunk.number)


class TestRunning:
    def test_a_subset_of_splits_is_a_valid_result_marked_partial(self):
        spec = spec_of(splits=15)
        results = [progress.result() for progress in steps(PANEL_CURVE, VOTES, spec, jobs=1)]
        assert [outcome.n_splits for outcome in results] == [5, 10, 15]
        assert [outcome.partial for outcome in results] == [True, True, False]
        assert np.isfinite(results[0].nll.lo).all()
        ten, apart = curve(VOTES, spec_of(splits=10)), ("planned_splits",)
        assert bits(results[1], without=apart) == bits(ten, without=apart)

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_work_that_is_paused_keeps_all_that_it_started_and_has_the_same_bits(self, jobs):
        gate, started = Paused(3), []

        def run_chunk(votes, spec, chunk):
            started.append(chunk.number)
            return PANEL_CURVE.run_chunk(VOTES, spec, chunk)

        gate.started, spec = started, spec_of(splits=60)
        study = replace(PANEL_CURVE, run_chunk=run_chunk)
        states = steps(study, VOTES, spec, jobs=jobs, keep=gate.keep, gate=gate)
        (last,) = collections.deque(states, maxlen=1)
        assert all(kept == before for kept, before in gate.waits)
        assert sorted(started) == list(range(12))
        assert bits(last.result()) == bits(curve(VOTES, spec))
        if jobs == 2:
            assert [len(kept) for kept, _ in gate.waits] == [1, 4, 7, 10]

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_cancelling_stops_between_chunks(self, jobs):
        seen, gate = [], Gate()
        gate.cancelled = lambda: len(seen) == 2
        states = steps(PANEL_CURVE, VOTES, spec_of(splits=60), jobs=jobs, gate=gate)
        with pytest.raises(Cancelled):
            collections.deque(seen.append(progress.done) for progress in states)
        assert seen == [1, 2]

    def test_a_large_study_stops_between_chunks_with_what_it_has(self, monkeypatch):
        monkeypatch.setattr(panel_curve, "_LARGE", 0)
        seen, gate = [], Gate()
        gate.cancelled = lambda: len(seen) == 2
        states = steps(PANEL_CURVE, VOTES, spec_of(splits=30), gate=gate)
        with pytest.raises(Cancelled):
            collections.deque(map(seen.append, states))
        assert [progress.done for progress in seen] == [1, 2]
        ten, apart = curve(VOTES, spec_of(splits=10)), ("planned_splits",)
        assert bits(seen[-1].result(), without=apart) == bits(ten, without=apart)

    def test_an_error_in_a_worker_reaches_the_caller(self):
        with pytest.raises(InputError, match="no such judge"):
            curve(VOTES, spec_of(splits=20, judges=("nobody",)), jobs=2)


class TestCodec:
    def test_a_spec_survives_json_and_its_hash_sees_every_knob(self):
        spec = spec_of(judges=("a", "b"), seed=3)
        assert from_plain(PanelCurveSpec, json.loads(json.dumps(to_plain(spec)))) == spec
        others = (spec_of(seed=3), replace(spec, ks=(1, 2)), replace(spec, aggregator="majority"))
        assert len({spec_sha(entry) for entry in (spec, *others)}) == 4
