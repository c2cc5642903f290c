"""Results of promptfoo: the providers are judges of pairs, or the assertions are judges of them.

``promptfoo eval --output`` writes a JSON object (``results`` with a list ``results``; versions 2
and 3 of it are read) or JSON Lines with one result per line. Where the label of each test is A or B
each test is a pair and a provider's output is read for its verdict. Elsewhere a test, its prompt
and its provider are an item, and each assertion passes it or does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from judgepanel.votes.columns import ID_NAMES
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import (
    OF_ANOTHER_TASK,
    ImportedRows,
    LeftOut,
    Row,
    field_in,
    grade_of,
    graded_row,
    label_in,
    pair_row,
    side_of,
    sided,
    task_to_read,
    with_features,
)
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN

WANTED = "a .json or .jsonl that promptfoo eval --output wrote, or a folder with them"
_KEYS = {"provider", "vars", "promptIdx"}
_ANSWERS = ("equals", "contains", "icontains", "starts-with")
_LONGEST_NAME = 60


def named(path: str) -> bool:
    """Whether the file may hold results."""
    return path.lower().endswith((".json", ".jsonl"))


def fits(document: Document) -> bool:
    """Whether the file holds results of promptfoo, be it none."""
    if document.lines:
        first = document.lines[0][1]
        return isinstance(first, dict) and first.keys() >= _KEYS
    return isinstance(document.whole, dict) and _listed(document.whole) is not None


def read_file(document: Document, left_out: LeftOut) -> tuple[str, list[Row]]:
    """The file's name, and its results that are results: dicts with what is read of them."""
    whole = _listed(document.whole) if isinstance(document.whole, dict) else None
    results = whole if whole is not None else [result for _, result in document.lines]
    for result in results:
        if not isinstance(result, dict) or not result.keys() >= {"provider", "vars"}:
            raise InputError(
                "not as promptfoo writes them",
                file=document.file,
                allowed=WANTED,
                remedy=EXPORT_AGAIN,
            )
        _try(result)
    return document.file, results


def together(
    files: Sequence[tuple[str, list[Row]]], left_out: LeftOut, task: Task | None
) -> ImportedRows:
    """Outputs of providers on pairs, or what assertions said: a row per output, or one per item.

    Where some files hold pairs and others do not, see :func:`task_to_read`.
    """
    seen: set[str] = set()
    by_file = [(name, list(_answered(results, seen, left_out))) for name, results in files]
    by_task: dict[Task, list[tuple[str, list[Row]]]] = {"pairwise": [], "pointwise": []}
    for name, results in by_file:
        paired = sided(_label(result) for result in results)
        by_task["pairwise" if paired else "pointwise"].append((name, results))
    n_votes = (
        sum(len(results) for _, results in by_task["pairwise"]),
        sum(len(_grades(result)) for _, results in by_task["pointwise"] for result in results),
    )
    task = task_to_read(*n_votes, task)
    for name, results in by_task["pointwise" if task == "pairwise" else "pairwise"]:
        if results:
            left_out.file(name, f"files {OF_ANOTHER_TASK[task]}")
    results = [result for _, of_file in by_task[task] for result in of_file]
    if task == "pairwise":
        return ImportedRows(_on_pairs(results, left_out), left_out)
    return ImportedRows(_by_assertions(results, left_out), left_out, "pointwise")


def _try(result: Row) -> None:
    """Run into what is not as promptfoo writes it, while it is known in which file that is."""
    _output(result), _about(result), _test(result), _prompt(result), _provider(result)
    _label(result), _grades(result)


def _listed(content: dict[str, Any]) -> list[Any] | None:
    results = content.get("results")
    inner = results.get("results") if isinstance(results, dict) else None
    if not isinstance(inner, list):
        return None
    if not inner:
        return inner if {"evalId", "config"} & content.keys() else None
    return inner if isinstance(inner[0], dict) and {"provider", "vars"} <= inner[0].keys() else None


def _answered(results: list[Row], seen: set[str], left_out: LeftOut) -> Iterator[Row]:
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


def _label(result: Row) -> Any:
    """The label of a test: a variable or a field of that name, or the side an assertion expects."""
    given = label_in(result["vars"], _case(result).get("metadata"))
    if given is not None:
        return given
    expected = [
        one_assert.get("value")
        for one_assert in _case(result).get("assert") or []
        if one_assert.get("type") in _ANSWERS
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


def _on_pairs(results: list[Row], left_out: LeftOut) -> Iterator[Row]:
    prompts = dict.fromkeys(_prompt(result) for result in results)
    numbers = {prompt: number for number, prompt in enumerate(prompts, start=1)}
    about: dict[str, Row] = {}
    rows: dict[tuple[str, str, str], Row] = {}
    for result in results:
        fields = _about(result)
        item = _test(result)
        about.setdefault(item, fields)
        number = numbers[_prompt(result)]
        judge = f"{_provider(result)} prompt {number}" if len(numbers) > 1 else _provider(result)
        row = pair_row(item, judge, _label(result), fields, _output(result))
        key = (item, judge, row["order"])
        left_out["results of tests that were run again"] += key in rows
        rows.setdefault(key, row)
    yield from with_features(rows.values(), about)


def _by_assertions(results: list[Row], left_out: LeftOut) -> Iterator[Row]:
    asked = Counter(_test(result) for result in results)
    repeated = max(asked.values(), default=1) > 1
    items: dict[str, Row] = {}
    about: dict[str, Row] = {}
    for result in results:
        group = _test(result)
        item = f"{group}/{_provider(result)}" if repeated else group
        if item in items:
            item = f"{item}/{1 + sum(one_item.startswith(item) for one_item in items)}"
        about[item] = _about(result)
        grades = _grades(result)
        given = grades.pop("human", None)
        label = grade_of(_label(result) if given is None else given)
        within = f"test {group}" if repeated else None
        items[item] = graded_row(item, label, within, grades, left_out)
    yield from with_features(items.values(), about)


def _grades(result: Row) -> Row:
    """What each assertion said; two of one name are numbered, in the order of the test."""
    grades: Row = {}
    for componentResult in (result.get("gradingResult") or {}).get("componentResults") or []:
        about = componentResult.get("assertion") if isinstance(componentResult, dict) else None
        if not about:
            continue
        name = _assertion(about)
        number = sum(known == name or known.startswith(f"{name} #") for known in grades)
        grades[f"{name} #{number + 1}" if number else name] = componentResult.get("pass")
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
