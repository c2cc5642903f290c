"""Files as teams have them: layouts and quirks of public exports, with invented contents."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tests.field.world import MISSING, Case, World

CASES: dict[str, Callable[[], Case]] = {}
PASS, YES = ("fail", "pass"), ("No", "Yes")
"""What a vote of 0 and a vote of 1 are called."""


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Register a file by the name of its function."""
    CASES[make.__name__] = make
    return make


def table(rows: Iterable[Iterable[Any]]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode()


def archive(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as written:
        for path, text in files.items():
            written.writestr(path, text)
    return stream.getvalue()


def lines(records: Iterable[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, records))


def ids(pattern: str, n: int, start: int = 0) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(start, start + n))


def lost(world: World, shares: list[float]) -> np.ndarray:
    """Cells (n, k) that have no vote."""
    return world.rng.random(world.votes.shape) < np.array(shares)


def without(votes: np.ndarray, gone: np.ndarray) -> np.ndarray:
    return np.where(gone, MISSING, votes).astype(np.int8)


@case
def benchmark_results_with_repeated_ids() -> Case:
    """Scores of eight models on prompts; in all but the last file ten ids are those of others."""
    names = [f"team{c}/rm-{c}" for c in "pqrstuvw"]
    world = World.of(1, 50, [0.9, 0.88, 0.85, 0.8, 0.78, 0.75, 0.7, 0.66])
    files = {}
    for j, name in enumerate(names):
        numbers = [i + 20 if i < 10 and j < 7 else i for i in range(50)]
        scores = [
            [round(1.0 + world.rng.normal() * 0.1, 5) if votes[j] else -1.0]
            + [round(float(world.rng.normal()) * 0.1, 5) for _ in range(3)]
            for _, _, votes in world
        ]
        best = [float(max(s[1:]) < s[0]) for s in scores]
        files[f"eval-set-scores/{name}.json"] = json.dumps(
            {"model": name, "model_type": "Seq. Classifier", "chat_template": "tokenizer",
             "id": [str(k) for k in numbers], "subset": ["Factuality"] * 50,
             "num_correct": [1] * 50, "num_incorrect": [3] * 50, "results": best, "scores": scores}
        )  # fmt: skip
    # A judge is right on a pair if the correct response has the higher score; the coin that turns
    # pairs is the same for all judges, so a vote is right exactly where it equals the label.
    told_apart = np.ones((50, 8), dtype=bool)
    told_apart[[*range(10), *range(20, 30)], :7] = False
    right = np.repeat(without(world.votes, ~told_apart), 3, axis=0)
    pairs = tuple(f"Factuality-{i}/{k}" for i in range(50) for k in (1, 2, 3))
    labels, notes = np.full(150, MISSING, np.int8), ("has these items twice",)
    return Case("scores.zip", archive(files), pairs, tuple(names), right, labels, notes=notes)


@case
def ratings_collected_in_a_list() -> Case:
    """A log whose one scorer holds a list with the ratings of four judges, some of them NaN."""
    world = World.of(3, 90, [0.9, 0.85, 0.75, 0.65], 0.6)
    gone = lost(world, [0.03, 0.03, 0.2, 0.05])
    samples = [
        {"id": f"i{k}", "epoch": 1, "input": world.text(), "target": world.text(2),
         "messages": [], "output": {"model": "mock/one", "completion": world.text()},
         "metadata": {},
         "scores": {"panel": {"value": [float("nan") if gone[k, j] else "IC"[v]
                                        for j, v in enumerate(votes)]},
                    "human": {"value": "IC"[label]}}}
        for k, label, votes in world
    ]  # fmt: skip
    log = {
        "version": 2, "status": "success", "plan": {}, "results": {}, "stats": {},
        "eval": {"run_id": "r", "created": "2026-03-04T05:06:07+00:00", "task": "replies",
                 "task_id": "t", "model": "mock/one", "dataset": {}, "config": {},
                 "scorers": [{"name": "panel", "options": {"reducer": "collect"}}]},
        "samples": samples,
    }  # fmt: skip
    return Case(
        "log.json", json.dumps(log).encode(), ids("i{}", 90), ids("panel/{}", 4, 1),
        without(world.votes, gone), world.labels, task="pointwise",
    )  # fmt: skip


@case
def metrics_of_test_cases() -> Case:
    """A test run: a list of metrics per test case, one by two models, errors without a score."""
    judges = [("Right [GEval]", "big"), ("Right [GEval]", "small"), ("Grounded", "big")]
    world = World.of(7, 80, [0.88, 0.7, 0.76], 0.6)
    gone = lost(world, [0.02, 0.2, 0.05])
    cases = []
    for i, label, votes in world:
        data = []
        for j, (metric, model) in enumerate(judges):
            score = None if gone[i, j] else world.grade(votes[j])
            data.append(
                {"name": metric, "threshold": 0.5, "success": bool(score and score >= 0.5),
                 "score": score, "reason": None if gone[i, j] else world.text(),
                 "strictMode": False, "evaluationModel": model,
                 "error": "The model wrote no valid JSON." if gone[i, j] else None,
                 "evaluationCost": 0.001}
            )  # fmt: skip
        cases.append(
            {"name": f"case_{i}", "input": world.text(), "actualOutput": world.text(),
             "success": all(d["success"] for d in data), "metricsData": data, "runDuration": 2.0,
             "order": i, "metadata": {"human": "pass" if label else "fail"}}
        )  # fmt: skip
    run = {"testCases": cases, "conversationalTestCases": [], "metricsScores": [],
           "identifier": "weekly", "testPassed": 0, "testFailed": 0}  # fmt: skip
    return Case(
        "run.json", json.dumps(run).encode(), ids("case_{}", 80),
        ("Right [GEval]/big", "Right [GEval]/small", "Grounded"),
        without(world.votes, gone), world.labels, task="pointwise",
    )  # fmt: skip


@case
def assessments_of_traces() -> Case:
    """Traces with assessments of models and of people, two of whom disagree."""
    names = ["correct", "relevant", "safe"]
    world = World.of(9, 72, [0.88, 0.8, 0.7], 0.55)
    gone = lost(world, [0.06, 0.06, 0.06])
    labels = world.labels.copy()
    traces = []

    def said(name: str, kind: str, who: str, value: str | None, when: int) -> dict[str, Any]:
        return {
            "assessment_id": f"x{len(traces)}-{name}-{when}",
            "name": name,
            "source": {"source_type": kind, "source_id": who},
            "create_time_ms": when,
            "last_update_time_ms": when,
            "expectation": None,
            "feedback": {"value": value},
            "error": None if value else {"error_code": "TIMEOUT", "error_message": "late"},
        }

    yes = {1: "yes", 0: "no"}
    for i, label, votes in world:
        all_said = [
            said(
                name, "LLM_JUDGE", f"endpoints:/{j}", None if gone[i, j] else yes[votes[j]], 10 + i
            )
            for j, name in enumerate(names)
        ]
        if i % 8 == 3:  # The same person changed their mind.
            all_said.append(said("quality", "HUMAN", "ann", yes[1 - label], 100 + i))
        all_said.append(said("quality", "HUMAN", "ann", yes[label], 200 + i))
        if i % 9 == 0:
            all_said.append(said("quality", "HUMAN", "bob", yes[1 - label], 250 + i))
            labels[i] = MISSING
        traces.append(
            {"info": {"trace_id": f"tr{i:03}", "request_preview": world.text(), "state": "OK",
                      "tags": {"env": "dev"}, "assessments": all_said},
             "data": {"spans": [{"name": "root"}]}}
        )  # fmt: skip
    return Case(
        "traces.json", json.dumps({"traces": traces}).encode(), ids("tr{:03}", 72), tuple(names),
        without(world.votes, gone), labels, task="pointwise",
    )  # fmt: skip


@case
def spans_with_labels_scores_and_annotations() -> Case:
    """A table of spans: label, score and explanation per evaluator, and people's annotations."""
    world = World.of(10, 96, [0.88, 0.8, 0.74], 0.6)
    names = ("Correct", "Hallucination", "Relevance")
    head = ["context.span_id", "attributes.input.value"]
    head += [f"eval.{name}.{part}" for name in names for part in ("label", "score", "explanation")]
    head += [f"annotation.Correct.{part}" for part in ("label", "score", "updated_by")]
    rows = [[*head, "start_time"]]
    words = dict.fromkeys(names, ("correct", "incorrect"))
    words["Hallucination"] = ("factual", "hallucinated")
    labels = world.labels.copy()
    for i, label, votes in world:
        row: list[Any] = [f"span{i:04}", world.text()]
        for name, vote in zip(names, votes, strict=True):
            score = 1 - vote if name == "Hallucination" else vote  # A score of 1 names the fault.
            row += [words[name][1 - vote], score, world.text()]
        known = i % 4 != 1
        row += ["correct" if label else "incorrect", label, "ann"] if known else ["", "", ""]
        rows.append([*row, f"2026-07-{1 + i % 28:02}T09:00:00Z"])
        labels[i] = label if known else MISSING
    return Case(
        "spans.csv", table(rows), ids("span{:04}", 96), names, world.votes, labels, task="pointwise"
    )


@case
def annotations_one_per_row() -> Case:
    """A row per annotation, in words of place; storage wrote some rows twice."""
    world = World.of(11, 70, [0.9, 0.85, 0.8, 0.7])
    seen = np.full(world.votes.shape, MISSING, np.int8)
    rows: list[list[Any]] = [["prompt", "answer1", "answer2", "gold", "id", "comparison",
                              "annotator", "annotation_id", "created_at", "lead_time"]]  # fmt: skip
    for i, label, votes in world:
        texts = [world.text() for _ in range(3)]
        for j, vote in enumerate(votes):
            if world.some(0.1):
                continue
            empty = world.some(0.04)
            said = "" if empty else ("left" if vote else "right")
            when = f"2026-04-{1 + i % 28:02}T08:00:00Z"
            about = [9000 + 7 * i + j, when, round(3 + 40 * world.rng.random(), 2)]
            row = [*texts, 1 if label else 2, 500 + i, said, 31 + j, *about]
            rows += [row, row] if world.some(0.05) else [row]
            seen[i, j] = MISSING if empty else vote
    return Case(
        "min.csv", table(rows), ids("{}", 70, 500), ids("{}", 4, 31), seen, world.labels,
        task="pairwise", notes=("repeat another row and are read once",),
    )  # fmt: skip


@case
def responses_in_parallel_lists() -> Case:
    """Records whose responses, users and statuses are parallel lists, in no order of the users."""
    users = ("u-one", "u-two", "u-three")
    world = World.of(14, 84, [0.9, 0.84, 0.7, 0.86])
    votes = np.full(world.votes.shape, MISSING, np.int8)
    votes[:, 3] = world.votes[:, 3]
    yes = ("no", "yes")
    records = []
    for i, label, row in world:
        said = [int(j) for j in world.rng.permutation(3) if world.some(0.8)]
        status = ["discarded" if world.some(0.07) else "submitted" for _ in said]
        for j, state in zip(said, status, strict=True):
            votes[i, j] = row[j] if state == "submitted" else MISSING
        records.append(
            {"id": f"rec{i}", "status": "completed", "prompt": world.text(),
             "response": world.text(), "gold": yes[label],
             "useful.responses": [yes[row[j]] for j in said],
             "useful.responses.users": [users[j] for j in said],
             "useful.responses.status": status, "useful.suggestion": yes[row[3]],
             "useful.suggestion.score": world.grade(1), "useful.suggestion.agent": "model"}
        )  # fmt: skip
    return Case(
        "records.json", json.dumps(records).encode(), ids("rec{}", 84), (*users, "model"),
        votes, world.labels, task="pointwise",
    )  # fmt: skip


@case
def batch_results_of_workers() -> Case:
    """A batch of assignments: administrative columns, one-hot answers, rejected workers."""
    world = World.of(15, 90, [0.9, 0.85, 0.8, 0.75, 0.7, 0.5])
    votes = np.full(world.votes.shape, MISSING, np.int8)
    rows: list[list[Any]] = [
        ["HITId", "Title", "Reward", "CreationTime", "MaxAssignments", "AssignmentId", "WorkerId",
         "AssignmentStatus", "AcceptTime", "WorkTimeInSeconds", "LifetimeApprovalRate",
         "Input.pair_id", "Input.gold", "Input.text_a", "Input.text_b", "Answer.pick.A",
         "Answer.pick.B", "Answer.comment", "Approve", "Reject"]
    ]  # fmt: skip
    for i, label, row in world:
        texts = [world.text(), world.text()]
        for j in sorted(world.rng.permutation(6)[:4].tolist()):
            rejected = j == 5
            first = True if rejected else bool(row[j])
            votes[i, j] = MISSING if rejected else row[j]
            rows.append(
                [f"H{i:04}", "Which is better?", "$0.05", "Mon Mar 02 10:00:00 PST 2026", 4,
                 f"A{i:04}{j}", f"W{j}", "Rejected" if rejected else "Approved",
                 "Mon Mar 02 10:00:00 PST 2026", int(world.rng.integers(4, 90)), "97% (30/31)",
                 f"pair{i}", "A" if label else "B", *texts,
                 str(first).lower(), str(not first).lower(), "", "", ""]
            )  # fmt: skip
    return Case(
        "batch.csv", table(rows), ids("H{:04}", 90), ids("W{}", 6), votes, world.labels,
        task="pairwise",
    )  # fmt: skip


@case
def preferences_below_zero_for_the_first() -> Case:
    """Raters without names in a list in each record; a negative score prefers the first."""
    world = World.of(17, 96, [0.85, 0.8, 0.78])
    votes = world.votes.copy()
    lines = []
    for i, label, row in world:
        scores = [(-1 if vote else 1) * world.pick(1, 1, 2, 3) for vote in row]
        if world.some(0.1):
            j = int(world.rng.integers(3))
            scores[j], votes[i, j] = 0, MISSING
        lines.append(
            {"domain": world.pick("general", "code"), "context": [{"role": "user",
             "content": world.text()}], "response1": world.text(), "response2": world.text(),
             "overall_preference": round(sum(scores) / 3),
             "individual_preference": [{"score": score, "reasoning": world.text()}
                                       for score in scores],
             "gold": "response1" if label else "response2"}
        )  # fmt: skip
    return Case(
        "preferences.jsonl", "\n".join(map(json.dumps, lines)).encode(), ids("{}", 96, 1),
        (), votes, world.labels, steps=(("--turn-votes", {"turn": True}),), task="pairwise",
    )  # fmt: skip


@case
def zero_is_the_first_and_two_the_second() -> Case:
    """0: the first is better, 1: equally good, 2: the second, in labels and votes."""
    world = World.of(19, 110, [0.88, 0.8, 0.74, 0.66])
    votes, labels = world.votes.copy(), world.labels.copy()
    rows: list[list[Any]] = [["pair", "human", *(f"judge_{c}" for c in "wxyz")]]
    for i, label, row in world:
        coded = []
        for j, value in enumerate([label, *row]):
            tie = world.some(0.14)
            coded.append(1 if tie else (0 if value else 2))
            if tie and j:
                votes[i, j - 1] = MISSING
            elif tie:
                labels[i] = MISSING
        rows.append([f"p{i}", *coded])
    words = {"words": "0=1,1=tie,2=0"}
    return Case(
        "coded.csv", table(rows), ids("p{}", 110), tuple(f"judge_{c}" for c in "wxyz"), votes,
        labels, steps=(("--words", words),),
    )  # fmt: skip


@case
def two_scales_in_one_judge() -> Case:
    """Scores of 0 to 100; one judge answers from 0 to 1 now and then, another writes 8/10."""
    world = World.of(20, 140, [0.9, 0.85, 0.8, 0.75])
    votes = world.votes.copy()
    rows: list[list[Any]] = [["item_id", "label", "one", "two", "three", "four"]]
    for i, label, row in world:
        cells = []
        for j, vote in enumerate(row):
            p = world.grade(vote)
            cells.append(str(round(100 * p)))
            if j == 2 and world.some(0.3):
                cells[-1], votes[i, j] = f"{p:.2f}", MISSING
            if j == 3 and world.some(0.2):
                cells[-1] = f"{round(10 * p)}/10"
        rows.append([f"q{i}", label, *cells])
    return Case(
        "scores.csv", table(rows), ids("q{}", 140), ("one", "two"),
        votes[:, :2], world.labels,
        steps=(("--threshold", {"thresholds": 50}), ("--ignore", {"ignore": ("four", "three")})),
    )  # fmt: skip


@case
def nearly_one_class() -> Case:
    """Three of sixty fail; one judge always passes and one repeats the label."""
    world = World.of(25, 60, [0.9, 0.8], 1.0)
    labels = np.ones(60, np.int8)
    labels[[5, 20, 44]] = 0
    rows = [["case", "label", "always", "copy", "noisy1", "noisy2"]]
    votes = np.where(world.rng.random((60, 2)) < 0.85, labels[:, None], 1 - labels[:, None])
    rows += [
        [f"c{i}", PASS[labels[i]], "pass", PASS[labels[i]], PASS[a], PASS[b]]
        for i, (a, b) in enumerate(votes.tolist())
    ]
    right = np.column_stack([np.ones(60), votes]).astype(np.int8)
    return Case(
        "cases.csv", table(rows), ids("c{}", 60), ("always", "noisy1", "noisy2"), right, labels,
        task="pointwise", notes=("'copy' (equal to the label",),
    )  # fmt: skip


@case
def few_labels_among_many_answers() -> Case:
    """Twenty-two labelled answers of two hundred; one judge is new."""
    world = World.of(26, 200, [0.88, 0.8, 0.74], 0.6)
    votes, labels = world.votes.copy(), world.labels.copy()
    labels[22:] = MISSING
    votes[:22, 2] = np.where(np.arange(22) % 4 == 0, votes[:22, 2], MISSING)
    rows = [["answer_id", "human_label", "j1", "j2", "j_new"]]
    rows += [
        [f"ans{i}", "" if labels[i] < 0 else PASS[labels[i]],
         *("" if v < 0 else PASS[v] for v in votes[i])]
        for i in range(200)
    ]  # fmt: skip
    return Case(
        "answers.csv", table(rows), ids("ans{}", 200), ("j1", "j2", "j_new"), votes, labels,
        task="pointwise",
    )  # fmt: skip


@case
def verdicts_in_both_orders() -> Case:
    """Each pair is judged as AB and as BA; A is what was shown first."""
    world = World.of(29, 90, [0.88, 0.8, 0.72])
    votes = np.full(world.votes.shape, MISSING, np.int8)
    rows: list[list[Any]] = [["item_id", "judge", "order", "verdict", "label"]]
    for i, label, row in world:
        for j, vote in enumerate(row):
            both = []
            for order in ("AB", "BA"):
                first = bool(vote) == (order == "AB") or world.some((0.02, 0.2, 0.05)[j])
                rows.append([f"p{i}", f"m{j}", order, "A" if first else "B", label])
                both.append(int(first == (order == "AB")))
            votes[i, j] = both[0] if both[0] == both[1] else MISSING
    return Case(
        "orders.csv", table(rows), ids("p{}", 90), ids("m{}", 3), votes, world.labels,
        task="pairwise", notes=("given in both orders",),
    )  # fmt: skip


@case
def raters_of_a_comparison() -> Case:
    """Raters without names in each example; their scores are turned back already."""
    world = World.of(33, 70, [0.86, 0.8, 0.76])
    votes = world.votes.copy()
    examples = []
    for i, label, row in world:
        raters = []
        for j, vote in enumerate(row):
            tie = world.some(0.08)
            size = world.pick(0.5, 1.0, 1.5)
            votes[i, j] = MISSING if tie else vote
            raters.append(
                {"score": 0.0 if tie else (size if vote else -size), "rating_label": "same" if tie
                 else f"{'A' if vote else 'B'} is better", "is_flipped": bool(j % 2),
                 "rationale": world.text()}
            )  # fmt: skip
        examples.append(
            {"input_text": world.text(), "tags": ["x"], "output_text_a": world.text(),
             "output_text_b": world.text(), "score": 0.1, "individual_rater_scores": raters,
             "custom_fields": {"gold": "A" if label else "B", "words": [3, 4]}}
        )  # fmt: skip
    content = {"metadata": {"source_path": "x", "custom_fields_schema": []},
               "models": [{"name": "new"}, {"name": "old"}], "examples": examples}  # fmt: skip
    return Case(
        "comparison.json", json.dumps(content).encode(), ids("{}", 70, 1), ids("rater {}", 3, 1),
        votes, world.labels, task="pairwise",
    )  # fmt: skip


@case
def people_as_rows() -> Case:
    """A survey: three header rows, a person per row, a question per column; some have no label."""
    world = World.of(36, 50, [0.9, 0.86, 0.84, 0.8, 0.78, 0.74, 0.7, 0.62])
    votes = world.votes.copy()
    votes[20:, 7] = MISSING
    about = ["StartDate", "Status", "Progress", "Finished", "ResponseId"]
    rows: list[list[Any]] = [
        [*about, *(f"Q{i + 1}" for i in range(50))],
        [*about, *(f"Which of the two is better? {world.text(3)}" for _ in range(50))],
        [json.dumps({"ImportId": name}) for name in (*about, *(f"QID{i}" for i in range(50)))],
    ]
    for k in range(8):
        said = ["" if v < 0 else ("Reply A" if v else "Reply B") for v in votes[:, k]]
        rows.append(["2026-05-01 09:00:00", "IP Address", 100, "True", f"R_{k:04}", *said])
    unknown = (3, 17, 31)
    labels = world.labels.copy()
    labels[[*unknown]] = MISSING
    key = [["question", "label"]]
    key += [[f"Q{i + 1}", "AB"[1 - label]] for i, label, _ in world if i not in unknown]
    return Case(
        "survey.csv", table(rows), ids("Q{}", 50, 1), ids("R_{:04}", 8), votes, labels,
        label_file=table(key), task="pairwise", notes=("Rows are judges",),
        steps=(("--transpose", {"transpose": True}),),
    )  # fmt: skip


@case
def answers_in_a_list_without_names() -> Case:
    """Instances with annotations by metric, each a list of answers of unnamed people."""
    world = World.of(38, 88, [0.86, 0.8, 0.76, 0.7], 0.55)
    instances = []
    for i, label, row in world:
        four = [YES[v] for v in row]
        instances.append(
            {"id": i, "instance": world.text(), "annotations": {"harmless": {
                "majority_human": max(set(four), key=four.count),
                "individual_human_scores": four, "expert": YES[label]}}}
        )  # fmt: skip
    metric = {"metric": "harmless", "labels_list": ["Yes", "No"]}
    content = {"dataset": "x", "annotations": [metric],
               "instances": instances}  # fmt: skip
    return Case(
        "bench.json", json.dumps(content).encode(), ids("{}", 88), (), world.votes, world.labels,
        task="pointwise",
    )  # fmt: skip


@case
def a_queue_with_measurements() -> Case:
    """A column of values and one of notes per annotator, with durations and computed scores."""
    world = World.of(39, 84, [0.9, 0.84, 0.78, 0.8], 0.6)
    votes, labels = world.votes.copy(), world.labels.copy()
    labels[64:] = MISSING
    rows: list[list[Any]] = [
        ["source_id", "status", "created_at", "duration_seconds", "talk_ratio", "overall_score",
         "eval: tone", "Done - Ann", "Done - Ann - notes", "Done - Bob", "Done - Bob - notes",
         "Done - Cem", "Done - Cem - notes", "Done - adjudicated"]
    ]  # fmt: skip
    for i, label, row in world:
        people: list[Any] = []
        for j in range(3):
            votes[i, j] = MISSING if world.some(0.12) else row[j]
            people += ["" if votes[i, j] < 0 else YES[row[j]], ""]
        rows.append(
            [f"call{i}", "completed", "2026-05-05 10:00:00", int(world.rng.integers(30, 600)),
             round(float(world.rng.random()), 3), round(float(world.rng.random()), 3),
             world.grade(row[3]), *people, YES[label] if i < 64 else ""]
        )  # fmt: skip
    return Case(
        "queue.csv", table(rows), ids("call{}", 84),
        ("Done - Ann", "Done - Bob", "Done - Cem", "eval: tone"), votes, labels, task="pointwise",
    )  # fmt: skip


@case
def grades_with_graded_labels() -> Case:
    """Grades of 1 to 5 by judges, and by a person as the label."""
    world = World.of(41, 140, [0.88, 0.82, 0.76, 0.7], 0.55)
    rows: list[list[Any]] = [["id", "human_score", *(f"judge_{k}" for k in range(4))]]
    votes, labels = world.votes.copy(), world.labels.copy()
    for i, label, row in world:
        grades = [world.pick(4, 5) if v else world.pick(1, 2) for v in (label, *row)]
        if world.some(0.1):
            grades[0], labels[i] = 3, MISSING
        rows.append([i, *grades])
    steps = (("--threshold", {"thresholds": 3}), ("--label-threshold", {"label_threshold": 3}))
    return Case(
        "grades.csv", table(rows), ids("{}", 140), ids("judge_{}", 4), votes, labels, steps=steps
    )


@case
def words_between_pass_and_fail() -> Case:
    """Verdicts and labels of three words: pass, partial and fail."""
    world = World.of(42, 110, [0.88, 0.82, 0.74], 0.55)
    votes, labels = world.votes.copy(), world.labels.copy()
    rows: list[list[Any]] = [["question_id", "label", "j0", "j1", "j2"]]
    for i, label, row in world:
        cells = []
        for j, value in enumerate([label, *row]):
            between = world.some(0.18)
            cells.append("partial" if between else PASS[value])
            if between and j:
                votes[i, j - 1] = MISSING
            elif between:
                labels[i] = MISSING
        rows.append([f"q{i}", *cells])
    return Case(
        "words.csv", table(rows), ids("q{}", 110), ids("j{}", 3), votes, labels,
        steps=(("--words", {"words": "partial="}),), task="pointwise",
    )  # fmt: skip


@case
def tasks_with_annotations() -> Case:
    """Tasks with their data, annotations of people (some cancelled), and a model's prediction."""
    world = World.of(51, 70, [0.9, 0.8, 0.75])
    votes = world.votes.copy()
    side = ("right", "left")
    tasks = []
    for i, label, row in world:
        annotations = []
        for j, who in enumerate(("ann@x.org", "bob@x.org")):
            cancelled = world.some(0.1)
            votes[i, j] = MISSING if cancelled else row[j]
            result = [{"type": "pairwise", "value": {"selected": side[row[j]]}}]
            annotations.append(
                {"id": 10 * i + j, "completed_by": {"id": j, "email": who}, "result": result,
                 "was_cancelled": cancelled}
            )  # fmt: skip
        prediction = {"model_version": "m-1", "result": [{"value": {"selected": side[row[2]]}}]}
        tasks.append(
            {"id": 300 + i, "data": {"prompt": world.text(), "gold": "AB"[1 - label]},
             "annotations": annotations, "predictions": [prediction]}
        )  # fmt: skip
    return Case(
        "tasks.json", json.dumps(tasks).encode(), ids("{}", 70, 300),
        ("ann@x.org", "bob@x.org", "m-1"), votes, world.labels, task="pairwise",
    )  # fmt: skip


@case
def a_file_for_each_annotator() -> Case:
    """JSON Lines of documents with their labels, in one file for each annotator."""
    world = World.of(52, 64, [0.88, 0.8, 0.72])
    files = {
        f"{who}.jsonl": lines(
            {"id": i, "text": world.text(), "gold": PASS[label], "label": [PASS[row[j]]]}
            for i, label, row in world
        )
        for j, who in enumerate(("ann", "bob", "cem"))
    }
    return Case(
        "documents.zip", archive(files), ids("{}", 64), ("ann", "bob", "cem"), world.votes,
        world.labels, task="pointwise",
    )  # fmt: skip


@case
def answers_of_models_to_choices() -> Case:
    """Samples of models that say which of two responses is better."""
    world = World.of(53, 80, [0.85, 0.75])
    files = {
        f"lab__{name}/samples_pairs_2026-01-0{j + 1}.jsonl": lines(
            {"doc_id": i, "doc": {"topic": "x"}, "target": "BA"[label],
             "filtered_resps": ["BA"[row[j]]]}
            for i, label, row in world
        )
        for j, name in enumerate(("big", "small"))
    }  # fmt: skip
    return Case(
        "samples.zip", archive(files), ids("{}", 80), ("lab__big", "lab__small"), world.votes,
        world.labels, task="pairwise",
    )  # fmt: skip


@case
def verdicts_with_errors_and_honest_explanations() -> Case:
    """Judges in a list with an error object where one failed; explanations speak of errors too."""
    world = World.of(55, 70, [0.9, 0.8, 0.75])
    gone = lost(world, [0.0, 0.15, 0.2])
    reasons = (
        "Error: the date is wrong.", "Error in step 2 of the derivation.",
        "Timeout handling is missing.", "Exception handling is missing.",
        "No answer was given to part b.", "Could not parse the table correctly, wrong total.",
        "API error codes are explained correctly.", "Invalid JSON in the response.",
        "Parse failure in the code is not handled.",
    )  # fmt: skip
    error = {"type": "ParseError", "message": "no JSON in the reply"}
    records = [
        {"id": f"q{i}", "gold": PASS[label],
         "judges": [{"name": f"judge-{j}", "verdict": "fail", "explanation": "", "error": error}
                    if gone[i, j] else
                    {"name": f"judge-{j}", "verdict": PASS[vote], "error": None,
                     "explanation": world.pick(*reasons) if not vote else world.text()}
                    for j, vote in enumerate(row)]}
        for i, label, row in world
    ]  # fmt: skip
    return Case(
        "export.json", json.dumps(records).encode(), ids("q{}", 70), ids("judge-{}", 3),
        without(world.votes, gone), world.labels, task="pointwise",
        notes=("since the answer failed",),
    )  # fmt: skip


@case
def a_table_for_each_judge() -> Case:
    """A folder with a table of item, label and verdict for each judge, named by its file."""
    world = World.of(56, 60, [0.9, 0.8, 0.7])
    say = ("no", "yes")
    files = {
        f"runs/model-{j}.csv": table(
            [["item_id", "label", "verdict"],
             *([f"t{i}", say[label], say[row[j]]] for i, label, row in world)]
        ).decode()
        for j in range(3)
    }  # fmt: skip
    return Case(
        "runs.zip", archive(files), ids("t{}", 60), ids("model-{}", 3), world.votes, world.labels,
        task="pointwise",
    )  # fmt: skip


@case
def batches_of_items_in_files() -> Case:
    """A folder with two tables of other items and the same judges."""
    world = World.of(60, 60, [0.9, 0.8, 0.7])
    head = ["item_id", "label", *(f"m{j}" for j in range(3))]
    rows = [[f"b{i}", label, *row] for i, label, row in world]
    files = {
        f"batch/{name}.csv": table([head, *own]).decode()
        for name, own in (("early", rows[:25]), ("late", rows[25:]))
    }
    return Case(
        "batch.zip", archive(files), ids("b{}", 60), ids("m{}", 3), world.votes, world.labels,
    )  # fmt: skip


@case
def outputs_in_columns_of_other_names() -> Case:
    """Raw outputs in both orders, with columns whose names have to be given."""
    world = World.of(59, 50, [0.9, 0.8])
    records = []
    for i, label, row in world:
        for j, vote in enumerate(row):
            for swapped in (False, True):
                first = bool(vote) != swapped
                text = f"{world.text()} Verdict: [[{'A' if first else 'B'}]]"
                records.append(
                    {"pair_id": f"p{i}", "judge_model": f"m-{j}", "is_swapped": swapped,
                     "completion": text, "finish_reason": "stop",
                     "human_choice": ["resp_2", "resp_1"][label]}
                )  # fmt: skip
    return Case(
        "outputs.jsonl", lines(records).encode(), ids("p{}", 50), ids("m-{}", 2), world.votes,
        world.labels, task="pairwise",
        steps=(("words", {"words": "resp_1=1,resp_2=0"}),),
    )  # fmt: skip


@case
def repeated_assignments_with_ids_of_their_own() -> Case:
    """One row per assignment with an id and a time of its own; some annotators did items twice."""
    world = World.of(58, 60, [0.9, 0.8, 0.75])
    say = ("Bad", "Good")
    rows, number = [], 0
    for again in (False, True):
        for i, label, row in world:
            for j, vote in enumerate(row):
                if not again or (i % 9 == j):
                    number += 1
                    rows.append(
                        [f"T-{i:03}", f"A{number:04}", f"Ann {j}", say[vote],
                         say[label] if i % 2 else "", f"2026-03-01 10:{number // 60:02}:00"]
                    )  # fmt: skip
    head = ["Ticket", "Assignment", "Annotator", "Decision", "Gold answer", "Submitted at"]
    labels = np.where(np.arange(60) % 2, world.labels, MISSING).astype(np.int8)
    return Case(
        "annotations.csv", table([head, *rows]), ids("T-{:03}", 60), ids("Ann {}", 3), world.votes,
        labels, steps=(("--run-column", {"run_column": "Assignment"}),), task="pointwise",
        notes=("majority of up to 2 runs",),
    )  # fmt: skip
