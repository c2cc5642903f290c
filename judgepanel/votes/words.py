"""Verdict words: how people write "the first is better", "good", "a tie" and "no verdict"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.names import ordered, words_in

UNKNOWN, TIE, ABSTAINED = -2, -3, -4
"""Meanings of words beside the votes 1 and 0 and ``MISSING``."""
ALLOWED_LABELS = (
    "0, 1, true, false, yes, no, correct, incorrect, pass, fail, A, B, [[A]], [[B]], A>B, B>A, "
    "model_a, model_b, or blank for no label"
)

MISSING_WORDS = words_in("|na|n/a|nan|null|none|<na>")
_TIES = words_in(
    "tie|tie (bothbad)|tie(bothbad)|both|draw|tied|a tie|equal|same|[[c]]|[[a=b]]|a=b|b=a|both_bad|"
    "both bad|bothbad|both good|neither|no preference|about the same|equally good"
)
_ABSTENTIONS = words_in(
    "unsure|undecided|abstain|abstained|skipped|no answer|cannot tell|-|?|error|timeout|unparsed|"
    "unparseable|unparsable|parse error|invalid json|no verdict|no_verdict|not found|discarded|"
    "refused|refusal|#n/a|#value!"
)
CODES = {
    **dict.fromkeys((-1.0, -9.0, -77.0, -88.0, -99.0, -999.0, -9999.0), 1e9),
    **{99.0: 10.0, 999.0: 100.0, 9999.0: 100.0},
}
"""Numbers for no answer in surveys, each with the largest grade beside which it is one."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_OPPOSITES = ordered(
    "yes/no|correct/incorrect|pass/fail|passed/failed|good/bad|acceptable/unacceptable|"
    "accepted/rejected|accept/reject|approved/rejected|approve/reject|valid/invalid|"
    "success/failure|ok/not ok|supported/unsupported|factual/hallucinated|faithful/unfaithful|"
    "grounded/ungrounded|relevant/irrelevant|safe/unsafe|helpful/unhelpful|harmless/harmful|"
    "non-toxic/toxic|agree/disagree|satisfied/unsatisfied|compliant/non-compliant|"
    "resolved/unresolved|correct/wrong"
)
"""Words for a response that is good and for one that is not."""
_GOOD, _BAD = (frozenset(pair.split("/")[side] for pair in _OPPOSITES) for side in (0, 1))
_MEANINGS: dict[str, int] = {
    **dict.fromkeys(("1", "true", *_GOOD), 1),
    **dict.fromkeys(("0", "false", *_BAD), 0),
    **dict.fromkeys(MISSING_WORDS, MISSING),
    **dict.fromkeys(_TIES, TIE),
    **dict.fromkeys(_ABSTENTIONS, ABSTAINED),
}
_NAMES = "output|solution|assistant|response|answer|model|option|candidate|completion|reply|system"
_SIDES = re.compile(
    rf"(?:the )?(?:(?:{_NAMES})[ _-]?\(?([ab12])\)?|\[\[([ab])\]\]"
    rf"|([ab])|(first|second)(?: (?:one|{_NAMES}))?)"
    r"(?: (?:is )?(?:slightly |much |clearly )?(?:better|wins|won|preferred))?"
)
_COMPARED = re.compile(r"(?:\[\[)?\s*(?:model_)?([ab])\s*(>|<)\2*\s*(?:model_)?([ab])\s*(?:\]\])?")
_IN_PAIRS = ({"left": 1, "right": 0}, {"y": 1, "n": 0})
"""Words that are verdicts only where both of a pair occur: *right* alone may mean correct."""
_PAIRED = {word: code for pair in _IN_PAIRS for word, code in pair.items()}
TWOS = frozenset(("2", "2.0", "2,0"))
_HALVES = frozenset(("0.5", ".5", "0.50", "0.500"))
_FORMS: dict[str, frozenset[str]] = {
    "0/1": frozenset(("0", "1", "0.0", "1.0", "0,0", "1,0")),
    "true/false": frozenset(("true", "false")),
    "A/B": frozenset(("a", "b")),
    "[[A]]/[[B]]": frozenset(("[[a]]", "[[b]]", "[[c]]")),
    "A>B/B>A": frozenset(("a>b", "a > b", "b>a", "b > a")),
    "model_a/model_b": frozenset(("model_a", "model_b")),
    **{pair: frozenset(pair.split("/")) for pair in _OPPOSITES},
}
_LONGEST = 60


