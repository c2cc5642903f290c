"""Logs in which models are judges of pairs, or graders are judges of the models.

Where all that was expected is a side, A or B, each sample is a pair and what the model wrote is
read for its verdict. Elsewhere a sample and the model that answered it are an item, and each grader
passes it or does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.imports.rows import (
    OF_ANOTHER_TASK,
    Files,
    Grade,
    ImportedRows,
    Importer,
    LeftOut,
    Row,
    at,
    ending,
    field_in,
    grade_of,
    graded,
    is_label_name,
    label_in,
    pair_row,
    records_in,
    side_of,
    sided,
    with_features,
)
from judgepanel.votes.matrix import Task
from judgepanel.votes.names import ID_NAMES
from judgepanel.votes.orders import ORDER_NAMES
from judgepanel.votes.sources import Document, json_in

_ENDED = "samples that ended with an error"


@dataclass(slots=True)
class _Answer:
    """What a model wrote on a sample, and what graders gave to it.

    ``target`` is what was expected, ``variant`` what else the model was told, and ``n_grades`` how
    many of the graders are not called as labels are. ``known`` is the same in two copies.
    """

    sample: str
    text: Any
    target: Any = None
    model: str = ""
    variant: str = ""
    about: Row = field(default_factory=dict)
    grades: Mapping[str, Any] = field(default_factory=dict)
    n_grades: int = 1
    epoch: Any = 1
    failed: bool = False
    known: str = ""


@dataclass(frozen=True, slots=True)
class _Log:
    """The answers in a file.

    ``run`` is the same in two copies of one log, ``complete`` false where it was cut short.
    """

    file: str
    answers: tuple[_Answer, ...]
    task: str = ""
    model: str = ""
    arguments: str = ""
    run: str = ""
    created: str = ""
    complete: bool = True

    @property
    def paired(self) -> bool:
        """Whether every target is a side."""
        return sided(answer.target for answer in self.answers)

    @property
    def n_grades(self) -> int:
        """How many grades of single responses there are in the file."""
        return sum(answer.n_grades for answer in self.answers)


_Pairs = Iterable[tuple[str, str, _Answer]]
"""Items and judges, with what each judge wrote."""


def _of_one_task(
    logs: list[_Log],
    left_out: LeftOut,
    wanted: Task | None,
    kind: str,
    pairs: Callable[[list[_Log], LeftOut], _Pairs],
    grades: Callable[[list[_Log], LeftOut], Iterable[Grade]],
    *,
    again: str = "",
    last: bool = False,
) -> ImportedRows:
    """Return the votes of one task; the logs of the other are left out and named.

    That is the task wanted, else the one with more votes: one matrix cannot hold both, as its items
    are either pairs or single responses. Of the outputs of a judge on one item in one order the
    first counts, or the ``last``; ``again`` says what the others are, and if empty all count.
    """
    paired: list[_Log] = []
    single: list[_Log] = []
    for log in logs:
        (paired if log.paired else single).append(log)
    n_pairs = sum(len(log.answers) for log in paired)
    n_single = sum(log.n_grades for log in single)
    in_pairs = n_pairs > 0 and n_pairs >= n_single
    if wanted is not None and (n_pairs if wanted == "pairwise" else n_single):
        in_pairs = wanted == "pairwise"
    task: Task = "pairwise" if in_pairs else "pointwise"
    for log in [log for log in single if log.n_grades] if in_pairs else paired:
        left_out.file(log.file, f"{kind} {OF_ANOTHER_TASK[task]}")
    if not in_pairs:
        return graded(grades(single, left_out), left_out)
    rows: dict[object, Row] = {}
    about: dict[str, Row] = {}
    for item, judge, answer in pairs(paired, left_out):
        row = pair_row(item, judge, answer.target, answer.about, answer.text)
        key = (item, judge, row["order"]) if again else len(rows)
        if key in rows:
            left_out[again] += 1
        rows[key] = row if last else rows.get(key, row)
        about.setdefault(item, answer.about)
    return ImportedRows(with_features(rows.values(), about), left_out)


def _without(
    nothing_in: Callable[[_Log], str | None], files: Files, left_out: LeftOut
) -> list[_Log]:
    """Return all logs but those in which there is nothing to read; these are named."""
    logs = []
    for log in records_in(files):
        reason = nothing_in(log)
        if reason is None:
            logs.append(log)
        else:
            left_out.file(log.file, reason)
    return logs


def _side(target: Any, choices: Any) -> Any:
    """What was expected; of a question with other than two choices A is no side."""
    return target if len(choices or "AB") == len("AB") else f"one of {len(choices)}"


# --- Inspect AI ------------------------------------------------------------------------------
# A log is one JSON object (version, status, eval, samples) or an archive with the same in parts
# (header.json, samples/*.json); versions 1 and 2 of the format. A question with more than two
# choices is no pair, whatever its target.

_HEADERS = ("header.json", "_journal/start.json")
_ATTACHED = "attachment://"


def _is_inspect(document: Document) -> bool:
    if document.parts is not None:
        return any(header in document.parts.names for header in _HEADERS)
    whole = document.whole
    keys = {"version", "status", "eval"}
    return isinstance(whole, dict) and whole.keys() >= keys and isinstance(whole["eval"], dict)


def _inspect_together(files: Files, left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Of several runs of one model on a task with the same arguments the last complete one."""
    logs = _without(_nothing_in, files, left_out)
    latest: dict[tuple[object, ...], _Log] = {}
    for log in sorted(logs, key=lambda log: (not log.paired, log.complete, log.created)):
        key = log.paired, log.task, log.model, log.arguments
        if key in latest:
            left_out.file(latest[key].file, _superseded(latest[key], log))
        latest[key] = log
    chosen = {id(log) for log in latest.values()}
    logs = [log for log in logs if id(log) in chosen]
    return _of_one_task(logs, left_out, task, "logs", _inspect_pairs, _inspect_grades)


