"""Logs of Inspect AI: the models are judges of pairs, or the scorers are judges of the models.

A log is one JSON object (``version``, ``status``, ``eval``, ``samples``) or an archive with the
same in parts (header.json, samples/*.json); versions 1 and 2 of the format are read. Where all
targets are A or B each sample is a pair, its target the better side as shown, and the model's
output is read for its verdict; a question with more than two choices is no pair, whatever its
target. Elsewhere a sample and the model that answered it are an item, and each scorer passes it or
does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import (
    OF_ANOTHER_TASK,
    ImportedRows,
    LeftOut,
    Row,
    grade_of,
    graded_row,
    label_in,
    pair_row,
    sided,
    task_to_read,
    with_features,
)
from judgepanel.votes.imports.source import Document, json_in
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN

WANTED = "a log of Inspect AI (.eval or .json), or a folder with them"
_HEADERS = ("header.json", "_journal/start.json")
_KEYS = {"version", "status", "eval"}
_NEEDED = ("id", "epoch", "target", "choices", "metadata", "error", "scores")
_ATTACHED = "attachment://"


@dataclass(frozen=True, slots=True)
class _Log:
    """What was evaluated, and its samples.

    ``run`` is the same in two copies of one log, ``complete`` false where it was cut short.
    """

    file: str
    run: str
    complete: bool
    task: str
    model: str
    arguments: str
    created: str
    graders: tuple[str, ...]
    samples: tuple[dict[str, Any], ...]


def named(path: str) -> bool:
    """Whether the file may be a log."""
    return path.lower().endswith((".eval", ".json"))


def fits(document: Document) -> bool:
    """Whether the file has the keys, or the parts, of a log."""
    if document.parts is not None:
        return any(header in document.parts.names for header in _HEADERS)
    whole = document.whole
    return isinstance(whole, dict) and whole.keys() >= _KEYS and isinstance(whole["eval"], dict)


def read_file(document: Document, left_out: LeftOut) -> _Log:
    """What a log holds."""
    try:
        if document.parts is not None:
            parts = document.parts
            header = next(name for name in _HEADERS if name in parts.names)
            whole = json_in(parts.read(header), document.file)
            places = [name for name in parts.names if name.startswith("samples/")]
            samples = [_needed(json_in(parts.read(name), document.file)) for name in places]
        else:
            whole = document.whole
            samples = [_needed(sample) for sample in whole.get("samples") or []]
        about = whole["eval"]
        created = str(about.get("created", ""))
        ids = [about.get(key) for key in ("run_id", "task_id")]
        return _Log(
            file=document.file,
            run=json.dumps([*ids, created]) if any(ids) else document.file,
            complete=whole.get("status") == "success",
            task=str(about["task"]),
            model=str(about["model"]),
            arguments=json.dumps(about.get("task_args_passed") or about.get("task_args") or {}),
            created=created,
            graders=tuple(_grader(scorer) for scorer in about.get("scorers") or []),
            samples=tuple(samples),
        )
    except (KeyError, TypeError, AttributeError, IndexError, StopIteration):
        raise InputError(
            "not as Inspect AI writes them",
            file=document.file,
            allowed=WANTED,
            remedy=EXPORT_AGAIN,
        ) from None


def together(files: Sequence[_Log], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Outputs of models on pairs, or grades of scorers: one row per output, or one per item.

    Where some logs hold pairs and others do not, see :func:`task_to_read`.
    """
    by_task: dict[Task, list[_Log]] = {"pairwise": [], "pointwise": []}
    for log in files:
        which: Task = "pairwise" if _of_pairs(log) else "pointwise"
        reason = _nothing_in(log, which)
        if reason is None:
            by_task[which].append(log)
        else:
            left_out.file(log.file, reason)
    by_task = {which: _newest(logs, left_out) for which, logs in by_task.items()}
    n_votes = (
        sum(len(log.samples) for log in by_task["pairwise"]),
        sum(
            label_in({name: 1}) is None
            for log in by_task["pointwise"]
            for sample in log.samples
            for name in sample["scores"] or {}
        ),
    )
    task = task_to_read(*n_votes, task)
    for log in by_task["pointwise" if task == "pairwise" else "pairwise"]:
        left_out.file(log.file, f"logs {OF_ANOTHER_TASK[task]}")
    if task == "pairwise":
        return ImportedRows(_on_pairs(by_task[task], left_out), left_out)
    return ImportedRows(_by_scorers(by_task[task], left_out), left_out, "pointwise")


def _of_pairs(log: _Log) -> bool:
    """Whether every target is a side; of a question with other than two choices A is none."""
    if any(len(sample["choices"] or "AB") != len("AB") for sample in log.samples):
        return False
    return sided(sample["target"] for sample in log.samples)


def _nothing_in(log: _Log, task: Task) -> str | None:
    """Why there is nothing to read in a log; None where there is."""
    if not log.samples:
        return "logs without samples"
    answered = [sample for sample in log.samples if not _failed(sample)]
    if not answered:
        return "logs in which every sample ended with an error"
    if task == "pointwise" and not any(sample["scores"] for sample in answered):
        return "logs without scores"
    return None


