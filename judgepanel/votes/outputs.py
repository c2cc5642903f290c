"""Judge outputs (one per row) -> verdicts (one per row), in the long layout of votes files.

Parsing of judge outputs: which of the two responses does the judge call better?

Forms are tried from strict to loose; the first that matches decides. An output that supports both
sides or neither, or that is unreadable, has no verdict but a reason: nothing is guessed.

Sources: the four forms of arXiv 2605.09702 (appendix on judge panels) are ``bracket``, ``bold``,
``closing`` and ``letter``; ``field``, ``stated`` and ``opening`` occur in real outputs.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import cells, errors
from judgepanel.votes.attributes import first_given, given_rows, names_in, refuse_first, repeated
from judgepanel.votes.cells import SCORE_NAMES, find_column
from judgepanel.votes.choices import NO_CHOICES, Choices
from judgepanel.votes.columns import Column, Columns, first_shown, order_column, says_orders
from judgepanel.votes.errors import CORRECT_CELL, REMOVE_ROW, InputError, listed, quote_value
from judgepanel.votes.roles import judge_columns_of
from judgepanel.votes.table import (
    LEVELS,
    REASONS,
    Coverage,
    JudgeCoverage,
    Level,
    Parsed,
    RawTable,
    Side,
    Unread,
    read_scores,
    text_column,
)

CLOSING = 80
"""Number of final characters in which a side named alone is the verdict."""

Named = Side | Literal["tie"]
_SIDES: dict[str, Side] = {
    **dict.fromkeys(("a", "1", "first", "a>b", "b<a"), "A"),
    **dict.fromkeys(("b", "2", "second", "b>a", "a<b"), "B"),
}
"""What the groups of all patterns capture; any other word that they capture says a tie."""
_COMPARISON = re.compile(r"\s*([<>])[<>\s]*")
_BETTER = r"a\s*(?:>+|<+)\s*b|b\s*(?:>+|<+)\s*a"


def read_verdict(text: str) -> Parsed:
    """Return the verdict in one judge output.

    Reasoning blocks, code, block quotes and text in quotation marks are not the judge's own verdict
    and are skipped. Time is linear in the length of the text.
    """
    answer = text
    if not answer.isascii():
        answer = unicodedata.normalize("NFKC", answer).translate(_INVISIBLE)
    if "<" in answer or "◁" in answer or ("[" in answer and any(m in answer for m in _THINK)):
        # An unclosed block hides the rest; a block opened in the prompt ends at its closing mark.
        answer = _BLOCK.sub("\n", answer)
        ends = [closing.end() for closing in _END_OF_REASONING.finditer(answer)]
        answer = _TOKEN.sub("\n", answer[max(ends, default=0) :])
    answer = answer.strip()
    if not answer:
        return Parsed(None, reason="only reasoning" if text.strip() else "empty")
    for level, sides in _forms(answer):
        if len(sides) > 1:
            return Parsed(None, level, "contradiction")
        for side in sides:
            return Parsed(None, level, "tie") if side == "tie" else Parsed(side, level)
    return _in_scores(answer) or Parsed(None, reason=_why_unread(answer))


def _forms(text: str) -> Iterator[tuple[Level, set[Named]]]:
    """Yield forms from strict to loose with the sides that each supports."""
    own = _unquoted(text)
    is_marked = "\\boxed" in own or "</" in own
    yield "bracket", _sides(_BRACKET, own) | (_sides_in(_MARKED, own) if is_marked else set())
    yield "field", _sides_in(_FIELD, _own_json(text))
    bold = _sides(_BOLD, own)
    yield "bold", bold if len(bold) == 1 else set()  # Both in bold are headings.
    plain = _plain(own)
    yield "stated", _stated(plain)
    yield "closing", _closing(plain)
    yield "opening", _sides(_FIRST_LINE, plain[:CLOSING].lower())
    yield "letter", _sides(_BARE, plain[-CLOSING:])


def _side_of(match: re.Match[str]) -> Named:
    """Return the side that the only group of a match names."""
    word = match[match.lastindex or 0].lower()
    return _SIDES.get(_COMPARISON.sub(r"\1", word), "tie")


def _sides(pattern: re.Pattern[str], text: str) -> set[Named]:
    """Return the sides that a pattern finds."""
    return {_side_of(match) for match in pattern.finditer(text)}


def _sides_in(pattern: re.Pattern[str], text: str) -> set[Named]:
    """Return the sides that a pattern finds in a word or two, such as 'Output (b)' or 'A>B'."""
    found = (match[match.lastindex or 0] for match in pattern.finditer(text))
    return {side for words in found for side in _sides(_WORD, words)}


_BLOCK = re.compile(
    r"(?is)<(think|thinking|thought|reasoning|reflection|analysis|scratchpad)>.*?(?:</\1>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)"
    r"|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|begin_of_thought\|>.*?(?:<\|end_of_thought\|>|\Z)"
    r"|<\|channel\|>analysis<\|message\|>.*?(?=<\|channel\|>final|\Z)"
)
_END_OF_REASONING = re.compile(
    r"(?i)</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
)
_THINK = ("[T", "[t", "[/")
_INVISIBLE = dict.fromkeys(
    (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
)
_TOKEN = re.compile(r"<\|[a-z_]{1,32}\|>(?:final)?")


_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
# Every alternative begins with its quotation mark, so the search can skip to the next mark.
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|`[^`\n]{1,400}`|'(?<![\w\])]')[^'\n]{1,400}'(?!\w)"
)
_LAST_QUOTED = re.compile(
    r"(?:^|:|\bis)[*\s]*(?P<open>[\"'`“]+)(?P<said>[^\"'`“”\n]{1,40})[\"'`”]+[*.\s]*\Z", re.M
)
_BOXED = re.compile(r"\\(?:boxed|text|textbf)\b")


def _plain(text: str) -> str:
    for mark in ("*", "_", "`", "#"):
        text = text.replace(mark, "")
    return _BOXED.sub("", text).strip() if "\\" in text else text.strip()


def _unquoted(text: str) -> str:
    """Return the text without quotations; a verdict in quotation marks at its end is kept."""
    if "```" in text:
        text = _FENCED.sub("\n", text)
    if ">" in text:
        text = _BLOCK_QUOTE.sub("", text)
    ends_quoted = any(mark in text[-12:] for mark in ('"', "'", "`", "”"))
    last = _LAST_QUOTED.search(text, max(0, len(text) - 200)) if ends_quoted else None
    if last:
        text = f"{text[: last.start('open')]} {last['said']}"
    # An ASCII mark: a non-ASCII one would slow down every search of the text.
    return _QUOTED.sub("~", text).strip()


# [[A]], [[C]], [[tie]] and [[A>>B]]; '[[A]] if A is better' repeats the instructions.
_BRACKET = re.compile(
    rf"\[\[\s*(a|b|tie|c|a\s*=\s*b|{_BETTER})\s*\]\](?!\s+(?:if|when|means)\b)", re.IGNORECASE
)
# \boxed{A} and <answer>A</answer>.
_MARKED = re.compile(
    r"(?i)(?<!\bor )(?:\\boxed\s{0,3}\{(?:\\text(?:bf)?\s{0,3}\{)?"
    r"|<(answer|verdict|winner|choice|decision|preference)>)"
    r"([^{}<>\n]{1,40})(?:\}|</\1>)(?!\s+(?:if|when|means|or)\b)"
)


_OPEN_FENCE = re.compile(r"\A```\w*\s*")
_FIELD = re.compile(
    r"(?i)\"(?:final_?)?(?:verdict|winner|preference|preferred|choice|choose|chosen|better|best|"
    r"better_\w{1,20}|judg(?:e)?ment|decision|ranking|answer)\"\s*:\s*\"([^\"\n]{1,40})\""
)
_WORD = re.compile(
    r"(?i)\A[\[(\s]*(?:(?:output|solution|assistant|response|answer|model|option|candidate)"
    rf"[\s_]*[(\[]?(a|b|1|2)|(a|b|tie|draw|equal|both|c|{_BETTER}))[\])\s.]*\Z"
)


def _own_json(text: str) -> str:
    """Return the JSON that the output is, begins with or ends with; empty if there is none.

    JSON elsewhere may be quoted from a response.
    """
    text = _OPEN_FENCE.sub("", text).removesuffix("```").rstrip()
    if text.endswith("}") and not text.startswith("{"):
        return text[max(text.rfind("\n{"), 0) or text.rfind("{") :]
    return text if text.startswith("{") else ""


_BOLD = re.compile(r"\*\*\s*[\[(]?([AB])[\])]?\s*[.:]?\s*\*\*")

_NAMES = "output|solution|assistant|response|answer|model|option|candidate|completion|reply"
_NAME = rf"(?:{_NAMES})"
_SIDE = (
    rf"(?:\b{_NAME}\s{{0,3}}[(\[]?([ab12])\b[)\]]?(?!['’])|\(([ab])\)"
    rf"|\b(first|second)\s{{1,3}}(?:{_NAME}|one)\b)"
)
_ADVERBS = (
    "clearly|slightly|much|significantly|marginally|overall|still|thus|therefore|generally|far|"
    "definitely|considered|judged|deemed|the|a|somewhat|ultimately|to be|indeed|also"
)
_STEMS = cells.ordered(
    "better|best|superior|prefer|stronger|win|verdict|choice|decision|conclusion|final answer|judg"
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
_I = re.compile(r"\bi(?: would| will|'d|'ll)? \Z")
_TIED = re.compile(
    r"(?:(?:verdict|winner|choice|preference|decision|judge?ment)\s{0,3}(?:is|:|is:)\s{0,3}(?:a )?"
    r"|\b(?:it is|it's|this is) a )(?:tie|draw)\b(?!-)"
    rf"|\bneither (?:{_NAMES}) is (?:better|preferred)\b"
)
_ONLY_TIE = re.compile(r"\W*(?:tie|draw)\W*\Z")
_CLAUSE_DOUBT = cells.words_in(
    "not|neither|nor|whether|cannot|can't|isn't|don't|hard|difficult|although|though|while"
)
_SENTENCE_DOUBT = cells.words_in(
    "if|unless|suppose|claim|claims|claimed|say|says|said|argue|argues|argued|ask|asks|instruct|"
    "instructs|tell|tells|disagree"
)
_ENDS = (".", "!", "?", "\n")
_BEFORE = 160
_NEAR, _AROUND = 20, 60


def _stated(text: str) -> set[Named]:
    """Match 'Output (a) is better', 'I prefer B', 'Verdict: A', unless the context casts doubt."""
    low = text.lower()
    sides: set[Named] = set()
    for statement in _statements(low):
        side = _side_of(statement)
        if side not in sides and not _in_doubt(low, statement.start()):
            sides.add(side)
    places = _places(low, (" tie", " draw", "neither "))
    if _ONLY_TIE.match(low) or any(_TIED.search(low, max(0, p - 20), p + 40) for p in places):
        sides.add("tie")
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
    if low.startswith("i ") or any(pattern in low for pattern in (" i ", "\ni ", " i'", "\ni'")):
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
    return not _CLAUSE_DOUBT.isdisjoint(sentence.rpartition(",")[2].split())


def _places(text: str, words: tuple[str, ...]) -> Iterator[int]:
    """Yield where any of the words occurs; plain searches are faster than one regex."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


