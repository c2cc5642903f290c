"""Parsing of judge outputs: which of the two responses does the judge call better?

Forms are tried from strict to loose; the first that matches decides. An output that supports both
sides or neither, or that is unreadable, has no verdict but a reason: nothing is guessed.

Sources: the four forms of arXiv 2605.09702 (appendix on judge panels) are ``bracket``, ``bold``,
``closing`` and ``letter``; ``field``, ``stated`` and ``opening`` occur in real outputs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from judgepanel.votes.verdicts import Level, Reading

CLOSING = 80
"""Number of final characters in which a side named alone is the verdict."""

_TIE = "tie"


def read_verdict(text: str) -> Reading:
    """Return the verdict in one judge output.

    Reasoning blocks, code, block quotes and text in quotation marks are not the judge's own verdict
    and are skipped. Time is linear in the length of the text.
    """
    if not text.strip():
        return Reading(None, reason="empty")
    reasoning = _without_reasoning(text)
    if not reasoning:
        return Reading(None, reason="only reasoning")
    for level, verdict in _forms(reasoning):
        if len(verdict) > 1:
            return Reading(None, level, "contradiction")
        if verdict:
            (side,) = verdict
            if side == _TIE:
                return Reading(None, level, "tie")
            return Reading("A" if side == "A" else "B", level)
    return Reading(None, reason="no verdict")


def _forms(sentence: str) -> Iterator[tuple[Level, set[str]]]:
    """Yield forms from strict to loose with the sides that each supports."""
    own = _unquoted(sentence)
    yield "bracket", _brackets(own)
    yield "field", _fields(sentence)
    plain = _plain(own)
    yield "bold", _bold(own)
    yield "stated", _stated(plain)
    yield "closing", _closing(plain)
    yield "opening", _opening(plain)
    yield "letter", _letter(plain)


_BLOCK = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|analysis|scratchpad)>.*?(?:</\1>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)"
    r"|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|begin_of_thought\|>.*?(?:<\|end_of_thought\|>|\Z)"
    r"|<\|channel\|>analysis<\|message\|>.*?(?=<\|channel\|>final|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END_OF_REASONING = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>",
    re.IGNORECASE,
)
_THINK = ("[T", "[t", "[/")
_TOKEN = re.compile(r"<\|[a-z_]{1,32}\|>(?:final)?")


def _without_reasoning(text: str) -> str:
    """Return the text after its reasoning, with full-width characters normalised.

    An unclosed block hides the rest; a block opened in the prompt ends at its closing mark.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "<" in text or "◁" in text or ("[" in text and any(mark in text for mark in _THINK)):
        text = _BLOCK.sub("\n", text)
        ends = [closing.end() for closing in _END_OF_REASONING.finditer(text)]
        text = text[max(ends, default=0) :]
        text = _TOKEN.sub("\n", text)
    return text.strip()


_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
# Every alternative begins with its quotation mark, so the search can skip to the next mark.
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|`[^`\n]{1,400}`|'(?<![\w\])]')[^'\n]{1,400}'(?!\w)"
)
_QUOTES = ('"', "'", "`", "”")
_LAST_QUOTED = re.compile(
    r"(?:^|:|\bis)[*\s]*(?P<open>[\"'`“]+)(?P<said>[^\"'`“”\n]{1,40})[\"'`”]+[*.\s]*\Z", re.M
)
_MARKUP = ("*", "_", "`", "#")
_BOXED = re.compile(r"\\(?:boxed|text|textbf)\b")


def _plain(text: str) -> str:
    for mark in _MARKUP:
        text = text.replace(mark, "")
    return _BOXED.sub("", text).strip() if "\\" in text else text.strip()


def _unquoted(text: str) -> str:
    """Return the text without quotations; a verdict in quotation marks at its end is kept."""
    if "```" in text:
        text = _FENCED.sub("\n", text)
    if ">" in text:
        text = _BLOCK_QUOTE.sub("", text)
    ends_quoted = any(mark in text[-12:] for mark in _QUOTES)
    last = _LAST_QUOTED.search(text, max(0, len(text) - 200)) if ends_quoted else None
    if last:
        text = f"{text[: last.start('open')]} {last['said']}"
    # An ASCII mark: a non-ASCII one would slow down every search of the text.
    return _QUOTED.sub("~", text).strip()


# '[[A]] if assistant A is better' repeats the instructions and is not a verdict.
_BRACKET = re.compile(
    r"\[\[\s*(?:(a|b)|(tie|c|a\s*=\s*b)|(a\s*>+\s*b)|(b\s*>+\s*a))\s*\]\]"
    r"(?!\s+(?:if|when|means)\b)",
    re.IGNORECASE,
)


def _brackets(text: str) -> set[str]:
    """[[A]], [[B]], [[C]] or [[tie]], and [[A>>B]] to [[B>>A]]."""
    if "[[" not in text:
        return set()
    brackets = set()
    for letter, tie, first, second in _BRACKET.findall(text):
        brackets.add(letter.upper() or (tie and _TIE) or (first and "A") or (second and "B"))
    return brackets


