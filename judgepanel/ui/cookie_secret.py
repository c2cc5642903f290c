"""Is a cookie secret too weak to sign with? Whoever guesses it can sign in as anybody."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

LENGTH = 32
BITS = 90.0
"""The lowest estimate that passes; 32 random hexadecimal digits have about 115 bits."""
COMMAND = 'python3 -c "import secrets; print(secrets.token_hex(32))"'
_REPEATED = 5
_WORDS = (
    *("change", "cookie", "default", "example", "openssl", "passwor", "placeholder", "random"),
    *("replace", "secret", "test"),
)


def weakness(secret: object) -> str | None:
    """Why a secret must not sign cookies, as the end of a sentence; None if it may.

    The estimated entropy is the lowest of three: that of the characters, that of the differences
    between consecutive characters, and that of the characters that neither repeat an earlier
    stretch nor continue a sequence such as abc or 123. It tells phrases and patterns from random
    characters, but cannot recognise random characters that were published elsewhere.
    """
    if not isinstance(secret, str) or not secret:
        return "is missing"
    if len(secret) < LENGTH:
        return f"has {len(secret)} characters but needs at least {LENGTH}"
    lowered = secret.lower()
    has_words = any(word in lowered for word in _WORDS) or any(char.isspace() for char in secret)
    if has_words or (secret == lowered and not any(char.isdigit() for char in secret)):
        return "is a phrase, not random characters"
    if estimated_bits(secret) < BITS:
        return "is too regular to be random"
    return None


def estimated_bits(secret: str) -> float:
    """A rough estimate of the entropy of a text, in bits."""
    codes = [ord(char) for char in secret]
    steps = [after - before for before, after in pairwise(codes)]
    return min(_bits(codes), _bits(steps), _bits(codes) * _new_share(secret))


def _bits(values: Sequence[int]) -> float:
    """Shannon entropy of the values' frequencies times the number of values, in bits."""
    total = len(values)
    return -sum(n * math.log2(n / total) for n in Counter(values).values())


def _new_share(text: str) -> float:
    """Share of characters that neither end a repeated stretch nor continue a run such as abc."""
    codes = [ord(char) for char in text]
    seen: set[str] = set()
    known = 0
    for end in range(1, len(text) + 1):
        stretch = text[max(0, end - _REPEATED) : end]
        last = codes[max(0, end - 3) : end]
        runs = len(last) == 3 and last[2] - last[1] == last[1] - last[0] in (-1, 0, 1)
        known += runs or stretch in seen
        if len(stretch) == _REPEATED:
            seen.add(stretch)
    return 1.0 - known / len(text)
