"""Tools in which graders or people judge single responses: one importer each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.cells import plain, side_of
from judgepanel.votes.imports import common
from judgepanel.votes.imports.common import Found, Grade, ImportedRows, Importer, Row, at
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
        several = len(sources[grade.judge]) > 1
        judge = f"{grade.judge}/{grade.by}" if several else grade.judge
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


def _assessments(trace: Any) -> Any:
    return at(trace, "info.assessments") or at(trace, "assessments")


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
        for entry in _assessments(trace) or []:
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
