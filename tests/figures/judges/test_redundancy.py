"""The map shows each pair once a side, clusters are outlined, names are text."""

import json
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.figures.judges.redundancy import (
    NAMED_JUDGES,
    correlation_map,
    judge_card,
    prepare_correlation_map,
    prepare_judge_card,
)
from judgepanel.figures.style import CURATE_LINE, INCLUDE
from judgepanel.studies.judges.judges import JUDGES, JudgesSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from tests.figures.test_style import contrast
from tests.studies.judges.test_judges import family_votes

HOSTILE = "<img src=x onerror=alert(1)>"


def found_of(**kwargs):
    return run(JUDGES, family_votes(**kwargs), JudgesSpec(Settings(splits=4)), jobs=1)


@pytest.fixture(scope="module")
def result():
    return found_of()


def test_every_pair_is_drawn_and_the_diagonal_is_blank(result):
    drawn = prepare_correlation_map(result)
    assert np.isnan(np.diag(drawn.value)).all()
    np.testing.assert_array_equal(drawn.value, drawn.value.T)
    assert np.isfinite(drawn.value[~np.eye(9, dtype=bool)]).all()
    assert drawn.together.max() <= 1


def test_clusters_of_two_or_more_are_outlined_where_their_judges_stand(result):
    drawn = prepare_correlation_map(result)
    assert sorted(last - first + 1 for first, last, _ in drawn.bounds) == [2, 3, 4]
    for first, last, label in drawn.bounds:
        names = drawn.names[first : last + 1]
        assert {result.cluster[result.judges.index(name)] for name in names} == {label}
    boxes = [shape for shape in correlation_map(result).layout.shapes if shape.type == "rect"]
    assert len(boxes) == 3


def test_unknown_pairs_are_blank():
    votes = family_votes()
    cells = np.array(votes.votes)
    cells[:200, 0], cells[200:, 8] = -1, -1
    drawn = prepare_correlation_map(
        run(JUDGES, replace(votes, votes=cells), JudgesSpec(Settings(splits=4)), jobs=1)
    )
    i, j = (drawn.names.index(name) for name in ("judge00", "judge08"))
    assert np.isnan(drawn.value[i, j])
    assert drawn.joint[i, j] == 0
    assert np.count_nonzero(np.isnan(drawn.value)) == 9 + 2


def test_the_hover_names_both_judges_and_the_value(result):
    heat = correlation_map(result).data[0]
    text = heat.text[0][1]
    assert result.judges[result.order[0]] in text
    assert result.judges[result.order[1]] in text
    assert f"{heat.z[0][1]:.2f}" in text
    assert "400 items in common" in text


def test_names_stand_at_the_side_only_where_they_fit(result):
    few = correlation_map(result).layout.yaxis.ticktext
    assert sorted(few) == sorted(result.judges)
    many = found_of(codes=[j % 3 for j in range(NAMED_JUDGES + 3)])
    ticks = correlation_map(many).layout.yaxis.ticktext
    assert set(ticks) <= {str(label) for label in range(1, many.n_clusters + 1)}


def test_the_chosen_judge_is_marked_by_shapes_at_both_ends(result):
    name = result.judges[4]
    place = prepare_correlation_map(result, name).chosen + 1
    row, column = correlation_map(result, name).data[1:]
    assert set(row.x) == {place}
    assert set(column.y) == {place}
    assert len(correlation_map(result, "nobody").data) == 1


def test_both_ends_of_the_scale_stand_out_from_white():
    assert contrast(INCLUDE, "#FFFFFF") >= 3.0
    assert contrast(CURATE_LINE, "#FFFFFF") >= 3.0


def test_the_card_ranks_a_judge_on_every_scale_that_is_known(result):
    best = int(result.accuracy.argmax())
    card = prepare_judge_card(result, result.judges[best], {"one_coin": "one-coin"})
    assert card.scales[0] == "accuracy"
    assert card.rank[0] == 1
    assert "weight: one-coin" in card.scales
    assert "weight: majority vote" not in card.scales
    assert "ability" in card.scales or np.isnan(result.ability).all()
    ticks = judge_card(result, result.judges[best]).data[0]
    assert (min(ticks.x), max(ticks.x)) == (0.0, 1.0)


def test_a_card_of_one_judge_can_be_drawn():
    alone = found_of(codes=[0])
    figure = judge_card(alone, "judge00")
    assert figure.data[-1].x[0] == 0.5


def test_judges_called_html_are_text(result):
    hostile = replace(result, judges=tuple(f"{HOSTILE}{j}" for j in range(9)))
    for figure in (correlation_map(hostile), judge_card(hostile, hostile.judges[0])):
        text = json.dumps(json.loads(figure.to_json()))
        assert "<img" not in text
    assert "onerror" in json.dumps(json.loads(correlation_map(hostile).to_json()))
