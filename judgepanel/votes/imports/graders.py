"""Tools in which graders or people judge single responses: one importer each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.imports.rows import (
    AB,
    Grade,
    ImportedRows,
    Importer,
    LeftOut,
    Row,
    at,
    features_of,
    grade_of,
    graded,
    label_in,
    pair_row,
    sided,
)
from judgepanel.votes.matrix import Task
from judgepanel.votes.sources import Document
from judgepanel.votes.words import plain, side_of

_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_RUN_ERRORS = "runs that ended with an error"


def _records(document: Document, grades: Any, wanted: str) -> list[Grade]:
    """Return the grades of all records of a document; a record built otherwise is refused."""
    found: list[Grade] = []
    document.each(lambda record: found.extend(grades(record)), wanted)
    return found


# --- TruLens: get_records_and_feedback -------------------------------------------------------
# A row per record: record_id, the app, input, output, and for each feedback function its score and
# a column of the same name and _calls. Records with the same input are a group.

_TRULENS = (
    "a .csv or .json of get_records_and_feedback (record_id, input, output, NAME, NAME_calls)"
)
_APP = ("app_id", "app_name", "app_version")


def _feedback(record: Row) -> list[str]:
    return [name for name in record if f"{name}_calls" in record]


def _trulens(document: Document, _left_out: LeftOut) -> list[Grade]:
    inputs: dict[str, int] = {}

    def grades(record: Row) -> Iterator[Grade]:
        about = {name: record[name] for name in _APP if record.get(name) not in ("", None)}
        number = inputs.setdefault(str(record.get("input")), len(inputs) + 1)
        for name in _feedback(record):
            if record[name] not in ("", None):
                item, group = str(record["record_id"]), f"input {number}"
                yield Grade(item, name, record[name], group=group, about=about)

    return _records(document, grades, _TRULENS)


TRULENS = Importer(
    title="records of TruLens",
    wanted=_TRULENS,
    endings=_TABLES,
    fits=lambda d: "record_id" in d.first and bool(_feedback(d.first)),
    read=_trulens,
    together=graded,
)

# --- Langfuse: scores ------------------------------------------------------------------------
# A row per score: trace_id, observation_id, name, value, source (EVAL, API or ANNOTATION), a
# category as string_value; names in camel case as well. Annotations are by people.

_LANGFUSE = "a .csv, .json or .jsonl of scores (trace_id, name, value, source)"


def _plain(record: Row) -> Row:
    return {str(name).lower().replace("_", ""): value for name, value in record.items()}


def _langfuse(document: Document, left_out: LeftOut) -> list[Grade]:
    def grades(record: Row) -> Iterator[Grade]:
        score = _plain(record)
        trace, place = score["traceid"], score.get("observationid")
        if not trace:
            left_out["scores of no trace"] += 1
            return
        category = score.get("stringvalue")
        yield Grade(
            item=f"{trace}/{place}" if place else str(trace),
            judge=str(score["name"]),
            value=category if category not in (None, "") else score["value"],
            person=str(score["source"]).lower() == "annotation",
            why=score.get("comment"),
            group=str(trace),
        )

    return _records(document, grades, _LANGFUSE)


LANGFUSE = Importer(
    title="scores of Langfuse",
    wanted=_LANGFUSE,
    endings=_TABLES,
    fits=lambda d: _plain(d.first).keys() >= {"traceid", "name", "value", "source"},
    read=_langfuse,
    together=graded,
)

# --- LangSmith: to_pandas of an experiment ---------------------------------------------------
# A row per run: id, example_id, error, and columns inputs.NAME, outputs.NAME, reference.NAME and
# feedback.NAME. Runs on one example are a group.

_LANGSMITH = "a .csv or .json of an experiment (id, example_id, feedback.NAME)"


def _langsmith(document: Document, left_out: LeftOut) -> list[Grade]:
    def grades(record: Row) -> Iterator[Grade]:
        if record.get("error"):
            left_out[_RUN_ERRORS] += 1
            return
        given = {name: value for name, value in record.items() if value not in ("", None)}
        about = {
            name.removeprefix(prefix): value
            for prefix in ("inputs.", "reference.")
            for name, value in given.items()
            if name.startswith(prefix)
        }
        for name, value in given.items():
            if name.startswith("feedback."):
                item, group = str(record["id"]), str(record["example_id"])
                judge = name.removeprefix("feedback.")
                yield Grade(item, judge, value, group=group, about=about)

    return _records(document, grades, _LANGSMITH)


LANGSMITH = Importer(
    title="experiments of LangSmith",
    wanted=_LANGSMITH,
    endings=_TABLES,
    fits=lambda d: (
        {"example_id", "id"} <= d.first.keys()
        and any(key.startswith("feedback.") for key in d.first)
    ),
    read=_langsmith,
    together=graded,
)

# --- DeepEval: a test run --------------------------------------------------------------------
# testCases with metricsData: name, score, success, evaluationModel and error. A metric that several
# models evaluate is a judge with each of them. A metric without a score failed, and did not judge.


def _deepeval(document: Document, left_out: LeftOut) -> list[Grade]:
    cases = [
        case
        for key in ("testCases", "conversationalTestCases")
        for case in document.whole.get(key) or []
    ]
    models: dict[str, set[str]] = {}
    for case in cases:
        for metric in case.get("metricsData") or []:
            models.setdefault(metric["name"], set()).add(str(metric.get("evaluationModel")))
    grades = []
    for number, case in enumerate(cases):
        about = {**(case.get("metadata") or {}), **(case.get("additionalMetadata") or {})}
        for metric in case.get("metricsData") or []:
            name = str(metric["name"])
            judge = f"{name}/{metric.get('evaluationModel')}" if len(models[name]) > 1 else name
            failed = metric.get("score") is None or bool(metric.get("error"))
            left_out["metrics that ended with an error"] += failed
            value = None if failed else metric.get("success", metric["score"])
            grades.append(Grade(str(case.get("name") or number), judge, value, about=about))
    return grades


DEEPEVAL = Importer(
    title="a test run of DeepEval",
    wanted="a .json of a test run (testCases with metricsData)",
    endings=(".json",),
    fits=lambda d: (
        isinstance(d.whole, dict)
        and any(
            at(case, "metricsData") is not None for case in (d.whole.get("testCases") or [])[:5]
        )
    ),
    read=_deepeval,
    together=graded,
)

# --- MLflow: traces with assessments ---------------------------------------------------------
# info.assessments: name, source (LLM_JUDGE, CODE or HUMAN, and who), feedback or expectation,
# error. A person's later assessment takes the place of the earlier.


def _mlflow(document: Document, _left_out: LeftOut) -> list[Grade]:
    whole = document.whole
    traces = whole.get("traces") if isinstance(whole, dict) else whole or document.lines
    traces = [trace[1] if isinstance(trace, tuple) else trace for trace in traces or []]
    found = []
    for trace in traces:
        info = trace.get("info", trace)
        about = {**(at(info, "tags") or {}), **(at(info, "trace_metadata") or {})}
        for entry in _assessments(trace) or []:
            person = str(at(entry, "source.source_type")).upper() == "HUMAN"
            value = at(entry, "feedback.value")
            expected = at(entry, "expectation.value")
            who = str(at(entry, "source.source_id"))
            grade = Grade(
                item=str(info["trace_id"]),
                judge=str(entry.get("name") or entry.get("assessment_name")),
                value=None if entry.get("error") else expected if value is None else value,
                by=who,
                person=person,
                about=about,
            )
            found.append((entry.get("last_update_time_ms") or 0, grade))
    sources: dict[str, set[str]] = {}
    for _, grade in found:
        if not grade.person:
            sources.setdefault(grade.judge, set()).add(grade.by)
    return [_by_source(grade, sources) for _, grade in sorted(found, key=lambda entry: entry[0])]


def _assessments(trace: Any) -> Any:
    return at(trace, "info.assessments") or at(trace, "assessments")


def _by_source(grade: Grade, sources: dict[str, set[str]]) -> Grade:
    """A judge's grade by its name alone, or with its source where several have that name."""
    if grade.person:
        return grade
    several = len(sources[grade.judge]) > 1
    name = f"{grade.judge}/{grade.by}" if several else grade.judge
    return Grade(grade.item, name, grade.value, group=grade.group, about=grade.about)