_ANY_SIDE = re.compile(_SIDE)
_LINE = re.compile(rf"(?:\A|\n)[^\n\w(]*{_SIDE}[^\n\w(:]*(?=\n|\Z)")
_LAST_LINE = re.compile(rf"(?:\A|\n)[^\n\w(]*{_SIDE}\W*\Z")
_LAST_WORDS = re.compile(rf"{_SIDE}[)\]]?[.!]\W*\Z")
_COMPARED = re.compile(
    r"\b(?:than|not|unlike|neither|nor|versus|vs|or|and|of|in|from|to)\s+(?:the\s+)?\Z"
)


def _closing(text: str) -> set[Named]:
    """Match one side named at the very end, alone on its line or as the last word of a sentence.

    The other side must not be named nearby.
    """
    end = text[-CLOSING:].lower()
    if _LAST_LINE.search(end):
        return _sides(_LINE, end)
    last = _LAST_WORDS.search(end)
    compared = last is None or _COMPARED.search(end[: last.start()])
    return set() if compared else _sides(_ANY_SIDE, end)


# One side alone on the first line, but not as a heading.
_FIRST_LINE = re.compile(rf"\A[^\n\w(]*{_SIDE}[^\w:]*(?:\n|\Z)")
# A bare capital letter at the very end.
_BARE = re.compile(r"(?:\A|\n|[.:!?]\s)\s*[\[(]?([AB])[\])]?[\s.!]*\Z")

