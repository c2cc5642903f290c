"""Fuzz targets: one for every reader of untrusted bytes, with seeds to start from.

A target takes any bytes and may raise InputError, whose message is one line. Anything else that it
raises, and a process that dies, is a fault. Tests run them briefly, ``./run bench fuzz`` longer.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet
from hypothesis import strategies as st

from judgepanel.decision.panel_file import load_panel
from judgepanel.votes import InputError, load_votes
from judgepanel.votes.answer import BadAnswer, packed, unpacked
from judgepanel.votes.files import unzip
from judgepanel.votes.load import open_table
from judgepanel.votes.verdicts import read_verdict
from tests.hostile import attacks

WIDE = b'item_id,label,feat_x,"judge ""a""",j2\nq1,1,.5,A>B,0\n"q\n2",0,,tie,1\nq3,1,2,B,\n'
LONG = b"item;judge;verdict;label\nq1;a;1;1\nq1;b;0;1\nq2;a;B;0\nq2;b;;0\n"
LINES = b'{"item_id":"q1","label":1,"a":true}\n\n{"item_id":"q2","label":0,"a":null,"b":0.5}\n'
OUTPUTS = b"".join(
    attacks.outputs_of(text).replace(b'"q1"', b'"q%d"' % k)
    for k, text in enumerate(["[[A]]", "Output (b) is better.", "<think>A</think> **B**", "tie"])
)
PANEL = b'{"format":"judgepanel/panel","version":3,"aggregator":{"kind":"majority"},"judges":["a"]}'
INSPECT = json.dumps(
    {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m"},
        "samples": [{"id": 1, "epoch": 1, "target": "A", "scores": {"s": {"value": "C"}}}],
    }
).encode()
PROMPTFOO = json.dumps(
    {"results": {"version": 3, "results": [{"vars": {"q": 1}, "success": True, "score": 1}]}}
).encode()


def _parquet() -> bytes:
    out = io.BytesIO()
    table = pa.table({"item_id": ["q1", "q2", "q3"], "label": [1, 0, None], "a": ["A", "B", "tie"]})
    pa.parquet.write_table(table, out)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class Target:
    """``run`` takes fuzzed bytes; ``seeds`` are whole files of the kind."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _file(name: str) -> Callable[[bytes], object]:
    return lambda data: load_votes(data, name=name, need_labels=False)


def _answer(data: bytes) -> None:
    with suppress(BadAnswer):
        unpacked(data)


TARGETS: MappingProxyType[str, Target] = MappingProxyType(
    {
        "csv": Target(_file("v.csv"), (WIDE, LONG, WIDE.replace(b"\n", b"\r\n"))),
        "csv.gz": Target(_file("v.csv.gz"), (gzip.compress(WIDE), gzip.compress(LONG) * 2)),
        "jsonl": Target(_file("v.jsonl"), (LINES, OUTPUTS)),
        "parquet": Target(_file("v.parquet"), (_parquet(),)),
        "zip": Target(
            _file("v.zip"),
            (
                attacks.zipped(log__json=[INSPECT]),
                attacks.zipped(r__json=[PROMPTFOO], o__jsonl=[OUTPUTS]),
            ),
        ),
        "json": Target(_file("v.json"), (INSPECT, PROMPTFOO)),
        "unnamed": Target(open_table, (WIDE, LINES, _parquet())),
        "gzip": Target(unzip, (gzip.compress(WIDE) + gzip.compress(b""),)),
        "verdict": Target(
            lambda data: read_verdict(data.decode("utf-8", "replace")),
            (b"<think>no</think>\nOutput (a) is better.", b'{"winner": "B"}', b"**A** [[B>>A]]"),
        ),
        "panel": Target(load_panel, (PANEL,)),
        "answer": Target(_answer, (b"".join(packed(open_table(WIDE, "v.csv"))),)),
    }
)

_PIECES = (
    *(b"\0", b'"', b"\n", b"\r", b",", b";", b"\t", b"'", b"\\", b"=", b"{", b"}", b"[", b"]"),
    *(b"-1", b"NA", b"1e999", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800"),
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"PAR1", b"NaN", b"99999999999999999999", b"\xe2\x80\xae"),
)


def mutated(seeds: Iterable[bytes]) -> st.SearchStrategy[bytes]:
    """Any bytes, or a seed with pieces of it cut out, doubled, moved and replaced."""

    @st.composite
    def edited(draw: st.DrawFn) -> bytes:
        data = draw(st.sampled_from(list(seeds)))
        for _ in range(draw(st.integers(1, 6))):
            start = draw(st.integers(0, len(data)))
            end = draw(st.integers(start, min(len(data), start + 40)))
            piece = draw(
                st.sampled_from(_PIECES) | st.binary(max_size=8) | st.just(data[start:end])
            )
            data = data[:start] + piece * draw(st.integers(0, 3)) + data[end:]
        return data

    return edited() | st.binary(max_size=300)


def refused_in_one_line(target: Target, data: bytes) -> None:
    """Run a target; what it refuses is told in one line of plain text."""
    try:
        target.run(data)
    except InputError as error:
        if not str(error).isprintable():
            raise AssertionError(f"control characters in {str(error)!r}") from None
