"""Independent fits on as many threads as the caller allows."""

from threading import Barrier, current_thread

import pytest

from judgepanel.kernels.threads import both, each, threads


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
