"""Tools in which graders or people judge single responses: one importer each.

Benchmarks and tools in which judges compare two responses: one importer each.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from judgepanel.votes.cells import is_number, plain, side_of
from judgepanel.votes.imports import common
from judgepanel.votes.imports.common import AB, HALF, Found, Grade, ImportedRows, Importer, Row, at
from judgepanel.votes.sources import Document

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_BLANK = ("", None)

# --- TruLens: get_records_and_feedback -------------------------------------------------------
# A row per record: record_id, the app, input, output, and for each feedback function its score and
# a column of the same name and _calls. Records with the same input are a group.


def _feedback(record: Row) -> list[str]:
    return [name for name in record if f"{name}_calls" in record]


@Importer(
    "trulens",
    "records of TruLens",
    "a .csv or .json of get_records_and_feedback (record_id, input, output, NAME, NAME_calls)",
    _TABLES,
    lambda d: "record_id" in d.first and bool(_feedback(d.first)),
)
def _trulens(records: Iterator[Row], _document: Document) -> Iterator[Grade]:
    inputs: dict[str, int] = {}
    for record in records:
        app = ("app_id", "app_name", "app_version")
        about = {name: record[name] for name in app if record.get(name) not in _BLANK}
        number = inputs.setdefault(str(record.get("input")), len(inputs) + 1)
        for name in _feedback(record):
            if record[name] not in _BLANK:
                item, group = str(record["record_id"]), f"input {number}"
                yield Grade(item, name, record[name], group=group, about=about)


# --- Langfuse: scores ------------------------------------------------------------------------
# A row per score: trace_id, observation_id, name, value, source (EVAL, API or ANNOTATION), a
# category as string_value; names in camel case as well. Annotations are by people.


def _plain(record: Row) -> Row:
    return {str(name).lower().replace("_", ""): value for name, value in record.items()}


@Importer(
    "langfuse",
    "scores of Langfuse",
    "a .csv, .json or .jsonl of scores (trace_id, name, value, source)",
    _TABLES,
    lambda d: _plain(d.first).keys() >= {"traceid", "name", "value", "source"},
)
def _langfuse(records: Iterator[Row], _document: Document) -> Iterator[Grade | str]:
    for score in map(_plain, records):
        trace, place = score["traceid"], score.get("observationid")
        if not trace:
            yield "scores of no trace"
            continue
        item, judge = f"{trace}/{place}" if place else str(trace), str(score["name"])
        category, value = score.get("stringvalue"), score["value"]
        value = value if category in _BLANK else category
        person = str(score["source"]).lower() == "annotation"
        yield Grade(item, judge, value, "", person, score.get("comment"), str(trace))


# --- LangSmith: to_pandas of an experiment ---------------------------------------------------
# A row per run: id, example_id, error, and columns inputs.NAME, outputs.NAME, reference.NAME and
# feedback.NAME. Runs on one example are a group.


def _below(record: Row, prefix: str) -> Row:
    """What is given in the columns with a prefix, without it."""
    own = {name: value for name, value in record.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): own[name] for name in own if own[name] not in _BLANK}


@Importer(
    "langsmith",
    "experiments of LangSmith",
    "a .csv or .json of an experiment (id, example_id, feedback.NAME)",
    _TABLES,
    lambda d: (
        {"example_id", "id"} <= d.first.keys()
        and any(key.startswith("feedback.") for key in d.first)
    ),
)
def _langsmith(records: Iterator[Row], _document: Document) -> Iterator[Grade | str]:
    for record in records:
        if record.get("error"):
            yield "runs that ended with an error"
            continue
        about = _below(record, "inputs.") | _below(record, "reference.")
        for judge, value in _below(record, "feedback.").items():
            item, group = str(record["id"]), str(record["example_id"])
            yield Grade(item, judge, value, group=group, about=about)


# --- DeepEval: a test run --------------------------------------------------------------------
# testCases with metricsData: name, score, success, evaluationModel and error. A metric that several
# models evaluate is a judge with each of them. A metric without a score failed, and did not judge.


def _told_apart(grades: Iterable[Grade]) -> Iterator[Grade]:
    """Name judges by whom they ask too, where several of one name ask others; people as before."""
    grades = list(grades)
    sources: dict[str, set[str]] = {}
    for grade in grades:
        sources.setdefault(grade.judge, set()).update(() if grade.person else (grade.by,))
    for grade in grades:
        judge = f"{grade.judge}/{grade.by}" if len(sources[grade.judge]) > 1 else grade.judge
        yield grade if grade.person else replace(grade, judge=judge, by="")


@Importer(
    "deepeval",
    "a test run of DeepEval",
    "a .json of a test run (testCases with metricsData)",
    (".json",),
    lambda d: common.some_have(at(d.whole, "testCases"), "metricsData"),
)
def _deepeval(_records: Iterator[Row], document: Document) -> Iterator[Grade | str]:
    grades = []
    kinds = ("testCases", "conversationalTestCases")
    cases = [case for kind in kinds for case in document.whole.get(kind) or []]
    for number, case in enumerate(cases):
        about = {**(case.get("metadata") or {}), **(case.get("additionalMetadata") or {})}
        for metric in case.get("metricsData") or []:
            name = metric["name"]
            if not isinstance(name, str):
                raise TypeError
            failed = metric.get("score") is None or bool(metric.get("error"))
            value = None if failed else metric.get("success", metric["score"])
            if failed:
                yield "metrics that ended with an error"
            item, by = str(case.get("name") or number), str(metric.get("evaluationModel"))
            grades.append(Grade(item, name, value, by, about=about))
    yield from _told_apart(grades)


# --- MLflow: traces with assessments ---------------------------------------------------------
# info.assessments: name, source (LLM_JUDGE, CODE or HUMAN, and who), feedback or expectation,
# error. A person's later assessment takes the place of the earlier.


def _traces(document: Document) -> Any:
    whole = document.whole
    traces = whole.get("traces") if isinstance(whole, dict) else whole
    return traces or [trace for _, trace in document.lines]


@Importer(
    "mlflow",
    "traces of MLflow with assessments",
    "a .json or .jsonl of traces (info.trace_id, info.assessments)",
    (".json", ".jsonl"),
    lambda d: any(common.some_have(_traces(d), f"{place}assessments") for place in ("info.", "")),
)
def _mlflow(_records: Iterator[Row], document: Document) -> Iterator[Grade]:
    grades: list[tuple[float, Grade]] = []
    for trace in _traces(document):
        info = trace.get("info", trace)
        about = {**(at(info, "tags") or {}), **(at(info, "trace_metadata") or {})}
        for entry in at(trace, "info.assessments") or at(trace, "assessments") or []:
            value = at(entry, "feedback.value")
            value = at(entry, "expectation.value") if value is None else value
            value = None if entry.get("error") else value
            judge = str(entry.get("name") or entry.get("assessment_name"))
            by, kind = (str(at(entry, f"source.source_{what}")) for what in ("id", "type"))
            person = kind.upper() == "HUMAN"
            grade = Grade(str(info["trace_id"]), judge, value, by, person, about=about)
            grades.append((entry.get("last_update_time_ms") or 0, grade))
    yield from _told_apart(grade for _, grade in sorted(grades, key=lambda entry: entry[0]))


# --- Phoenix and Arize: spans ----------------------------------------------------------------
# A row per span: context.span_id, eval.NAME.label, .score and .explanation by evaluators, and
# annotation.NAME.label by people. Label and score of an evaluator are one grade.


def _evaluators(record: Row, kind: str) -> list[str]:
    parts = [name.split(".") for name in record if name.startswith(f"{kind}.")]
    return list(dict.fromkeys(".".join(own[1:-1]) for own in parts if len(own) > 2))


@Importer(
    "phoenix",
    "spans of Phoenix",
    "a table of spans (context.span_id, eval.NAME.label, annotation.NAME.label)",
    _TABLES,
    lambda d: "context.span_id" in d.first and bool(_evaluators(d.first, "eval")),
)
def _phoenix(records: Iterator[Row], _document: Document) -> Iterator[Grade]:
    for record in records:
        for kind in ("eval", "annotation"):
            for name in _evaluators(record, kind):
                given = _below(record, f"{kind}.{name}.")
                value, why = given.get("label", given.get("score")), given.get("explanation")
                if value is not None:
                    item, group = record["context.span_id"], record.get("context.trace_id")
                    person = kind == "annotation"
                    yield Grade(str(item), name, value, "", person, why, str(group or ""))


# --- Argilla: records ------------------------------------------------------------------------
# responses by question, each with value, user and status, in lists that go together where records
# are flat; suggestions with an agent. Only what was submitted counts.


def _is_argilla(document: Document) -> bool:
    first = document.first
    flat = any(key.endswith(".responses") for key in first)
    given = flat or isinstance(first.get("responses"), dict)
    return given and bool({"id", "_server_id"} & first.keys())


@Importer(
    "argilla",
    "records of Argilla",
    "a .json or .jsonl of records (id, and responses with value, user and status)",
    (".json", ".jsonl"),
    _is_argilla,
)
def _argilla(records: Iterator[Row], _document: Document) -> Iterator[Grade | str]:
    for record in records:
        item = str(record.get("id") or record.get("_server_id"))
        about = {**(record.get("metadata") or {}), **(record.get("fields") or {}), **record}
        about = {name: value for name, value in about.items() if not isinstance(value, dict | list)}
        questions = list(_argilla_questions(record))
        answers = [(question, *response) for question, own in questions for response in own]
        answers += [(question, *given, None) for question, *given in _suggestions(record)]
        for question, who, value, status in answers:
            judge = who if len(questions) == 1 else f"{who}/{question}"
            counts = status is None or plain(str(status)) == "submitted"
            if not counts:
                yield "responses that were not submitted"
            yield Grade(item, judge, value if counts else None, about=about)


def _argilla_questions(record: Row) -> Iterator[tuple[str, list[tuple[str, Any, Any]]]]:
    """Questions with their responses: who gave them, their value and status."""
    nested = record.get("responses")
    for name, given in (nested or {}).items() if isinstance(nested, dict) else ():
        yield name, [(str(r.get("user_id")), r.get("value"), r.get("status")) for r in given]
    for key, values in record.items():
        if key.endswith(".responses") and isinstance(values, list):
            users = record.get(f"{key}.users") or [f"user {k + 1}" for k in range(len(values))]
            status = record.get(f"{key}.status") or [None] * len(values)
            responses = list(zip(map(str, users), values, status, strict=True))
            yield key.removesuffix(".responses"), responses


def _suggestions(record: Row) -> Iterator[tuple[str, str, Any]]:
    nested = record.get("suggestions")
    for name, given in (nested or {}).items() if isinstance(nested, dict) else ():
        yield name, str(at(given, "agent") or "suggestion"), at(given, "value")
    for key, value in record.items():
        if key.endswith(".suggestion") and value is not None:
            yield key.removesuffix(".suggestion"), str(record.get(f"{key}.agent") or key), value


# --- Label Studio: JSON ----------------------------------------------------------------------
# Tasks with data and annotations: completed_by and result, a list of values such as choices, rating
# or selected (left or right, of a pair). Predictions by models are judges too.


def _graded_or_paired(found: Found) -> ImportedRows:
    """Grades of single responses, or verdicts on pairs where they name a side."""
    grades: list[Grade] = list(found.records)
    words = {plain(str(grade.value)) for grade in grades if grade.value is not None}
    sides: dict[str, Any] = {word: side_of(word) for word in words} | {"left": 1, "right": 0}
    if not words or any(sides[word] is None for word in words - {"none", "tie", ""}):
        return common.graded(grades, found.left_out)
    about = {grade.item: grade.about for grade in grades}
    rows = []
    for grade in grades:
        verdict, label = sides.get(plain(str(grade.value))), common.label_in(grade.about)
        row = {"item_id": grade.item, "judge": grade.judge, "verdict": verdict, "label": label}
        rows.append(row)
    return ImportedRows(common.with_features(rows, about), found.left_out)


@Importer(
    "label-studio",
    "annotations of Label Studio",
    "a .json of tasks (id, data, annotations with result)",
    (".json",),
    lambda d: {"id", "data", "annotations"} <= d.first.keys(),
    _graded_or_paired,
)
def _label_studio(records: Iterator[Row], _document: Document) -> Iterator[Grade | str]:
    for task in records:
        item, about = str(task["id"]), task.get("data") or {}
        for entry in task["annotations"]:
            who = entry.get("completed_by")
            who = at(who, "email") or at(who, "id") if isinstance(who, dict) else who
            if entry.get("was_cancelled"):
                yield "annotations that were cancelled"
            else:
                yield Grade(item, str(who), _studio_value(entry), about=about)
        for entry in task.get("predictions") or []:
            model = str(entry.get("model_version") or "model")
            yield Grade(item, model, _studio_value(entry), about=about)


def _studio_value(entry: Row) -> Any:
    for part in entry.get("result") or []:
        for key in ("choices", "selected", "rating"):
            value = at(part, f"value.{key}")
            if value is not None:
                return value[0] if isinstance(value, list) else value
    return None


# --- doccano: JSON Lines per annotator -------------------------------------------------------
# A file per annotator, called by the name: id, text and label, a list of the classes chosen.


@Importer(
    "doccano",
    "annotations of doccano",
    "a .zip or folder with a .jsonl per annotator (id, text, label)",
    (".jsonl",),
    lambda d: {"id", "text", "label"} <= d.first.keys() and isinstance(d.first["label"], list),
)
def _doccano(records: Iterator[Row], document: Document) -> Iterator[Grade | str]:
    annotator = PurePosixPath(document.path).stem
    for record in records:
        label = record["label"]
        chosen = label if isinstance(label, list) else [label]
        if len(chosen) > 1:
            yield "documents with several labels"
        value = chosen[0] if len(chosen) == 1 and not isinstance(chosen[0], list) else None
        about = {name: entry for name, entry in record.items() if name not in ("label", "text")}
        yield Grade(str(record["id"]), annotator, value, about=about)


# --- LLMBar (princeton-nlp/LLMBar, arXiv 2310.07641) -----------------------------------------
# SUBSET/evaluators/MODEL/STRATEGY/result.json: a list of items with a label 1 or 2 and results, one
# entry per stage. An entry has the output under 'swap = False' and 'swap = True', or two scores
# that were given apart; what only prepares is a list of a text and why it ended.

_LLMBAR = re.compile(r"(?:.*/)?([^/]+)/evaluators/([^/]+)/([^/]+)/result\.json\Z")


@Importer(
    "llmbar",
    "outputs of LLMBar's evaluators",
    "a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json (label, results)",
    ("/result.json",),
    lambda d: _LLMBAR.match(d.path) is not None,
)
def _llmbar(records: Iterator[Row], document: Document) -> Iterator[Row | str]:
    subset, model, strategy = _LLMBAR.findall(document.path)[0]
    if not isinstance(document.whole, list):
        raise TypeError
    for number, item in enumerate(records):
        about: Row = {"item_id": f"{subset}-{number:03d}", "judge": f"{model}/{strategy}"}
        about |= {"label": {1: 1, 2: 0}[item["label"]], "feat_subset": subset}
        compares = False
        for stage, entry in enumerate(item["results"], start=1):
            if isinstance(entry, list) and all(isinstance(part, str | None) for part in entry):
                continue
            compares = True
            yield from _llmbar_stage(entry, {**about, "stage": stage})
        if not compares:
            yield "items that were never compared"


def _llmbar_stage(entry: Row, about: Row) -> Iterator[Row | str]:
    if "score_1" in entry:
        first, second = entry["score_1"][0], entry["score_2"][0]
        numbers = all(is_number(str(score).strip().lower()) for score in (first, second))
        row = {**about, "order": AB, "score_a": first, "score_b": second}
        yield row if numbers else "scores that are no numbers"
        return
    for name, order in {"swap = False": AB, "swap = True": common.BA}.items():
        output = entry[name].get("completion")
        if output is None:
            yield "outputs that are not there"
        else:
            yield {**about, "order": order, "text": output[0] or ""}


# --- JudgeBench (ScalerLab/JudgeBench, arXiv 2410.12784) -------------------------------------
# A line per pair: label 'A>B' or 'B>A', and judgments, the first with the responses as given, the
# second with them exchanged; a reward model has scores in place of a response.

_JUDGE_MODEL = re.compile(r"judge_model=(.+?)\.jsonl\Z")


@Importer(
    "judgebench",
    "outputs of JudgeBench's judges",
    "dataset=judgebench,...judge_model=....jsonl (pair_id, source, label, judge_name, judgments)",
    (".jsonl",),
    lambda d: bool(d.lines) and {"pair_id", "judge_name", "judgments"} <= d.first.keys(),
)
def _judgebench(records: Iterator[Row], document: Document) -> Iterator[Row | str]:
    model = _JUDGE_MODEL.search(document.path)
    for pair in records:
        about = {
            "item_id": str(pair["pair_id"]),
            "judge": f"{pair['judge_name']}/{model[1] if model else 'unknown'}",
            "label": {"A>B": 1, "B>A": 0}[pair["label"]],
            "feat_source": str(pair["source"]),
            "feat_response_model": str(pair.get("response_model", "")),
        }
        for order, entry in zip(common.ORDERS, pair["judgments"], strict=False):
            judgment = None if entry is None else entry.get("judgment")
            if judgment is None:
                yield "judgments that are not there"
            elif "scores" in judgment:
                first, second = judgment["scores"]
                yield {**about, "order": order, "score_a": first, "score_b": second}
            else:
                yield {**about, "order": order, "text": judgment["response"] or ""}


# --- RewardBench (allenai/reward-bench, arXiv 2403.13787; 2: arXiv 2506.01937) ---------------
# eval-set-scores: an object per model with lists id, subset, results and, of reward models,
# scores_chosen and scores_rejected. The chosen response comes first everywhere, so each item is
# turned around or not by its own id. chosen_model and rejected_model, which the data set has, name
# the systems where they were kept. RewardBench 2 has a list of scores for each prompt, those of
# the num_correct right responses first; each wrong response is a pair with a right one.


def _with_margins(found: Found) -> ImportedRows:
    """Scores of all models, with the margin of each item as a feature.

    That is the median, over judges that score, of |difference| / that judge's median. Each prompt
    of RewardBench 1 is a group of its own beside those of RewardBench 2.
    """
    rows = common.outputs(found).rows
    gaps = pd.Series([abs(row["score_a"] - row["score_b"]) for row in rows], dtype=float)
    by_judge = gaps.groupby([row["judge"] for row in rows])
    units = by_judge.transform("median").where(by_judge.transform("nunique") > 2)
    margins = (gaps / units).where(units > 0).groupby([row["item_id"] for row in rows]).median()
    about = {item: {"feat_margin": margin} for item, margin in margins.dropna().round(4).items()}
    if any("group_id" in row for row in rows):
        rows = [{"group_id": row["item_id"], **row} for row in rows]
    return ImportedRows([row | about.get(row["item_id"], {}) for row in rows], found.left_out)


@Importer(
    "rewardbench",
    "results of RewardBench on each prompt",
    "a file of eval-set-scores (lists id, subset, results of one length), or a folder with them",
    (".json",),
    lambda d: all(isinstance(at(d.whole, key), list) for key in ("id", "subset", "results")),
    _with_margins,
)
def _rewardbench(_records: Iterator[Row], document: Document) -> Iterator[Row | str]:
    content = document.whole
    model = content.get("model")
    model = (model or [None])[0] if isinstance(model, list) else model
    judge = str(model) if model else document.path.removesuffix(".json")
    blank: list[Any] = [None] * len(content["id"])
    columns = [content[key] for key in ("id", "subset", "results")]
    scored = ("scores_chosen", "scores_rejected", "scores", "num_correct")
    models = ("chosen_model", "rejected_model")
    columns += [content.get(key) or blank for key in (*scored, *models)]
    for number, subset, result, won, lost, scores, n_right, *by in zip(*columns, strict=True):
        prompt = f"{subset}-{number}"
        if "num_correct" not in content:
            pair = _score(won), _score(lost)
            if None in pair and (share := _score(result)) is not None:
                # A generative judge has no scores, only whether it was right; .5 is a tie.
                pair = share, 1 - share
            # The models of the right and of the wrong response as the item's first and second.
            first, second = by[::-1] if common.turned(prompt) else by
            systems = {common.SYSTEM_A: str(first), common.SYSTEM_B: str(second)}
            yield _scored(prompt, judge, subset, pair, systems if all(by) else {})
        elif isinstance(scores, list):
            right = scores[: int(n_right)]
            for place, wrong in enumerate(scores[int(n_right) :]):
                pair = _score(right[place % len(right)]), _score(wrong)
                yield _scored(f"{prompt}/{place + 1}", judge, subset, pair, {"group_id": prompt})
        else:
            yield "prompts whose responses have no scores"


def _scored(
    item: str, judge: str, subset: Any, scores: Sequence[float | None], about: Row
) -> Row | str:
    """A judge's scores of the right and of the wrong response, in the item's own order."""
    if None in scores:
        return "results that are no numbers"
    swapped = common.turned(item)
    first, second = scores[::-1] if swapped else scores
    row = {"item_id": item, "judge": judge, "label": int(not swapped)}
    row |= {"feat_subset": str(subset), "order": AB, "score_a": first, "score_b": second}
    return row | about


def _score(value: Any) -> float | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return None if isinstance(value, bool) else common.share_of(value)


# --- MT-bench and Chatbot Arena (lm-sys/FastChat, arXiv 2306.05685) --------------------------
# Votes: question_id, model_a, model_b, winner and judge. Model judgments: question_id, model_1,
# model_2, g1_judgment and g2_judgment, the second with the responses exchanged; or model, judgment
# and score, a grade of one response.

_VOTE = {"question_id", "model_a", "model_b", "winner", "judge"}
_PAIR = {"question_id", "model_1", "model_2", "judge", "g1_winner", "g2_winner"}
_SINGLE = {"question_id", "model", "judge", "judgment", "score"}
_OWN_LABELS = re.compile(r"(?i)(?:.*[_ ])?(?:labels?|gold|truth)|.+[_ ](?:winner|preference)")
_PEOPLE = re.compile(r"(?:author|expert|arena_user|human)(?:[_ -]\w+)*\Z", re.IGNORECASE)
_PROMPT = re.compile(r"(pair|single)(?:-math)?-v\d+(?:-multi-turn)?\Z")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_FIRST, _SECOND = (1.0, 0.0), (0.0, 1.0)
_WINS = {"a": _FIRST, "1": _FIRST, "b": _SECOND, "2": _SECOND}


def _all_judgments(found: Found) -> ImportedRows:
    """Judgments of all files; grades of two responses are a judgment of their pair."""
    judgments: list[Grade] = [grade for grade in found.records if len(grade.shown) == 2]
    pairs: dict[str, set[tuple[str, ...]]] = {}
    for grade in judgments:
        pairs.setdefault(grade.item, set()).add(tuple(sorted(grade.shown)))
    for file, own in found.files:
        scores: dict[tuple[str, str, str], dict[str, float]] = {}
        for grade in own:
            if len(grade.shown) == 1:
                key = grade.item, grade.group, grade.judge
                scores.setdefault(key, {})[grade.shown[0]] = grade.value
        compared = []
        for (item, group, judge), by_model in scores.items():
            for shown in sorted(pairs.get(item, ())):
                if by_model.keys() >= set(shown):
                    both = tuple(by_model[model] for model in shown)
                    grade = Grade(item, judge, both, group=group, shown=shown, systems=shown)
                    compared.append(grade)
        if scores and not compared:
            found.left_out.file(file, "grades of single responses without pairs to compare")
        judgments += compared
    return common.labelled_pairs(judgments, found.left_out)


def _is_arena(document: Document) -> bool:
    """Votes with labels of their own are not of the benchmark, which has none."""
    keys = document.first.keys()
    votes = keys >= _VOTE and not any(map(_OWN_LABELS.fullmatch, keys))
    return keys >= _PAIR or keys >= _SINGLE or votes


@Importer(
    "arena",
    "judgments of MT-bench and Chatbot Arena",
    "judgments of people or models (question_id, judge, and two models with winners, or a score)",
    (".json", ".jsonl", ".parquet", ".csv"),
    _is_arena,
    _all_judgments,
)
def _arena(records: Iterator[Row], _document: Document) -> Iterator[Grade | str]:
    for record in records:
        if record.keys() >= _PAIR:
            names = str(record["model_1"]), str(record["model_2"])
            for game, way in (("g1", 1), ("g2", -1)):
                scores, text = _wins(record[f"{game}_winner"]), record.get(f"{game}_judgment")
                said = str(text) if text else scores and scores[::way]
                yield _judgment(record, names[::way], said)
        elif record.keys() >= _SINGLE:
            score = common.share_of(record["score"])
            if score is None or score < 0:  # -1 says that none was read.
                yield "grades that are not numbers"
            else:
                yield _judgment(record, (str(record["model"]),), score)
        else:
            names = str(record["model_a"]), str(record["model_b"])
            yield _judgment(record, names, _wins(record["winner"], names))


def _judgment(record: Row, shown: tuple[str, ...], value: Any) -> Grade | str:
    """What a judge said, with a question as the group and each of its turns as an item."""
    # Models are lists of a name and a prompt; prompts of the benchmark are pair or single.
    parts = record["judge"]
    if isinstance(parts, str):
        parts = _QUOTED.findall(parts) if parts.startswith(("[", "(")) else [parts]
    name, *prompts = map(str, parts)
    kinds = [kind[1] if (kind := _PROMPT.match(prompt)) else prompt for prompt in prompts]
    judge = "/".join((name, *kinds))
    # Where there is no model_a a model judges, whatever its name.
    person = not kinds and _PEOPLE.match(name) is not None and "model_a" in record
    if value is None:
        return common.NO_VERDICT
    group, turn = str(record["question_id"]), record.get("turn")
    item = group if turn in (None, "") else f"{group}/turn {turn}"
    systems = shown if len(shown) == 2 else ()
    return Grade(item, judge, value, person=person, group=group, shown=shown, systems=systems)


def _wins(winner: Any, names: Sequence[str] = ()) -> tuple[float, ...] | None:
    """Scores of two models: who is called a or 1 wins, or b or 2; None where there is no verdict.

    ``names`` are those of the two, either of which may be the winner.
    """
    if winner in names:
        return (_FIRST, _SECOND)[names.index(winner)]
    word = str(winner).strip().lower()
    if word.startswith("tie") or word in ("bothbad", "both_bad", "inconsistent"):
        return HALF, HALF
    return _WINS.get(word.removeprefix("model_"))


# --- Arena-Hard (lmarena/arena-hard-auto) ----------------------------------------------------
# model_judgment/JUDGE/MODEL.jsonl: a line per question with games, the first with the baseline as
# A, the second with it as B; each has a judgment and a score such as A>>B. The baseline is an
# item's first output: labels in another file can name it, which a coin would not allow.


@Importer(
    "arena-hard",
    "judgments of Arena-Hard",
    "model_judgment/JUDGE/MODEL.jsonl (uid or question_id, judge, model, games)",
    (".jsonl", ".json"),
    lambda d: isinstance(d.first.get("games"), list) and bool({"question_id", "uid"} & {*d.first}),
)
def _arena_hard(records: Iterator[Row], document: Document) -> Iterator[Row]:
    path = PurePosixPath(document.path)
    for record in records:
        judge = str(record.get("judge") or path.parent.name or "judge")
        model = str(record.get("model") or path.stem)
        question = str(record.get("question_id") or record["uid"])
        label = common.label_in(record)
        about: Row = {} if label is None else {"label": common.item_label(label, AB)}
        about |= {"item_id": f"{question}/{model}", "group_id": question}
        baseline = str(record.get("baseline") or "baseline")
        about |= {common.SYSTEM_A: baseline, common.SYSTEM_B: model}
        for game, order in zip(record["games"], common.ORDERS, strict=False):
            score = at(game, "score")
            text = f"[[{score}]]" if score else at(game, "judgment") or ""
            yield {**about, "judge": judge, "order": order, "text": str(text)}


# --- AlpacaEval (tatsu-lab/alpaca_eval) ------------------------------------------------------
# MODEL/ANNOTATOR/annotations.json: instruction, output_1, output_2, annotator and preference, 1 for
# the first, 2 for the second, anything between for a share, 1.5 and 0 for a tie; generator_1 and
# generator_2 are the models. Annotations of
# people have an annotator_index; those that do not name their annotator are called by their folder.
# A pair is known by its texts, as there is no id.

_DIGITS = 10


@Importer(
    "alpacaeval",
    "annotations of AlpacaEval",
    "a file of annotations (instruction, output_1, output_2, preference), or a folder of them",
    (".json", ".jsonl"),
    lambda d: d.first.keys() >= {"instruction", "output_1", "output_2", "preference"},
)
def _alpacaeval(records: Iterator[Row], document: Document) -> Iterator[Grade | str]:
    path = PurePosixPath(document.path)
    for record in records:
        number = common.share_of(record["preference"])
        if number is None or not (number == 0 or 1 <= number <= 2):
            yield "annotations without a preference"
            continue
        share = 2 - number if number else HALF
        person = record.get("annotator_index") is not None and not record.get("annotator")
        judge = record.get("annotator") or path.parent.name or path.stem
        name = f"person {record['annotator_index']}" if person else str(judge)
        item = _short(f"{record['instruction']}\n{record.get('input') or ''}")
        shown = _short(str(record["output_1"])), _short(str(record["output_2"]))
        about = {"feat_dataset": str(record["dataset"])} if record.get("dataset") else {}
        models = record.get("generator_1"), record.get("generator_2")
        systems = tuple(map(str, models)) if all(models) else ()
        scores = share, 1 - share
        yield Grade(
            item, name, scores, person=person, group=item, about=about, shown=shown, systems=systems
        )


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


# --- LLM Comparator (PAIR-code/llm-comparator) -----------------------------------------------
# examples with individual_rater_scores from -1.5 to 1.5, above 0 where A is better. Scores are
# turned back already where is_flipped says that B was shown first.


@Importer(
    "llm-comparator",
    "a file of LLM Comparator",
    "a .json with models and examples (individual_rater_scores)",
    (".json",),
    lambda d: common.some_have(at(d.whole, "examples"), "individual_rater_scores"),
)
def _llm_comparator(_records: Iterator[Row], document: Document) -> Iterator[Row | str]:
    rows: list[Row] = []
    about: dict[str, Row] = {}
    for number, example in enumerate(document.whole["examples"], start=1):
        fields = example.get("custom_fields") or {}
        item = str(example.get("id") or fields.get("id") or number)
        tags = example.get("tags") or []
        about[item] = {**fields, **({"tag": tags[0]} if tags else {})}
        for rater, score in enumerate(example["individual_rater_scores"], start=1):
            value = common.share_of(score.get("score"))
            if value is None:
                yield common.NO_VERDICT
                continue
            judge = str(score.get("rater_id") or score.get("rater") or f"rater {rater}")
            row = {"item_id": item, "judge": judge, "order": AB, "score_a": value, "score_b": 0.0}
            rows.append({**row, "label": common.item_label(common.label_in(fields), AB)})
    yield from common.with_features(rows, about)
