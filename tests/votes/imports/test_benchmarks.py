"""Files of LLMBar, JudgeBench and RewardBench become outputs; what is left out is named."""

import csv
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from judgepanel.cli import main
from judgepanel.votes import InputError, load_votes, outputs, table
from judgepanel.votes.imports import KINDS, read_kind, source_of
from judgepanel.votes.imports.common import turned


def entry(text):
    return {"completion": [text, "stop"], "winner": "1"}


def llmbar(folder):
    """Two subsets of three items: a judge that is right, one in two stages, one that rates."""
    for subset in ("Natural", "Adversarial/Neighbor"):
        for judge in ("GPT-4/Vanilla", "GPT-4/Swap", "GPT-4/Rating"):
            items = []
            for number in range(3):
                first = number != 1
                right, wrong = ("Output (a)", "Output (b)")[:: 1 if first else -1]
                results = [{"swap = False": entry(right), "swap = True": entry(wrong)}]
                if judge.endswith("Swap"):
                    stuck = dict.fromkeys(("swap = False", "swap = True"), entry("Output (a)"))
                    results = [stuck, *results]
                if judge.endswith("Rating"):
                    scores = ("7", "7") if number == 2 else ("8", "2") if first else ("2", "8")
                    winners = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "1"}}
                    rated = {f"score_{k}": [score, "stop"] for k, score in enumerate(scores, 1)}
                    results = [rated | winners]
                items.append({"input": "x", "label": 1 if first else 2, "results": results})
            path = folder / subset / "evaluators" / judge / "result.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(items))
            (path.parent / "statistics.json").write_text("{}")
    return folder


def judgebench(folder):
    """A judge that writes and one that scores, on three pairs; one judgment is missing."""
    for name, model in (("arena_hard", "m-1"), ("reward_model", "org_rm")):
        rows = []
        for number in range(3):
            label = "A>B" if number != 1 else "B>A"
            turned = "B>A" if number != 1 else "A>B"
            judgments: list[dict | None] = []
            for decision in (label, turned):
                sentence: dict[str, object] = {"judge_model": model, "prompt": "", "response": ""}
                if name == "reward_model":
                    sentence["scores"] = [2.5, 1.5] if decision == "A>B" else [1.5, 2.5]
                else:
                    sentence["response"] = f"My final verdict is: [[{decision}]]"
                judgments.append({"judgment": sentence, "decision": decision})
            if name == "arena_hard" and number == 2:
                judgments[1] = None
            rows.append(
                {
                    "pair_id": f"p{number}", "source": "mmlu", "label": label, "judge_name": name,
                    "judgments": judgments,
                }
            )  # fmt: skip
        file = f"dataset=judgebench,response_model=x,judge_name={name},judge_model={model}.jsonl"
        (folder / file).write_text("\n".join(map(json.dumps, rows)))
    (folder / "dataset=judgebench.jsonl").write_text('{"pair_id": "p", "question": "?"}\n')
    return folder


def test_llmbar_becomes_votes_with_stages_orders_and_ratings(tmp_path, capsys):
    out = tmp_path / "outputs.jsonl"
    assert main(["import", "llmbar", str(llmbar(tmp_path / "data")), "--out", str(out)]) == 0
    sentence = capsys.readouterr().out
    assert sentence.startswith("42 rows written to outputs.jsonl.\n")
    assert "Left out, files that are something else: 6 (" in sentence
    loaded = load_votes(out)
    votes = loaded.votes
    assert set(votes.item_ids) == {f"{s}-00{n}" for s in ("Natural", "Neighbor") for n in range(3)}
    by_name = dict(zip(votes.judges, votes.votes.T.tolist(), strict=True))
    labels = votes.labels.tolist()
    assert (by_name["GPT-4/Vanilla"], by_name["GPT-4/Swap"]) == (labels, labels)
    assert by_name["GPT-4/Rating"] == [
        -1 if item.endswith("2") else label
        for item, label in zip(votes.item_ids, labels, strict=True)
    ]
    both = {judge.judge: (judge.both, judge.same) for judge in loaded.coverage.judges}
    assert (both["GPT-4/Swap"], both["GPT-4/Rating"]) == ((6, 6), (0, 0))


