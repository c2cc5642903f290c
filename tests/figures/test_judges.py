"""Judges side by side: shares add up, groups look different, names are escaped."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.figures.judges import coverage_strip, kept_judges
from judgepanel.studies.understand.judge_table import judge_table
from judgepanel.votes import MISSING
from tests.helpers import make_votes


def table_of(n_judges=6, *, silent=None):
    votes = make_votes(3, 60, n_judges)
    if silent is not None:
        cast = votes.votes.copy()
        cast[:, silent] = MISSING
        votes = replace(votes, votes=cast)
    return judge_table(votes)


def test_right_wrong_and_missing_fill_every_bar():
    figure = coverage_strip(table_of(silent=2))
    assert np.sum([bar.y for bar in figure.data], axis=0) == pytest.approx(np.ones(6))
    assert [bar.name for bar in figure.data] == ["correct", "incorrect", "missing"]


def test_the_most_accurate_judge_comes_first_and_the_silent_one_last():
    table = table_of(silent=2)
    names = list(coverage_strip(table).data[0].text)
    assert names[0] == table.judges[int(np.nanargmax(table.accuracy.value))]
    assert names[-1] == table.judges[2]


def test_kept_left_out_and_set_aside_differ_in_colour_and_shape():
    table = table_of()
    figure = kept_judges(table, table.judges[:3], (table.judges[5],))
    assert [trace.name for trace in figure.data] == ["kept (3)", "left out (2)", "set aside (1)"]
    for look in ("color", "symbol"):
        assert len({trace.marker[look] for trace in figure.data}) == 3


def test_every_judge_with_votes_is_drawn_once_and_the_silent_one_is_not():
    table = table_of(silent=4)
    figure = kept_judges(table, table.judges, ())
    names = [name for trace in figure.data for name in trace.text]
    assert sorted(names) == sorted(set(table.judges) - {table.judges[4]})


def test_a_panel_of_one_judge_can_be_drawn():
    table = table_of(1)
    for figure in (coverage_strip(table), kept_judges(table, table.judges, ())):
        assert list(figure.layout.xaxis.tickvals) == [1]
