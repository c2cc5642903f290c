"""Work that one study leaves to the next is kept up to a limit in bytes."""

from __future__ import annotations

from judgepanel.kernels.threads import Cache, OfSplits, Recent


def test_the_oldest_goes_when_there_is_no_room():
    memory: Recent[str] = Recent(10)
    for name in ("a", "b", "c"):
        memory.put(name, name.upper(), 4)
    assert [memory.get(name) for name in ("a", "b", "c")] == [None, "B", "C"]


def test_what_is_larger_than_the_memory_displaces_nothing():
    memory: Recent[str] = Recent(10)
    memory.put("small", "kept", 10)
    memory.put("large", "not kept", 11)
    assert (memory.get("small"), memory.get("large")) == ("kept", None)


def test_a_key_keeps_its_first_value():
    memory: Recent[str] = Recent(10)
    for value in ("first", "second"):
        memory.put("key", value, 6)
    assert memory.get("key") == "first"


def test_what_is_used_stays_and_what_is_cleared_leaves_room():
    memory: Recent[str] = Recent(10)
    memory.put("a", "A", 4)
    memory.put("b", "B", 4)
    assert memory.get("a") == "A"
    memory.put("c", "C", 4)
    assert [memory.get(name) for name in ("a", "b", "c")] == ["A", None, "C"]
    memory.clear()
    memory.put("d", "D", 10)
    assert [memory.get(name) for name in ("a", "d")] == [None, "D"]


def test_splits_belong_to_votes_and_another_process_is_handed_those_it_asks_for():
    here, there = OfSplits(100), OfSplits(100)
    with here.working("one") as keys:
        here.keep(0, "key", "of one", 10)
        here.keep(1, "key", "of one's second", 10)
    here.keep(0, "key", "of two", 10, "two")
    assert [value for value, _ in here.of_keys(keys).values()] == ["of one", "of one's second"]
    assert here.find(0, "key") is None
    there.add(here.of_splits("one", range(1, 5)))
    assert there.find(1, "key", "one") == "of one's second"
    assert there.find(0, "key", "one") is there.find(1, "key", "two") is None


def test_what_is_larger_than_the_memory_is_not_handed_on():
    memory = OfSplits(10)
    with memory.working("votes") as keys:
        memory.keep(0, "key", "large", 11)
    assert not memory.of_keys(keys)


def test_a_cache_keeps_what_was_used_last():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.forget("a")
    cache.forget("z")
    assert cache.get("a") is None
