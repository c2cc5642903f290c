"""What comes next is computed while what came before is used."""

import threading

import pytest

from judgepanel.studies.runner import ahead

PATIENCE = 30.0


def test_the_next_item_is_computed_while_one_is_used():
    second = threading.Event()

    def items():
        yield "first"
        second.set()
        yield "second"

    used = ahead(items())
    assert next(used) == "first"
    assert second.wait(PATIENCE)
    assert list(used) == ["second"]


def test_items_come_in_order_and_none_of_none():
    assert list(ahead(iter(range(20)))) == list(range(20))
    assert list(ahead(iter(()))) == []


def test_at_most_one_item_is_computed_ahead():
    begun = []

    def items():
        for number in range(5):
            begun.append(number)
            yield number

    for number in ahead(items()):
        assert begun[-1] <= number + 1


def test_what_goes_wrong_is_raised_where_the_items_are_used():
    def items():
        yield 1
        raise ValueError("no second item")

    used = ahead(items())
    assert next(used) == 1
    with pytest.raises(ValueError, match="no second item"):
        next(used)