def plain(word: str) -> str:
    """Return a word without case and surrounding blanks, with a decimal point for a comma."""
    return decimal_of(word.strip().lower())


def meaning_of(word: str) -> int:
    """Return 1 (the first, good), 0, or why a word is no vote.

    That is ``MISSING``, ``TIE``, ``ABSTAINED`` (unsure, skipped, an error) or ``UNKNOWN``.
    """
    text = plain(word)
    known = _MEANINGS.get(text)
    if known is not None:
        return known
    if is_number(text):
        number = float(text)
        if number in (0.0, 1.0, -1.0):
            return int(number)
        return ABSTAINED if number in CODES else UNKNOWN
    side = side_of(text)
    return UNKNOWN if side is None else side


def side_of(word: str) -> int | None:
    """Return 1 for a word for the first of two responses, 0 for the second, else None."""
    text = plain(word)
    if len(text) > _LONGEST:
        return None
    if match := _SIDES.fullmatch(text):
        return int(next(filter(None, match.groups())) in ("a", "1", "first"))
    match = _COMPARED.fullmatch(text)
    if match is None or match[1] == match[3]:
        return None
    return int((match[1] == "a") == (match[2] == ">"))


def verdict_of(word: str) -> int:
    """Return 1 (the first, A, or true), 0, -1 (no verdict, or a tie) or ``UNKNOWN`` (-2)."""
    meaning = meaning_of(word)
    return MISSING if meaning < UNKNOWN else meaning


def decimal_of(text: str) -> str:
    """Return the text with a decimal point if it is a number with a decimal comma."""
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def is_verdict(word: str) -> bool:
    """Whether the word is a verdict, a tie or a missing-value word."""
    return meaning_of(word) != UNKNOWN


def is_missing(word: str) -> bool:
    """Whether the word stands for an empty cell."""
    return word.strip().lower() in MISSING_WORDS


def is_good_or_bad(word: str) -> bool:
    """Whether a word says that a single response is good or bad."""
    return plain(word) in _GOOD | _BAD


def form_of(words: Sequence[str], models: Collection[str] = ()) -> str:
    """Return how verdicts are written, for people: ``0/1``, ``A/B``, ``yes/no``, ...

    ``models`` are names of models that may be verdicts; other words are shown as they are.
    """
    texts = {word.strip().lower() for word in words}
    numbers = {float(plain(word)) for word in texts if is_number(plain(word))}
    if 2.0 in numbers:
        return "1/2" if numbers <= {-1.0, 0.0, 1.0, 2.0} else "numbers"
    others = [w for w in words if meaning_of(w) == UNKNOWN and not is_number(plain(w))]
    if others:
        named = all(word.strip() in models for word in others)
        return "names of models" if named else "/".join(quote_value(w, 20) for w in others[:3])
    forms = [name for name, members in _FORMS.items() if texts & members]
    return ", ".join(forms) or "0/1"


NO_WORDS: Mapping[str, int] = MappingProxyType({})


def parsed_words(text: str) -> dict[str, int]:
    """Return meanings by word from a text such as ``partial=0,good=1,tie=``.

    A word may stand for 1, 0, ``tie`` or nothing (no verdict).

    Raises
    ------
    InputError
        A part that is no word with one of these meanings.
    """
    meanings: dict[str, int] = {}
    for part in filter(str.strip, text.split(",")):
        word, equals, meant = part.rpartition("=")
        code = given_meaning(meant)
        if code is None or not equals or not word.strip():
            allowed = "WORD=1, WORD=0, WORD=tie or WORD= (no verdict), separated by commas"
            raise InputError("the meaning of a word cannot be read", allowed, value=part)
        meanings[plain(word)] = code
    return meanings


def words_text(meanings: Mapping[str, int]) -> str:
    """Return the text from which :func:`parsed_words` reads these meanings."""
    names = {code: name for name, code in MEANT.items()}
    return ",".join(f"{word}={names[code]}" for word, code in meanings.items())


