"""Work that one study leaves to the next is kept up to a limit in bytes."""

from __future__ import annotations

from judgepanel.studies.recent import Recent


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
