"""Fuzz targets: one for every reader of untrusted bytes, with seeds to start from.

A target accepts any bytes and may raise InputError with a one-line message. Any other exception, or
the death of the process, is a fault. Tests run the targets briefly, ``./run bench fuzz`` longer.
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.intake.answer import Ask, BadAnswer, answer_to, unpacked
from judgepanel.studies import codec, contract
from judgepanel.studies.runner import run
from judgepanel.votes import InputError, formats, load, load_votes, outputs, sources
from judgepanel.votes.imports import KINDS, read_kind
from tests.helpers import make_votes
from tests.hostile import attacks

WIDE = b'item_id,label,feat_x,"judge ""a""",j2\nq1,1,.5,A>B,0\n"q\n2",0,,tie,1\nq3,1,2,B,\n'
LONG = b"item;judge;verdict;label\nq1;a;1;1\nq1;b;0;1\nq2;a;B;0\nq2;b;;0\n"
LINES = b'{"item_id":"q1","label":1,"a":true}\n\n{"item_id":"q2","label":0,"a":null,"feat_b":0.5}\n'
OUTPUTS = b"".join(
    attacks.outputs_of(text).replace(b'"q1"', b'"q%d"' % k)
    for k, text in enumerate(["[[A]]", "Output (b) is better.", "<think>A</think> **B**", "tie"])
)


def _written(content: Any) -> bytes:
    return json.dumps(content).encode()


INSPECT = _written({
    "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
    "samples": [{"id": 1, "epoch": 1, "target": "A", "scores": {"s": {"value": "C"}}}],
})  # fmt: skip
_ANSWERS = [{"completion": [f"Output ({side})", "stop"], "winner": "1"} for side in "ab"]
_ORDERS = dict(zip(("swap = False", "swap = True"), _ANSWERS, strict=True))
LLMBAR = _written([{"input": "x", "label": label, "results": [_ORDERS]} for label in (1, 2)])
JUDGEBENCH = _written({
    "pair_id": "p1", "source": "mmlu", "label": "A>B", "judge_name": "arena_hard",
    "judgments": [
        {"judgment": {"judge_model": "m", "response": f"[[{decision}]]"}, "decision": decision}
        for decision in ("A>B", "B>A")
    ],
})  # fmt: skip
REWARDBENCH = _written({
    "model": "org/reward", "id": [1, 2, 3], "subset": ["a", "a", "b"], "results": [1, 0, 0.5],
    "scores_chosen": [2.5, 1, 0], "scores_rejected": [1.5, 3, 0],
})  # fmt: skip
REWARDBENCH_2 = _written({
    "model": "org/reward", "id": [1, 2], "subset": ["Math", "Ties"], "results": [1, 0.5],
    "num_correct": [1, 2], "scores": [[2.5, 1, 3, 0], [1, 2, 3]],
})  # fmt: skip
ARENA = _written([
    {"question_id": 1, "model_a": "x", "model_b": "y", "winner": winner, "judge": judge}
    for winner, judge in (("model_a", "expert_1"), ("tie", ["gpt-4", "pair-v2"]))
])  # fmt: skip
_OUTPUTS = {"instruction": "?", "output_1": "x", "output_2": "y"}
ALPACAEVAL = _written([
    {**_OUTPUTS, "preference": 1.2, "annotator": "a"},
    {**_OUTPUTS, "preference": 2, "annotator_index": 3},
])  # fmt: skip
OPENAI_EVALS = (
    b'{"spec": {"completion_fns": ["m", "g"], "eval_name": "e.dev.v0"}}\n'
    b'{"sample_id": "e.dev.0", "type": "metrics", "data": {"choice": "Y", "metascore": true}}\n'
)
EXPORTS = {
    "TruLens": b"record_id,input,f,f_calls\nr1,q,0.9,[]\nr2,q,0.1,[]\n",
    "Langfuse": b"trace_id,name,value,source\nt1,f,1,EVAL\nt1,g,0,ANNOTATION\n",
    "LangSmith": b"id,example_id,error,feedback.f\nr1,e,,True\nr2,e,,False\n",
}
_TOOLS = Path(__file__).parents[1] / "votes" / "imports" / "data"