_OPEN_FENCE = re.compile(r"\A```\w*\s*")
_FIELD = re.compile(
    r"\"(?:final_?)?(?:verdict|winner|preference|preferred|choice|choose|chosen|better|best|"
    r"better_\w{1,20}|judg(?:e)?ment|decision|ranking|answer)\"\s*:\s*\"([^\"\n]{1,40})\"",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"[\[(\s]*(?:(?:output|solution|assistant|response|answer|model|option|candidate)"
    r"[\s_]*[(\[]?(a|b|1|2)|(a|b)|(tie|draw|equal|both|c)|(a\s*>+\s*b)|(b\s*>+\s*a))[\])\s.]*\Z",
    re.IGNORECASE,
)


def _fields(text: str) -> set[str]:
    """Return the side in JSON fields, {"winner": "A"}, that are or end the output, fenced or not.

    JSON elsewhere may be quoted from a response.
    """
    text = _OPEN_FENCE.sub("", text).removesuffix("```").rstrip()
    if text.endswith("}") and not text.startswith("{"):
        text = text[max(text.rfind("\n{"), 0) or text.rfind("{") :]
    elif not text.startswith("{"):
        return set()
    verdicts = set()
    for value in _FIELD.findall(text):
        word = _WORD.match(value)
        if word:
            named, letter, tie, first, second = word.groups()
            side = _LETTERS.get((named or letter or "").lower())
            verdicts.add(side or (tie and _TIE) or (first and "A") or (second and "B") or "")
    return verdicts - {""}


_BOLD = re.compile(r"\*\*\s*[\[(]?([AB])[\])]?\s*[.:]?\s*\*\*")


def _bold(text: str) -> set[str]:
    """Match **A** or **B**; if both are bold they are headings and support neither."""
    phrases = set(_BOLD.findall(text)) if "**" in text else set()
    return phrases if len(phrases) == 1 else set()


_NAMES = "output|solution|assistant|response|answer|model|option|candidate|completion|reply"
_NAME = rf"(?:{_NAMES})"
_SIDE = (
    rf"(?:\b{_NAME}\s{{0,3}}[(\[]?([ab12])\b[)\]]?(?!['’])|\(([ab])\)"
    rf"|\b(first|second)\s{{1,3}}{_NAME}\b)"
)
_ADVERBS = (
    "clearly|slightly|much|significantly|marginally|overall|still|thus|therefore|generally|far|"
    "definitely|considered|judged|deemed|the|a|somewhat|ultimately|to be|indeed|also"
)
_STEMS = (
    *("better", "best", "superior", "prefer", "stronger", "win", "verdict", "choice", "decision"),
    *("conclusion", "final answer", "judg"),
)
"""Every statement contains one of these stems, or a verb in the first person."""
_IS_BETTER = re.compile(
    rf"{_SIDE}\s{{1,3}}(?:is|was|seems|appears|would be|should be|remains)\s{{1,3}}"
    rf"(?:(?:{_ADVERBS})\s{{1,3}}){{0,4}}\Z"
)
_WINS = re.compile(rf"{_SIDE}\s{{1,3}}\Z")
_AFTER_BETTER = re.compile(
    r"(?:better|best|superior|preferred|preferable|stronger|winner|winning|wins)"
    r"(?:\s*(?:[.,;:!)\n—–-]|\Z)|\s+(?:than|because|as|since|overall|here|due|one|choice|given|and|"
    rf"but|based|{_NAMES}|in (?:this|the) (?:case|context)|"
    r"for (?:the|this) (?:given )?(?:instruction|question|prompt|task))\b)"
)
_CHOICE = rf"\s{{0,3}}(?:the |that )?(?:{_SIDE}|[(\[]?([ab])[)\]]?(?=\s*(?:[.,;:!\n]|\Z)))"
_NAMED = re.compile(
    rf"(?:verdict|winner|choice|preference|decision|conclusion|final answer|judge?ment|"
    rf"[a-z]{{1,20}} (?:{_NAMES}|one|choice))\s{{0,3}}(?:is|would be|:|is:){_CHOICE}"
)
_VERBS = ("choose ", "prefer ", "select ", "pick ", "favor ", "favour ", "go with ", "vote for ")
_CHOSEN = re.compile(rf"[a-z]+(?: with| for)?{_CHOICE}")
_FIRST_PERSON = (" i ", "\ni ", " i'", "\ni'")
_I = re.compile(r"\bi(?: would| will|'d|'ll)? \Z")
_TIE_WORDS = (" tie", " draw", "neither ")
_TIED = re.compile(
    r"(?:(?:verdict|winner|choice|preference|decision|judge?ment)\s{0,3}(?:is|:|is:)\s{0,3}(?:a )?"
    r"|\b(?:it is|it's|this is) a )(?:tie|draw)\b(?!-)"
    rf"|\bneither (?:{_NAMES}) is (?:better|preferred)\b"
)
_ONLY_TIE = re.compile(r"\W*(?:tie|draw)\W*\Z")
_CLAUSE_DOUBT = {
    *("not", "neither", "nor", "whether", "cannot", "can't", "isn't", "don't", "hard", "difficult"),
    *("although", "though", "while"),
}
_SENTENCE_DOUBT = {
    *("if", "unless", "suppose", "claim", "claims", "claimed", "say", "says", "said", "argue"),
    *("argues", "argued", "ask", "asks", "instruct", "instructs", "tell", "tells", "disagree"),
}
_ENDS = (".", "!", "?", "\n")
_BEFORE = 160
_NEAR, _AROUND = 20, 60


