"""Judges' outputs in a file: one verdict per item and judge, with the shown order undone."""

import json

import numpy as np
import pytest

from judgepanel.votes import InputError, load_votes
from judgepanel.votes.columns import order_of
from judgepanel.votes.table import LEVELS, REASONS, Coverage, JudgeCoverage

A, B, NOTHING = "Output (a)", "[[B]]", "I cannot say."


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def row(item, judge, text, order="AB", **more):
    label = 1 if item.startswith("p") else 0
    return {"item": item, "judge": judge, "text": text, "order": order, "label": label, **more}


def votes_of(*rows):
    votes = load_votes(lines(*rows, *FILL), name="said.jsonl").votes
    return {
        (item, judge): int(votes.votes[i, j])
        for i, item in enumerate(votes.item_ids)
        for j, judge in enumerate(votes.judges)
        if not item.endswith("fill")
    }


FILL = tuple(row(f"{kind}{n}fill", "x", A) for kind in "pn" for n in range(2))


def test_the_order_shown_is_undone():
    votes = votes_of(
        row("p1", "x", A, "AB"),
        row("p2", "x", A, "BA"),
        row("p3", "x", B, "output_1 first"),
        row("p4", "x", B, "Output_2  first"),
        row("p5", "x", A, False),
        row("p6", "x", A, True),
    )
    assert list(votes.values()) == [1, 0, 0, 1, 1, 0]


def test_a_judge_that_contradicts_itself_when_turned_round_has_no_vote():
    votes = votes_of(
        *(row("p1", "x", text, order) for text, order in ((A, "AB"), (B, "BA"))),
        *(row("p2", "x", text, order) for text, order in ((A, "AB"), (A, "BA"))),
        *(row("p3", "x", text, order) for text, order in ((NOTHING, "AB"), (A, "BA"))),
        *(row("p4", "x", text, order) for text, order in ((NOTHING, "AB"), ("", "BA"))),
    )
    assert list(votes.values()) == [1, -1, 0, -1]


def test_the_last_stage_counts():
    votes = votes_of(
        row("p1", "x", A, "AB", stage=1),
        row("p1", "x", A, "BA", stage=1),
        row("p1", "x", B, "AB", stage=2),
        row("p2", "x", A, "AB", stage=None),
    )
    assert list(votes.values()) == [0, 1]


def test_without_an_order_a_is_the_first_and_that_is_said():
    rows = [{key: value for key, value in line.items() if key != "order"} for line in FILL]
    loaded = load_votes(lines(*rows), name="said.jsonl")
    assert loaded.votes.votes.tolist() == [[1]] * 4
    assert "There is no column for the order" in loaded.warnings[0]