def _is_mlflow(document: Document) -> bool:
    whole = document.whole
    traces = whole.get("traces") if isinstance(whole, dict) else whole
    traces = traces if isinstance(traces, list) and traces else [document.first]
    return any(isinstance(_assessments(trace), list) for trace in traces[:5])


MLFLOW = Importer(
    title="traces of MLflow with assessments",
    wanted="a .json or .jsonl of traces (info.trace_id, info.assessments)",
    endings=(".json", ".jsonl"),
    fits=_is_mlflow,
    read=_mlflow,
    together=graded,
)

# --- Phoenix and Arize: spans ----------------------------------------------------------------
# A row per span: context.span_id, eval.NAME.label, .score and .explanation by evaluators, and
# annotation.NAME.label by people. Label and score of an evaluator are one grade.

_PHOENIX = "a table of spans (context.span_id, eval.NAME.label, annotation.NAME.label)"


def _phoenix_names(record: Row, kind: str) -> list[str]:
    parts = [name.split(".") for name in record if name.startswith(f"{kind}.")]
    return list(dict.fromkeys(".".join(own[1:-1]) for own in parts if len(own) > 2))


def _phoenix(document: Document, _left_out: LeftOut) -> list[Grade]:
    def grades(record: Row) -> Iterator[Grade]:
        for kind in ("eval", "annotation"):
            for name in _phoenix_names(record, kind):
                place = f"{kind}.{name}."
                value = record.get(f"{place}label")
                if value in ("", None):
                    value = record.get(f"{place}score")
                if value not in ("", None):
                    yield Grade(
                        item=str(record["context.span_id"]),
                        judge=name,
                        value=value,
                        person=kind == "annotation",
                        why=record.get(f"{place}explanation"),
                        group=str(record.get("context.trace_id") or ""),
                    )

    return _records(document, grades, _PHOENIX)