@Importer(
    "inspect",
    "logs of Inspect AI",
    "a log of Inspect AI (.eval or .json), or a folder with them",
    ending("eval", "json"),
    _is_inspect,
    together=_inspect_together,
)
def _inspect(_records: Iterator[Row], document: Document) -> Iterator[_Log]:
    parts, whole = document.parts, document.whole
    if parts is None:
        samples: Iterable[Row] = whole.get("samples") or []
    else:
        header = next(name for name in _HEADERS if name in parts.names)
        whole = json_in(parts.read(header), document.file)
        places = [name for name in parts.names if name.startswith("samples/")]
        samples = (json_in(parts.read(name), document.file) for name in places)
    about = whole["eval"]
    graders = _graders(about.get("scorers") or [])
    created = str(about.get("created", ""))
    ids = [about.get(key) for key in ("run_id", "task_id")]
    yield _Log(
        file=document.file,
        answers=tuple(_inspect_answer(sample, graders) for sample in samples),
        task=str(about["task"]),
        model=str(about["model"]),
        arguments=json.dumps(about.get("task_args_passed") or about.get("task_args") or {}),
        run=json.dumps([*ids, created]) if any(ids) else document.file,
        created=created,
        complete=whole.get("status") == "success",
    )


def _inspect_answer(sample: Row, graders: dict[str, str]) -> _Answer:
    """What is read of a sample; its events alone are most of a log."""
    kinds = {"metadata": dict, "scores": dict, "choices": list}
    given = {key: sample[key] for key, kind in kinds.items() if isinstance(sample.get(key), kind)}
    scores: Row = given.get("scores", {})
    titled = graders.keys() == scores.keys() and len(set(graders.values())) == len(scores)
    return _Answer(
        sample=str(sample.get("id")),
        text=_written(sample),
        target=_side(sample.get("target"), given.get("choices")),
        about=given.get("metadata", {}),
        grades={graders[key] if titled else key: score for key, score in scores.items()},
        n_grades=sum(not is_label_name(name) for name in scores),
        epoch=sample.get("epoch") or 1,
        failed=bool(sample.get("error")) or sample.get("id") is None,
    )


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
        graders[f"{name}{seen[name] or ''}"] = f"{name}/{model}" if isinstance(model, str) else name
        seen[name] += 1
    return graders


def _nothing_in(log: _Log) -> str | None:
    """Why there is nothing to read in a log; None where there is."""
    if not log.answers:
        return "logs without samples"
    answered = [answer for answer in log.answers if not answer.failed]
    if not answered:
        return "logs in which every sample ended with an error"
    if not log.paired and not any(answer.grades for answer in answered):
        return "logs without scores"
    return None


