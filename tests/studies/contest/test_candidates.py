"""The candidates of a recommendation."""

import pytest

from judgepanel.studies.panel.recommended import LISTS, candidates_of, panels


@pytest.mark.parametrize(
    ("n_judges", "wanted"),
    [
        (1, [("all", 1)]),
        (2, [("top-1", 1), ("all", 2)]),
        (3, [("top-1", 1), ("top half (2)", 2), ("all", 3)]),
        (5, [("top-1", 1), ("top-3", 3), ("all", 5)]),
        (20, [("top-1", 1), ("top-3", 3), ("top-5", 5), ("top-10", 10), ("all", 20)]),
        (
            50,
            [
                ("top-1", 1),
                ("top-3", 3),
                ("top-5", 5),
                ("top-10", 10),
                ("top-20", 20),
                ("top half (25)", 25),
                ("all", 50),
            ],
        ),
    ],
)
def test_a_panel_size_is_a_candidate_once(n_judges, wanted):
    assert list(panels(n_judges)) == wanted


@pytest.mark.parametrize("name", LISTS)
def test_symmetric_drops_platt_which_temperature_equals(name):
    as_given, symmetric = (candidates_of(name, 5, symmetric=flag).all() for flag in (False, True))
    assert [c for c in as_given if c.calibrator != "platt"] == list(symmetric)
    assert len(as_given) > len(symmetric)


@pytest.mark.parametrize("n_judges", [1, 2, 5, 40])
@pytest.mark.parametrize("name", LISTS)
def test_no_list_has_a_panel_larger_than_the_judges(name, n_judges):
    candidates = candidates_of(name, n_judges, symmetric=False).all()
    assert {c.k for c in candidates if c.curator is None} <= set(range(1, n_judges + 1))
    assert ("all", "one_coin", "beta") in {(c.name, c.aggregator, c.calibrator) for c in candidates}


@pytest.mark.parametrize("name", LISTS)
def test_grades_add_panels_of_everyone_that_read_them(name):
    votes, grades = (
        candidates_of(name, 9, symmetric=False, graded=flag).all() for flag in (False, True)
    )
    assert grades[: len(votes)] == votes
    added = grades[len(votes) :]
    assert {c.aggregator for c in added} == {"one_coin_graded", "joint_graded"}
    assert {(c.name, c.k) for c in added} == {("all", 9)}


def test_a_budget_adds_panels_that_are_chosen_to_keep_within_it():
    without, within = (candidates_of("default", 9, symmetric=True, budget=b) for b in (False, True))
    added = set(within.all()) - set(without.all())
    assert {c.curator for c in added} == {"budget"}
    assert {c.aggregator for c in added} == {"one_coin", "joint"}
