"""Damaged rows are not found, hide no others, and are repaired by uploading or computing again."""

import contextlib
import io
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgepanel.service.basics import NotFound
from judgepanel.studies import codec, contract
from judgepanel.votes import MISSING
from tests.helpers import make_votes
from tests.service.counting import SPEC, Count, Counter, CountSpec, completed, loaded, worked


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"id": 1}', "x", "[" * 100_000, "null"])
def test_a_damaged_analysis_is_not_found_and_hides_no_other(space, votes, sql, damage):
    good, bad = (space.create(loaded(votes), contract.Settings(), name) for name in ("good", "bad"))
    sql("UPDATE analyses SET content = :damage WHERE id = :id", damage=damage, id=bad.id)
    with pytest.raises(NotFound):
        space.open(bad.id)
    with pytest.raises(NotFound):
        space.rename(bad.id, "x")
    assert [analysis.id for analysis in space.list()] == [good.id]
    space.delete(bad.id)
    assert sql("SELECT id FROM analyses") == [(good.id,)]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(("id", "name", "file", "votes_sha256", "settings", "columns", "notes")),
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.lists(st.integers())
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
def test_an_analysis_with_any_field_changed_is_read_or_not_found(space, votes, sql, key, value):
    made = space.create(loaded(votes), contract.Settings(), "x")
    ((content,),) = sql("SELECT content FROM analyses WHERE id = :id", id=made.id)
    changed = json.dumps({**json.loads(content), key: value})
    sql("UPDATE analyses SET content = :content WHERE id = :id", content=changed, id=made.id)
    with contextlib.suppress(NotFound):
        assert space.open(made.id).id == made.id


def test_an_id_does_not_open_what_another_row_holds(space, votes, sql):
    made = space.create(loaded(votes), contract.Settings(), "x")
    sql("UPDATE analyses SET id = 'forged-but-well-formed'")
    for name in ("forged-but-well-formed", made.id):
        with pytest.raises(NotFound):
            space.open(name)


def crafted(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def damaged_votes(good):
    other = replace(make_votes(2, 40, 4), judges=("a", "b", "c", "d"))
    text = np.frombuffer(b"{}", np.uint8)
    return {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "noise": b"\x00" * 100,
        "flipped": good[:200] + bytes([good[200] ^ 255]) + good[201:],
        "other votes": codec.pack(other),
        "no arrays": crafted(),
        "no text": crafted(votes=other.votes, labels=other.labels, text=text),
        "an object": crafted(votes=np.array([Bomb()], object), labels=other.labels, text=text),
        "an object as text": crafted(
            votes=other.votes, labels=other.labels, text=np.array([Bomb()], object)
        ),
    }


@pytest.mark.parametrize("damage", damaged_votes(bytes(1000)))
def test_damaged_votes_are_not_found_until_they_are_brought_again(home, votes, sql, damage):
    sha = home().put_votes(votes)
    ((good,),) = sql("SELECT content FROM votes")
    sql("UPDATE votes SET content = :content", content=damaged_votes(bytes(good))[damage])
    with pytest.raises(NotFound):
        home().votes(sha)
    home().put_votes(votes)
    assert home().votes(sha).sha256 == sha


LISTED = json.dumps({"result": {"total": [20], "planned": 20, "warnings": []}}).encode()
CONTENT = (b"", b"{", b"[]", b"{}", b"\xff", LISTED)


def test_votes_kept_before_coded_ties_had_a_hash_are_still_there(home, votes, sql):
    made = home().create(loaded(votes), contract.Settings(), "x")
    blank = votes.votes == MISSING
    assert blank.any()
    sql("UPDATE votes SET content = :content", content=codec.pack(replace(votes, ties=blank)))
    again = home().votes(made.votes_sha256)
    assert (again.sha256, again.ties) == (made.votes_sha256, None)


@pytest.mark.parametrize("damage", [b"", b"{", *map(zlib.compress, CONTENT)], ids=range(8))
def test_a_damaged_result_is_computed_again(home, votes, sql, damage):
    counter, _ = worked(home(), votes)
    sql("UPDATE results SET content = :damage", damage=damage)
    restarted = home()
    asked = (counter.study, votes.sha256, SPEC)
    assert restarted.result(*asked) is None
    assert restarted.is_unreadable(*asked)
    completed(restarted, counter, votes)
    assert home().result(*asked).result == Count(20, 20)
    assert not home().is_unreadable(*asked)


def test_a_result_that_was_never_computed_is_not_called_unreadable(home, votes):
    assert not home().is_unreadable(Counter().study, votes.sha256, CountSpec())