def test_judgebench_becomes_votes_of_texts_and_scores(tmp_path, capsys):
    out = tmp_path / "outputs.jsonl"
    (tmp_path / "data").mkdir()
    data = judgebench(tmp_path / "data")
    assert main(["import", "judgebench", str(data), "--out", str(out)]) == 0
    sentence = capsys.readouterr().out
    assert "11 rows written to outputs.jsonl." in sentence
    assert "Left out, judgments that are not there: 1." in sentence
    assert "Left out, files that are something else: 1 (" in sentence
    loaded = load_votes(out, need_labels=False)
    assert loaded.votes.judges == ("arena_hard/m-1", "reward_model/org_rm")
    assert (loaded.votes.votes == loaded.votes.labels[:, None]).all()
    assert loaded.votes.labels.tolist() == [1, 0, 1]
    (element,) = sorted((tmp_path / "data").glob("*reward*"))
    assert len(list(read_kind(source_of(element), "judgebench").rows)) == 6
    single = load_votes(element, need_labels=False)
    assert single.warnings[0] == "Read as outputs of JudgeBench's judges."


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_not_there_or_not_of_that_kind_is_refused(tmp_path, kind):
    with pytest.raises(InputError, match="there is no such file"):
        read_kind(source_of(tmp_path / "nowhere"), kind)
    with pytest.raises(InputError, match="there is nothing to read"):
        read_kind(source_of(tmp_path), kind)
    (tmp_path / "votes.txt").write_text("item,label,a\n")
    with pytest.raises(InputError, match="holds no"):
        read_kind(source_of(tmp_path), kind)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("not json", ": is not JSON"),
        ("{}", ": damaged, or not written as outputs of LLMBar's evaluators are"),
        ('[{"label": 3, "results": []}]', ", row 1: not as such files are written"),
        ('[{"label": 1, "results": [{"swap = False": 1}]}]', ", row 1: not as such files"),
        ('[{"label": 1, "results": [{"swap = False": {"completion": [1]}}]}]', ", row 1: not as"),
        ('[{"label": 1, "results": [[{"swap = False": 1}, "stop"]]}]', ", row 1: not as such"),
    ],
)
def test_a_damaged_llmbar_file_is_named_and_the_others_are_read(tmp_path, text, sentence, capsys):
    data = llmbar(tmp_path / "data")
    (data / "Natural/evaluators/GPT-4/Vanilla/result.json").write_text(text)
    out = tmp_path / "outputs.jsonl"
    assert main(["import", "llmbar", str(data), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("36 rows written")
    assert "Left out, files that cannot be read: 1." in printed
    assert "Not read: Natural/evaluators/GPT-4/Vanilla/result.json" + sentence in printed


def test_strict_stops_at_the_first_file_that_cannot_be_read(tmp_path, capsys):
    data = llmbar(tmp_path / "data")
    out = tmp_path / "outputs.jsonl"
    command = ["import", "llmbar", str(data), "--out", str(out), "--strict"]
    assert main(command) == 0
    (data / "Natural/evaluators/GPT-4/Vanilla/result.json").write_text("not json")
    out.unlink()
    assert main(command) == 2
    assert "GPT-4/Vanilla/result.json: is not JSON" in capsys.readouterr().err
    assert not out.exists()


def test_an_llmbar_folder_without_a_readable_file_is_refused(tmp_path):
    data = llmbar(tmp_path)
    for path in data.rglob("result.json"):
        path.write_text("not json")
    with pytest.raises(InputError, match=r"none of 6 files can be read, the first because: .*JSON"):
        read_kind(source_of(data), "llmbar")


def test_what_an_llmbar_evaluator_wrote_before_it_compared_is_no_output(tmp_path):
    data = llmbar(tmp_path)
    before = [["Metrics: be concise", "stop"], [None, "length"]]
    for judge in ("Vanilla", "Rating"):
        path = data / f"Natural/evaluators/GPT-4/{judge}/result.json"
        items = json.loads(path.read_text())
        for item in items:
            item["results"] = [*before, *item["results"]]
        path.write_text(json.dumps(items))
    items[0]["results"] = before
    path.write_text(json.dumps(items))
    files = read_kind(source_of(data), "llmbar")
    prepared = [row for row in files.rows if row["item_id"].startswith("Natural")]
    stages = {row["judge"]: row["stage"] for row in prepared}
    assert stages == {"GPT-4/Vanilla": 3, "GPT-4/Swap": 2, "GPT-4/Rating": 3}
    assert len(prepared) == 6 + 12 + 2
    assert files.left_out["items that were never compared"] == 1


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"pair_id": 1, "label": "tie"}'])
def test_a_damaged_judgebench_line_is_named(tmp_path, line):
    (path,) = [file for file in judgebench(tmp_path).iterdir() if "arena" in file.name]
    path.write_text(path.read_text() + "\n" + line)
    files = read_kind(source_of(tmp_path), "judgebench")
    assert {row["judge"] for row in files.rows} == {"reward_model/org_rm"}
    (sentence,) = files.left_out.unreadable
    assert "row 4: not as such files are written" in sentence or "row 4: is not JSON" in sentence
    with pytest.raises(InputError, match=r"row 4: (not as such files are written|is not JSON)"):
        read_kind(source_of(path), "judgebench")


def rewardbench(folder, n=40):
    """A reward model that is right but for one tie, and a generative judge that is wrong once."""
    about = {"id": list(range(n)), "subset": ["chat"] * (n // 2) + ["code"] * (n - n // 2)}
    scored = {
        "model": "org/reward",
        "results": [1] * n,
        "scores_chosen": [[2.0 + k] for k in range(n)],
        "scores_rejected": [1.0 + (k == 3) * 4 for k in range(n)],
    }
    written = {"model": ["org/writer"] * n, "results": [0] + [1] * (n - 2) + [0.5]}
    for name, result in (("org/reward", scored), ("org/writer", written)):
        path = folder / "eval-set-scores" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**about, **result}))
    (folder / "eval-set-scores" / "summary.json").write_text('{"chat": 0.9}')
    return folder