def _stated(text: str) -> set[str]:
    """Match 'Output (a) is better', 'I prefer B', 'Verdict: A', unless the context casts doubt."""
    low = text.lower()
    sides: set[str] = set()
    for statement in _statements(low):
        side = _letter_of(statement)
        if side not in sides and not _in_doubt(low, statement.start()):
            sides.add(side)
            if len(sides) > 1:
                return sides
    places = _places(low, _TIE_WORDS)
    if _ONLY_TIE.match(low) or any(_TIED.search(low, max(0, p - 20), p + 40) for p in places):
        sides.add(_TIE)
    return sides


def _statements(low: str) -> Iterator[re.Match[str]]:
    """Yield every statement that prefers a side."""
    for at in _places(low, _STEMS):
        search = _NAMED.match(low, at)
        if search is None and _AFTER_BETTER.match(low, at):
            form = _WINS if low.startswith("wins", at) else _IS_BETTER
            # The side usually stands right before, and a short window is faster to search.
            search = form.search(low, max(0, at - _NEAR), at)
            search = search or form.search(low, max(0, at - _AROUND), at)
        if search:
            yield search
    if low.startswith("i ") or any(pattern in low for pattern in _FIRST_PERSON):
        for at in _places(low, _VERBS):
            chosen = _CHOSEN.match(low, at) if _I.search(low, max(0, at - 9), at) else None
            if chosen:
                yield chosen


def _in_doubt(low: str, at: int) -> bool:
    """Whether the preceding text of the sentence makes it less than the judge's own statement."""
    before = low[max(0, at - _BEFORE) : at]
    sentence = before[1 + max(before.rfind(end) for end in _ENDS) :].replace(";", ",")
    split = sentence.replace(",", " ").split()
    if not _SENTENCE_DOUBT.isdisjoint(split) or "in terms of" in sentence:
        return True
    if _CLAUSE_DOUBT.isdisjoint(split):
        return False
    return not _CLAUSE_DOUBT.isdisjoint(sentence.rpartition(",")[2].split())


def _places(text: str, words: tuple[str, ...]) -> Iterator[int]:
    """Yield where any of the words occurs; plain searches are faster than one regex."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


def _letter_of(match: re.Match[str]) -> str:
    return _LETTERS[next(filter(None, match.groups()))]


_LETTERS = {"a": "A", "1": "A", "first": "A", "b": "B", "2": "B", "second": "B"}
_ANY_SIDE = re.compile(_SIDE)
_LINE = re.compile(rf"(?:\A|\n)[^\n\w(]*{_SIDE}[^\n\w(:]*(?=\n|\Z)")
_LAST_LINE = re.compile(rf"(?:\A|\n)[^\n\w(]*{_SIDE}\W*\Z")
_LAST_WORDS = re.compile(rf"{_SIDE}[)\]]?[.!]\W*\Z")
_COMPARED = re.compile(r"\b(?:than|not|unlike|neither|nor|versus|vs|or|and|of|in|from|to)\s+\Z")


def _closing(text: str) -> set[str]:
    """Match one side named at the very end, alone on its line or as the last word of a sentence.

    The other side must not be named nearby.
    """
    end = text[-CLOSING:].lower()
    if _LAST_LINE.search(end):
        return {_letter_of(match) for match in _LINE.finditer(end)}
    search = _LAST_WORDS.search(end)
    if not search or _COMPARED.search(end[: search.start()]):
        return set()
    return {_letter_of(match) for match in _ANY_SIDE.finditer(end)}


_FIRST_LINE = re.compile(rf"\A[^\n\w(]*{_SIDE}[^\w:]*(?:\n|\Z)")


def _opening(text: str) -> set[str]:
    """Match one side alone on the first line, but not as a heading."""
    match = _FIRST_LINE.match(text[:CLOSING].lower())
    return {_letter_of(match)} if match else set()


_BARE = re.compile(r"(?:\A|\n|[.:!?]\s)\s*[\[(]?([AB])[\])]?[\s.!]*\Z")


def _letter(text: str) -> set[str]:
    """Match a bare capital letter at the very end."""
    search = _BARE.search(text[-CLOSING:])
    return {search[1]} if search else set()
