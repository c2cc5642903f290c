"""Judgments of pairs by models and people: what most people say is the label."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from judgepanel.votes import load_votes
from judgepanel.votes.imports import KINDS, read_kind, source_of
from judgepanel.votes.imports.common import pair_of

PEOPLE = ("expert_1", "expert_2", "author_3")
MODELS = ("alpaca", "gpt", "llama")
PAIRS = (("alpaca", "gpt"), ("gpt", "llama"), ("alpaca", "llama"))


def lines(rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


def vote(question, pair, winner, judge):
    return {
        "question_id": question, "model_a": pair[0], "model_b": pair[1], "winner": winner,
        "judge": judge, "conversation_a": [{"role": "user", "content": "?"}], "turn": 1,
    }  # fmt: skip


def by_people():
    """Ten questions on three pairs: gpt wins, then llama; once most see a tie."""
    votes = []
    for question in range(10):
        for pair in PAIRS:
            better = "gpt" if "gpt" in pair else "llama"
            for person in PEOPLE:
                shown = pair[::-1] if person == "expert_2" else pair
                winner = f"model_{'ab'[shown.index(better)]}"
                if question == 3 and person != "author_3":
                    winner = "tie" if person == "expert_1" else "tie (bothbad)"
                votes.append(vote(question, shown, winner, person))
    return votes


def by_model(judge, wrong, prompt="pair-v2"):
    """A model that prefers gpt, then llama, in both orders, and on one question the other."""
    games = []
    for question in range(10):
        for pair in PAIRS:
            better = "gpt" if "gpt" in pair else "llama"
            worse = next(name for name in pair if name != better)
            chosen = worse if question == wrong else better
            place = pair.index(chosen)
            games.append(
                {
                    "question_id": question, "model_1": pair[0], "model_2": pair[1],
                    "g1_winner": f"model_{place + 1}", "g2_winner": f"model_{place + 1}",
                    "judge": [judge, "pair-math-v1" if question == 5 else prompt],
                    "g1_judgment": f"It is closer. [[{'AB'[place]}]]",
                    "g2_judgment": f"It is closer. [[{'BA'[place]}]]", "turn": 1, "tstamp": 0.5,
                }
            )  # fmt: skip
    return games


def grades():
    """A model that grades single responses: gpt 9, llama and alpaca 6 alike; one was not read."""
    return [
        {
            "question_id": question, "model": model, "judge": ["claude", "single-v1"],
            "judgment": "Rating: [[6]]",
            "score": -1 if (question, model) == (0, "gpt") else 9 if model == "gpt" else 6,
            "turn": 1,
        }
        for question in range(10)
        for model in MODELS
    ]  # fmt: skip


def mtbench(folder):
    folder.mkdir()
    (folder / "human_judgments.json").write_text(json.dumps(by_people()))
    (folder / "gpt-4_pair.jsonl").write_text(lines(by_model("gpt-4", wrong=2)))
    (folder / "claude_single.jsonl").write_text(lines(grades()))
    (folder / "question.jsonl").write_text(lines([{"question_id": 1, "turns": ["?", "?"]}]))
    return folder


def read(path, kind):
    lines = read_kind(source_of(path), kind).lines(path.name)
    return load_votes(lines, name="out.jsonl", need_labels=False)


def test_people_label_what_models_judged_in_pairs_and_by_grades(tmp_path):
    data = mtbench(tmp_path / "data")
    votes = read(data, "arena").votes
    assert (votes.n_items, votes.judges) == (30, ("gpt-4/pair", "claude/single"))
    assert len(set(votes.groups)) == 10
    known = votes.labels >= 0
    # On question 3 two people of three see a tie.
    unknown = np.array(votes.item_ids)[~known]
    assert {item.partition("/")[0] for item in unknown} == {"3"}
    assert len(unknown) == 3
    pair, single = votes.votes.T
    assert (~(pair[known] == votes.labels[known])).sum() == 3
    tied = single == -1
    # Alpaca against llama are graded alike, and one grade of gpt's two was not read.
    assert tied.sum() == 12
    assert (single[known & ~tied] == votes.labels[known & ~tied]).all()
    left_out = read_kind(source_of(data), "arena").left_out
    assert left_out["grades that are not numbers"] == 1
    assert left_out.files == {"files that are something else": ["data/question.jsonl"]}


def test_the_models_of_a_pair_are_its_systems_in_the_order_of_its_label(tmp_path):
    loaded = read(mtbench(tmp_path / "data"), "arena")
    votes = loaded.votes
    assert loaded.roles.system_column == ("system_a", "system_b")
    pairs = list(zip(votes.features["system_a"], votes.features["system_b"], strict=True))
    for item, pair, label in zip(votes.item_ids, pairs, votes.labels.tolist(), strict=True):
        assert sorted(pair) == item.partition("/turn 1/")[2].split(" vs ")
        better = "gpt" if "gpt" in pair else "llama"
        assert label in (-1, int(pair[0] == better))


def test_the_coin_does_not_depend_on_the_order_in_which_models_are_named():
    items = [(pair_of(str(n), "x", "y"), pair_of(str(n), "y", "x")) for n in range(200)]
    assert all(one[0] == other[0] and one[1] != other[1] for one, other in items)
    assert 70 < sum(one[1] == "AB" for one, _ in items) < 130


def test_people_alone_are_the_judges(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text(json.dumps(by_people()))
    rows = list(read_kind(source_of(path), "arena").rows)
    assert {row["judge"] for row in rows} == set(PEOPLE)
    assert not any("label" in row for row in rows)


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_votes_are_recognised_in_every_kind_of_file(tmp_path, ending):
    path = tmp_path / f"votes.{ending}"
    rows = [*by_people(), *(vote(q, PAIRS[0], "model_b", ["gpt-4", "pair-v2"]) for q in range(10))]
    if ending == "json":
        path.write_text(json.dumps(rows))
    elif ending == "jsonl":
        path.write_text(lines(rows))
    elif ending == "csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        as_text = [{**row, "judge": str(row["judge"])} for row in rows]
        pa.parquet.write_table(pa.Table.from_pylist(as_text), path)
    loaded = load_votes(path)
    assert loaded.warnings[0] == f"Read as {KINDS['arena'].title}."
    votes = loaded.votes
    assert votes.judges == ("gpt-4/pair",)
    known = votes.labels >= 0
    assert known.sum() == 9
    assert (votes.votes[known, 0] == votes.labels[known]).all()


def test_grades_beside_no_pairs_are_named(tmp_path):
    (tmp_path / "claude_single.jsonl").write_text(lines(grades()))
    (tmp_path / "gpt-4_pair.jsonl").write_text(lines(by_model("gpt-4", 2)[:0]) + "\n")
    outcome = read_kind(source_of(tmp_path), "arena")
    assert list(outcome.rows) == []
    (reason,) = set(outcome.left_out.files) - {"files that are something else"}
    assert reason == "grades of single responses without pairs to compare"


def annotation(number, preference, **more):
    return {
        "instruction": f"Question {number // 2}", "output_1": f"short {number}",
        "generator_1": "reference", "output_2": f"long {number}", "generator_2": "model",
        "dataset": "helpful" if number % 2 else "koala", "preference": preference, **more,
    }  # fmt: skip


def alpacaeval(folder):
    """An annotator that gives shares, one that is named by its folder alone, and four people."""
    shares = [1.02 if number % 3 else 1.97 for number in range(12)]
    named = [annotation(n, share, annotator="weighted") for n, share in enumerate(shares)]
    named[5] = annotation(5, 1.5, annotator="weighted")
    unnamed = [annotation(n, 1.0 if n % 3 else 2.0) for n in range(11)]
    unnamed.append(annotation(11, None))
    people = [
        {**annotation(n, 1 if n % 3 else 2), "annotator_index": person, "annotator": None}
        for n in range(12)
        for person in range(4)
    ]
    people[0]["preference"] = people[1]["preference"] = 1
    for place, rows in (("model/weighted", named), ("model/claude", unnamed), ("human", people)):
        (folder / place).mkdir(parents=True)
        (folder / place / "annotations.json").write_text(json.dumps(rows))
    return folder


def test_alpacaeval_becomes_votes_with_shares_cut_at_a_half(tmp_path):
    data = alpacaeval(tmp_path / "results")
    votes = read(data, "alpacaeval").votes
    assert (set(votes.judges), votes.n_items) == ({"weighted", "claude"}, 12)
    # Two of four people against two: no label.
    assert (votes.labels == -1).sum() == 1
    known = votes.labels >= 0
    assert 0 < votes.labels[known].mean() < 1
    for judge, missing in (("weighted", 1), ("claude", 1)):
        given = votes.votes[:, votes.judges.index(judge)]
        assert (given == -1).sum() == missing
        both = known & (given >= 0)
        assert (given[both] == votes.labels[both]).all()
    outcome = read_kind(source_of(data), "alpacaeval")
    assert outcome.left_out["annotations without a preference"] == 1
    assert {row["feat_dataset"] for row in outcome.rows} == {"koala", "helpful"}
    single = load_votes(data / "model/weighted/annotations.json", need_labels=False)
    assert single.warnings[0] == f"Read as {KINDS['alpacaeval'].title}."


def test_the_generators_of_outputs_are_their_systems(tmp_path):
    rows = [annotation(n, 2, annotator=judge) for n in range(12) for judge in ("x", "y")]
    (tmp_path / "annotations.json").write_text(json.dumps(rows))
    loaded = read(tmp_path, "alpacaeval")
    assert loaded.roles.system_column == ("system_a", "system_b")
    features = loaded.votes.features
    # The second output, which is always the better one, is the model's.
    better = features["system_a"] == "model"
    assert 0 < better.sum() < 12
    assert (features["system_b"] == "reference").tolist() == better.tolist()
    assert loaded.votes.votes[:, 0].tolist() == better.astype(int).tolist()


def test_the_model_and_the_baseline_of_arena_hard_are_systems(tmp_path):
    """First the baseline is A, then the model is; a vote of 1 is for the baseline."""
    words = {1: ("A>>B", "A<B"), 0: ("B>A", "B<<A")}
    for judge, model in product(("judge-x", "judge-y"), ("new", "old")):
        file = tmp_path / "model_judgment" / judge / f"{model}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        judged = {"judge": judge, "model": model, "baseline": "gpt-4"}
        games = [[{"score": word} for word in words[n % 2]] for n in range(4)]
        file.write_text(lines({"uid": f"u{n}", **judged, "games": games[n]} for n in range(4)))
    loaded = read(tmp_path, "arena-hard")
    assert loaded.roles.system_column == ("system_a", "system_b")
    features = loaded.votes.features
    assert features["system_a"].tolist() == ["gpt-4"] * 8
    assert features["system_b"].tolist() == [
        item.partition("/")[2] for item in loaded.votes.item_ids
    ]
    assert (
        loaded.votes.votes.T.tolist() == [[int(item[1]) % 2 for item in loaded.votes.item_ids]] * 2
    )


def test_a_judgment_made_again_counts_as_it_was_made_last(tmp_path):
    path = tmp_path / "annotations.json"
    rows = [annotation(0, 1, annotator="x"), annotation(0, 2, annotator="x")]
    path.write_text(json.dumps(rows))
    outcome = read_kind(source_of(path), "alpacaeval")
    (row,) = outcome.rows
    assert row["score_a"] == 0
    assert outcome.left_out["judgments that were made again"] == 1


def named_winners(**labels):
    """Votes of two models that name the winner, in pairs of one question each."""
    return [
        {
            "question_id": question, "model_a": "gpt", "model_b": "llama",
            "winner": ("gpt", "llama")[(question + place) % 2], "judge": judge, **labels,
        }
        for question in range(10)
        for place, judge in enumerate(("claude", "gemini"))
    ]  # fmt: skip


def test_the_winner_may_be_given_by_its_name(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text(lines(named_winners()))
    votes = read(path, "arena").votes
    assert (votes.votes >= 0).all()
    words = {"gpt": "model_a", "llama": "model_b"}
    path.write_text(
        lines([{**row, "winner": words[str(row["winner"])]} for row in named_winners()])
    )
    assert read(path, "arena").votes.sha256 == votes.sha256


@pytest.mark.parametrize("label", ["gold", "human_winner"])
def test_votes_with_labels_of_their_own_are_a_table_like_any_other(label):
    rows = named_winners(**{label: "llama"})
    for row in rows[:10]:
        row[label] = "gpt"
    votes = load_votes(lines(rows).encode(), name="votes.jsonl", label_column=label).votes
    assert (votes.labels.tolist(), votes.judges) == ([1] * 5 + [0] * 5, ("claude", "gemini"))
