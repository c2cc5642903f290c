"""Logs of OpenAI Evals: models are judges of pairs, or graders are judges of the models.

A log is JSON Lines: first ``spec`` (``completion_fns``, ``eval_name``), then an event a line
(``sample_id``, ``type``, ``data``), at last ``final_report``. Where all that was expected is A or B
each sample is a pair, and what the model wrote is read for its verdict. Elsewhere a sample and the
model that answered it are an item, and the evaluation, or the model that graded it, passes it or
does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judgepanel.votes.imports.rows import (
    OF_ANOTHER_TASK,
    ImportedRows,
    LeftOut,
    Row,
    grade_of,
    pair_row,
    sided,
    task_to_read,
)
from judgepanel.votes.imports.runs import Run, graded_runs
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "a .jsonl that oaieval wrote (spec, then events), or a folder with them"
_SPEC = {"completion_fns", "eval_name"}
_LETTERS = {"y": 1, "n": 0}
_OTHER_LETTER = "a letter that is neither yes nor no"
_METASCORE = "metascore"


@dataclass(frozen=True, slots=True)
class _Log:
    """``model`` answered, ``grader`` judged the answers; events of samples in their order."""

    file: str
    model: str
    grader: str
    matches: tuple[Row, ...]
    metrics: tuple[Row, ...]

    @property
    def paired(self) -> bool:
        """Whether what was expected is always a side, of no more than two options."""
        expected = [event["data"].get("expected") for event in self.matches]
        few = all(len(event["data"].get("options") or "AB") == len("AB") for event in self.matches)
        return bool(expected) and few and sided(expected)


def named(path: str) -> bool:
    """Whether the file may be a log."""
    return path.lower().endswith((".jsonl", ".ndjson"))


def fits(document: Document) -> bool:
    """Whether the first line is the specification of a run."""
    spec = document.first.get("spec")
    return isinstance(spec, dict) and spec.keys() >= _SPEC


def read_file(document: Document, left_out: LeftOut) -> _Log:
    """What a log holds."""
    spec = document.first["spec"]
    functions = [str(name) for name in spec["completion_fns"]] or ["unknown"]
    events: dict[str, list[Row]] = {"match": [], "metrics": []}

    def read(record: Row) -> None:
        if record.get("type") == "error":
            left_out["samples that ended with an error"] += 1
        elif record.get("type") in events:
            event = {"sample": str(record["sample_id"]), "data": dict(record["data"])}
            events[record["type"]].append(event)

    document.each(read, "sample_id, type and data")
    return _Log(
        file=document.file,
        model=functions[0],
        grader=functions[-1] if len(functions) > 1 else str(spec["eval_name"]),
        matches=tuple(events["match"]),
        metrics=tuple(events["metrics"]),
    )


def together(files: Sequence[_Log], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Outputs of models on pairs, or grades: a row per output, or one per item.

    Where some logs hold pairs and others do not, see :func:`task_to_read`.
    """
    by_task: dict[Task, list[_Log]] = {"pairwise": [], "pointwise": []}
    for log in files:
        if not (log.matches or log.metrics):
            left_out.file(log.file, "logs without matches and metrics")
        else:
            by_task["pairwise" if log.paired else "pointwise"].append(log)
    task = task_to_read(
        sum(len(log.matches) for log in by_task["pairwise"]),
        sum(len(log.metrics or log.matches) for log in by_task["pointwise"]),
        task,
    )
    for log in by_task["pointwise" if task == "pairwise" else "pairwise"]:
        left_out.file(log.file, f"logs {OF_ANOTHER_TASK[task]}")
    if task == "pairwise":
        return ImportedRows(_on_pairs(by_task[task], left_out), left_out)
    return graded_runs(list(_runs(by_task[task])), left_out)


def _on_pairs(logs: list[_Log], left_out: LeftOut) -> Iterator[Row]:
    rows: dict[tuple[str, str, str], Row] = {}
    for log in logs:
        for event in log.matches:
            data = event["data"]
            text = _text(data.get("sampled")) or _text(data.get("picked"))
            row = pair_row(event["sample"], log.model, data["expected"], data, text)
            key = row["item_id"], log.model, row["order"]
            left_out["samples that were run again"] += key in rows
            rows[key] = row
    yield from rows.values()


def _runs(logs: list[_Log]) -> Iterator[Run]:
    """An item for each sample and the model that answered it, with the grades of all logs."""
    several = len({log.model for log in logs}) > 1
    grades: dict[tuple[str, str], Row] = {}
    for log in logs:
        for event in log.metrics or log.matches:
            by_judge = grades.setdefault((event["sample"], log.model), {})
            by_judge |= dict(_grades(event["data"], log.grader))
    for (sample, model), by_judge in grades.items():
        yield Run(f"{sample}/{model}" if several else sample, sample, by_judge)


def _grades(data: Row, grader: str) -> Iterator[tuple[str, Any]]:
    """The grader's verdict; and, where it was held against a person's, that as the label."""
    given = next(
        (data[key] for key in ("correct", "score", "choice") if data.get(key) is not None), None
    )
    word = str(given).strip().lower()
    lettered = len(word) == 1 and word.isalpha()
    grade = _LETTERS.get(word, _OTHER_LETTER) if lettered else given
    yield grader, grade
    agreed = next((value for key, value in data.items() if key.endswith(_METASCORE)), None)
    verdict = None if grade is None else grade_of(grade)
    if agreed is not None and verdict is not None:
        yield "label", verdict if agreed else 1 - verdict


def _text(written: Any) -> str:
    if isinstance(written, list):
        written = written[0] if written else None
    return "" if written is None else str(written)
