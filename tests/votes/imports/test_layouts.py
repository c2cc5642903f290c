"""Whole downloads laid out as published, with all judges and few items: no file is lost."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from judgepanel.cli import main
from judgepanel.votes import load_votes
from judgepanel.votes.imports import read_kind, source_of

N = 3
MODELS = ("ChatGPT", "ChatGPT-0301", "Falcon", "GPT-4", "LLaMA2", "PaLM2")
FEW = ("CoT", "Metrics_Reference", "Swap", "Swap_CoT", "Vanilla")
PAIRED = (*FEW, "Metrics", "Reference", "Vanilla_NoRules")
SHOTS = ("Vanilla_1shot", "Vanilla_2shot")
RATED = ("Rating", "Rating_NoRules")
RATED_WITH = ("Rating_Metrics", "Rating_Metrics_Reference", "Rating_Reference")
EVALUATORS = (
    *product(MODELS, PAIRED),
    *product([model for model in MODELS if model != "PaLM2"], SHOTS),
    *product(("ChatGPT", "GPT-4"), RATED),
    *product(("GPT-4",), RATED_WITH),
)
"""The 65 evaluators of LLMBar itself; the case studies have 30 of them, what was processed 8."""
ADVERSARIAL = ("GPTInst", "GPTOut", "Manual", "Neighbor")
SUBSETS = {
    **{
        f"LLMBar/{place}": EVALUATORS
        for place in ("Natural", *(f"Adversarial/{s}" for s in ADVERSARIAL))
    },
    **{
        f"CaseStudy/{study}": tuple(product(MODELS, FEW))
        for study in ("Base-9", "Base-10", "Constraint", "Negation")
    },
    **{
        f"Processed/{source}": tuple(
            product(
                ("ChatGPT", "GPT-4", "LLaMA2", "PaLM2"), ("Metrics_Reference", "Vanilla_NoRules")
            )
        )
        for source in ("FairEval", "LLMEval^2", "MT-Bench")
    },
}


def stages(strategy: str, label: int) -> Iterator[object]:
    """What a strategy leaves: lists of texts that it prepared, then scores or both orders."""
    for part in ("Metrics", "Reference"):
        if part in strategy:
            yield ["Is it short? Output (b) is better.", "stop"]
    if strategy.startswith("Rating"):
        first, second = ("8", "3") if label == 1 else ("3", "8")
        yield {
            "score_1": [first, "stop"],
            "score_2": [second, "stop"],
            **{f"swap = {swap}": {"winner": str(label)} for swap in (False, True)},
        }
        return
    for stage in range(2 if strategy.startswith("Swap") else 1):
        right, wrong = ("Output (a)", "Output (b)")[:: 1 if label == 1 else -1]
        if strategy.startswith("Swap") and stage == 0:
            right = wrong = "Output (a)"
        yield {
            "swap = False": {"completion": [f"{right} is better.", "stop"], "winner": str(label)},
            "swap = True": {"completion": [f"{wrong} is better.", "stop"], "winner": str(label)},
        }


def llmbar(folder: Path) -> None:
    for subset, evaluators in SUBSETS.items():
        items = [
            {"input": "?", "output_1": "x", "output_2": "y", "label": 1 + n % 2} for n in range(N)
        ]
        for model, strategy in evaluators:
            place = folder / "Dataset" / subset / "evaluators" / model / strategy
            place.mkdir(parents=True)
            results = [
                {**item, "results": [*stages(strategy, int(item["label"]))]} for item in items
            ]
            (place / "result.json").write_text(json.dumps(results))
            (place / "statistics.json").write_text(json.dumps({"correct": 1.0}))
        (folder / "Dataset" / subset / "dataset.json").write_text(json.dumps(items))


def test_every_file_of_a_whole_llmbar_is_read_or_named(tmp_path, capsys):
    data = tmp_path / "LLMBar"
    llmbar(data)
    out = tmp_path / "outputs.jsonl"
    assert main(["import", "llmbar", str(data), "--out", str(out), "--strict"]) == 0
    printed = capsys.readouterr().out
    n_results = 5 * 65 + 4 * 30 + 3 * 8
    assert len(list(data.rglob("result.json"))) == n_results
    assert f"files that are something else: {n_results + len(SUBSETS)} (" in printed
    assert printed.count("Left out") == 1
    votes = load_votes(out).votes
    assert (votes.n_items, votes.n_judges) == (len(SUBSETS) * N, 65)
    assert (votes.votes >= 0).sum() == n_results * N
    right = (votes.votes == votes.labels[:, None]) | (votes.votes < 0)
    assert right.all()
    assert {item.rpartition("-")[0] for item in votes.item_ids} == {
        subset.rpartition("/")[2] for subset in SUBSETS
    }


WRITING = {
    "arena_hard": (
        *(
            "gpt-4o-2024-05-13",
            "gpt-4o-mini-2024-07-18",
            "o1-mini-2024-09-12",
            "o1-preview-2024-09-12",
        ),
        *("claude-3-haiku-20240307", "claude-3-5-sonnet-20240620", "gemini-1.5-pro-002"),
        *("gemini-1.5-flash-002", "meta-llama_Meta-Llama-3.1-8B-Instruct-Turbo"),
        *("meta-llama_Meta-Llama-3.1-70B-Instruct-Turbo", "gpt-4o-2024-08-06"),
    ),
    "vanilla": ("gpt-4o-2024-05-13",),
    "auto_j": ("GAIR_autoj-13b",),
    "compass_judger": ("opencompass_CompassJudger-1-7B-Instruct",),
    "judge_lm": ("BAAI_JudgeLM-7B-v1.0",),
    "panda_lm": ("WeOpenML_PandaLM-7B-v1",),
    "prometheus_2": ("prometheus-eval_prometheus-7b-v2.0", "prometheus-eval_prometheus-8x7b-v2.0"),
    "skywork_critic": ("Skywork_Skywork-Critic-Llama-3.1-8B",),
}
SCORING = {
    "reward_model": (
        *("Ray2333_GRM-Gemma-2B-rewardmodel-ft", "Skywork_Skywork-Reward-Gemma-2-27B"),
        *("Skywork_Skywork-Reward-Llama-3.1-8B", "internlm_internlm2-20b-reward"),
        "internlm_internlm2-7b-reward",
    )
}
WRITERS = ("gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620")


def judgebench(folder: Path) -> None:
    """Two models' pairs; judges that write one judgment of each order, or score both responses."""
    outputs = folder / "outputs"
    outputs.mkdir(parents=True)
    for writer in WRITERS:
        prefix = f"dataset=judgebench,response_model={writer}"
        (folder / f"{prefix}.jsonl").write_text('{"pair_id": "p", "question": "?"}\n')
        for judge, models in {**WRITING, **SCORING}.items():
            for model in models:
                lines = []
                for number in range(N):
                    decisions = ["A>B", "B>A"] if number % 2 else ["B>A", "A>B"]
                    judgments = [
                        {"judgment": judgment(judge, decision), "decision": decision}
                        for decision in decisions
                    ]
                    about = {"pair_id": f"{writer}-{number}", "source": "mmlu", "judge_name": judge}
                    about |= {"response_model": writer, "label": decisions[0]}
                    lines.append(json.dumps({**about, "judgments": judgments}))
                name = f"{prefix},judge_name={judge},judge_model={model}.jsonl"
                (outputs / name).write_text("\n".join(lines) + "\n")


def judgment(judge: str, decision: str) -> dict[str, object]:
    if judge in SCORING:
        return {"judge_model": "m", "scores": [2.0, -1.0] if decision == "A>B" else [-1.0, 2.0]}
    return {"judge_model": "m", "prompt": "?", "response": f"My final verdict is: [[{decision}]]"}


def test_every_file_of_a_whole_judgebench_is_read_or_named(tmp_path):
    judgebench(tmp_path / "JudgeBench")
    outcome = read_kind(source_of(tmp_path / "JudgeBench"), "judgebench", strict=True)
    judges = sum(map(len, (*WRITING.values(), *SCORING.values())))
    assert len(list(outcome.rows)) == judges * len(WRITERS) * N * 2
    assert {reason: len(names) for reason, names in outcome.left_out.files.items()} == {
        "files that are something else": len(WRITERS)
    }
    votes = load_votes(outcome.lines("JudgeBench"), name="outputs.jsonl").votes
    assert (votes.n_items, votes.n_judges) == (len(WRITERS) * N, judges)
    assert (votes.votes == votes.labels[:, None]).all()
