"""Logs of OpenAI Evals, and what TruLens, Langfuse and LangSmith export."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from judgepanel.votes import InputError, load_votes
from judgepanel.votes.imports import KINDS, read_kind, source_of

N = 12
TRUTH = [n % 3 != 0 for n in range(N)]
HASTY = [not right if n in (1, 6) else right for n, right in enumerate(TRUTH)]


def log(path, functions, events):
    """What oaieval writes: the specification, the events, the report."""
    spec = {"completion_fns": functions, "eval_name": "facts.dev.v0", "base_eval": "facts"}
    lines = [{"spec": {**spec, "run_id": "r1", "created_at": "2024-01-01"}}]
    lines += [
        {"run_id": "r1", "event_id": n, "sample_id": sample, "type": kind, "data": data}
        for n, (sample, kind, data) in enumerate(events)
    ]
    lines.append({"final_report": {"accuracy": 0.5}})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


def sample(number):
    return f"facts.dev.{number}"


def meta_evaluation(path, grader, verdicts):
    """A grader whose choices are held against those of people."""
    events: list[tuple[str, str, dict]] = []
    for n, (verdict, truth) in enumerate(zip(verdicts, TRUTH, strict=True)):
        events.append((sample(n), "sampling", {"prompt": "?", "sampled": ["Yes"]}))
        metrics = {"choice": "Y" if verdict else "N", "choice_metascore": verdict == truth}
        events.append((sample(n), "metrics", metrics))
    events.append((sample(N), "error", {"type": "Timeout", "message": ""}))
    log(path, ["gpt-3.5-turbo", grader], events)


def on_pairs(path, model, verdicts):
    """A model that was asked which of two answers is better."""
    events: list[tuple[str, str, dict]] = []
    for n, (verdict, truth) in enumerate(zip(verdicts, TRUTH, strict=True)):
        data = {
            "correct": verdict == truth,
            "expected": "A" if truth else "B",
            "picked": None,
            "sampled": f"The answer is:\n\n[[{'A' if verdict else 'B'}]]",
        }
        events.append((sample(n), "match", data))
    log(path, [model], events)


def trulens(path):
    """Two feedback functions in [0, 1] and a person; two apps answer each input."""
    rows = [
        {
            "app_id": f"app {n % 2}", "record_id": f"record {n}", "input": f"question {n // 2}",
            "output": "an answer, of some length", "Answer Relevance": 0.9 if TRUTH[n] else 0.1,
            "Answer Relevance_calls": "[{'args': {}}]",
            "Groundedness": 0.5 if n == 4 else 0.8 if HASTY[n] else 0.2,
            "Groundedness_calls": "[]", "human": float(TRUTH[n]), "human_calls": "[]",
            "latency": 2,
        }
        for n in range(N)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(path, index=False)


def langfuse(path, *, camel=False):
    """Two evaluators, in numbers and in words, and an annotation."""
    names = ("traceId", "observationId", "stringValue") if camel else ()
    trace, observation, text = names or ("trace_id", "observation_id", "string_value")
    rows = []
    for n in range(N):
        about = {"id": f"s{n}", trace: f"t{n // 2}", observation: f"o{n}"}
        one = {"name": "helpful", "value": int(TRUTH[n]), text: "", "source": "EVAL"}
        two = {"name": "faithful", "value": 0, text: "Pass" if HASTY[n] else "Fail"}
        person = {"name": "correct", "value": int(TRUTH[n]), text: "", "source": "ANNOTATION"}
        rows += [{**about, **one}, {**about, **two, "source": "API"}, {**about, **person}]
    pd.DataFrame(rows).to_csv(path, index=False)


def langsmith(path):
    """Two evaluators; runs of one example twice, and a run that failed."""
    rows = [
        {
            "inputs.question": f"question {n // 2}", "outputs.answer": "an answer", "error": "",
            "reference.label": str(TRUTH[n]), "feedback.correctness": TRUTH[n],
            "feedback.concise": 1 if HASTY[n] else 0, "execution_time": 0.5,
            "example_id": f"e{n // 2}", "id": f"r{n}",
        }
        for n in range(N)
    ]  # fmt: skip
    rows.append({**rows[0], "id": "failed", "error": "Timeout"})
    pd.DataFrame(rows).to_csv(path, index=False)


EXPORTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "trulens": ("records.csv", trulens),
    "langfuse": ("scores.csv", langfuse),
    "langsmith": ("experiment.csv", langsmith),
}


@pytest.mark.parametrize("kind", EXPORTS)
def test_an_export_is_recognised_and_its_graders_are_judges_of_runs(tmp_path, kind):
    name, write = EXPORTS[kind]
    path = tmp_path / name
    write(path)
    loaded = load_votes(path)
    assert loaded.warnings[0] == f"Read as {KINDS[kind].title}."
    votes = loaded.votes
    assert (votes.task, votes.labels.tolist()) == ("pointwise", [int(right) for right in TRUTH])
    assert len(set(votes.groups)) == N // 2
    careful, hasty = votes.votes.T.tolist()
    assert careful == votes.labels.tolist()
    expected = [int(right) for right in HASTY]
    if kind == "trulens":
        expected[4] = -1  # Half way is a tie.
    assert hasty == expected


def test_names_in_camel_case_and_several_annotations_are_read(tmp_path):
    path = tmp_path / "scores.csv"
    langfuse(path, camel=True)
    assert load_votes(path).votes.labels.tolist() == [int(right) for right in TRUTH]
    table = pd.read_csv(path)
    more = table[table["name"] == "correct"].assign(name="polite")
    pd.concat([table, more]).to_csv(path, index=False)
    rows = list(read_kind(source_of(path), "langfuse").rows)
    assert {"helpful", "faithful", "correct (annotation)", "polite (annotation)"} <= rows[0].keys()
    assert "label" not in rows[0]
    chosen = load_votes(path, label_column="correct (annotation)")
    assert chosen.votes.labels.tolist() == [int(right) for right in TRUTH]


def test_what_an_export_leaves_out_is_counted(tmp_path):
    path = tmp_path / "experiment.csv"
    langsmith(path)
    assert read_kind(source_of(path), "langsmith").left_out["runs that ended with an error"] == 1


def test_grades_beyond_one_are_not_cut(tmp_path):
    path = tmp_path / "records.csv"
    trulens(path)
    table = pd.read_csv(path)
    table["Groundedness"] = [1, 2, 3, 4, 5, 5] * 2
    table.to_csv(path, index=False)
    outcome = read_kind(source_of(path), "trulens")
    assert [row["Groundedness"] for row in outcome.rows] == [None] * 12
    assert outcome.left_out["grades that are neither right nor wrong"] == 12


def test_graders_of_openai_evals_are_labelled_by_the_people_they_are_held_against(tmp_path):
    meta_evaluation(tmp_path / "careful.jsonl", "gpt-4", TRUTH)
    meta_evaluation(tmp_path / "hasty.jsonl", "gpt-3.5-turbo", HASTY)
    outcome = read_kind(source_of(tmp_path), "openai-evals")
    assert outcome.task == "pointwise"
    rows = list(outcome.rows)
    assert [row["label"] for row in rows] == [int(right) for right in TRUTH]
    assert [row["gpt-4"] for row in rows] == [int(right) for right in TRUTH]
    assert [row["gpt-3.5-turbo"] for row in rows] == [int(right) for right in HASTY]
    assert outcome.left_out["samples that ended with an error"] == 2


def test_a_choice_among_letters_is_no_verdict(tmp_path):
    """Graders of facts choose from A to E; Inspect AI alone writes C for correct."""
    letters = [(sample(n), "metrics", {"choice": letter}) for n, letter in enumerate("ABCDEYN")]
    log(tmp_path / "facts.jsonl", ["gpt-3.5-turbo", "gpt-4"], letters)
    outcome = read_kind(source_of(tmp_path), "openai-evals")
    assert [row["gpt-4"] for row in outcome.rows] == [None] * 5 + [1, 0]
    assert outcome.left_out["grades that are neither right nor wrong"] == 5


def test_models_are_judges_where_all_that_was_expected_is_a_side(tmp_path):
    on_pairs(tmp_path / "a.jsonl", "gpt-4", TRUTH)
    on_pairs(tmp_path / "b.jsonl", "gpt-3.5-turbo", HASTY)
    meta_evaluation(tmp_path / "c.jsonl", "gpt-4", TRUTH)
    outcome = read_kind(source_of(tmp_path), "openai-evals")
    votes = load_votes(outcome.lines("out"), name="out.jsonl").votes
    assert votes.labels.tolist() == [int(right) for right in TRUTH]
    assert dict(zip(votes.judges, votes.votes.T.tolist(), strict=True)) == {
        "gpt-4": [int(right) for right in TRUTH],
        "gpt-3.5-turbo": [int(right) for right in HASTY],
    }
    # The log of single responses is named, and read where it is asked for.
    assert [*outcome.left_out.files.values()] == [[f"{tmp_path.name}/c.jsonl"]]
    single = read_kind(source_of(tmp_path), "openai-evals", "pointwise")
    assert [*single.left_out.files.values()] == [
        [f"{tmp_path.name}/a.jsonl", f"{tmp_path.name}/b.jsonl"]
    ]
    assert load_votes(tmp_path / "a.jsonl").votes.n_items == N


@pytest.mark.parametrize("kind", ["arena", "alpacaeval", "openai-evals", *EXPORTS])
def test_a_record_that_is_built_otherwise_is_named_with_its_row(tmp_path, kind):
    first = {
        "arena": {"question_id": 1, "model_a": "x", "model_b": "y", "winner": "x", "judge": "z"},
        "alpacaeval": {"instruction": "", "output_1": "", "output_2": "", "preference": 1},
        "openai-evals": {"spec": {"completion_fns": ["m"], "eval_name": "e"}},
        "trulens": {"record_id": "r", "f": 1, "f_calls": ""},
        "langfuse": {"trace_id": "t", "name": "n", "value": 1, "source": "EVAL"},
        "langsmith": {"id": "r", "example_id": "e", "feedback.x": 1},
    }[kind]
    path = tmp_path / "f.jsonl"
    path.write_text(f"{json.dumps(first)}\n[]\n")
    with pytest.raises(InputError, match=r"row 2.*not as such files are written"):
        read_kind(source_of(path), kind)
