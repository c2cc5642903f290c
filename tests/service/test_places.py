"""Queue places: a few at a time, one per user, in order of arrival."""

from judgepanel.service.places import Places


def test_two_users_have_places_and_the_third_waits_for_one():
    places = Places(2)
    first, second, third = (places.queue(name) for name in ("ann", "ben", "cy"))
    assert places.enter(second, 0)
    assert places.enter(first, 0)
    assert not places.enter(third, 0)
    places.leave(first)
    assert places.enter(third, 0)


def test_a_user_has_one_place_and_holds_up_nobody_else():
    places = Places(2)
    first, second, other = (places.queue(name) for name in ("ann", "ann", "ben"))
    assert places.enter(first, 0)
    assert not places.enter(second, 0)
    assert places.enter(other, 0)
    places.leave(first)
    assert places.enter(second, 0)


def test_who_came_first_goes_first_and_who_gives_up_is_skipped():
    places = Places(1)
    first, second, third = (places.queue(name) for name in ("ann", "ben", "cy"))
    assert not places.enter(second, 0)
    assert places.enter(first, 0)
    places.leave(second)
    places.leave(first)
    assert places.enter(third, 0)