_KEYED_SCORE = re.compile(
    rf"(?i)\"(?:(?:{_NAME}_?)?([ab12])_?(?:score|rating)|(?:score|rating)_(?:{_NAME}_?)?([ab12]))\""
    r"\s*:\s*\"?(\d{1,4}(?:\.\d{1,6})?)\"?\s*[,}]"
)
_GAP, _OF = r"[ \t]{0,4}", r"(?:[ \t]{0,4}/[ \t]{0,4}(\d{1,4})(?![\d/]))"
_NUMBER = r"(\d{1,4}(?:\.\d{1,6})?)"
_TOTAL = r"(?:the )?(?:(?:final|overall|total) )?"
_SCORES = re.compile(
    rf"(?i)(?:\A|[\n,;/|.(]){_GAP}(?:[-*] )?{_TOTAL}(?:"
    rf"(?:score|rating){_GAP}(?:for |of )?(?:{_NAME}{_GAP})?[(\[]?([ab])[)\]]?"
    rf"|(?:{_NAME}{_GAP})?[(\[]?([ab])[)\]]?(?:'s)?{_GAP}(?:score|rating)"
    rf"|{_NAME}{_GAP}[(\[]?([ab12])[)\]]?(?={_GAP}[:=]?{_GAP}{_NUMBER}{_GAP}/)"
    rf"){_GAP}(?:[:=]|is)?{_GAP}{_NUMBER}{_OF}?(?![\d%])"
)
_VERSUS = re.compile(
    rf"(?i)(?:\A|\n)[^\n\w]{{0,9}}(?:{_TOTAL}(?:scores?|ratings?){_GAP}[:=]?{_GAP})?"
    rf"{_NUMBER}{_OF}{_GAP}(?:vs\.?|versus|-|–){_GAP}{_NUMBER}{_OF}[^\n\w]{{0,9}}(?=\n|\Z)"
)
_LOWER_IS_BETTER = re.compile(
    r"(?i)penalty|demerit|deduct|\brank|lower (?:scores?|ratings?|numbers?|is|means)"
    r"|(?:error|mistake|toxic\w*|hallucinat\w*|harm\w*|severity|bias|risk|violation)s?[ -]*"
    r"(?:score|rating|level|count|:)"
)


