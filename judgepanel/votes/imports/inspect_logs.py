"""Logs of Inspect AI: the models are judges of pairs, or the scorers are judges of the models.

A log is one JSON object (``version``, ``status``, ``eval``, ``samples``) or an archive with the
same in parts (header.json, samples/*.json); versions 1 and 2 of the format are read. Where all
targets are A or B each sample is a pair, its target the better side as shown, and the model's
output is read for its verdict. Elsewhere a sample and the model that answered it are an item, and
each scorer passes it or does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import (
    Found,
    Row,
    features_of,
    grade_of,
    item_label,
    label_in,
    order_in,
    sided,
)
from judgepanel.votes.imports.source import ZIP, Archive, Source, json_in, member

WANTED = "a log of Inspect AI (.eval or .json), or a folder with them"
_HEADERS = ("header.json", "_journal/start.json")
_KEYS = {"version", "status", "eval"}
_AS_BUILT = "not as Inspect AI writes them"


@dataclass(frozen=True, slots=True)
class _Log:
    """What was evaluated, and its samples."""

    task: str
    model: str
    arguments: str
    created: str
    graders: tuple[str, ...]
    samples: tuple[dict[str, Any], ...]


def fits(source: Source) -> bool:
    """Whether the first log there has the keys of one."""
    name = next(iter(_files(source)), None)
    if name is None:
        return False
    data = source.read(name)
    if data.startswith(ZIP):
        return any(header in Archive(name, data).names for header in _HEADERS)
    found = json_in(data, name)
    return isinstance(found, dict) and found.keys() >= _KEYS and isinstance(found["eval"], dict)


def read(source: Source) -> Found:
    """Outputs of models on pairs, or grades of scorers: one row an output, or one an item."""
    left_out: Counter[str] = Counter()
    logs = _newest([_log(source, name) for name in _files(source)], left_out)
    samples = [sample for log in logs for sample in log.samples]
    if sided(sample.get("target") for sample in samples):
        return Found(_on_pairs(logs, left_out), left_out)
    return Found(_by_scorers(logs, left_out), left_out, "pointwise")


def _files(source: Source) -> list[str]:
    return [name for name in source.names if name.lower().endswith((".eval", ".json"))]


def _log(source: Source, name: str) -> _Log:
    file = member(source, name)
    data = source.read(name)
    try:
        if data.startswith(ZIP):
            parts = Archive(file, data)
            header = next(one for one in _HEADERS if one in parts.names)
            about = json_in(parts.read(header), file)["eval"]
            places = [one for one in parts.names if one.startswith("samples/")]
            samples = [json_in(parts.read(one), file) for one in places]
        else:
            found = json_in(data, file)
            about, samples = found["eval"], found.get("samples") or []
        scorers = about.get("scorers") or []
        return _Log(
            task=str(about["task"]),
            model=str(about["model"]),
            arguments=json.dumps(about.get("task_args_passed") or about.get("task_args") or {}),
            created=str(about.get("created", "")),
            graders=tuple(_grader(scorer) for scorer in scorers),
            samples=tuple(dict(sample) for sample in samples),
        )
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise InputError(_AS_BUILT, file=file, allowed=WANTED) from None


def _grader(scorer: dict[str, Any]) -> str:
    """A scorer by its name and, where it asks a model, by that model's."""
    name = str(scorer["name"]).rpartition("/")[2]
    model = (scorer.get("options") or {}).get("model")
    if isinstance(model, dict):
        model = model.get("model")
    return f"{name}/{model}" if isinstance(model, str) else name


def _newest(logs: Iterable[_Log], left_out: Counter[str]) -> list[_Log]:
    """Of several runs of one model on one task with the same arguments the last."""
    latest: dict[tuple[str, str, str], _Log] = {}
    for log in sorted(logs, key=lambda log: log.created):
        key = (log.task, log.model, log.arguments)
        left_out["logs of runs that were made again"] += key in latest
        latest[key] = log
    left_out += Counter()
    return list(latest.values())


def _on_pairs(logs: list[_Log], left_out: Counter[str]) -> Iterator[Row]:
    several_tasks = len({log.task for log in logs}) > 1
    runs = Counter((log.task, log.model) for log in logs)
    kept: list[Row] = []
    about: dict[str, Row] = {}
    for log in logs:
        again = runs[log.task, log.model] > 1
        judge = f"{log.model} {log.arguments}" if again else log.model
        for sample in _answered(log, left_out):
            if sample.get("epoch", 1) != 1:
                left_out["outputs of epochs after the first"] += 1
                continue
            item = f"{log.task}/{sample['id']}" if several_tasks else str(sample["id"])
            fields = sample.get("metadata") or {}
            about.setdefault(item, fields)
            order = order_in(fields)
            kept.append(
                {
                    "item_id": item,
                    "judge": judge,
                    "label": item_label(sample.get("target"), order),
                    "order": order,
                    "text": _written(sample),
                }
            )
    features = features_of(about)
    for row in kept:
        yield row | features[row["item_id"]]


def _by_scorers(logs: list[_Log], left_out: Counter[str]) -> Iterator[Row]:
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
            item = f"{group}/{by}/{sample.get('epoch', 1)}"
        fields = sample.get("metadata") or {}
        about[item] = fields
        grades = _grades(sample, log, left_out)
        given = label_in(grades, fields)
        label = None if given is None else grade_of(given)
        judges = {name: value for name, value in grades.items() if label_in({name: 1}) is None}
        votes = {name: grade_of(value) for name, value in judges.items()}
        left_out["grades that are neither right nor wrong"] += list(votes.values()).count(None)
        items[item] = {
            "item_id": item,
            **({} if label is None else {"label": label}),
            **({"group_id": f"sample {group}"} if repeated else {}),
            **votes,
        }
    left_out += Counter()
    features = features_of(about)
    for item, row in items.items():
        yield row | features[item]


def _answered(log: _Log, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    for sample in log.samples:
        if sample.get("error") or "id" not in sample:
            left_out["samples that ended with an error"] += 1
        else:
            yield sample


def _written(sample: dict[str, Any]) -> str:
    """What the model wrote last; blocks of reasoning are not part of it."""
    output = sample.get("output") or {}
    if not isinstance(output, dict):
        return ""
    choices = output.get("choices") or []
    content = choices[0]["message"].get("content") if choices else output.get("completion")
    if isinstance(content, list):
        content = "\n".join(str(block["text"]) for block in content if block.get("type") == "text")
    return str(content or "")


def _grades(sample: dict[str, Any], log: _Log, left_out: Counter[str]) -> Row:
    """What each scorer gave, by the scorer's name; one that gives several counts as several."""
    scores = sample.get("scores") or {}
    if not isinstance(scores, dict):
        left_out["scores that are not there"] += 1
        return {}
    titled = len(log.graders) == len(scores)
    # Two scorers of one name are numbered in the log, and told apart by the model they ask.
    names = log.graders if titled and len(set(log.graders)) == len(scores) else tuple(scores)
    grades: Row = {}
    for name, score in zip(names, scores.values(), strict=True):
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            grades |= {f"{name}/{key}": one for key, one in value.items()}
        else:
            grades[name] = value
    return grades