def _superseded(log: _Log, by: _Log) -> str:
    if log.run == by.run:
        return "copies of another log"
    if log.complete < by.complete:
        return "logs of runs that were cut short, beside a complete one"
    return "logs of runs that were made again"


def _answered(logs: list[_Log], left_out: LeftOut) -> Iterator[tuple[_Log, _Answer, str]]:
    """Yield samples that did not fail, with their log and their name among all tasks."""
    several = len({log.task for log in logs}) > 1
    for log in logs:
        for answer in log.answers:
            if answer.failed:
                left_out[_ENDED] += 1
            else:
                yield log, answer, f"{log.task}/{answer.sample}" if several else answer.sample


def _inspect_pairs(logs: list[_Log], left_out: LeftOut) -> _Pairs:
    runs = Counter((log.task, log.model) for log in logs)
    for log, answer, item in _answered(logs, left_out):
        if answer.epoch != 1:
            left_out["outputs of epochs after the first"] += 1
        else:
            again = runs[log.task, log.model] > 1
            yield item, f"{log.model} {log.arguments}" if again else log.model, answer


def _inspect_grades(logs: list[_Log], left_out: LeftOut) -> Iterator[Grade]:
    answers = list(_answered(logs, left_out))
    asked = Counter((log.task, answer.sample) for log, answer, _ in answers)
    repeated = max(asked.values(), default=1) > 1
    runs = Counter(log.model for log in logs)
    for log, answer, sample in answers:
        item, group = sample, ""
        if repeated:
            by = f"{log.model} {log.arguments}" if runs[log.model] > 1 else log.model
            item, group = f"{sample}/{by}/{answer.epoch}", f"sample {sample}"
        left_out["samples without scores"] += not answer.grades
        for name, score in answer.grades.items():
            value = score.get("value") if isinstance(score, dict) else score
            # A scorer that gives several values counts as several.
            several = dict(enumerate(value, start=1)) if isinstance(value, list) else value
            judges = {name: value}
            if isinstance(several, dict):
                judges = {f"{name}/{key}": entry for key, entry in several.items()}
            why = at(score, "explanation")
            for judge, grade in judges.items():
                yield Grade(item, judge, grade, why=why, group=group, about=answer.about)


# --- promptfoo -------------------------------------------------------------------------------
# promptfoo eval --output writes an object (results with a list results; versions 2 and 3) or JSON
# Lines with one result per line. Providers answer, assertions grade.

_ANSWERS = ("equals", "contains", "icontains", "starts-with")
_LONGEST_NAME = 60


def _listed(content: Any) -> list[Any] | None:
    inner = at(content, "results.results")
    if not isinstance(inner, list):
        return None
    if inner:
        known = isinstance(inner[0], dict) and {"provider", "vars"} <= inner[0].keys()
    else:
        known = bool({"evalId", "config"} & content.keys())
    return inner if known else None


def _is_promptfoo(document: Document) -> bool:
    if document.lines:
        return document.first.keys() >= {"provider", "vars", "promptIdx"}
    return _listed(document.whole) is not None


def _promptfoo_together(files: Files, left_out: LeftOut, task: Task | None) -> ImportedRows:
    seen: set[str] = set()
    logs = []
    for file, answers in files:
        answered: list[_Answer] = []
        for answer in answers:
            if answer.known in seen:
                left_out["results that are there twice"] += 1
            elif answer.failed:
                left_out["results that ended with an error"] += 1
            else:
                answered.append(answer)
            seen |= {answer.known} - {""}
        logs.append(_Log(file, tuple(answered)))
    again = "results of tests that were run again"
    votes = _promptfoo_pairs, _promptfoo_grades
    return _of_one_task(logs, left_out, task, "files", *votes, again=again)


@Importer(
    "promptfoo",
    "results of promptfoo",
    "a .json or .jsonl that promptfoo eval --output wrote, or a folder with them",
    ending("json", "jsonl"),
    _is_promptfoo,
    together=_promptfoo_together,
)
def _promptfoo(_records: Iterator[Row], document: Document) -> Iterator[_Answer]:
    results = _listed(document.whole)
    for result in [line for _, line in document.lines] if results is None else results:
        case, response = result.get("testCase") or {}, result.get("response") or {}
        variables, provider = result["vars"], result["provider"]
        about = {**(case.get("metadata") or {}), **variables}
        prompt = result.get("prompt") or {}
        if isinstance(provider, dict):
            provider = provider.get("label") or provider.get("id")
        output = response.get("output")
        grades = _assertions(result)
        yield _Answer(
            sample=_test(result),
            text=output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),
            target=_expected(variables, case),
            model=str(provider),
            variant=str(prompt.get("label") or result.get("promptId") or prompt.get("raw") or ""),
            about={key: value for key, value in about.items() if key.lower() not in ID_NAMES},
            grades=grades,
            n_grades=len(grades),
            failed=bool(response.get("error")) or output is None,
            known=str(result.get("id") or ""),
        )


