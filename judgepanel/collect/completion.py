"""The body of an answer -> what the judge wrote, and only numbers and names that can be kept.

An endpoint may send anything. What is no completion is refused; an output that no file of votes
could hold is kept in an escaped form with the reason why it is not read as a verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgepanel.votes.transcripts import NOT_TEXT, TOO_LONG, UNWRITABLE

MOST_TOKENS = 1_000_000
"""Tokens of one call, in or out, that a server is believed to have counted."""
TEXT = 1 << 14
TEXT_A_TOKEN = 16
"""Bytes of an output that are kept as it is: so many, and so many more for each token that the
judge may use. English has about four bytes a token."""
_EXCERPT = 2_000
_NAME = 120
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


class NotACompletion(Exception):
    """The body is not the JSON of a chat completion."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the judge wrote; why it counts as no output (blank: it does); who wrote it; tokens.

    The numbers of tokens are None where the server did not say them, or not credibly.
    """

    text: str
    unusable: str
    model: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None


def longest_text(max_tokens: int) -> int:
    """Bytes of an output, as JSON, that are kept as it is."""
    return TEXT + TEXT_A_TOKEN * max_tokens


def read_completion(body: bytes, longest: int) -> Completion:
    """The first choice of a completion; of a key given twice the last counts.

    Raises
    ------
    NotACompletion
        Not UTF-8, not JSON, too deep or with numbers too long for a parser, or without a choice
        that has a message.
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
    """The output as a file can hold it, and why it is not to be read, blank where it is.

    NUL and lone surrogates are escaped with a backslash, what is not text becomes JSON, and of what
    is too long the two ends are left.
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
    """Tokens in and out, or None for both where one of the two cannot be."""
    tokens_in = count_of(usage.get("prompt_tokens"))
    tokens_out = count_of(usage.get("completion_tokens"))
    if not tokens_in or tokens_out is None or (text and not tokens_out):
        return None, None
    return tokens_in, tokens_out


def name_of(value: Any) -> str:
    """A name that a server gives, on one printable line of bounded length."""
    if not isinstance(value, str):
        return ""
    start = value[: 4 * _NAME]
    return " ".join("".join(c if c.isprintable() else " " for c in start).split())[:_NAME]


def count_of(value: Any) -> int | None:
    """A number of tokens that can be: whole, not negative, at most ``MOST_TOKENS``; else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        return None
    return value
