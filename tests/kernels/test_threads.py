"""Independent fits on as many threads as are allowed, and work that is kept up to a limit."""

from __future__ import annotations

from threading import Barrier, current_thread

import pytest

from judgepanel.kernels.threads import Cache, OfSplits, both, each, threads


def thread_names(count):
    return each(lambda _: current_thread().name, range(count))


def test_without_an_allowance_everything_is_done_in_this_thread():
    assert set(thread_names(4)) == {current_thread().name}


def test_as_many_are_in_work_as_threads_are_allowed():
    together = Barrier(2)  # Broken, after a while, if only one thread comes.
    with threads(2):
        assert each(lambda item: (item, together.wait(timeout=60))[0], "abcd") == list("abcd")
    assert set(thread_names(2)) == {current_thread().name}


def test_threads_have_no_allowance_of_their_own():
    with threads(2):
        inner = each(lambda _: (current_thread().name, thread_names(2)), range(2))
    for own, names in inner:
        assert own != current_thread().name
        assert set(names) == {own}


def test_an_error_in_a_thread_is_raised_here():
    with threads(2), pytest.raises(ZeroDivisionError):
        each(lambda item: 1 / item, [1, 0, 2])


def test_two_functions_are_called_at_the_same_time_if_that_is_allowed():
    together = Barrier(2)
    with threads(2):
        assert both(lambda: together.wait(60) < 2, lambda: together.wait(60) < 2) == (True, True)
    names = both(lambda: current_thread().name, lambda: current_thread().name)
    assert set(names) == {current_thread().name}


def test_the_oldest_goes_when_there_is_no_room():
    memory = OfSplits(10)
    for name in ("a", "b", "c"):
        memory.put(name, name.upper(), 4)
    assert [memory.get(name) for name in ("a", "b", "c")] == [None, "B", "C"]


def test_what_is_larger_than_the_memory_displaces_nothing():
    memory = OfSplits(10)
    memory.put("small", "kept", 10)
    memory.put("large", "not kept", 11)
    assert (memory.get("small"), memory.get("large")) == ("kept", None)


def test_a_key_keeps_its_first_value():
    memory = OfSplits(10)
    for value in ("first", "second"):
        memory.put("key", value, 6)
    assert memory.get("key") == "first"


def test_what_is_used_stays_and_what_is_cleared_leaves_room():
    memory = OfSplits(10)
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
