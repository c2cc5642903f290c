"""Work that waits for a quiet moment of the server."""

import threading

from judgepanel.service.basics import ServerProblem
from judgepanel.ui.preload import Quiet

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
