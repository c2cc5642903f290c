"""Running a panel curve: in parts, in any order, cancelled, resumed and stored, to the bit."""

import collections
import json
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.studies import accumulate
from judgepanel.studies.codec import from_plain, spec_sha, to_plain
from judgepanel.studies.contract import Cancelled, Gate
from judgepanel.studies.decide import panel_curve
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import steps
from judgepanel.votes import InputError
from tests.helpers import make_votes
from tests.studies.panel.curves import ALL, bits, curve, spec_of


@pytest.fixture(scope="module")
def votes():
    return make_votes(1, 60, 8)


@pytest.fixture(scope="module")
def result(votes):
    return curve(votes, spec_of(calibrators=ALL))


class TestSeeds:
    def test_a_large_study_adds_every_chunk_to_one_partial_with_the_same_bits(
        self, votes, monkeypatch
    ):
        spec = spec_of(splits=13)
        wanted = bits(curve(votes, spec, jobs=2))
        monkeypatch.setattr(panel_curve, "_LARGE", 0)
        states = list(steps(PANEL_CURVE, votes, spec, jobs=2))
        assert bits(states[-1].result()) == wanted
        assert len({state.partial.item_sums.ctypes.data for state in states}) == 1
        kept = {}
        for state in steps(
            PANEL_CURVE, votes, spec, jobs=1, keep=lambda c, piece: kept.update({c.number: piece})
        ):
            assert len(kept) == state.done
        assert sorted(len(piece.numbers) for piece in kept.values()) == [3, 5, 5]

    def test_items_are_summed_in_blocks_with_the_same_bits(self, votes, monkeypatch):
        wanted = self.tally(votes, spec_of(calibrators=ALL))
        monkeypatch.setattr(accumulate, "_CELLS", 7)
        blocks = self.tally(votes, spec_of(calibrators=ALL))
        for name in ("item_sums", "item_hits", "evaluated", "chosen_on", "chosen"):
            np.testing.assert_array_equal(getattr(blocks, name), getattr(wanted, name))
        # Means over a split are sums of floats, block by block.
        np.testing.assert_allclose(blocks.split_means, wanted.split_means, rtol=1e-13)

    def test_ten_splits_are_the_first_ten_of_thirty(self, votes):
        few, many = (self.tally(votes, spec_of(splits=splits)) for splits in (10, 30))
        for name in ("numbers", "split_means", "chosen_on", "chosen", "null_nll", "flip_p"):
            np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:10])

    def test_another_seed_gives_other_numbers(self, votes, result):
        other = curve(votes, spec_of(calibrators=ALL, seed=1))
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
    def test_a_subset_of_splits_is_a_valid_result_marked_partial(self, votes):
        spec = spec_of(splits=15)
        results = [progress.result() for progress in steps(PANEL_CURVE, votes, spec, jobs=1)]
        assert [outcome.n_splits for outcome in results] == [5, 10, 15]
        assert [outcome.partial for outcome in results] == [True, True, False]
        assert np.isfinite(results[0].nll.lo).all()
        assert bits(results[1], without=("planned_splits",)) == bits(
            curve(votes, spec_of(splits=10)), without=("planned_splits",)
        )

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_work_that_is_paused_keeps_all_that_it_started_and_has_the_same_bits(self, votes, jobs):
        gate, started = Paused(3), []

        def run_chunk(votes, spec, chunk):
            started.append(chunk.number)
            return PANEL_CURVE.run_chunk(votes, spec, chunk)

        gate.started, spec = started, spec_of(splits=60)
        study = replace(PANEL_CURVE, run_chunk=run_chunk)
        states = steps(study, votes, spec, jobs=jobs, keep=gate.keep, gate=gate)
        (last,) = collections.deque(states, maxlen=1)
        assert all(kept == before for kept, before in gate.waits)
        assert sorted(started) == list(range(12))
        assert bits(last.result()) == bits(curve(votes, spec))
        if jobs == 2:
            assert [len(kept) for kept, _ in gate.waits] == [1, 4, 7, 10]

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_cancelling_stops_between_chunks(self, votes, jobs):
        seen, gate = [], Gate()
        gate.cancelled = lambda: len(seen) == 2
        states = steps(PANEL_CURVE, votes, spec_of(splits=60), jobs=jobs, gate=gate)
        with pytest.raises(Cancelled):
            collections.deque(seen.append(progress.done) for progress in states)
        assert seen == [1, 2]

    def test_a_large_study_stops_between_chunks_with_what_it_has(self, votes, monkeypatch):
        monkeypatch.setattr(panel_curve, "_LARGE", 0)
        seen, gate = [], Gate()
        gate.cancelled = lambda: len(seen) == 2
        states = steps(PANEL_CURVE, votes, spec_of(splits=30), gate=gate)
        with pytest.raises(Cancelled):
            collections.deque(map(seen.append, states))
        assert [progress.done for progress in seen] == [1, 2]
        assert bits(seen[-1].result(), without=("planned_splits",)) == bits(
            curve(votes, spec_of(splits=10)), without=("planned_splits",)
        )

    def test_an_error_in_a_worker_reaches_the_caller(self, votes):
        with pytest.raises(InputError, match="no such judge"):
            curve(votes, spec_of(splits=20, judges=("nobody",)), jobs=2)


class TestCodec:
    def test_a_spec_survives_json_and_its_hash_sees_every_knob(self):
        spec = spec_of(judges=("a", "b"), seed=3)
        assert from_plain(PanelCurveSpec, json.loads(json.dumps(to_plain(spec)))) == spec
        others = (spec_of(seed=3), replace(spec, ks=(1, 2)), replace(spec, aggregator="majority"))
        assert len({spec_sha(entry) for entry in (spec, *others)}) == 4
