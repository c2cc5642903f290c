"""Partials as bytes: the same bits come back, and nothing but data ever does."""

import dataclasses
import json
import pickle
import struct
import sys
import zlib
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from judgepanel.present.registry import STUDIES
from judgepanel.studies import tree
from judgepanel.studies.accumulate import Tally, combine
from judgepanel.studies.contract import Chunk
from judgepanel.studies.runner import default_jobs, merged, run, steps
from judgepanel.studies.settings import Settings
from tests.helpers import make_votes


def same(entry, other):
    """Of one type and the same to the bit, NaN and the sign of zero included."""
    assert type(entry) is type(other)
    if isinstance(entry, np.ndarray | np.generic):
        assert (entry.dtype, entry.shape) == (other.dtype, other.shape)
        assert entry.tobytes() == other.tobytes()
    elif isinstance(entry, float):
        assert struct.pack(">d", entry) == struct.pack(">d", other)
    elif isinstance(entry, list | tuple):
        assert len(entry) == len(other)
        for a, b in zip(entry, other, strict=True):
            same(a, b)
    elif isinstance(entry, dict):
        same(list(entry.items()), list(other.items()))
    elif is_dataclass(entry):
        for field in fields(entry):
            same(getattr(entry, field.name), getattr(other, field.name))
    else:
        assert entry == other


DTYPES = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes()
    | arrays.unsigned_integer_dtypes()
    | arrays.floating_dtypes(sizes=(32, 64))
    | arrays.unicode_string_dtypes(max_len=4)
)
ARRAYS = DTYPES.flatmap(lambda d: arrays.arrays(d, arrays.array_shapes(min_dims=0, min_side=0)))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=9)
KEYS = st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.floats(allow_nan=False))
LEAVES = PLAIN | ARRAYS | ARRAYS.filter(lambda a: a.ndim == 0).map(lambda a: a[()])
LEAVES |= st.builds(Chunk, PLAIN, ARRAYS, PLAIN)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(TREES)
def test_any_tree_comes_back_to_the_bit(value):
    same(tree.decode(tree.encode(value)), value)


@given(st.binary(max_size=200))
def test_noise_is_refused(data):
    for damaged in (data, zlib.compress(data)):
        with pytest.raises(ValueError, match="no partial"):
            tree.decode(damaged)


@given(TREES, st.data())
def test_damage_is_refused_or_reads_as_data(value, draw):
    plain = bytearray(zlib.decompress(tree.encode(value)))
    at = draw.draw(st.integers(0, len(plain) - 1))
    plain[at] ^= draw.draw(st.integers(1, 255))
    for damaged in (plain, plain[:at]):
        try:
            tree.decode(zlib.compress(bytes(damaged)))
        except ValueError:
            continue


def crafted(node):
    text = json.dumps(node).encode()
    return zlib.compress(struct.pack(">Q", len(text)) + text)


@pytest.mark.parametrize(
    "name",
    [
        *("os:system", "judgepanel.cli:main", "judgepanel.service.jobs:threading.Thread"),
        *("judgepanel.studies.tree:sys.exit", "judgepanel.studies.tree:_READERS", "builtins:list"),
        *("judgepanel:ENGINE", "judgepanel.studies.accumulate:Tally.combine", "", ":", "a", "x:y"),
        # A dataclass of ours, but under a name of a module that only borrows it.
        *("judgepanel.studies.curve.panel_curve:Tally", "judgepanel.ui.nowhere:Spec"),
    ],
)
def test_nothing_but_a_dataclass_of_our_own_modules_is_made(name):
    with pytest.raises(ValueError, match="no partial"):
        tree.decode(crafted({"dataclass": name, "fields": {}}))


def test_reading_imports_nothing():
    module = "judgepanel.__main__"
    assert module not in sys.modules
    with pytest.raises(ValueError, match="no partial"):
        tree.decode(crafted({"dataclass": f"{module}:Anything", "fields": {}}))
    assert module not in sys.modules


@pytest.mark.parametrize(
    "node",
    [
        [1],
        1.5,
        {"array": 0},
        {"array": "x"},
        {"array": -1},
        {"float": "00"},
        {"unknown": 1},
        {},
        {"tuple": None},
        {"dict": [[{"list": []}, 1]]},
        {"dataclass": "judgepanel.studies.contract:Chunk", "fields": {"number": 1}},
    ],
)
def test_a_tree_of_another_form_is_refused(node):
    with pytest.raises(ValueError, match="no partial"):
        tree.decode(crafted(node))


def test_a_pickled_array_is_not_loaded():
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))

    text = json.dumps({"array": 0}).encode()
    body = pickle.dumps(np.array([Bomb()], object))
    parts = b"".join(struct.pack(">Q", len(part)) + part for part in (text, body))
    with pytest.raises(ValueError, match="no partial"):
        tree.decode(zlib.compress(parts))


@dataclass
class Foreign:
    x: int


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, Foreign(1), Foreign, Tally, print, np.array([None]), 1j, [object()]],
    ids=range(9),
)
def test_what_is_no_data_of_ours_is_not_written(value):
    with pytest.raises((TypeError, ValueError)):
        tree.encode(value)


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 150, 4)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_resumes_to_the_bit_whatever_the_order(name, votes):
    """Two chunks combined either way, one of them read back from bytes, give the same result."""
    study = dataclasses.replace(STUDIES[name], chunk=1)
    spec = study.spec(settings=Settings(splits=2))
    chunks = study.plan(spec)
    pieces = [study.run_chunk(votes, spec, chunk) for chunk in chunks[:2]]
    for piece in pieces:
        same(tree.decode(tree.encode(piece)), piece)
    if len(chunks) == 1:
        return
    first, other = pieces
    back = tree.decode(tree.encode(other))
    ends = [
        study.merge(votes, spec, study.combine(*pair)) for pair in ((first, back), (other, first))
    ]
    same(*ends)


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
        same(states[-1].result(), whole)
    part = merged(study, votes, spec, {n: collected[n] for n in (0, 1)})
    same(part, study.merge(votes, spec, combine(collected[0], collected[1])))
    assert merged(study, votes, spec, {}) is None
    assert default_jobs() >= 1