def test_rewardbench_becomes_votes_on_items_turned_by_a_coin(tmp_path, capsys):
    out = tmp_path / "outputs.jsonl"
    data = rewardbench(tmp_path / "data")
    assert main(["import", "rewardbench", str(data), "--out", str(out)]) == 0
    note = "Left out, files that are something else: 1 ('data/eval-set-scores/summary.json')."
    assert note in capsys.readouterr().out
    votes = load_votes(out).votes
    labels = votes.labels
    assert labels.tolist() == [int(not turned(item)) for item in votes.item_ids]
    assert 0.25 < labels.mean() < 0.75
    by_name = dict(zip(votes.judges, votes.votes.T, strict=True))
    assert (by_name["org/reward"] == labels).nonzero()[0].tolist() == [
        item for item in range(40) if item != 3
    ]
    assert (by_name["org/reward"][3], by_name["org/writer"][0]) == (-1, 1 - labels[0])
    assert by_name["org/writer"][39] == -1
    assert set(votes.features) == {"subset", "margin"}
    margin = votes.features["margin"]
    # |2 + k - 1| over its median, from the one judge that scores.
    assert margin[0] == pytest.approx(1 / 20.5, abs=1e-4)
    assert margin[39] == pytest.approx(40 / 20.5, abs=1e-4)


def test_the_same_item_is_turned_alike_for_every_model_and_in_every_file(tmp_path):
    rows = list(read_kind(source_of(rewardbench(tmp_path)), "rewardbench").rows)
    labels = {(row["item_id"], row["label"]) for row in rows}
    assert len(labels) == 40
    single = tmp_path / "eval-set-scores/org/reward.json"
    again = {
        (row["item_id"], row["label"]) for row in read_kind(source_of(single), "rewardbench").rows
    }
    assert again == labels


def test_models_that_rewardbench_names_are_systems_and_the_chosen_one_wins(tmp_path):
    folder = rewardbench(tmp_path)
    models = {"chosen_model": ["gpt"] * 40, "rejected_model": ["llama", "falcon"] * 20}
    for name in ("reward", "writer"):
        path = folder / f"eval-set-scores/org/{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | models))
    loaded = load_votes(read_kind(source_of(folder), "rewardbench").lines("x"), name="x.jsonl")
    assert loaded.roles.system_column == ("system_a", "system_b")
    features, labels = loaded.votes.features, loaded.votes.labels
    assert ((features["system_a"] == "gpt") == (labels == 1)).all()
    assert ((features["system_b"] == "gpt") == (labels == 0)).all()


def test_rewardbench_lists_of_different_length_are_left_out(tmp_path):
    path = rewardbench(tmp_path) / "eval-set-scores/org/reward.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "scores_chosen": [1.0]}))
    files = read_kind(source_of(tmp_path), "rewardbench")
    assert {row["judge"] for row in files.rows} == {"org/writer"}
    (sentence,) = files.left_out.unreadable
    assert "damaged, or not written as results of RewardBench" in sentence
    assert "of one length" in sentence


def rewardbench_2(folder):
    """Four responses of which one is right, and prompts with two right ones; a judge of each."""
    n = 20
    about = {"id": list(range(n)), "subset": ["Math"] * 15 + ["Ties"] * 5}
    scores = [[3.0, 1.0, 2.0, 3.5 if k == 4 else 0.0] for k in range(15)]
    scores += [[5.0, 4.0, 1.0, 4.5, 3.0] for _ in range(5)]
    scored = {
        "model": "org/reward",
        "results": [1.0] * n,
        "num_correct": [1] * 15 + [2] * 5,
        "scores": scores,
    }
    chooser = {"model": "org/writer", "results": [0.25] * n, "num_correct": [1] * n}
    chooser["scores"] = [None] * n
    for name, result in (("reward", scored), ("writer", chooser)):
        (folder / f"{name}.json").write_text(json.dumps({**about, **result}))
    return folder


