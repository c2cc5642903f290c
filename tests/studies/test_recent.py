"""Work that one study leaves to the next is kept up to a limit in bytes."""

from __future__ import annotations

from judgepanel.studies.recent import Cache, Recent


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
