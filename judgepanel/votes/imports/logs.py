"""Logs in which models are judges of pairs, or graders are judges of the models.

Where all that was expected is a side, A or B, each sample is a pair and what the model wrote is
read for its verdict. Elsewhere a sample and the model that answered it are an item, and each grader
passes it or does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes import cells, columns, sources
from judgepanel.votes.imports import common
from judgepanel.votes.imports.common import Found, Grade, ImportedRows, Importer, LeftOut, Row, at
from judgepanel.votes.records import decoded

_ENDED = "samples that ended with an error"


@dataclass(slots=True)
class _Answer:
    """What a model wrote on a sample, and what graders gave to it, some with a reason.

    ``target`` is what was expected, ``variant`` what else the model was told; ``known`` is the same
    in two copies.
    """

    sample: str
    text: Any
    target: Any = None
    model: str = ""
    variant: str = ""
    about: Row = field(default_factory=dict)
    grades: Row = field(default_factory=dict)
    reasons: Row = field(default_factory=dict)
    epoch: Any = 1
    failed: bool = False
    known: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Log:
    """The answers in a file; ``complete`` is false where a run was cut short."""

    file: str
    answers: tuple[_Answer, ...]
    task: str = ""
    model: str = ""
    arguments: str = ""
    created: str = ""
    complete: bool = True

    @property
    def paired(self) -> bool:
        """Whether every target is a side."""
        return common.sided(answer.target for answer in self.answers)

    @property
    def n_grades(self) -> int:
        """How many grades there are in the file by graders that are not called as labels are."""
        grades = (grade for answer in self.answers for grade in answer.grades)
        return sum(not common.is_label_name(grade) for grade in grades)


_Named = Callable[[list[_Log], LeftOut], Iterable[tuple[str, str, _Answer]]]
"""Answers with their item, and with the judge of a pair or the group of a single response."""


def _of_one_task(
    logs: list[_Log], found: Found, pairs: _Named, singles: _Named, counts: str = "all"
) -> ImportedRows:
    """Return the votes of one task; the logs of the other are left out and named.

    That is the task wanted, else the one with more votes: one matrix cannot hold both, as its items
    are either pairs or single responses. Of the outputs of a judge on one item in one order the
    "first", the "last" or "all" count.
    """
    left_out = found.left_out
    paired: list[_Log] = []
    single: list[_Log] = []
    for log in logs:
        (paired if log.paired else single).append(log)
        if not log.answers:
            left_out.file(log.file, "files without results")
    n_pairs = sum(len(log.answers) for log in paired)
    n_single = sum(log.n_grades for log in single)
    in_pairs = n_pairs > 0 and n_pairs >= n_single
    if found.task is not None and (n_pairs if found.task == "pairwise" else n_single):
        in_pairs = found.task == "pairwise"
    for log in [log for log in single if log.n_grades] if in_pairs else paired:
        left_out.file(log.file, common.OF_ANOTHER_TASK["pairwise" if in_pairs else "pointwise"])
    if not in_pairs:
        grades = []
        for item, group, answer in singles(single, left_out):
            known = Grade(item, "", None, group=group, about=answer.about, systems=(answer.model,))
            for judge, value in answer.grades.items():
                why = answer.reasons.get(judge)
                grades.append(replace(known, judge=judge, value=value, why=why))
        return common.graded(grades, left_out)
    rows: dict[object, Row] = {}
    about: dict[str, Row] = {}
    for item, judge, answer in pairs(paired, left_out):
        row = common.pair_row(item, judge, answer.target, answer.about, answer.text)
        key = len(rows) if counts == "all" else (item, judge, row["order"])
        if key in rows:
            left_out["outputs of samples that were run again"] += 1
        rows[key] = row if counts == "last" else rows.get(key, row)
        about.setdefault(item, answer.about)
    return ImportedRows(common.with_features(rows.values(), about), left_out)


def _side(target: Any, choices: Any) -> Any:
    """What was expected; of a question with other than two choices A is no side."""
    return target if len(choices or "AB") == len("AB") else f"one of {len(choices)}"


def _pairs(logs: list[_Log], _: LeftOut) -> Iterator[tuple[str, str, _Answer]]:
    """Answers by sample and model, which has a number where it was told several things."""
    answers = [answer for log in logs for answer in log.answers]
    for answer, model in zip(answers, _prompted(answers), strict=True):
        yield answer.sample, model, answer


def _prompted(answers: list[_Answer]) -> list[str]:
    """The model of each answer, with a number where models were told several things."""
    prompts = dict.fromkeys(answer.variant for answer in answers)
    numbers = {prompt: f" prompt {number}" for number, prompt in enumerate(prompts, start=1)}
    return [f"{a.model}{numbers[a.variant] if len(numbers) > 1 else ''}" for a in answers]


# --- Inspect AI ------------------------------------------------------------------------------
# A log is one JSON object (version, status, eval, samples) or an archive with the same in parts
# (header.json, samples/*.json); versions 1 and 2 of the format. A question with more than two
# choices is no pair, whatever its target.

_HEADERS = ("header.json", "_journal/start.json")
_ATTACHED = "attachment://"


def _is_inspect(document: sources.Document) -> bool:
    if document.parts is not None:
        return any(header in document.parts.names for header in _HEADERS)
    whole = document.whole
    return isinstance(at(whole, "eval"), dict) and {"version", "status"} <= whole.keys()


def _inspect_together(found: Found) -> ImportedRows:
    """Of several runs of one model on a task with the same arguments the last complete one."""
    latest: dict[tuple[object, ...], _Log] = {}
    for log in sorted(found.records, key=lambda log: (not log.paired, log.complete, log.created)):
        key = log.paired, log.task, log.model, log.arguments
        answered = [answer for answer in log.answers if not answer.failed]
        if not log.answers:
            found.left_out.file(log.file, "logs without samples")
        elif not answered:
            found.left_out.file(log.file, "logs in which every sample ended with an error")
        elif not (log.paired or any(answer.grades for answer in answered)):
            found.left_out.file(log.file, "logs without scores")
        else:
            if key in latest:
                short = latest[key].complete < log.complete
                reason = "cut short, beside a complete one" if short else "made again, or copied"
                found.left_out.file(latest[key].file, f"logs of runs that were {reason}")
            latest[key] = log
    kept = set(latest.values())
    logs = [log for log in found.records if log in kept]
    return _of_one_task(logs, found, _inspect_pairs, _inspect_singles)


@Importer(
    "inspect",
    "logs of Inspect AI",
    "a log of Inspect AI (.eval or .json), or a folder with them",
    (".eval", ".json"),
    _is_inspect,
    _inspect_together,
)
def _inspect(_records: Iterator[Row], document: sources.Document) -> Iterator[_Log]:
    parts, whole = document.parts, document.whole
    if parts is None:
        samples: Iterable[Row] = whole.get("samples") or []
    else:
        whole = decoded(parts.read(next(name for name in _HEADERS if name in parts.names)))
        places = (name for name in parts.names if name.startswith("samples/"))
        samples = map(decoded, map(parts.read, places))
    about = whole["eval"]
    # Scorers by the key of their scores: their name and, where they ask a model, that model's. The
    # second scorer of a name has 1 behind its key, the third 2.
    seen: Counter[str] = Counter()
    graders = {}
    for scorer in about.get("scorers") or []:
        name = str(scorer["name"]).rpartition("/")[2]
        model = at(scorer, "options.model.model") or at(scorer, "options.model")
        graders[f"{name}{seen[name] or ''}"] = f"{name}/{model}" if isinstance(model, str) else name
        seen[name] += 1
    yield _Log(
        file=document.file,
        answers=tuple(_inspect_answer(sample, graders) for sample in samples),
        task=str(about["task"]),
        model=str(about["model"]),
        arguments=json.dumps(about.get("task_args_passed") or about.get("task_args") or {}),
        created=str(about.get("created", "")),
        complete=whole.get("status") == "success",
    )


def _inspect_answer(sample: Row, graders: dict[str, str]) -> _Answer:
    """What is read of a sample; its events alone are most of a log."""
    kinds = {"metadata": dict, "scores": dict, "choices": list}
    given = {key: sample[key] for key, kind in kinds.items() if isinstance(sample.get(key), kind)}
    scores: Row = given.get("scores", {})
    titled = graders.keys() == scores.keys() and len(set(graders.values())) == len(scores)
    grades: Row = {}
    reasons: Row = {}
    for key, score in scores.items():
        name = graders[key] if titled else key
        value = score.get("value") if isinstance(score, dict) else score
        # A scorer that gives several values counts as several.
        several = dict(enumerate(value, start=1)) if isinstance(value, list) else value
        one = {name: value}
        one = {f"{name}/{k}": v for k, v in several.items()} if isinstance(several, dict) else one
        grades |= one
        reasons |= dict.fromkeys(one, at(score, "explanation"))
    return _Answer(
        sample=str(sample.get("id")),
        text=_written(sample),
        target=_side(sample.get("target"), given.get("choices")),
        about=given.get("metadata", {}),
        grades=grades,
        reasons=reasons,
        epoch=sample.get("epoch") or 1,
        failed=bool(sample.get("error")) or sample.get("id") is None,
    )


def _written(sample: Row) -> str:
    """What the model wrote last; blocks of reasoning are not part of it."""
    choices, content = at(sample, "output.choices"), at(sample, "output.completion")
    if choices:
        content = choices[0]["message"].get("content")
    if isinstance(content, list):
        content = "\n".join(str(block["text"]) for block in content if block.get("type") == "text")
    text = str(content or "")
    if text.startswith(_ATTACHED):
        # Some versions keep long texts apart.
        text = str((sample.get("attachments") or {}).get(text.removeprefix(_ATTACHED), ""))
    return text


def _answered(logs: list[_Log], left_out: LeftOut) -> Iterator[tuple[_Log, _Answer, str]]:
    """Yield samples that did not fail, with their log and their name among all tasks."""
    several = len({log.task for log in logs}) > 1
    for log in logs:
        for answer in log.answers:
            if answer.failed:
                left_out[_ENDED] += 1
            else:
                yield log, answer, f"{log.task}/{answer.sample}" if several else answer.sample


def _inspect_pairs(logs: list[_Log], left_out: LeftOut) -> Iterator[tuple[str, str, _Answer]]:
    runs = Counter((log.task, log.model) for log in logs)
    for log, answer, item in _answered(logs, left_out):
        if answer.epoch != 1:
            left_out["outputs of epochs after the first"] += 1
        else:
            again = runs[log.task, log.model] > 1
            yield item, f"{log.model} {log.arguments}" if again else log.model, answer


def _inspect_singles(logs: list[_Log], left_out: LeftOut) -> Iterator[tuple[str, str, _Answer]]:
    answers = list(_answered(logs, left_out))
    repeated = len({sample for *_, sample in answers}) < len(answers)
    runs = Counter(log.model for log in logs)
    for log, answer, sample in answers:
        by = f"{log.model} {log.arguments}" if runs[log.model] > 1 else log.model
        left_out["samples without scores"] += not answer.grades
        item = f"{sample}/{by}/{answer.epoch}" if repeated else sample
        yield item, f"sample {sample}", replace(answer, model=by)


# --- promptfoo -------------------------------------------------------------------------------
# promptfoo eval --output writes an object (results with a list results; versions 2 and 3) or JSON
# Lines with one result per line. Providers answer, assertions grade.

_ANSWERS = ("equals", "contains", "icontains", "starts-with")
_LONGEST_NAME = 60


def _is_promptfoo(document: sources.Document) -> bool:
    if document.lines:
        return document.first.keys() >= {"provider", "vars", "promptIdx"}
    results = at(document.whole, "results.results")
    if isinstance(results, list) and results:
        return isinstance(results[0], dict) and {"provider", "vars"} <= results[0].keys()
    return results == [] and bool({"evalId", "config"} & document.whole.keys())


def _promptfoo_together(found: Found) -> ImportedRows:
    seen: dict[str, _Answer] = {}
    logs = []
    for file, answers in found.files:
        own = {answer.known: answer for answer in answers if answer.known not in seen}
        found.left_out["results that are there twice"] += len(answers) - len(own)
        seen |= own
        logs += [_Log(file, tuple(own.values()))] if own else []
    return _of_one_task(logs, found, _pairs, _promptfoo_singles, "first")


@Importer(
    "promptfoo",
    "results of promptfoo",
    "a .json or .jsonl that promptfoo eval --output wrote, or a folder with them",
    (".json", ".jsonl"),
    _is_promptfoo,
    _promptfoo_together,
)
def _promptfoo(_records: Iterator[Row], document: sources.Document) -> Iterator[_Answer | str]:
    results = at(document.whole, "results.results") or [line for _, line in document.lines]
    for number, result in enumerate(results):
        case, response = result.get("testCase") or {}, result.get("response") or {}
        variables, provider = result["vars"], result["provider"]
        about = {**(case.get("metadata") or {}), **variables}
        prompt = result.get("prompt") or {}
        if isinstance(provider, dict):
            provider = provider.get("label") or provider.get("id")
        output = response.get("output")
        if response.get("error") or output is None:
            yield "results that ended with an error"
            continue
        target = common.label_in(variables, case.get("metadata"))
        if target is None:  # The side that an assertion expects.
            checks = case.get("assert") or []
            expected = [check.get("value") for check in checks if check.get("type") in _ANSWERS]
            target = next((side for side in expected if common.side_of(side) is not None), None)
        about = {key: value for key, value in about.items() if key.lower() not in cells.ID_NAMES}
        yield _Answer(
            sample=_test(result),
            text=output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),
            target=target,
            model=str(provider),
            variant=str(prompt.get("label") or result.get("promptId") or prompt.get("raw") or ""),
            about={**about, "label": common.grade_of(target)},
            grades=_assertions(result),
            known=str(result.get("id") or f"{document.path} {number}"),
        )


def _test(result: Row) -> str:
    """A test by the variable that is called as ids are, else by its place."""
    known = common.field_in(cells.ID_NAMES, result["vars"])
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
        asked = asked.get("label") or at(asked, "config.name") or asked.get("id")
    kind = str(about.get("type"))
    detail = asked if isinstance(asked, str) else about.get("value")
    if kind == "human" or not isinstance(detail, str) or not detail.strip():
        return kind
    return f"{kind}/{' '.join(detail.split())[:_LONGEST_NAME]}"


def _promptfoo_singles(logs: list[_Log], _: LeftOut) -> Iterator[tuple[str, str, _Answer]]:
    answers = [answer for log in logs for answer in log.answers]
    repeated = len({answer.sample for answer in answers}) < len(answers)
    items: Counter[str] = Counter()
    for answer, model in zip(answers, _prompted(answers), strict=True):
        item = f"{answer.sample}/{answer.model}" if repeated else answer.sample
        items[item] += 1
        number = f"/{items[item]}" if items[item] > 1 else ""
        yield f"{item}{number}", f"test {answer.sample}", replace(answer, model=model)


# --- OpenAI Evals ----------------------------------------------------------------------------
# JSON Lines: first spec (completion_fns, eval_name), then an event per line (sample_id, type,
# data), at last final_report. The second function, or the evaluation, grades.


def _openai_together(found: Found) -> ImportedRows:
    return _of_one_task(list(found.records), found, _pairs, _openai_singles, "last")


@Importer(
    "openai-evals",
    "logs of OpenAI Evals",
    "a .jsonl that oaieval wrote (spec, then sample_id, type and data), or a folder with them",
    (".jsonl", ".ndjson"),
    lambda d: None not in (at(d.first, "spec.completion_fns"), at(d.first, "spec.eval_name")),
    _openai_together,
)
def _openai(records: Iterator[Row], document: sources.Document) -> Iterator[_Log | str]:
    spec = document.first["spec"]
    functions = [str(name) for name in spec["completion_fns"]] or ["unknown"]
    grader = functions[-1] if len(functions) > 1 else str(spec["eval_name"])
    events: dict[str, list[tuple[str, Row]]] = {"match": [], "metrics": []}
    for record in records:
        if record.get("type") == "error":
            yield _ENDED
        elif record.get("type") in events:
            events[record["type"]].append((str(record["sample_id"]), dict(record["data"])))
    matches = events["match"]
    paired = common.sided(_side(data.get("expected"), data.get("options")) for _, data in matches)
    answers = []
    for sample, data in matches if paired else events["metrics"] or matches:
        text = _first(data.get("sampled")) or _first(data.get("picked"))
        target, grades = data["expected"] if paired else None, _verdicts(data, grader)
        about = {name: data[name] for name in columns.ORDER_NAMES if name in data}
        answers.append(_Answer(sample, text, target, functions[0], about=about, grades=grades))
    yield _Log(document.file, tuple(answers))


def _verdicts(data: Row, grader: str) -> Row:
    """The grader's verdict; and, where it was held against a person's, that as the label."""
    keys = ("correct", "score", "choice")
    grade = next((data[key] for key in keys if data.get(key) is not None), None)
    word = str(grade).strip().lower()
    if len(word) == 1 and word.isalpha():
        grade = {"y": 1, "n": 0}.get(word, "a letter that is neither yes nor no")
    agreed = next((value for key, value in data.items() if key.endswith("metascore")), None)
    verdict = None if grade is None else common.grade_of(grade)
    if agreed is None or verdict is None:
        return {grader: grade}
    return {grader: grade, "label": verdict if agreed else 1 - verdict}


def _first(written: Any) -> str:
    if isinstance(written, list):
        written = written[0] if written else None
    return "" if written is None else str(written)


def _openai_singles(logs: list[_Log], _: LeftOut) -> Iterator[tuple[str, str, _Answer]]:
    answers = [answer for log in logs for answer in log.answers]
    several = len({answer.model for answer in answers}) > 1
    for answer in answers:
        item = f"{answer.sample}/{answer.model}" if several else answer.sample
        yield item, answer.sample, answer


# --- lm-eval: samples ------------------------------------------------------------------------
# MODEL/samples_TASK_*.jsonl: doc_id, doc, target and filtered_resps, what a model answered. Models
# are judges of what the target says: a side of a pair, or whether something is so.


def _lm_eval_together(found: Found) -> ImportedRows:
    answers: list[_Answer] = list(found.records)
    if common.sided(answer.target for answer in answers):
        rows = [common.pair_row(a.sample, a.model, a.target, {}, a.text) for a in answers]
        return ImportedRows(rows, found.left_out)
    grades = []
    for a in answers:
        about = {**a.about, "label": common.grade_of(a.target)}
        grades.append(Grade(a.sample, a.model, a.text, about=about))
    return common.graded(grades, found.left_out)


@Importer(
    "lm-eval",
    "samples of lm-eval",
    "MODEL/samples_TASK_....jsonl (doc_id, target, filtered_resps), or a folder with them",
    (".jsonl",),
    lambda d: {"doc_id", "target", "filtered_resps"} <= d.first.keys(),
    _lm_eval_together,
)
def _lm_eval(records: Iterator[Row], document: sources.Document) -> Iterator[_Answer | str]:
    place = PurePosixPath(document.path)
    for record in records:
        answer, target = record["filtered_resps"], record["target"]
        while isinstance(answer, list) and answer and not _is_choice(answer):
            answer = answer[0]
        if _is_choice(answer):
            answer = max(range(len(answer)), key=lambda k: float(answer[k][0]))
        if isinstance(target, list) and len(target) == 1:
            target = target[0]
        model, about = place.parent.name or place.stem, record.get("doc") or {}
        if isinstance(answer, str | int):
            yield _Answer(str(record["doc_id"]), str(answer), target, model, about=about)
        else:
            yield "samples without an answer"


def _is_choice(answer: Any) -> bool:
    """Whether an answer is a list of likelihoods, one per choice."""
    pairs = isinstance(answer, list) and len(answer) > 1
    return pairs and all(isinstance(a, list) and len(a) == 2 for a in answer)