def _arrow(*, stream: bool) -> bytes:
    table = pa.table({"item_id": ["a", "b"], "label": [0, 1], "j1": [1.0, None]})
    out = io.BytesIO()
    write = pa.ipc.new_stream if stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=None if stream else "lz4")
    with write(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue()


def _parquet() -> bytes:
    labels = pd.array([1, 0, None], dtype="Int64")
    table = {"item_id": ["q1", "q2", "q3"], "label": labels, "a": ["A", "B", "tie"]}
    return bytes(pd.DataFrame(table).to_parquet())


def _workbook() -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (["item_id", "label", "a"], ["q1", 1, 0], ["q2", 0, None]):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def _in_workbook(name: str) -> Target:
    """A workbook with one member changed."""
    with zipfile.ZipFile(io.BytesIO(_workbook())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def read(data: bytes) -> object:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for member, content in (members | {name: data}).items():
                archive.writestr(member, content)
        return _file("v.xlsx")(out.getvalue())

    return Target(read, (members[name],))


def _panel() -> bytes:
    """A panel file with all that an export holds, so that mutations reach every check of it."""
    votes, spec = make_votes(0, 40, 3), RecommendSpec(contract.Settings(splits=3))
    return panel_json(export_panel(run(RECOMMEND, votes, spec, jobs=1), votes, spec, ())).encode()


@dataclass(frozen=True, slots=True)
class Target:
    """``run`` takes fuzzed bytes; ``seeds`` are whole files of the kind."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _file(name: str) -> Callable[[bytes], object]:
    return lambda data: load_votes(data, name=name, need_labels=False)


def _member(name: str) -> Callable[[bytes], object]:
    """Read the only file of an archive."""
    return lambda data: _file("v.zip")(attacks.zipped(**{name.replace(".", "__"): [data]}))


def _tools(folder: str, *names: str, form: str = "json") -> tuple[bytes, ...]:
    return tuple((_TOOLS / folder / f"{name}.{form}").read_bytes() for name in names)


def _as_kind(kind: str, data: bytes) -> object:
    return read_kind(sources.source_in("v.json", data), kind).lines("v.json")


def _every_kind(data: bytes) -> None:
    """Read as results of all kinds, of which it is one; each refusal is a line."""
    for kind in KINDS:
        is_read(Target(partial(_as_kind, kind), ()), data)


def _answer(data: bytes) -> None:
    with suppress(BadAnswer):
        unpacked(data)


TARGETS: MappingProxyType[str, Target] = MappingProxyType(
    {
        "csv": Target(_file("v.csv"), (WIDE, LONG, WIDE.replace(b"\n", b"\r\n"))),
        "csv.gz": Target(_file("v.csv.gz"),
            (gzip.compress(WIDE), gzip.compress(LONG) + gzip.compress(b""))),
        "jsonl": Target(_file("v.jsonl"), (LINES, OUTPUTS)),
        "parquet": Target(_file("v.parquet"), (_parquet(),)),
        "arrow": Target(_file("v.arrow"), (_arrow(stream=False), _arrow(stream=True))),
        "xlsx": Target(_file("v.xlsx"), (_workbook(),)),
        "xlsx sheet": _in_workbook("xl/worksheets/sheet1.xml"),
        "xlsx book": _in_workbook("xl/workbook.xml"),
        "zip": Target(_file("v.zip"), (attacks.zipped(log__json=[INSPECT]),
            attacks.zipped(log__json=[INSPECT], o__jsonl=[OUTPUTS]))),
        "eval": Target(_file("v.eval"), _tools("inspect-0.3.60", "pairs-hasty", form="eval")),
        "Inspect AI": Target(_file("v.json"),
            (INSPECT, *_tools("inspect-0.3.60", "pairs-hasty", "sums"))),
        "promptfoo": Target(_file("v.json"), _tools("promptfoo-0.121.20", "pairs", "rubric")),
        "LLMBar": Target(_member("Natural/evaluators/j/Vanilla/result.json"), (LLMBAR,)),
        "JudgeBench": Target(
            _file("dataset=judgebench,response_model=x,judge_name=arena_hard,judge_model=m.jsonl"),
            (JUDGEBENCH,)),
        "RewardBench": Target(_member("eval-set-scores/org/reward.json"),
            (REWARDBENCH, REWARDBENCH_2)),
        "arena": Target(_file("v.json"), (ARENA,)),
        "AlpacaEval": Target(_file("v.json"), (ALPACAEVAL,)),
        "OpenAI Evals": Target(_file("v.jsonl"), (OPENAI_EVALS,)),
        "exports": Target(_file("v.csv"), tuple(EXPORTS.values())),
        "every kind": Target(_every_kind, (REWARDBENCH, REWARDBENCH_2, ARENA, ALPACAEVAL, *(
            _written([*csv.DictReader(io.StringIO(t.decode()))]) for t in EXPORTS.values()))),
        "unnamed": Target(load.open_table, (WIDE, LINES, _parquet())),
        "gzip": Target(formats.unzip, (gzip.compress(WIDE) + gzip.compress(b""),)),
        "verdict": Target(lambda data: outputs.read_verdict(data.decode("utf-8", "replace")),
            (b"<think>no</think>\nOutput (a) is better.", b'{"winner": "B"}', b"**A** [[B>>A]]")),
        "panel": Target(load_panel, (_panel(),)),
        "answer": Target(_answer, (codec.pack(answer_to(Ask("v.csv", len(WIDE)), [WIDE])),)),
    }
)  # fmt: skip

_PIECES = (
    *(b"\0", b'"', b"\n", b"\r", b",", b";", b"\t", b"'", b"\\", b"=", b"{", b"}", b"[", b"]"),
    *(b"-1", b"NA", b"1e999", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800"),
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"PAR1", b"NaN", b"99999999999999999999", b"\xe2\x80\xae"),
)


_SCALARS = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 0.5, 10**400, 1e300, math.nan, math.inf),
        *("", "A", "NA", "\0", "\ud800", "=1+1", "\u202e", "\n", "[[A]]", "1e999"),
        *([], {}, [[]], {"": None}),
    ]
)


def mutated(seeds: Iterable[bytes]) -> st.SearchStrategy[bytes]:
    """Any bytes, or a seed with pieces or values of it taken out, doubled, moved and replaced."""
    wholes = list(seeds)
    documents = [document for seed in wholes if (document := _document(seed)) is not None]

    @st.composite
    def edited(draw: st.DrawFn) -> bytes:
        data = draw(st.sampled_from(wholes))
        for _ in range(draw(st.integers(1, 6))):
            start = draw(st.integers(0, len(data)))
            end = draw(st.integers(start, min(len(data), start + 40)))
            piece = draw(
                st.sampled_from(_PIECES) | st.binary(max_size=8) | st.just(data[start:end])
            )
            data = data[:start] + piece * draw(st.integers(0, 3)) + data[end:]
        return data

    @st.composite
    def revalued(draw: st.DrawFn) -> bytes:
        document = copy.deepcopy(draw(st.sampled_from(documents)))
        for _ in range(draw(st.integers(1, 4))):
            _change_a_value(draw, document)
        return json.dumps(document).encode()

    return edited() | st.binary(max_size=300) | (revalued() if documents else st.nothing())


def _document(data: bytes) -> Any:
    """The object or list that the whole of a file is, if it is JSON."""
    try:
        document = json.loads(data)
    except ValueError:
        return None
    return document if isinstance(document, dict | list) else None


def _change_a_value(draw: st.DrawFn, document: Any) -> None:
    """Go down a few levels; there, replace, double or take out a value."""
    place = document
    for _ in range(draw(st.integers(0, 6))):
        values = place.values() if isinstance(place, dict) else place
        inner = [value for value in values if isinstance(value, dict | list) and value]
        if not inner:
            break
        place = draw(st.sampled_from(inner))
    if not place:
        return
    key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    match draw(st.sampled_from(["replace", "replace", "double", "take out"])):
        case "take out":
            del place[key]
        case "double" if isinstance(place, list):
            place.append(place[key])
        case _:
            place[key] = copy.deepcopy(draw(_SCALARS))


def is_read(target: Target, data: bytes) -> bool:
    """Run a target: whether it reads the data; a refusal must be one line of plain text."""
    try:
        target.run(data)
    except InputError as error:
        if not str(error).isprintable():
            raise AssertionError(f"control characters in {str(error)!r}") from None
        return False
    return True
