"""Reading the body of an answer: the judge's text, and numbers and names that can be stored.

An endpoint may send anything. A body that is not a completion is refused. An output that no file of
votes can hold is escaped and stored with the reason why it is not read as a verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgepanel.votes.transcripts import NOT_TEXT, TOO_LONG, UNWRITABLE

MOST_TOKENS = 1_000_000
"""Largest token count, in or out, that is believed for one call."""
TEXT = 1 << 14
TEXT_A_TOKEN = 16
"""Bytes of an output kept unchanged: ``TEXT``, plus this many per token that the judge may use.

English has about four bytes per token.
"""
_EXCERPT = 2_000
_NAME = 120
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


class NotACompletion(Exception):
    """The body is not the JSON of a chat completion."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The judge's text, why it is unusable (blank if it is not), the model, and token counts.

    Token counts are None if the server did not report them, or not credibly.
    """

    text: str
    unusable: str
    model: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None


def longest_text(max_tokens: int) -> int:
    """Size up to which an output is kept unchanged, in bytes of JSON."""
    return TEXT + TEXT_A_TOKEN * max_tokens


def read_completion(body: bytes, longest: int) -> Completion:
    """The first choice of a completion; of duplicate keys the last one counts.

    Raises
    ------
    NotACompletion
        Not UTF-8, not JSON, nested too deeply or with numbers too long for a parser, or without a
        choice that has a message.
    """
    try:
        content = json.loads(body.decode())
        choice = content["choices"][0]
        message = choice["message"]
        written = message.get("content")
        text, unusable = output_of("" if written is None else written, longest)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise NotACompletion from None
    usage = content.get("usage")
    tokens_in, tokens_out = tokens_of(usage if isinstance(usage, dict) else {}, text)
    finish = name_of(choice.get("finish_reason"))
    return Completion(text, unusable, name_of(content.get("model")), finish, tokens_in, tokens_out)


def output_of(written: Any, longest: int) -> tuple[str, str]:
    """The output as a file can store it, and why it must not be read; blank if it may.

    NUL and lone surrogates are escaped with a backslash. What is not text becomes JSON. Of a text
    that is too long, only both ends are kept.
    """
    unusable = ""
    text = written
    if not isinstance(text, str):
        text, unusable = json.dumps(written, ensure_ascii=False), NOT_TEXT
    if _UNWRITABLE.search(text):
        text = _UNWRITABLE.sub(lambda bad: ascii(bad[0])[1:-1], text)
        unusable = unusable or UNWRITABLE
    if len(text) * 6 > longest and len(json.dumps(text, ensure_ascii=False).encode()) > longest:
        cut = len(text) - 2 * _EXCERPT
        if cut > 0:
            text = f"{text[:_EXCERPT]}\n[… {cut:,} characters …]\n{text[-_EXCERPT:]}"
        unusable = unusable or TOO_LONG
    return text, unusable


def tokens_of(usage: Mapping[str, Any], text: str) -> tuple[int | None, int | None]:
    """Tokens in and out; None for both if either is impossible."""
    tokens_in = count_of(usage.get("prompt_tokens"))
    tokens_out = count_of(usage.get("completion_tokens"))
    if not tokens_in or tokens_out is None or (text and not tokens_out):
        return None, None
    return tokens_in, tokens_out


def name_of(value: Any) -> str:
    """A name reported by a server, as one printable line of bounded length."""
    if not isinstance(value, str):
        return ""
    start = value[: 4 * _NAME]
    return " ".join("".join(c if c.isprintable() else " " for c in start).split())[:_NAME]


def count_of(value: Any) -> int | None:
    """A token count if it is a whole number from 0 to ``MOST_TOKENS``, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        return None
    return value