def _expected(variables: Row, case: Row) -> Any:
    """The label of a test: a variable or a field of that name, or the side an assertion expects."""
    given = label_in(variables, case.get("metadata"))
    if given is not None:
        return given
    checks = case.get("assert") or []
    expected = [check.get("value") for check in checks if check.get("type") in _ANSWERS]
    return next((value for value in expected if side_of(value) is not None), None)


def _test(result: Row) -> str:
    """A test by the variable that is called as ids are, else by its place."""
    known = field_in(ID_NAMES, result["vars"])
    if known is not None:
        return str(known)
    if "testIdx" in result:
        return f"test {int(result['testIdx']) + 1}"
    return json.dumps(result["vars"], sort_keys=True, ensure_ascii=False)


def _assertions(result: Row) -> Row:
    """What each assertion said; two of one name are numbered, in the order of the test."""
    grades: Row = {}
    for entry in (result.get("gradingResult") or {}).get("componentResults") or []:
        about = entry.get("assertion") if isinstance(entry, dict) else None
        if about:
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
    detail = asked if isinstance(asked, str) else about.get("value")
    if kind == "human" or not isinstance(detail, str) or not detail.strip():
        return kind
    return f"{kind}/{' '.join(detail.split())[:_LONGEST_NAME]}"


def _promptfoo_pairs(logs: list[_Log], _left_out: LeftOut) -> _Pairs:
    answers = [answer for log in logs for answer in log.answers]
    prompts = list(dict.fromkeys(answer.variant for answer in answers))
    numbers = {prompt: f" prompt {number}" for number, prompt in enumerate(prompts, start=1)}
    for answer in answers:
        number = numbers[answer.variant] if len(numbers) > 1 else ""
        yield answer.sample, f"{answer.model}{number}", answer


def _promptfoo_grades(logs: list[_Log], _left_out: LeftOut) -> Iterator[Grade]:
    answers = [answer for log in logs for answer in log.answers]
    repeated = len({answer.sample for answer in answers}) < len(answers)
    items: Counter[str] = Counter()
    for answer in answers:
        item = f"{answer.sample}/{answer.model}" if repeated else answer.sample
        items[item] += 1
        if items[item] > 1:
            item = f"{item}/{items[item]}"
        about = {**answer.about, "label": grade_of(answer.target)}
        group = f"test {answer.sample}" if repeated else ""
        for name, passed in answer.grades.items():
            yield Grade(item, name, passed, person=name == "human", group=group, about=about)


# --- OpenAI Evals ----------------------------------------------------------------------------
# JSON Lines: first spec (completion_fns, eval_name), then an event per line (sample_id, type,
# data), at last final_report. The second function, or the evaluation, grades.


def _openai_together(files: Files, left_out: LeftOut, task: Task | None) -> ImportedRows:
    nothing = "logs without matches and metrics"
    logs = _without(lambda log: None if log.answers else nothing, files, left_out)
    again, votes = "samples that were run again", (_openai_pairs, _openai_grades)
    return _of_one_task(logs, left_out, task, "logs", *votes, again=again, last=True)