def test_outputs_of_an_unknown_order_are_left_out_and_counted():
    loaded = load_votes(lines(row("p1", "x", A, "apart"), *FILL), name="said.jsonl")
    assert loaded.votes.n_items == 4
    assert loaded.warnings[0].startswith(
        "1 output is left out because the order is not known, the first in row 1 ('apart')"
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ((row("p1", "x", A), row("p2", "x", A), row("p1", "x", B)),
            "said.jsonl, row 3, column 'item': judge 'x' already has an output on this item in "
            "this order in row 1 (found 'p1'); allowed: one output for each item, judge and order; "
            "remove one of the two rows"),
        ((row("p1", "x", A, "sideways"),),
            "said.jsonl, row 1, column 'order': the order in which the two were shown is not "
            "known (found 'sideways'); allowed: AB or BA"),
        ((row("p1", "x", A, stage="late"), *FILL),
            "said.jsonl, row 1, column 'stage': not a stage (found 'late'); allowed: a number, or "
            "blank; correct the cell, or leave it blank."),
        ((row("p1", "", A), *FILL), "said.jsonl, row 1, column 'judge': the judge name is empty"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused_in_one_sentence(rows, sentence):
    with pytest.raises(InputError) as caught:
        load_votes(lines(*rows), name="said.jsonl")
    assert str(caught.value).startswith(sentence)


def test_a_file_with_verdicts_is_read_as_it_was():
    loaded = load_votes(lines(*[{**line, "verdict": "B"} for line in FILL]), name="said.jsonl")
    assert (loaded.coverage, loaded.votes.votes.ravel().tolist()) == (None, [0] * 4)


def test_coverage_counts_forms_reasons_and_both_orders_as_a_loop_does():
    rng = np.random.default_rng(5)
    texts = [A, B, "**A**", "Output (b) is better.", NOTHING, "", "[[A]] [[B]]", "tie"]
    rows = [
        row(f"{'pn'[n % 2]}{n}", judge, texts[rng.integers(len(texts))], order)
        for n in range(60)
        for judge in ("x", "y", "z")
        for order in ("AB", "BA")
        if rng.random() < 0.8
    ]
    loaded = load_votes(lines(*rows), name="said.jsonl")
    sides = {A: "A", B: "B", "**A**": "A", "Output (b) is better.": "B"}
    level = {A: "closing", B: "bracket", "**A**": "bold", "Output (b) is better.": "stated"}
    reason = {NOTHING: "no verdict", "": "empty", "[[A]] [[B]]": "contradiction", "tie": "tie"}
    for coverage in loaded.coverage.judges:
        mine = [r for r in rows if r["judge"] == coverage.judge]
        assert coverage.outputs == len(mine)
        assert coverage.levels == tuple(
            sum(level.get(r["text"]) == name for r in mine) for name in LEVELS
        )
        assert coverage.reasons == tuple(
            sum(reason.get(r["text"]) == name for r in mine) for name in REASONS
        )
        assert coverage.shown_first == sum(sides.get(r["text"]) == "A" for r in mine)
        pairs: dict[str, list[str]] = {}
        for r in mine:
            if r["text"] in sides:
                pairs.setdefault(r["item"], []).append(sides[r["text"]])
        both = [pair for pair in pairs.values() if len(pair) == 2]
        assert coverage.both == len(both)
        assert coverage.same == sum(pair[0] != pair[1] for pair in both)
        assert coverage.both_first == sum(pair == ["A", "A"] for pair in both)
        assert coverage.rate == coverage.read / coverage.outputs
    examples = [unread.reason for unread in loaded.coverage.unread]
    assert "empty" not in examples
    assert len(examples) == 9


def test_examples_of_long_outputs_keep_the_beginning_and_the_end():
    long = "start " + "x" * 5_000 + " end"
    loaded = load_votes(lines(row("p9", "<b>x</b>", long), *FILL), name="said.jsonl")
    (example,) = loaded.coverage.unread
    assert (example.judge, example.item, example.row) == ("<b>x</b>", "p9", 1)
    assert example.excerpt.startswith("start")
    assert example.excerpt.endswith("end")
    assert len(example.excerpt) < 600


@pytest.mark.real_votes
def test_the_transcripts_of_llmbar_become_votes(real_votes):
    loaded = load_votes(real_votes("llmbar_transcripts.jsonl"))
    assert (loaded.votes.n_items, loaded.votes.n_judges) == (419, 58)
    assert (loaded.coverage.outputs, loaded.coverage.rate) == (5345, pytest.approx(5212 / 5345))


def test_outputs_and_judges_that_do_not_count_are_kept_in_mind():
    loaded = load_votes(lines(row("p1", "gone", A, "apart"), *FILL), name="said.jsonl")
    assert loaded.coverage.notes == loaded.warnings[:2]
    assert loaded.warnings[1] == "No output of these judges counts, so they are left out: 'gone'."


@pytest.mark.parametrize("judge", ["a", "judge a"])
def test_outputs_beside_their_verdicts_are_read_as_votes_whatever_the_judge_is_called(judge):
    text = "item,judge,order,label,text,verdict\n" + "\n".join(
        f"{line['item']},{judge},AB,{line['label']},[[B]],A" for line in FILL
    )
    loaded = load_votes(text.encode(), name="both.csv")
    assert (loaded.votes.votes.ravel().tolist(), loaded.votes.judges) == ([1] * 4, (judge,))


@pytest.mark.parametrize(
    ("head", "cells", "sentence"),
    [
        (
            "item,judge,truth,said",
            "q{n},me,{y},[[A]]",
            "column 'judge': this seems to be a file with one row per vote",
        ),
        (
            "item,label,text",
            "q{n},{y},[[A]]",
            "column 'text': this seems to be a file with one row per vote, but it has no column",
        ),
    ],
)
def test_half_a_file_of_outputs_is_refused_with_what_it_lacks(head, cells, sentence):
    text = "\n".join([head, *(cells.format(n=n, y=n % 2) for n in range(4))])
    with pytest.raises(InputError) as caught:
        load_votes(text.encode(), name="half.csv")
    assert sentence in str(caught.value)


def scored(item, judge, first, second, order="AB"):
    label = 1 if item.startswith("p") else 0
    row = {"item": item, "judge": judge, "score_a": first, "score_b": second, "order": order}
    return {**row, "label": label}


def test_of_two_scores_the_higher_is_the_verdict_and_equal_ones_are_none():
    loaded = load_votes(
        lines(
            scored("p1", "x", 2.5, -1),
            scored("n1", "x", 1e3, 2, "BA"),
            scored("p2", "x", 7, "7.0"),
            scored("n2", "x", None, 1),
            scored("p3", "x", 1, 0),
            scored("n3", "x", 0, 1),
        ),
        name="scores.jsonl",
    )
    assert loaded.votes.votes.ravel().tolist() == [1, 0, -1, -1, 1, 0]
    (judge,) = loaded.coverage.judges
    assert dict(zip(LEVELS, judge.levels, strict=True))["score"] == 4
    reasons = dict(zip(REASONS, judge.reasons, strict=True))
    assert {name: count for name, count in reasons.items() if count} == {"empty": 1, "tie": 1}
    assert loaded.coverage.unread == ()


def test_texts_and_scores_may_stand_in_one_file():
    loaded = load_votes(lines(scored("p1", "x", 0, 1), *FILL), name="mixed.jsonl")
    assert loaded.votes.votes.ravel().tolist() == [0, 1, 1, 1, 1]


def test_what_is_no_score_is_refused():
    with pytest.raises(InputError) as caught:
        load_votes(lines(scored("p1", "x", "high", 1), *FILL), name="scores.jsonl")
    assert str(caught.value) == (
        "scores.jsonl, row 1, column 'score_a': not a score (found 'high'); allowed: a number, or "
        "blank; correct the cell, or leave it blank."
    )


@pytest.mark.parametrize(
    "words",
    [
        ("AB", "BA"), ("A first", "B first"), ("order: A first", "order: B first"),
        ("output_1 first", "output_2 first"),
        ("Response (a) shown first", "Response (b) shown first"), ("1,2", "2,1"),
        ("A then B", "B, then A"), ("a->b", "b->a"), ("as given", "reversed"),
    ],
)  # fmt: skip
def test_an_order_that_can_only_mean_one_thing_is_read(words):
    assert [order_of(word) for word in words] == [1, 0]


@pytest.mark.parametrize(
    "word", ["", "A", "A>B", "a a", "first A", "apart", "A first B first", "1"]
)
def test_an_order_that_could_mean_either_is_not_guessed(word):
    assert order_of(word) == -1


def test_coverage_from_before_a_reason_had_its_name_is_still_shown():
    before = JudgeCoverage("x", 3, (1, *[0] * 7), (1, 0, 0, 0, 1), 0, 0, 0, 0)
    frame = Coverage((before,), ()).frame()
    assert frame[["empty", "no verdict", "unusable"]].to_numpy().tolist() == [[1, 1, 0]]


def outputs_of(rows, *columns):
    lines = [",".join(("item_id", "judge", "text", *columns)), *map(",".join, rows)]
    return load_votes("\n".join(lines).encode(), name="o.csv", need_labels=False).votes


def test_orders_written_1_and_2_are_the_original_and_the_swapped():
    rows = [("q1", "m", "[[A]]", "1"), ("q2", "m", "[[A]]", "2"), ("q3", "m", "[[B]]", "2")]
    assert outputs_of(rows, "order").votes[:, 0].tolist() == [1, 0, 1]
    zeros = [("q1", "m", "[[A]]", "0"), ("q2", "m", "[[A]]", "1"), ("q3", "m", "[[B]]", "1")]
    assert outputs_of(zeros, "order").votes[:, 0].tolist() == [1, 0, 1]
    assert outputs_of(zeros, "swapped").votes[:, 0].tolist() == [1, 0, 1]


def test_a_1_alone_says_no_order_and_a_column_that_does_comes_first():
    rows = [("q1", "m", "[[A]]", "1"), ("q2", "m", "[[A]]", "1")]
    with pytest.raises(InputError, match="the order in which the two were shown is not known"):
        outputs_of(rows, "order")
    both = [("q1", "m", "[[A]]", "7", "no"), ("q2", "m", "[[A]]", "8", "swapped")]
    both = [(*row[:4], way) for row, way in zip(both, ("original", "swapped"), strict=True)]
    assert outputs_of(both, "order", "swapped").votes[:, 0].tolist() == [1, 0]


def test_a_label_may_stand_in_one_order_alone_and_must_not_depend_on_it():
    rows = [("q1", "m", "[[A]]", "AB", ""), ("q1", "m", "[[B]]", "BA", "1")]
    rows += [("q2", "m", "[[B]]", "AB", "0"), ("q2", "m", "[[A]]", "BA", "")]
    assert outputs_of(rows, "order", "label").labels.tolist() == [1, 0]
    rows[0] = ("q1", "m", "[[A]]", "AB", "0")
    with pytest.raises(InputError, match="this item has another label in row 2"):
        outputs_of(rows, "order", "label")
