"""Votes as bytes and back: a compressed .npz of plain arrays, never a pickle."""

from __future__ import annotations

import io
import json
import zlib
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from judgepanel.studies.codec import to_plain
from judgepanel.votes import VoteMatrix

UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
    *(EOFError, BadZipFile, zlib.error),
)
"""What reading damaged content may raise. Errors of the disk are not among them."""
_DTYPES: dict[str, Any] = {"float64": float, "int64": "int64", "bool": bool, "str": "str"}
_DTYPES["object"] = object


def pack(votes: VoteMatrix) -> bytes:
    """Votes as a compressed .npz of plain arrays; text goes in as UTF-8 JSON, never pickled."""
    text = {
        "item_ids": votes.item_ids,
        "judges": votes.judges,
        "task": votes.task,
        "groups": votes.groups,
        "features": _table(votes.features),
        "judge_table": _table(votes.judge_table),
    }
    arrays: dict[str, Any] = {
        "votes": votes.votes,
        "labels": votes.labels,
        "text": np.frombuffer(json.dumps(text).encode(), dtype=np.uint8),
    }
    if votes.ties is not None:
        arrays["ties"] = votes.ties
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def unpack(data: bytes) -> VoteMatrix:
    """Votes from their bytes; one of ``UNREADABLE`` for anything that is damaged."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        text = json.loads(arrays["text"].tobytes())
        return VoteMatrix(
            votes=arrays["votes"],
            labels=arrays["labels"],
            item_ids=tuple(text["item_ids"]),
            judges=tuple(text["judges"]),
            task=text["task"],
            groups=None if text["groups"] is None else tuple(text["groups"]),
            features=_frame(text["features"]),
            judge_table=_frame(text["judge_table"]),
            ties=arrays.get("ties"),
        )


def _table(frame: pd.DataFrame | None) -> dict[str, Any] | None:
    """Columns in order, each with its type, so that numbers and text come back as they were."""
    if frame is None:
        return None
    columns = [
        {"name": str(name), "dtype": _dtype(column), "values": to_plain(column.tolist())}
        for name, column in frame.items()
    ]
    return {"n_rows": len(frame), "columns": columns}


def _dtype(column: pd.Series) -> str:
    text = str(column.dtype)
    return text if text in _DTYPES else "object"


def _frame(table: dict[str, Any] | None) -> pd.DataFrame | None:
    if table is None:
        return None
    index = range(table["n_rows"])
    columns = {
        column["name"]: pd.Series(column["values"], dtype=_DTYPES[column["dtype"]], index=index)
        for column in table["columns"]
    }
    return pd.DataFrame(columns, index=index)
