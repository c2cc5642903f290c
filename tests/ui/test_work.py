"""When a page draws a partial result again."""

import pytest

from judgepanel.service.workspace import Job
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
