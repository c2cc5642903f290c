"""Logs in which models are judges of pairs, or graders are judges of the models.

Where all that was expected is a side, A or B, each sample is a pair and what the model wrote is
read for its verdict. Elsewhere a sample and the model that answered it are an item, and each grader
passes it or does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from judgepanel.votes.errors import EXPORT_AGAIN, InputError
from judgepanel.votes.imports.rows import (
    OF_ANOTHER_TASK,
    Grade,
    ImportedRows,
    Importer,
    LeftOut,
    Row,
    at,
    field_in,
    grade_of,
    graded,
    is_label_name,
    label_in,
    pair_row,
    side_of,
    sided,
    task_to_read,
    with_features,
)
from judgepanel.votes.matrix import Task
from judgepanel.votes.names import ID_NAMES
from judgepanel.votes.sources import Document, json_in

_ENDED = "samples that ended with an error"


def _of_one_task(
    logs: Sequence[Any],
    left_out: LeftOut,
    task: Task | None,
    kind: str,
    is_paired: Callable[[Any], bool],
    n_votes: Callable[[Any], int],
) -> tuple[Task, list[Any]]:
    """Return the task that is read, and the logs of it; the others are left out and named."""
    by_task: dict[Task, list[Any]] = {"pairwise": [], "pointwise": []}
    for log in logs:
        by_task["pairwise" if is_paired(log) else "pointwise"].append(log)
    n_pairs, n_single = (sum(map(n_votes, own)) for own in by_task.values())
    task = task_to_read(n_pairs, n_single, task)
    for log in by_task["pointwise" if task == "pairwise" else "pairwise"]:
        if n_votes(log):
            left_out.file(log.file, f"{kind} {OF_ANOTHER_TASK[task]}")
    return task, by_task[task]


# --- Inspect AI ------------------------------------------------------------------------------
# A log is one JSON object (version, status, eval, samples) or an archive with the same in parts
# (header.json, samples/*.json); versions 1 and 2 of the format. A question with more than two
# choices is no pair, whatever its target.

_INSPECT = "a log of Inspect AI (.eval or .json), or a folder with them"
_HEADERS = ("header.json", "_journal/start.json")
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
    graders: dict[str, str]
    samples: tuple[Row, ...]

    @property
    def paired(self) -> bool:
        """Whether every target is a side; of a question with other than two choices A is none."""
        two = all(len(sample["choices"] or "AB") == len("AB") for sample in self.samples)
        return two and sided(sample["target"] for sample in self.samples)


def _is_inspect(document: Document) -> bool:
    if document.parts is not None:
        return any(header in document.parts.names for header in _HEADERS)
    whole = document.whole
    keys = {"version", "status", "eval"}
    return isinstance(whole, dict) and whole.keys() >= keys and isinstance(whole["eval"], dict)


def _inspect(document: Document, _left_out: LeftOut) -> _Log:
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
            graders=_graders(about.get("scorers") or []),
            samples=tuple(samples),
        )
    except (KeyError, TypeError, AttributeError, IndexError, StopIteration):
        raise InputError(
            "not as Inspect AI writes them",
            file=document.file,
            allowed=_INSPECT,
            remedy=EXPORT_AGAIN,
        ) from None


def _needed(sample: Row) -> Row:
    """What is read of a sample; its events alone are most of a log."""
    fields = {**{key: sample.get(key) for key in _NEEDED}, "text": _written(sample)}
    for key, kind in (("metadata", dict), ("scores", dict), ("choices", list)):
        if not isinstance(fields[key], kind):
            fields[key] = None
    return fields


def _written(sample: Row) -> str:
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


def _graders(scorers: Iterable[Row]) -> dict[str, str]:
    """Scorers by the key of their scores: their name and, where they ask a model, that model's.

    The second scorer of a name has 1 behind its key, the third 2.
    """
    seen: Counter[str] = Counter()
    graders = {}
    for scorer in scorers:
        name = str(scorer["name"]).rpartition("/")[2]
        model = (scorer.get("options") or {}).get("model")
        if isinstance(model, dict):
            model = model.get("model")
        key = f"{name}{seen[name] or ''}"
        graders[key] = f"{name}/{model}" if isinstance(model, str) else name
        seen[name] += 1
    return graders


def _inspect_together(files: Sequence[_Log], left_out: LeftOut, task: Task | None) -> ImportedRows:
    logs = []
    for log in files:
        reason = _nothing_in(log)
        if reason is None:
            logs.append(log)
        else:
            left_out.file(log.file, reason)
    paired = _newest([log for log in logs if log.paired], left_out)
    others = _newest([log for log in logs if not log.paired], left_out)
    task, logs = _of_one_task(
        [*paired, *others], left_out, task, "logs", lambda log: log.paired, _n_votes
    )
    if task == "pairwise":
        return ImportedRows(_inspect_pairs(logs, left_out), left_out)
    return graded([_inspect_grades(logs, left_out)], left_out, task)


def _n_votes(log: _Log) -> int:
    if log.paired:
        return len(log.samples)
    names = (name for sample in log.samples for name in sample["scores"] or {})
    return sum(not is_label_name(name) for name in names)


def _nothing_in(log: _Log) -> str | None:
    """Why there is nothing to read in a log; None where there is."""
    if not log.samples:
        return "logs without samples"
    answered = [sample for sample in log.samples if not _failed(sample)]
    if not answered:
        return "logs in which every sample ended with an error"
    if not log.paired and not any(sample["scores"] for sample in answered):
        return "logs without scores"
    return None


def _failed(sample: Row) -> bool:
    return bool(sample["error"]) or sample["id"] is None


def _newest(logs: list[_Log], left_out: LeftOut) -> list[_Log]:
    """Of several runs of one model on one task with the same arguments the last complete one."""
    latest: dict[tuple[str, str, str], _Log] = {}
    for log in sorted(logs, key=lambda log: (log.complete, log.created)):
        key = (log.task, log.model, log.arguments)
        if key in latest:
            left_out.file(latest[key].file, _superseded(latest[key], log))
        latest[key] = log
    chosen = {id(log) for log in latest.values()}
    return [log for log in logs if id(log) in chosen]


def _superseded(log: _Log, by: _Log) -> str:
    if log.run == by.run:
        return "copies of another log"
    if log.complete < by.complete:
        return "logs of runs that were cut short, beside a complete one"
    return "logs of runs that were made again"


def _answered(logs: Sequence[_Log], left_out: LeftOut) -> Iterator[tuple[_Log, Row, str]]:
    """Yield samples that did not fail, with their log and their name among all tasks."""
    several = len({log.task for log in logs}) > 1
    for log in logs:
        for sample in log.samples:
            if _failed(sample):
                left_out[_ENDED] += 1
            else:
                yield log, sample, f"{log.task}/{sample['id']}" if several else str(sample["id"])


def _inspect_pairs(logs: list[_Log], left_out: LeftOut) -> Iterator[Row]:
    runs = Counter((log.task, log.model) for log in logs)
    rows: list[Row] = []
    about: dict[str, Row] = {}
    for log, sample, item in _answered(logs, left_out):
        if (sample["epoch"] or 1) != 1:
            left_out["outputs of epochs after the first"] += 1
            continue
        again = runs[log.task, log.model] > 1
        judge = f"{log.model} {log.arguments}" if again else log.model
        fields = sample["metadata"] or {}
        about.setdefault(item, fields)
        rows.append(pair_row(item, judge, sample["target"], fields, sample["text"]))
    yield from with_features(rows, about)


def _inspect_grades(logs: list[_Log], left_out: LeftOut) -> list[Grade]:
    answers = list(_answered(logs, left_out))
    asked = Counter((log.task, str(sample["id"])) for log, sample, _ in answers)
    repeated = max(asked.values(), default=1) > 1
    runs = Counter(log.model for log in logs)
    grades: list[Grade] = []
    for log, sample, group in answers:
        item = group
        if repeated:
            by = f"{log.model} {log.arguments}" if runs[log.model] > 1 else log.model
            item = f"{group}/{by}/{sample['epoch'] or 1}"
        about = sample["metadata"] or {}
        left_out["samples without scores"] += not sample["scores"]
        for name, value, why in _scores(sample, log):
            within = f"sample {group}" if repeated else ""
            grades.append(Grade(item, name, value, why=why, group=within, about=about))
    return grades


def _scores(sample: Row, log: _Log) -> Iterator[tuple[str, Any, Any]]:
    """Yield what each scorer gave and why; one that gives several values counts as several."""
    scores = sample["scores"] or {}
    titled = log.graders.keys() == scores.keys() and len(set(log.graders.values())) == len(scores)
    for key, score in scores.items():
        name = log.graders[key] if titled else key
        value = score.get("value") if isinstance(score, dict) else score
        why = at(score, "explanation")
        if isinstance(value, list):
            value = dict(enumerate(value, start=1))
        if isinstance(value, dict):
            yield from ((f"{name}/{key}", entry, why) for key, entry in value.items())
        else:
            yield name, value, why


INSPECT = Importer(
    title="logs of Inspect AI",
    wanted=_INSPECT,
    endings=(".eval", ".json"),
    fits=_is_inspect,
    read=_inspect,
    together=_inspect_together,
)

# --- promptfoo -------------------------------------------------------------------------------
# promptfoo eval --output writes an object (results with a list results; versions 2 and 3) or JSON
# Lines with one result per line. Providers answer, assertions grade.

_PROMPTFOO = "a .json or .jsonl that promptfoo eval --output wrote, or a folder with them"
_ANSWERS = ("equals", "contains", "icontains", "starts-with")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class _Results:
    """The results of a file, but for those that failed or are there twice."""

    file: str
    results: tuple[Row, ...]

    @property
    def paired(self) -> bool:
        return sided(_expected(result) for result in self.results)


def _listed(content: Any) -> list[Any] | None:
    inner = at(content, "results.results")
    if not isinstance(inner, list):
        return None
    if not inner:
        return inner if {"evalId", "config"} & content.keys() else None
    return inner if isinstance(inner[0], dict) and {"provider", "vars"} <= inner[0].keys() else None


def _is_promptfoo(document: Document) -> bool:
    if document.lines:
        return document.first.keys() >= {"provider", "vars", "promptIdx"}
    return _listed(document.whole) is not None


def _promptfoo(document: Document, _left_out: LeftOut) -> _Results:
    whole = _listed(document.whole)
    results = whole if whole is not None else [result for _, result in document.lines]
    for result in results:
        if not isinstance(result, dict) or not result.keys() >= {"provider", "vars"}:
            raise InputError(
                "not as promptfoo writes them",
                file=document.file,
                allowed=_PROMPTFOO,
                remedy=EXPORT_AGAIN,
            )
        # Run into what is not as promptfoo writes it, while it is known in which file that is.
        _output(result), _about(result), _test(result), _prompt(result), _provider(result)
        _expected(result), _assertions(result)
    return _Results(document.file, tuple(results))


def _promptfoo_together(
    files: Sequence[_Results], left_out: LeftOut, task: Task | None
) -> ImportedRows:
    seen: set[str] = set()
    answered = [_Results(f.file, tuple(_with_answers(f.results, seen, left_out))) for f in files]
    task, chosen = _of_one_task(
        answered,
        left_out,
        task,
        "files",
        lambda f: f.paired,
        lambda f: len(f.results) if f.paired else sum(len(_assertions(r)) for r in f.results),
    )
    results = list(chain.from_iterable(f.results for f in chosen))
    if task == "pairwise":
        return ImportedRows(_promptfoo_pairs(results, left_out), left_out)
    return graded([list(_promptfoo_grades(results))], left_out, task)


def _with_answers(results: Sequence[Row], seen: set[str], left_out: LeftOut) -> Iterator[Row]:
    for result in results:
        known = str(result["id"]) if result.get("id") else None
        if known in seen:
            left_out["results that are there twice"] += 1
        elif (result.get("response") or {}).get("error") or _output(result) is None:
            left_out["results that ended with an error"] += 1
        else:
            yield result
        if known:
            seen.add(known)


def _output(result: Row) -> str | None:
    output = (result.get("response") or {}).get("output")
    if output is None or isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False)


def _case(result: Row) -> Row:
    return result.get("testCase") or {}


def _expected(result: Row) -> Any:
    """The label of a test: a variable or a field of that name, or the side an assertion expects."""
    given = label_in(result["vars"], _case(result).get("metadata"))
    if given is not None:
        return given
    expected = [
        entry.get("value")
        for entry in _case(result).get("assert") or []
        if entry.get("type") in _ANSWERS
    ]
    return next((value for value in expected if side_of(value) is not None), None)


def _provider(result: Row) -> str:
    provider = result["provider"]
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _test(result: Row) -> str:
    """A test by the variable that is called as ids are, else by its place."""
    known = field_in(ID_NAMES, result["vars"])
    if known is not None:
        return str(known)
    if "testIdx" in result:
        return f"test {int(result['testIdx']) + 1}"
    return json.dumps(result["vars"], sort_keys=True, ensure_ascii=False)


def _prompt(result: Row) -> str:
    """A prompt by its label, else by its id or its text."""
    prompt = result.get("prompt") or {}
    return str(prompt.get("label") or result.get("promptId") or prompt.get("raw") or "")


def _about(result: Row) -> Row:
    fields = {**(_case(result).get("metadata") or {}), **result["vars"]}
    return {key: value for key, value in fields.items() if key.lower() not in ID_NAMES}


def _promptfoo_pairs(results: list[Row], left_out: LeftOut) -> Iterator[Row]:
    prompts = dict.fromkeys(_prompt(result) for result in results)
    numbers = {prompt: number for number, prompt in enumerate(prompts, start=1)}
    about: dict[str, Row] = {}
    rows: dict[tuple[str, str, str], Row] = {}
    for result in results:
        fields, item = _about(result), _test(result)
        about.setdefault(item, fields)
        number = numbers[_prompt(result)]
        judge = f"{_provider(result)} prompt {number}" if len(numbers) > 1 else _provider(result)
        row = pair_row(item, judge, _expected(result), fields, _output(result))
        key = (item, judge, row["order"])
        left_out["results of tests that were run again"] += key in rows
        rows.setdefault(key, row)
    yield from with_features(rows.values(), about)


def _promptfoo_grades(results: list[Row]) -> Iterator[Grade]:
    asked = Counter(map(_test, results))
    repeated = max(asked.values(), default=1) > 1
    items: Counter[str] = Counter()
    for result in results:
        test = _test(result)
        item = f"{test}/{_provider(result)}" if repeated else test
        items[item] += 1
        if items[item] > 1:
            item = f"{item}/{items[item]}"
        about = {**_about(result), "label": grade_of(_expected(result))}
        for name, passed in _assertions(result).items():
            person = name == "human"
            group = f"test {test}" if repeated else ""
            yield Grade(item, name, passed, person=person, group=group, about=about)


def _assertions(result: Row) -> Row:
    """What each assertion said; two of one name are numbered, in the order of the test."""
    grades: Row = {}
    for entry in (result.get("gradingResult") or {}).get("componentResults") or []:
        about = entry.get("assertion") if isinstance(entry, dict) else None
        if not about:
            continue
        name = _assertion(about)
        number = sum(known == name or known.startswith(f"{name} #") for known in grades)
        grades[f"{name} #{number + 1}" if number else name] = entry.get("pass")
    return grades


def _assertion(about: Row) -> str:
    """An assertion by its metric, or its kind and whom it asks, or its kind and what it wants."""
    if about.get("metric"):
        return str(about["metric"])
    asked = about.get("provider")
    if isinstance(asked, dict):
        config = asked.get("config") or {}
        asked = asked.get("label") or config.get("name") or asked.get("id")
    kind = str(about.get("type"))
    if kind == "human":
        return kind
    detail = asked if isinstance(asked, str) else about.get("value")
    if not isinstance(detail, str) or not detail.strip():
        return kind
    return f"{kind}/{' '.join(detail.split())[:_LONGEST_NAME]}"


PROMPTFOO = Importer(
    title="results of promptfoo",
    wanted=_PROMPTFOO,
    endings=(".json", ".jsonl"),
    fits=_is_promptfoo,
    read=_promptfoo,
    together=_promptfoo_together,
)

# --- OpenAI Evals ----------------------------------------------------------------------------
# JSON Lines: first spec (completion_fns, eval_name), then an event per line (sample_id, type,
# data), at last final_report. The second function, or the evaluation, grades.

_LETTERS = {"y": 1, "n": 0}
_OTHER_LETTER = "a letter that is neither yes nor no"


@dataclass(frozen=True, slots=True)
class _Evaluation:
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


def _openai(document: Document, left_out: LeftOut) -> _Evaluation:
    spec = document.first["spec"]
    functions = [str(name) for name in spec["completion_fns"]] or ["unknown"]
    events: dict[str, list[Row]] = {"match": [], "metrics": []}

    def read(record: Row) -> None:
        if record.get("type") == "error":
            left_out[_ENDED] += 1
        elif record.get("type") in events:
            event = {"sample": str(record["sample_id"]), "data": dict(record["data"])}
            events[record["type"]].append(event)

    document.each(read, "sample_id, type and data")
    return _Evaluation(
        file=document.file,
        model=functions[0],
        grader=functions[-1] if len(functions) > 1 else str(spec["eval_name"]),
        matches=tuple(events["match"]),
        metrics=tuple(events["metrics"]),
    )


def _openai_together(
    files: Sequence[_Evaluation], left_out: LeftOut, task: Task | None
) -> ImportedRows:
    for log in files:
        if not (log.matches or log.metrics):
            left_out.file(log.file, "logs without matches and metrics")
    task, logs = _of_one_task(
        [log for log in files if log.matches or log.metrics],
        left_out,
        task,
        "logs",
        lambda log: log.paired,
        lambda log: len(log.matches) if log.paired else len(log.metrics or log.matches),
    )
    if task == "pairwise":
        return ImportedRows(_openai_pairs(logs, left_out), left_out)
    return graded([list(_openai_grades(logs))], left_out, task)


def _openai_pairs(logs: list[_Evaluation], left_out: LeftOut) -> Iterator[Row]:
    rows: dict[tuple[str, str, str], Row] = {}
    for log in logs:
        for event in log.matches:
            data = event["data"]
            text = _first(data.get("sampled")) or _first(data.get("picked"))
            row = pair_row(event["sample"], log.model, data["expected"], data, text)
            key = row["item_id"], log.model, row["order"]
            left_out["samples that were run again"] += key in rows
            rows[key] = row
    yield from rows.values()


def _openai_grades(logs: list[_Evaluation]) -> Iterator[Grade]:
    """The grader's verdicts; and, where one was held against a person's, that as the label."""
    several = len({log.model for log in logs}) > 1
    for log in logs:
        for event in log.metrics or log.matches:
            sample, data = event["sample"], event["data"]
            item = f"{sample}/{log.model}" if several else sample
            keys = ("correct", "score", "choice")
            given = next((data[key] for key in keys if data.get(key) is not None), None)
            word = str(given).strip().lower()
            lettered = len(word) == 1 and word.isalpha()
            grade = _LETTERS.get(word, _OTHER_LETTER) if lettered else given
            yield Grade(item, log.grader, grade, group=sample)
            agreed = next((v for key, v in data.items() if key.endswith("metascore")), None)
            verdict = None if grade is None else grade_of(grade)
            if agreed is not None and verdict is not None:
                yield Grade(item, "label", verdict if agreed else 1 - verdict, group=sample)


def _first(written: Any) -> str:
    if isinstance(written, list):
        written = written[0] if written else None
    return "" if written is None else str(written)


def _is_openai(document: Document) -> bool:
    spec = document.first.get("spec")
    return isinstance(spec, dict) and spec.keys() >= {"completion_fns", "eval_name"}


OPENAI_EVALS = Importer(
    title="logs of OpenAI Evals",
    wanted="a .jsonl that oaieval wrote (spec, then events), or a folder with them",
    endings=(".jsonl", ".ndjson"),
    fits=_is_openai,
    read=_openai,
    together=_openai_together,
)