def _in_scores(text: str) -> Parsed | None:
    """Return the verdict in one score for each response, if higher is plainly better; else None.

    Several scores of a response have no stated sum, so they are no verdict.
    """
    low = text.lower()
    if not any(mark in low for mark in ("score", "rating", "/")):
        return None
    pairs = [(a or b, number, "") for a, b, number in _KEYED_SCORE.findall(_own_json(text))]
    if not pairs:
        plain = _plain(_unquoted(text))
        pairs = [(a or b or c, number, of) for a, b, c, _, number, of in _SCORES.findall(plain)]
        for first, of_first, second, of_second in _VERSUS.findall(plain):
            pairs += [("a", first, of_first), ("b", second, of_second)]
    if not pairs:
        return None
    numbers = {_SIDES[side.lower()]: float(number) for side, number, _ in pairs}
    one_scale = len({scale for *_, scale in pairs}) == 1
    if len(pairs) != 2 or len(numbers) != 2 or not one_scale or _LOWER_IS_BETTER.search(low):
        return Parsed(None, "score", "several scores")
    return read_scores(numbers["A"], numbers["B"])


_REFUSAL = re.compile(
    r"(?i)\A\W*(?:i(?:'m| am) (?:sorry|unable|not able)|sorry,|i can(?:not|'t) (?:help|assist|"
    r"comply|provide|evaluate|judge|compare)|as an ai\b)"
)
_ENDED = frozenset(".!?)]}\"'”’*`>。！？")
_FEWEST_CUT = 100
"""Characters of an output that may have been cut off."""


def _why_unread(text: str) -> str:
    """Return why an output has no verdict."""
    if _REFUSAL.match(text):
        return "refused"
    letters = [c for c in text[-400:] if c.isalpha()]
    if len(letters) > 3 and sum(not c.isascii() for c in letters) > len(letters) / 2:
        return "another script"
    cut = text[-1] not in _ENDED and (len(text) >= _FEWEST_CUT or text.startswith("{"))
    return "cut off" if cut or (text.startswith("{") and text[-1] != "}") else "no verdict"