MEANT = {"1": 1, "0": 0, "tie": TIE, "": MISSING}


def given_meaning(meant: object) -> int | None:
    """Return the code of a meaning as users give it: 1, 0, ``tie`` or nothing; None for others."""
    if meant is None:
        return MISSING
    if isinstance(meant, str):
        return MEANT.get(meant.strip().lower())
    return int(meant) if isinstance(meant, int) and meant in MEANT.values() else None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How the words of one file are read, where a word alone does not tell.

    Parameters
    ----------
    given : meanings that the user gave, by word without case.
    paired : words that are verdicts since the other of their pair occurs too, left and right.
    twos : whether 1 and 2 name the first and the second response: no label or verdict is 0.
    """

    given: Mapping[str, int] = field(default_factory=dict)
    paired: Mapping[str, int] = field(default_factory=dict)
    twos: bool = False

    @classmethod
    def of(
        cls, columns: Iterable[Iterable[str]], *, pairwise: bool, given: Mapping[str, int]
    ) -> Vocabulary:
        """Return the vocabulary of columns of verdicts, each given by its distinct words."""
        known: set[str] = set()
        numbered, zero = False, False
        for words in columns:
            texts = {plain(word) for word in words}
            known |= texts & _PAIRED.keys()
            zero |= any(text[:1].isdigit() and meaning_of(text) == 0 for text in texts)
            others = texts - TWOS - _PAIRED.keys() - given.keys()
            numbered |= bool(texts & TWOS) and all(map(is_verdict, others))
        pairs = [pair for pair in _IN_PAIRS if pair.keys() <= known]
        paired = {word: code for pair in pairs for word, code in pair.items()}
        return cls(given, paired, pairwise and numbered and not zero)

    def meaning(self, word: str) -> int:
        """Return the meaning of a word, as :func:`meaning_of` does."""
        text = plain(word)
        usual = 0 if self.twos and text in TWOS else meaning_of(text)
        return self.given.get(text, self.paired.get(text, usual))

    @property
    def places(self) -> bool:
        """Whether left and right are verdicts."""
        return "left" in self.paired

    def knows(self, word: str) -> bool:
        """Whether the word is a verdict, a tie or says that there is none."""
        return self.meaning(word) != UNKNOWN

    def meanings(self, words: Iterable[str], *, halves: bool = False) -> NDArray[np.int8]:
        """Return int8 meanings of words; with ``halves`` .5 beside 0 and 1 alone is a tie."""
        words = list(words)
        codes = np.array([self.meaning(word) for word in words] or [MISSING], dtype=np.int8)
        rest = [word for word in words if plain(word) not in _HALVES]
        if halves and len(rest) < len(words) and form_of(rest) == "0/1":
            codes[[plain(word) in _HALVES for word in words]] = TIE
        return codes


def mixed_words(words: Iterable[str]) -> tuple[str, str] | None:
    """Return a better-or-worse word and a good-or-bad word, if both occur."""
    texts = sorted({word.strip().lower() for word in words})
    better = next((word for word in texts if side_of(word) is not None), None)
    good = next((word for word in texts if is_good_or_bad(word)), None)
    return None if better is None or good is None else (better, good)


def distinct(cells: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes (n,) into the list of distinct words in the cells."""
    if isinstance(cells.array, pd.Categorical):  # ``cells.cat`` would take ten times as long.
        return np.asarray(cells.array.codes), list(map(str, cells.array.categories.tolist()))
    codes, words = pd.factorize(cells)
    return np.asarray(codes), [str(word) for word in words]


def counted_words(cells: pd.Series, wanted: Iterable[int], vocabulary: Vocabulary) -> str:
    """Return words of these meanings with their numbers of cells, the most frequent first."""
    codes, words = distinct(cells)
    counts = np.bincount(codes, minlength=len(words))
    meanings = vocabulary.meanings(words)
    hits = [k for k in np.argsort(-counts, kind="stable") if counts[k] and meanings[k] in wanted]
    named = ", ".join(f"{quote_value(words[k], 30)} ({counts[k]:,})" for k in hits[:12])
    return named if len(hits) <= 12 else f"{named} and {len(hits) - 12} more"
