"""The map shows each pair on both sides, outlines clusters, and escapes names."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.figures.judges import NAMED_JUDGES, correlation_map, judge_card, judge_scales
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.judges import JUDGES, JudgesSpec
from tests.studies.judges.test_judges import family_votes


def found_of(**kwargs):
    return run(JUDGES, family_votes(**kwargs), JudgesSpec(Settings(splits=4)), jobs=1)


@pytest.fixture(scope="module")
def result():
    return found_of()


def test_every_pair_is_drawn_and_the_diagonal_is_blank(result):
    drawn = np.array(correlation_map(result).data[0].z)
    assert np.isnan(np.diag(drawn)).all()
    np.testing.assert_array_equal(drawn, drawn.T)
    assert np.isfinite(drawn[~np.eye(9, dtype=bool)]).all()


def test_clusters_of_two_or_more_are_outlined_where_their_judges_stand(result):
    boxes = [shape for shape in correlation_map(result).layout.shapes if shape.type == "rect"]
    assert sorted(box.x1 - box.x0 for box in boxes) == [2, 3, 4]
    labels = result.cluster[result.order]
    for label, box in enumerate(boxes, start=1):
        assert set(labels[int(box.x0) : int(box.x1)]) == {label}
        assert (box.y0, box.y1) == (box.x0, box.x1)


def test_unknown_pairs_are_blank():
    votes = family_votes()
    cells = np.array(votes.votes)
    cells[:200, 0], cells[200:, 8] = -1, -1
    apart = run(JUDGES, replace(votes, votes=cells), JudgesSpec(Settings(splits=4)), jobs=1)
    heat = correlation_map(apart).data[0]
    names = [apart.judges[k] for k in apart.order]
    i, j = (names.index(name) for name in ("judge00", "judge08"))
    assert np.isnan(heat.z[i][j])
    assert "no two items in common<br>0 items in common" in heat.text[i][j]
    assert np.count_nonzero(np.isnan(np.array(heat.z))) == 9 + 2


def test_the_hover_names_both_judges_and_the_value(result):
    heat = correlation_map(result).data[0]
    text = heat.text[0][1]
    assert result.judges[result.order[0]] in text
    assert result.judges[result.order[1]] in text
    assert f"{heat.z[0][1]:.2f}" in text
    assert "400 items in common" in text


def test_names_stand_at_the_side_only_where_they_fit(result):
    assert sorted(correlation_map(result).layout.yaxis.ticktext) == sorted(result.judges)
    many = found_of(codes=[j % 3 for j in range(NAMED_JUDGES + 3)])
    ticks = correlation_map(many).layout.yaxis.ticktext
    assert set(ticks) <= {str(label) for label in range(1, many.n_clusters + 1)}


def test_the_chosen_judge_is_marked_by_shapes_at_both_ends(result):
    name = result.judges[4]
    place = [result.judges[j] for j in result.order].index(name) + 1
    row, column = correlation_map(result, name).data[1:]
    assert set(row.x) == {place}
    assert set(column.y) == {place}
    assert len(correlation_map(result, "nobody").data) == 1


def test_the_card_ranks_a_judge_on_every_scale_that_is_known(result):
    best = result.judges[int(result.accuracy.value.argmax())]
    scales = judge_scales(result, best, {"one_coin": "one-coin"})
    assert next(iter(scales)) == "accuracy"
    assert "weight: one-coin" in scales
    assert "weight: majority vote" not in scales
    assert "ability" in scales
    ticks, *_, own = judge_card(result, best).data
    assert (min(ticks.x), max(ticks.x)) == (0.0, 1.0)
    assert own.customdata[0].endswith("rank 1 of 9")


def test_a_card_of_one_judge_can_be_drawn():
    figure = judge_card(found_of(codes=[0]), "judge00")
    assert figure.data[-1].x[0] == 0.5
