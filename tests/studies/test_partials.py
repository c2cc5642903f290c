"""Partial results of studies: stored as bytes, read back to the bit, combined in any order."""

import dataclasses
from functools import reduce

import pytest

from judgepanel.present.registry import STUDIES
from judgepanel.studies.codec import pack, unpack
from judgepanel.studies.contract import Settings
from judgepanel.studies.results import combine
from judgepanel.studies.runner import default_jobs, merged, run, steps
from tests.helpers import make_votes, same_bits
from tests.present.results import spec_of
from tests.present.results import votes as few_votes


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 150, 4)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_resumes_to_the_bit_whatever_the_order(name):
    """Chunks combined in any order, one of them read back from bytes, give the same result."""
    votes, study = few_votes(), dataclasses.replace(STUDIES[name], chunk=1)
    spec = dataclasses.replace(spec_of(name), settings=Settings(splits=3))
    pieces = [study.run_chunk(votes, spec, chunk) for chunk in study.plan(spec)[:3]]
    for piece in pieces:
        same_bits(unpack(study.partial, pack(piece)), piece)
    if len(pieces) == 1:
        return
    first, *others = pieces
    back = unpack(study.partial, pack(first))
    orders = ((first, *others), (*others, back), (*others[::-1], first))
    ends = [study.merge(votes, spec, reduce(combine, order)) for order in orders]
    for end in ends[1:]:
        same_bits(end, ends[0])
    assert study.merge(votes, spec, first).partial


def test_a_resumed_run_skips_what_is_kept_and_ends_in_the_same_bits(votes):
    study = dataclasses.replace(STUDIES["panel_curve"], chunk=2)
    spec = study.spec(settings=Settings(splits=8))
    whole = run(study, votes, spec, jobs=1)
    collected = {}
    list(
        steps(study, votes, spec, jobs=1, keep=lambda c, piece: collected.update({c.number: piece}))
    )
    assert sorted(collected) == [0, 1, 2, 3]
    for have in ((), (0,), (3, 1), (0, 1, 2, 3)):
        calls = []
        states = list(
            steps(
                study,
                votes,
                spec,
                jobs=1,
                finished={n: collected[n] for n in have},
                keep=lambda c, _, calls=calls: calls.append(c.number),
            )
        )
        assert sorted([*calls, *have]) == [0, 1, 2, 3]
        assert [state.done for state in states] == list(range(len(have) + 1, 5)) or len(have) == 4
        assert (states[-1].done, states[-1].total, states[-1].remaining) == (4, 4, 0.0)
        same_bits(states[-1].result(), whole)
    part = merged(study, votes, spec, {n: collected[n] for n in (0, 1)})
    same_bits(part, study.merge(votes, spec, combine(collected[0], collected[1])))
    assert merged(study, votes, spec, {}) is None


def test_there_are_no_more_workers_than_a_limit_allows(monkeypatch):
    available = default_jobs()
    assert available >= 1
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert default_jobs() == 1
