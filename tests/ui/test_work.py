"""When a page draws a partial result again; work that waits for a quiet moment of the server."""

import threading

import pytest

from judgepanel.service.basics import ServerProblem
from judgepanel.service.workspace import Job
from judgepanel.ui.server import Quiet
from judgepanel.ui.work import POLL_SECONDS, _has_grown


@pytest.mark.parametrize(
    ("done", "drawn", "result", "elapsed", "remaining", "again"),
    [
        (1, 0, "first", 1.0, 60.0, True),
        (0, 0, None, 0.0, 0.0, False),
        (5, 4, "more", 5.0, 60.0, False),
        (6, 4, "half as many again", 6.0, 60.0, True),
        (90, 4, "nearly all", 90.0, 0.5 * POLL_SECONDS, False),
        (6, 4, "of an earlier run, whose pace is unknown", 0.0, 0.0, True),
    ],
)
def test_a_partial_result_is_drawn_again_when_it_has_grown_by_half_but_not_just_before_the_end(
    done, drawn, result, elapsed, remaining, again
):
    assert _has_grown(Job("running", done, 100, elapsed, remaining, result), drawn) is again


SECONDS = 30.0


def test_work_is_run_in_its_order_also_after_a_problem_of_the_server():
    ran, over = [], threading.Event()

    def refused():
        ran.append("refused")
        raise ServerProblem("no database")

    Quiet(0.0).add(lambda: ran.append("first"), refused, over.set)
    assert over.wait(SECONDS)
    assert ran == ["first", "refused"]


def test_what_waits_is_not_added_twice_and_can_be_added_again_once_it_began():
    quiet, ran = Quiet(0.0), []
    began, goes_on, over = threading.Event(), threading.Event(), threading.Event()

    def work():
        ran.append("work")

    def first():
        began.set()
        assert goes_on.wait(SECONDS)

    quiet.add(first)
    assert began.wait(SECONDS)
    quiet.add(work, work)
    quiet.add(work, first, over.set)
    goes_on.set()
    assert over.wait(SECONDS)
    assert ran == ["work"]


def test_nothing_is_begun_while_pages_are():
    quiet, ran = Quiet(10 * SECONDS), threading.Event()
    quiet.page()
    quiet.add(ran.set)
    assert not ran.is_set()