Ints = NDArray[np.intp]

VERDICT = "verdict"
MAX_EXAMPLES = 60
_LOOKED_AT = 200
EXAMPLES_A_JUDGE = 3
_HEAD, _TAIL = 160, 400
UNUSABLE = "unusable"
PAIR = "pair_sha256"
NOT_TEXT = "not text"
UNWRITABLE = "a NUL or a broken Unicode character"
TOO_LONG = "too long"
OF_A_CALL = {PAIR, UNUSABLE} | cells.words_in(
    "served_by|finish|tokens_in|tokens_out|cost|most|seconds|attempts|asked"
)
"""Fields that `collect` stores with an output; ``UNUSABLE`` says why an output is not read."""


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The columns of a file of outputs: texts, scores of the responses shown as A and B, or both.

    Without ``order``, A is always the item's first output.
    """

    item: str
    judge: str
    text: str | None
    scores: tuple[str, ...]
    order: str | None
    stage: str | None

    @property
    def own(self) -> tuple[str, ...]:
        """Columns from which verdicts are read."""
        return tuple(filter(None, (self.text, *self.scores, self.order, self.stage)))

    def dropped(self, table: RawTable) -> list[str]:
        """Return the columns that are not needed beside the votes."""
        return [*self.own, *(name for name in table.columns if name in OF_A_CALL)]


def columns_of(table: RawTable, choices: Choices = NO_CHOICES) -> OutputColumns | None:
    """Return the columns that hold outputs; None if there are none or the file has verdicts.

    The text may have the name of a verdict, if it is written as outputs are.
    """
    if len(choices.id_column) > 1 or len(choices.judge_column) > 1:
        return None
    own, asked = Columns(table), choices.verdict_column
    free = [name for name in table.columns if name not in choices.columns]
    item = next(iter(choices.id_column), None) or find_column(free, cells.LONG_ITEM_NAMES)
    # One of a usual name, else by its words, which recur.
    named = [name for name in free if cells.JUDGE_WORDS & set(cells.tokens_of(name))]
    worded = (name for name in named if own[name].kind == "words")
    recurring = (name for name in worded if 2 * len(own[name].given) <= table.n_rows)
    judge = next(iter(choices.judge_column), None) or find_column(free, cells.LONG_JUDGE_NAMES)
    judge = judge or next(recurring, None)
    found = [asked] if asked else [find_column(free, (n,)) for n in cells.LONG_VERDICT_NAMES]
    verdicts = [name for name in found if name is not None]
    texts = [name for name in verdicts if _is_output(own[name])]
    text = (None if asked else find_column(free, cells.TEXT_NAMES)) or next(iter(texts), None)
    lower = {name.lower(): name for name in reversed(free)}
    scores = tuple(lower[name] for name in SCORE_NAMES if lower.keys() >= {*SCORE_NAMES})
    if item is None or judge is None or texts != verdicts or not (text or scores):
        return None
    order = choices.order_column or order_column(table)
    if choices.order_column is not None and not says_orders(own[choices.order_column]):
        order = None  # What its words mean is seen once the labels are known.
    columns = OutputColumns(item, judge, text, scores, order, find_column(free, ("stage",)))
    written = filter(None, (judge, text, *scores))
    of_votes = all(own[name].kind in ("verdicts", "empty") for name in written)
    if of_votes and not table.frame[item].duplicated().any():
        return None  # One row per item and only verdicts: these are judges with such names.
    # One response per row and a column per judge: the text is what was judged, not a verdict.
    return None if len(judge_columns_of(table, item, {*columns.dropped(table)})) > 1 else columns


def _is_output(column: Column) -> bool:
    """Whether a column holds texts, and a verdict can be read from many of the first ones."""
    if column.kind != "texts":
        return False
    sample = column.given[:_LOOKED_AT]
    sides = [read_verdict(text).side for text in sample]
    return 2 * sum(side is not None for side in sides) >= len(sample)


def transcribed(table: RawTable, choices: Choices = NO_CHOICES) -> RawTable:
    """Return the file with one verdict per item and judge if it holds outputs of judges.

    Each distinct output is parsed once. Of outputs in several stages the last counts. If a judge
    saw an item in both orders, its vote is the verdict that both give, or missing if they
    contradict each other; a verdict beside a tie or an unreadable output counts. Outputs with an
    unknown order are left out, with a note.

    Raises
    ------
    InputError
        An empty item or judge, a stage that is not a number, or two outputs of one judge on one
        item in the same order and stage.
    """
    columns = None if table.coverage is not None else columns_of(table, choices)
    if columns is None:
        return table
    with errors.in_file(table.name):
        items, ids = names_in(table, (columns.item,), "item id")
        raters, judges = names_in(table, (columns.judge,), "judge name", cells.is_role_name)
        forward, notes = first_shown(table, columns.order)
        if columns.order is None and choices.order_column is not None:
            notes = []
        rows = np.flatnonzero(forward >= 0)
        if columns.stage is not None:
            stages = pd.Series(_numbers(table, columns.stage, rows, "stage", blank=0.0))
            rows = rows[stages == stages.groupby([items[rows], raters[rows]]).transform("max")]
        codes, kinds = pd.factorize(_readings(table, columns, rows))
        # The outputs that count, and what those of an item and judge say together.
        said = pd.DataFrame(list(kinds), columns=["side", "level", "reason"], dtype="category")
        outputs = said.take(codes).reset_index(drop=True)
        outputs = outputs.assign(
            row=rows, item=items[rows], judge=raters[rows], forward=forward[rows] == 1
        )
        _refuse_twice(table, columns, outputs, judges)
        first, read = outputs["side"] == "A", outputs["side"].notna()
        one = read & (first == outputs["forward"])
        tie = outputs["reason"] == "tie"
        counted = outputs[["item", "judge"]].assign(n=1, read=read, one=one, first=first, tie=tie)
        pairs = counted.groupby(["item", "judge"], sort=False).sum()
        agreed = (pairs["one"] == pairs["read"]) | (pairs["one"] == 0)
        votes = np.where((pairs["read"] > 0) & agreed, 1 + (pairs["one"] > 0), 0)
        votes = np.where(pairs["tie"] == pairs["n"], 3, votes)
        kept = outputs.drop_duplicates(["item", "judge"])["row"].to_numpy()
        frame = _with_attributes(table, items, len(ids)).drop(columns=columns.dropped(table))
        result = replace(table, frame=frame).taken(kept)
        result.frame[VERDICT] = text_column(votes, ("", "0", "1", "tie"))
        by_judge = _by_judge(outputs, pairs, judges)
        present = {judge.judge for judge in by_judge}
        if gone := [name for name in judges if name not in present]:
            notes.append(f"No output of these judges counts, so they are left out: {listed(gone)}.")
        whole = Coverage(by_judge, _unread(table, columns.text, outputs, ids, judges), tuple(notes))
        task = table.task or "pairwise"
        return replace(result, coverage=whole, task=task, as_outputs=columns.own)


def _with_attributes(table: RawTable, items: Ints, n_items: int) -> pd.DataFrame:
    """Return the frame with each item's label, group and features also in rows that lack them.

    Only some rows are kept, and the others may be those that give them. Raises InputError if two
    rows of an item have another label: labels do not depend on the order that was shown.
    """
    label = find_column(table.columns, cells.LABEL_NAMES)
    group = find_column(table.columns, cells.GROUP_NAMES)
    features = (name for name in table.columns if name.startswith(cells.FEATURE_PREFIX))
    changed = {}
    for name in filter(None, (label, group, *features)):
        column = Columns(table)[name]
        rows, _ = first_given(column.codes, column.present, items, n_items)
        if name == label and cells.UNKNOWN not in (meanings := column.means(cells.Vocabulary())):
            rows = given_rows(table, name, meanings, meanings >= 0, items, n_items)
        places = np.where(column.present, np.arange(table.n_rows), rows[items])
        changed[name] = column.cells.array.take(places)
    return table.frame.assign(**changed)


def _readings(table: RawTable, columns: OutputColumns, rows: Ints) -> NDArray[np.object_]:
    """Return the reading of each of these rows; each distinct text is parsed once, scores first."""
    readings = np.full(len(rows), None, dtype=object)
    if columns.text is not None:
        texts = Column(columns.text, table.frame[columns.text])
        known = np.full(len(texts.words), None, dtype=object)
        for code in np.unique(texts.codes[rows]):
            known[code] = read_verdict(texts.words[code])
        readings = known[texts.codes[rows]]
    if columns.scores:
        first, second = (_numbers(table, name, rows, "score") for name in columns.scores)
        for k in range(len(rows)):
            if columns.text is None or not (np.isnan(first[k]) and np.isnan(second[k])):
                readings[k] = read_scores(first[k], second[k])
    if UNUSABLE in table.columns:
        unusable = table.frame[UNUSABLE].isin((NOT_TEXT, UNWRITABLE, TOO_LONG)).to_numpy()
        readings[unusable[rows]] = Parsed(None, reason="unusable")
    return readings


def _numbers(
    table: RawTable, column: str, rows: Ints, what: str, *, blank: float = math.nan
) -> NDArray[np.float64]:
    """Return the numbers in these rows of a column, ``blank`` where a cell is; refuse words."""
    own = Column(column, table.frame[column])
    numbers = np.array([float(w) if cells.is_number(w.strip()) else math.nan for w in own.words])
    codes = own.codes[rows]
    error = InputError(f"not a {what}", "a number, or blank", CORRECT_CELL)
    refuse_first(error, (np.isnan(numbers) & own.filled)[codes], table, column, rows)
    return np.asarray(np.where(own.filled, numbers, blank)[codes], dtype=float)


def _refuse_twice(
    table: RawTable, columns: OutputColumns, outputs: pd.DataFrame, judges: Sequence[str]
) -> None:
    of_pairs = outputs["item"] * len(judges) + outputs["judge"]
    again = repeated((2 * of_pairs + outputs["forward"]).to_numpy())
    if again is None:
        return
    first, second = outputs["row"].iloc[list(again)].tolist()
    judge = judges[outputs["judge"].iloc[again[1]]]
    error = InputError(
        f"judge {quote_value(judge)} already has an output on this item in this order in row "
        f"{table.row(first)}",
        "one output for each item, judge and order",
        f"{REMOVE_ROW}, or number the two in a column stage, where the last counts",
    )
    raise error.in_cell(table, columns.item, second)


def _by_judge(
    outputs: pd.DataFrame, pairs: pd.DataFrame, judges: Sequence[str]
) -> tuple[JudgeCoverage, ...]:
    both = pairs["read"] == 2
    same = both & (pairs["one"] != 1)
    twice_first = both & ~same & (pairs["first"] == 2)
    counts = pairs.assign(both=both, same=same, both_first=twice_first).groupby("judge").sum()
    numbers = counts[["n", "first", "both", "same", "both_first"]].to_numpy(int).tolist()
    read = outputs[outputs["side"].notna()]
    tables = (
        pd.crosstab(own["judge"], own[name]).reindex(counts.index, columns=known, fill_value=0)
        for own, name, known in ((read, "level", LEVELS), (outputs, "reason", REASONS))
    )
    rows = zip(counts.index, numbers, *(t.to_numpy(int).tolist() for t in tables), strict=True)
    return tuple(
        JudgeCoverage(judges[judge], total, tuple(levels), tuple(reasons), *own)
        for judge, (total, *own), levels, reasons in rows
    )


def _unread(
    table: RawTable, column: str | None, outputs: pd.DataFrame, ids: list[str], judges: list[str]
) -> tuple[Unread, ...]:
    """Return examples of outputs without a verdict: the first few non-empty ones of each judge."""
    silent = (outputs["reason"] == "empty") | (outputs["level"] == "score")
    unread = outputs[outputs["side"].isna() & ~silent]
    unread = unread[unread.groupby("judge").cumcount() < EXAMPLES_A_JUDGE].head(MAX_EXAMPLES)
    examples: list[Unread] = []
    for row, item, judge, reason in unread[["row", "item", "judge", "reason"]].to_numpy().tolist():
        text = "" if column is None else str(table.frame[column].iloc[row]).strip()
        if len(text) > _HEAD + _TAIL:
            # The end is longer, for verdicts are there.
            text = f"{text[:_HEAD].rstrip()} … {text[-_TAIL:].lstrip()}"
        examples.append(Unread(judges[judge], ids[item], table.row(row), reason, text))
    return tuple(examples)