PHOENIX = Importer(
    title="spans of Phoenix",
    wanted=_PHOENIX,
    endings=_TABLES,
    fits=lambda d: "context.span_id" in d.first and bool(_phoenix_names(d.first, "eval")),
    read=_phoenix,
    together=graded,
)

# --- Argilla: records ------------------------------------------------------------------------
# responses by question, each with value, user and status, in lists that go together where records
# are flat; suggestions with an agent. Only what was submitted counts.


def _argilla(document: Document, left_out: LeftOut) -> list[Grade]:
    def grades(record: Row) -> Iterator[Grade]:
        item = str(record.get("id") or record.get("_server_id"))
        about = {**(record.get("metadata") or {}), **(record.get("fields") or {}), **record}
        about = {name: value for name, value in about.items() if not isinstance(value, dict | list)}
        questions = list(_argilla_questions(record))
        for question, user, value, status in chain.from_iterable(questions):
            name = user if len(questions) == 1 else f"{user}/{question}"
            if status is not None and plain(str(status)) != "submitted":
                left_out["responses that were not submitted"] += 1
                yield Grade(item, name, None, about=about)
            else:
                yield Grade(item, name, value, about=about)
        for question, agent, value in _argilla_suggestions(record):
            name = agent if len(questions) == 1 else f"{agent}/{question}"
            yield Grade(item, name, value, about=about)

    return _records(document, grades, "id, and responses with value, user and status")


def _argilla_questions(record: Row) -> Iterator[list[tuple[str, str, Any, Any]]]:
    nested = record.get("responses")
    for name, given in (nested or {}).items() if isinstance(nested, dict) else ():
        yield [(name, str(r.get("user_id")), r.get("value"), r.get("status")) for r in given]
    for key, values in record.items():
        if key.endswith(".responses") and isinstance(values, list):
            users = record.get(f"{key}.users") or [f"user {k + 1}" for k in range(len(values))]
            status = record.get(f"{key}.status") or [None] * len(values)
            name = key.removesuffix(".responses")
            rows = zip(users, values, status, strict=True)
            yield [(name, str(user), value, state) for user, value, state in rows]


def _argilla_suggestions(record: Row) -> Iterator[tuple[str, str, Any]]:
    nested = record.get("suggestions")
    for name, given in (nested or {}).items() if isinstance(nested, dict) else ():
        yield name, str(at(given, "agent") or "suggestion"), at(given, "value")
    for key, value in record.items():
        if key.endswith(".suggestion") and value is not None:
            yield key.removesuffix(".suggestion"), str(record.get(f"{key}.agent") or key), value


ARGILLA = Importer(
    title="records of Argilla",
    wanted="a .json or .jsonl of records with responses",
    endings=(".json", ".jsonl"),
    fits=lambda d: (
        any(
            key.endswith(".responses") or (key == "responses" and isinstance(value, dict))
            for key, value in d.first.items()
        )
        and bool({"id", "_server_id"} & d.first.keys())
    ),
    read=_argilla,
    together=graded,
)

# --- Label Studio: JSON ----------------------------------------------------------------------
# Tasks with data and annotations: completed_by and result, a list of values such as choices, rating
# or selected (left or right, of a pair). Predictions by models are judges too.

_STUDIO = "a .json of tasks (id, data, annotations with result)"


def _label_studio(document: Document, left_out: LeftOut) -> list[Grade]:
    def grades(task: Row) -> Iterator[Grade]:
        about = task.get("data") or {}
        for entry in task["annotations"]:
            who = entry.get("completed_by")
            who = at(who, "email") or at(who, "id") if isinstance(who, dict) else who
            if entry.get("was_cancelled"):
                left_out["annotations that were cancelled"] += 1
                continue
            yield Grade(str(task["id"]), str(who), _studio_value(entry), about=about)
        for entry in task.get("predictions") or []:
            model = str(entry.get("model_version") or "model")
            yield Grade(str(task["id"]), model, _studio_value(entry), about=about)

    return _records(document, grades, _STUDIO)


def _studio_value(entry: Row) -> Any:
    for part in entry.get("result") or []:
        value = part.get("value") or {}
        chosen = next(
            (value[key] for key in ("choices", "selected", "rating") if key in value), None
        )
        if chosen is not None:
            return chosen[0] if isinstance(chosen, list) else chosen
    return None