def _needed(sample: dict[str, Any]) -> dict[str, Any]:
    """What is read of a sample; its events alone are most of a log."""
    fields = {**{key: sample.get(key) for key in _NEEDED}, "text": _written(sample)}
    for key, kind in (("metadata", dict), ("scores", dict), ("choices", list)):
        if not isinstance(fields[key], kind):
            fields[key] = None
    return fields


def _grader(scorer: dict[str, Any]) -> str:
    """A scorer by its name and, where it asks a model, by that model's."""
    name = str(scorer["name"]).rpartition("/")[2]
    model = (scorer.get("options") or {}).get("model")
    if isinstance(model, dict):
        model = model.get("model")
    return f"{name}/{model}" if isinstance(model, str) else name


def _newest(logs: list[_Log], left_out: LeftOut) -> list[_Log]:
    """Of several runs of one model on one task with the same arguments the last complete one."""
    latest: dict[tuple[str, str, str], _Log] = {}
    for log in sorted(logs, key=lambda log: (log.complete, log.created)):
        key = (log.task, log.model, log.arguments)
        if key in latest:
            _superseded(latest[key], log, left_out)
        latest[key] = log
    chosen = {id(log) for log in latest.values()}
    return [log for log in logs if id(log) in chosen]


def _superseded(log: _Log, by: _Log, left_out: LeftOut) -> None:
    if log.run == by.run:
        left_out.file(log.file, "copies of another log")
    elif log.complete < by.complete:
        left_out.file(log.file, "logs of runs that were cut short, beside a complete one")
    else:
        left_out.file(log.file, "logs of runs that were made again")


def _on_pairs(logs: list[_Log], left_out: LeftOut) -> Iterator[Row]:
    several_tasks = len({log.task for log in logs}) > 1
    runs = Counter((log.task, log.model) for log in logs)
    rows: list[Row] = []
    about: dict[str, Row] = {}
    for log in logs:
        again = runs[log.task, log.model] > 1
        judge = f"{log.model} {log.arguments}" if again else log.model
        for sample in _answered(log, left_out):
            if (sample["epoch"] or 1) != 1:
                left_out["outputs of epochs after the first"] += 1
                continue
            item = f"{log.task}/{sample['id']}" if several_tasks else str(sample["id"])
            fields = sample["metadata"] or {}
            about.setdefault(item, fields)
            rows.append(pair_row(item, judge, sample["target"], fields, sample["text"]))
    yield from with_features(rows, about)


def _by_scorers(logs: list[_Log], left_out: LeftOut) -> Iterator[Row]:
    several_tasks = len({log.task for log in logs}) > 1
    answers = [(log, sample) for log in logs for sample in _answered(log, left_out)]
    asked = Counter((log.task, str(sample["id"])) for log, sample in answers)
    repeated = max(asked.values(), default=1) > 1
    runs = Counter(log.model for log in logs)
    items: dict[str, Row] = {}
    about: dict[str, Row] = {}
    for log, sample in answers:
        group = f"{log.task}/{sample['id']}" if several_tasks else str(sample["id"])
        item = group
        if repeated:
            by = f"{log.model} {log.arguments}" if runs[log.model] > 1 else log.model
            item = f"{group}/{by}/{sample['epoch'] or 1}"
        fields = sample["metadata"] or {}
        about[item] = fields
        grades = _grades(sample, log, left_out)
        given = label_in(grades, fields)
        label = None if given is None else grade_of(given)
        judges = {name: value for name, value in grades.items() if label_in({name: 1}) is None}
        within = f"sample {group}" if repeated else None
        items[item] = graded_row(item, label, within, judges, left_out)
    yield from with_features(items.values(), about)


def _answered(log: _Log, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    for sample in log.samples:
        if _failed(sample):
            left_out["samples that ended with an error"] += 1
        else:
            yield sample


def _failed(sample: dict[str, Any]) -> bool:
    return bool(sample["error"]) or sample["id"] is None


def _written(sample: dict[str, Any]) -> str:
    """What the model wrote last; blocks of reasoning are not part of it."""
    output = sample.get("output") or {}
    if not isinstance(output, dict):
        return ""
    choices = output.get("choices") or []
    content = choices[0]["message"].get("content") if choices else output.get("completion")
    if isinstance(content, list):
        content = "\n".join(str(block["text"]) for block in content if block.get("type") == "text")
    text = str(content or "")
    if text.startswith(_ATTACHED):
        # Some versions keep long texts apart.
        text = str((sample.get("attachments") or {}).get(text.removeprefix(_ATTACHED), ""))
    return text


def _grades(sample: dict[str, Any], log: _Log, left_out: LeftOut) -> Row:
    """What each scorer gave, by the scorer's name; one that gives several counts as several."""
    scores = sample["scores"] or {}
    left_out["samples without scores"] += not scores
    titled = len(log.graders) == len(scores)
    # Two scorers of one name are numbered in the log, and told apart by the model they ask.
    names = log.graders if titled and len(set(log.graders)) == len(scores) else tuple(scores)
    grades: Row = {}
    for name, score in zip(names, scores.values(), strict=True):
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            grades |= {f"{name}/{key}": entry for key, entry in value.items()}
        else:
            grades[name] = value
    return grades