def test_each_wrong_response_of_rewardbench_2_is_a_pair_with_a_right_one(tmp_path):
    outcome = read_kind(source_of(rewardbench_2(tmp_path)), "rewardbench")
    assert outcome.left_out["prompts whose responses have no scores"] == 20
    votes = load_votes(outcome.lines("outputs"), name="outputs.jsonl").votes
    assert (votes.n_items, votes.judges) == (15 * 3 + 5 * 3, ("org/reward",))
    assert len(set(votes.groups)) == 20
    assert 0.25 < votes.labels.mean() < 0.75
    wrong = [
        item
        for item, vote, label in zip(votes.item_ids, votes.votes[:, 0], votes.labels, strict=True)
        if vote != label
    ]
    # Of the prompts with two right responses the second wrong one is held against the second.
    assert sorted(wrong) == sorted(["Math-4/3", *(f"Ties-{k}/2" for k in range(15, 20))])


def test_both_rewardbenches_in_one_folder_have_their_groups(tmp_path):
    rewardbench(rewardbench_2(tmp_path))
    rows = list(read_kind(source_of(tmp_path), "rewardbench").rows)
    assert all(row.keys() == rows[0].keys() for row in rows)
    assert {row["group_id"] for row in rows if row["item_id"] == "chat-3"} == {"chat-3"}


FOLDER = os.environ.get("JUDGEPANEL_REAL_VOTES")


def unpacked(name, to):
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # From Python 3.11.4 on.
    with tarfile.open(Path(str(FOLDER)) / name) as archive:
        archive.extractall(to, **safely)  # noqa: S202 - our own archive
    return to


if FOLDER is not None:

    def test_the_published_llmbar_folder_is_read_whole(tmp_path, capsys):
        data = unpacked("llmbar_manual_download.tar.gz", tmp_path / "data")
        out = tmp_path / "outputs.jsonl"
        assert main(["import", "llmbar", str(data), "--out", str(out)]) == 0
        printed = capsys.readouterr().out
        assert "Left out, files that are something else: 67 (" in printed
        assert printed.count("Left out") == 1
        assert "Not read" not in printed
        votes = load_votes(out).votes
        assert (votes.n_items, votes.n_judges) == (46, 65)
        assert (votes.labels >= 0).all()

    def test_the_verdicts_of_the_published_llmbar_folder_are_those_of_the_benchmark(tmp_path):
        rows = read_kind(
            source_of(unpacked("llmbar_manual_download.tar.gz", tmp_path)), "llmbar"
        ).rows
        with (Path(str(FOLDER)) / "llmbar_votes.csv").open(newline="") as file:
            published = {row["item_id"]: row for row in csv.DictReader(file)}
        last = {
            (row["item_id"], row["judge"]): row
            for row in sorted(rows, key=lambda row: row["stage"])
            if row["order"] == "AB"
        }
        assert len(last) == 46 * 65
        ours, theirs = [], []
        for (item, judge), row in last.items():
            assert row["label"] == int(published[item]["label"])
            reading = (
                outputs.read_verdict(row["text"])
                if "text" in row
                else table.read_scores(float(row["score_a"]), float(row["score_b"]))
            )
            ours.append(table.vote_of(reading.side, True))
            theirs.append(int(published[item][judge] or -1))
        differ = np.array(ours) != np.array(theirs)
        assert differ.mean() < 0.01
        # The benchmark's parser takes the first 'Output (a)', also where that is criticised.
        assert set(np.array(theirs)[differ]) == {1}

    def test_every_published_log_of_inspect_is_read_or_left_out_with_its_reason(tmp_path):
        data = unpacked("inspect_logs.tar.gz", tmp_path / "logs")
        paths = sorted(path for path in data.rglob("*") if path.is_file())
        assert len(paths) == 21
        together = read_kind(source_of(data), "inspect")
        left_out = together.left_out
        assert {reason: len(files) for reason, files in left_out.files.items()} == {
            "files that are something else": 1,
            "logs without samples": 1,
            "logs without scores": 2,
            "logs of runs that were made again, or copied": 7,
            "logs of runs that were cut short, beside a complete one": 1,
        }
        assert left_out.unreadable == []
        assert len(list(together.rows)) == 23
        missing = {name for files in left_out.files.values() for name in files}
        assert len(paths) - len(missing) == 9
