"""The texts of items that people read to label them; nothing that judges said is among them."""

import pandas as pd

from judgepanel.votes import load_votes

QUESTIONS = [f"What is {n} and {n}?" for n in range(40)]
REASONS = [f"I counted to {n} and back again, and so it is correct." for n in range(40)]


def wide():
    """Votes beside questions, answers, short titles, and what a judge wrote."""
    return pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(40)],
            "question": QUESTIONS,
            "answer_text": [
                f"It is {2 * n}, as you can count on your fingers yourself." for n in range(40)
            ],
            "title": [f"sum {n}" for n in range(40)],
            "system": ["old", "new"] * 20,
            "label": [1, 0, "", ""] * 10,
            "first": [1, 0, 0, 1] * 10,
            "second": [1, 1, 0, 0] * 10,
            "first_reason": REASONS,
            "reasoning": REASONS,
        }
    )


def read(frame, *ids):
    return load_votes(frame.to_csv(index=False).encode(), name="votes.csv", texts_of=ids)


def test_texts_come_in_the_order_that_is_asked_for_without_what_judges_said():
    texts = read(wide(), "i7", "i3", "unknown").texts
    assert list(texts.columns) == ["id", "question", "answer_text", "title"]
    assert texts["id"].tolist() == ["i7", "i3"]
    assert texts["question"].tolist() == [QUESTIONS[7], QUESTIONS[3]]


def test_none_are_kept_where_none_are_asked_for():
    assert read(wide()).texts is None


def test_in_a_file_with_a_row_per_vote_a_text_is_the_same_in_all_rows_of_its_item():
    frame = wide().drop(columns=["first", "second", "first_reason", "reasoning"])
    rows = pd.concat(
        [
            frame.assign(judge=judge, verdict=1 - k, rationale=[f"{judge}: {r}" for r in REASONS])
            for k, judge in enumerate(("first", "second"))
        ]
    )
    rows["said"] = [f"{n}: {text}" for n, text in enumerate(REASONS * 2)]
    texts = read(rows, "i39").texts
    answer = "It is 78, as you can count on your fingers yourself."
    assert texts.columns.tolist() == ["id", "question", "answer_text", "title"]
    assert texts.values.tolist() == [["i39", QUESTIONS[39], answer, "sum 39"]]


def test_long_texts_are_cut_and_empty_ones_are_blank():
    frame = wide()
    frame.loc[0, "question"] = "long " * 10_000
    frame.loc[1, "question"] = ""
    first, second = read(frame, "i0", "i1").texts["question"]
    assert (len(first), first[-1], second) == (20_000, "…", "")