@Importer(
    "openai-evals",
    "logs of OpenAI Evals",
    "a .jsonl that oaieval wrote (spec, then events), or a folder with them",
    ending("jsonl", "ndjson"),
    lambda d: (
        isinstance(spec := d.first.get("spec"), dict)
        and spec.keys() >= {"completion_fns", "eval_name"}
    ),
    together=_openai_together,
    fields="sample_id, type and data",
)
def _openai(records: Iterator[Row], document: Document) -> Iterator[_Log | str]:
    spec = document.first["spec"]
    functions = [str(name) for name in spec["completion_fns"]] or ["unknown"]
    grader = functions[-1] if len(functions) > 1 else str(spec["eval_name"])
    events: dict[str, list[tuple[str, Row]]] = {"match": [], "metrics": []}
    for record in records:
        if record.get("type") == "error":
            yield _ENDED
        elif record.get("type") in events:
            events[record["type"]].append((str(record["sample_id"]), dict(record["data"])))
    expected = [_side(data.get("expected"), data.get("options")) for _, data in events["match"]]
    if sided(expected):
        answers = [
            _Answer(
                sample,
                _first(data.get("sampled")) or _first(data.get("picked")),
                target=data["expected"],
                about={name: data[name] for name in ORDER_NAMES if name in data},
            )
            for sample, data in events["match"]
        ]
    else:
        answers = [
            _Answer(sample, "", grades=_verdicts(data, grader))
            for sample, data in events["metrics"] or events["match"]
        ]
    yield _Log(document.file, tuple(answers), model=functions[0])


def _verdicts(data: Row, grader: str) -> Row:
    """The grader's verdict; and, where it was held against a person's, that as the label."""
    keys = ("correct", "score", "choice")
    grade = next((data[key] for key in keys if data.get(key) is not None), None)
    word = str(grade).strip().lower()
    if len(word) == 1 and word.isalpha():
        grade = {"y": 1, "n": 0}.get(word, "a letter that is neither yes nor no")
    agreed = next((value for key, value in data.items() if key.endswith("metascore")), None)
    verdict = None if grade is None else grade_of(grade)
    if agreed is None or verdict is None:
        return {grader: grade}
    return {grader: grade, "label": verdict if agreed else 1 - verdict}


def _first(written: Any) -> str:
    if isinstance(written, list):
        written = written[0] if written else None
    return "" if written is None else str(written)


def _openai_pairs(logs: list[_Log], _left_out: LeftOut) -> _Pairs:
    return ((answer.sample, log.model, answer) for log in logs for answer in log.answers)


def _openai_grades(logs: list[_Log], _left_out: LeftOut) -> Iterator[Grade]:
    several = len({log.model for log in logs}) > 1
    for log in logs:
        for answer in log.answers:
            item = f"{answer.sample}/{log.model}" if several else answer.sample
            for judge, grade in answer.grades.items():
                yield Grade(item, judge, grade, group=answer.sample)


# --- lm-eval: samples ------------------------------------------------------------------------
# MODEL/samples_TASK_*.jsonl: doc_id, doc, target and filtered_resps, what a model answered. Models
# are judges of what the target says: a side of a pair, or whether something is so.


def _lm_eval_together(files: Files, left_out: LeftOut, _task: Task | None) -> ImportedRows:
    answers: list[_Answer] = list(records_in(files))
    if sided(answer.target for answer in answers):
        rows = [pair_row(a.sample, a.model, a.target, {}, a.text) for a in answers]
        return ImportedRows(rows, left_out)
    grades = []
    for a in answers:
        listed = isinstance(a.target, list) and len(a.target) == 1
        label = grade_of(a.target[0] if listed else a.target)
        grades.append(Grade(a.sample, a.model, a.text, about={**a.about, "label": label}))
    return graded(grades, left_out)


@Importer(
    "lm-eval",
    "samples of lm-eval",
    "MODEL/samples_TASK_....jsonl (doc_id, target, filtered_resps), or a folder with them",
    ending("jsonl"),
    lambda d: {"doc_id", "target", "filtered_resps"} <= d.first.keys(),
    together=_lm_eval_together,
    fields="doc_id, target and filtered_resps",
)
def _lm_eval(records: Iterator[Row], document: Document) -> Iterator[_Answer | str]:
    place = PurePosixPath(document.path)
    for record in records:
        answer = record["filtered_resps"]
        while isinstance(answer, list) and answer and not _is_choice(answer):
            answer = answer[0]
        if _is_choice(answer):
            answer = max(range(len(answer)), key=lambda k: float(answer[k][0]))
        model, about = place.parent.name or place.stem, record.get("doc") or {}
        item, target = str(record["doc_id"]), record["target"]
        if isinstance(answer, str | int):
            yield _Answer(item, str(answer), target, model, about=about)
        else:
            yield "samples without an answer"


def _is_choice(answer: Any) -> bool:
    """Whether an answer is a list of likelihoods, one per choice."""
    pairs = isinstance(answer, list) and len(answer) > 1
    return pairs and all(isinstance(a, list) and len(a) == 2 for a in answer)