def _graded_or_paired(
    files: Sequence[Sequence[Grade]], left_out: LeftOut, task: Task | None
) -> ImportedRows:
    """Grades of single responses, or verdicts on pairs where they name a side."""
    grades = list(chain.from_iterable(files))
    words = {plain(str(grade.value)) for grade in grades if grade.value is not None}
    if not words or not words <= {"left", "right", "none", "tie", ""} | {
        word for word in words if side_of(word) is not None
    }:
        return graded(files, left_out, task)
    about = {grade.item: grade.about for grade in grades}
    features = features_of(about)
    first = {"left": 1, "right": 0}
    rows = [
        {
            "item_id": grade.item,
            "judge": grade.judge,
            "verdict": first.get(plain(str(grade.value)), side_of(str(grade.value))),
            "label": label_in(grade.about),
            **features[grade.item],
        }
        for grade in grades
    ]
    return ImportedRows(rows, left_out)


LABEL_STUDIO = Importer(
    title="annotations of Label Studio",
    wanted=_STUDIO,
    endings=(".json",),
    fits=lambda d: {"id", "data", "annotations"} <= d.first.keys(),
    read=_label_studio,
    together=_graded_or_paired,
)


# --- doccano: JSON Lines per annotator -------------------------------------------------------
# A file per annotator, called by the name: id, text and label, a list of the classes chosen.


def _doccano(document: Document, left_out: LeftOut) -> list[Grade]:
    annotator = PurePosixPath(document.path).stem

    def grades(record: Row) -> Iterator[Grade]:
        given = record["label"]
        chosen = given if isinstance(given, list) else [given]
        if len(chosen) > 1:
            left_out["documents with several labels"] += 1
        value = chosen[0] if len(chosen) == 1 and not isinstance(chosen[0], list) else None
        about = {name: entry for name, entry in record.items() if name not in ("label", "text")}
        yield Grade(str(record["id"]), annotator, value, about=about)

    return _records(document, grades, "id, text and label")


DOCCANO = Importer(
    title="annotations of doccano",
    wanted="a .zip or folder with a .jsonl per annotator (id, text, label)",
    endings=(".jsonl",),
    fits=lambda d: {"id", "text", "label"} <= d.first.keys() and isinstance(d.first["label"], list),
    read=_doccano,
    together=graded,
)

# --- lm-eval: samples ------------------------------------------------------------------------
# MODEL/samples_TASK_*.jsonl: doc_id, doc, target and filtered_resps, what a model answered. Models
# are judges of what the target says: a side of a pair, or whether something is so.


def _lm_eval(document: Document, left_out: LeftOut) -> list[tuple[str, str, Any, str, Row]]:
    place = PurePosixPath(document.path)
    model = place.parent.name or place.stem
    found: list[tuple[str, str, Any, str, Row]] = []

    def read(record: Row) -> None:
        answer = record["filtered_resps"]
        while isinstance(answer, list) and answer and not _is_choice(answer):
            answer = answer[0]
        if _is_choice(answer):
            answer = max(range(len(answer)), key=lambda k: float(answer[k][0]))
        doc = record.get("doc") or {}
        if not isinstance(answer, str | int):
            left_out["samples without an answer"] += 1
            return
        found.append((str(record["doc_id"]), model, record["target"], str(answer), doc))

    document.each(read, "doc_id, target and filtered_resps")
    return found


def _is_choice(answer: Any) -> bool:
    """Whether an answer is a list of likelihoods, one per choice."""
    pairs = isinstance(answer, list) and len(answer) > 1
    return pairs and all(isinstance(a, list) and len(a) == 2 for a in answer)


def _lm_eval_together(files: Any, left_out: LeftOut, task: Task | None) -> ImportedRows:
    samples = list(chain.from_iterable(files))
    if sided(target for _, _, target, *_ in samples):
        rows: Iterable[Row] = [
            {**pair_row(item, model, target, {"order": AB}, text)}
            for item, model, target, text, _ in samples
        ]
        return ImportedRows(rows, left_out)
    grades = [
        Grade(item, model, answer, about={**doc, "label": grade_of(_flat(target))})
        for item, model, target, answer, doc in samples
    ]
    return graded([grades], left_out, task)


def _flat(target: Any) -> Any:
    return target[0] if isinstance(target, list) and len(target) == 1 else target


LM_EVAL = Importer(
    title="samples of lm-eval",
    wanted="MODEL/samples_TASK_....jsonl (doc_id, target, filtered_resps), or a folder with them",
    endings=(".jsonl",),
    fits=lambda d: {"doc_id", "target", "filtered_resps"} <= d.first.keys(),
    read=_lm_eval,
    together=_lm_eval_together,
)
