"""Escaping of text cells so that spreadsheets do not run them and readers restore them exactly.

A leading apostrophe is how spreadsheets mark a cell as text. The writer adds one to a text that
would be run as a formula or read as something else (a *guarded* text); the reader removes one from
a guarded text that has one, and strips blanks from every other cell. Both look at the text behind
its apostrophes, so the pair is a bijection: ``unshield(shield(x)) == x``.

A list of names is one text too (:func:`join_names`): commas between them, quotes where needed.

Verdict words: how people write "the first is better", "good", "a tie" and "no verdict".

What the name of a column says: the role that it names, and the words in it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING

# No two parts of the pattern match the same digits, which would make backtracking quadratic.
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""What no text in a file of votes can hold: NUL and half a surrogate pair."""
_SEPARATORS = frozenset(',;|\t"\r\n')
_IN_LIST = frozenset(',"\r\n')
_FORMULA_STARTS = frozenset("=+-@\t\r\n＝＋－＠")


def is_number(text: str) -> bool:
    """Whether the text is a plain decimal number such as ``-0.5`` or ``1e-3``."""
    return NUMBER.fullmatch(text) is not None


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would try to run the text; plain numbers are not formulas."""
    return text[:1] in _FORMULA_STARTS and not is_number(text)


def csv_safe(text: str) -> str:
    """Return the text for a cell of an exported table, formulas with a leading apostrophe.

    Not reversible. Vote files use ``shield``, which ``unshield`` undoes.
    """
    return f"'{text}" if is_formula(text) else text


def csv_quoted(text: str, special: frozenset[str] = _SEPARATORS) -> str:
    """Return the text as a CSV holds it, quoted if a reader could take a part as a separator."""
    return text if special.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


def not_reserved(_text: str) -> bool:
    """No text is reserved here."""
    return False


def shield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """Return the text as a vote file holds it, with one more apostrophe if it is guarded.

    ``reserved`` tells which texts would be read as something else here, for example ``label`` as
    the name of a judge.
    """
    return f"'{text}" if _guarded(text, reserved) else text


def unshield(text: str, reserved: Callable[[str], bool] = not_reserved) -> str:
    """Return the text in a cell of a vote file: the inverse of ``shield``, with blanks stripped."""
    if text.startswith("'") and _guarded(text, reserved):
        return text[1:]
    return text.strip()


def _guarded(text: str, reserved: Callable[[str], bool]) -> bool:
    core = text.lstrip("'")
    return is_formula(core) or core != core.strip() or reserved(core)


def join_names(names: Iterable[str]) -> str:
    """Return the text from which :func:`split_names` reads these names."""
    return ",".join(csv_quoted(name, _IN_LIST) for name in names)


def split_names(text: str) -> list[str]:
    """Return the names in a text, without blanks around them.

    Raises
    ------
    InputError
        A line break outside quotes, or a name longer than any file may have.
    """
    try:
        return [name.strip() for row in csv.reader([text]) for name in row if name.strip()]
    except csv.Error:
        allowed = "names separated by commas, in double quotes where they contain a comma"
        raise InputError("these names cannot be read", allowed, value=text) from None


def ordered(text: str) -> tuple[str, ...]:
    """Return the names in a text in their order; bars separate them."""
    return tuple(text.split("|"))


def words_in(text: str) -> frozenset[str]:
    """Return the words in a text, which are separated by bars."""
    return frozenset(ordered(text))


_BETWEEN_WORDS = re.compile(r"[\s_-]+")
_TOKENS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")

FEATURE_PREFIX = "feat_"
ID_NAMES = ordered(
    "item_id|id|item|itemid|example_id|example|question_id|question|sample_id|sample|instance_id|"
    "instance|task_id|pair_id|row_id|qid|uid|uuid|index|idx|key|__index_level_0__"
)
LABEL_NAMES = ordered(
    "label|labels|gold|gold_label|gold_standard|truth|true_label|ground_truth|groundtruth|target|"
    "y|y_true|z"
)
GROUP_NAMES = ("group_id", "group", "prompt_id")
SCORE_NAMES = ("score_a", "score_b")
"""Columns with a judge's scores of the two responses, see ``judgepanel.votes.outputs``."""
LONG_ITEM_NAMES = (*ID_NAMES, "prompt_id", "task", "unit", "document", "prompt")
LONG_JUDGE_NAMES = ordered(
    "judge|judge_id|judge_name|rater|rater_id|annotator|annotator_id|model|model_name|worker|"
    "worker_id|labeler|labeller|labeler_id|evaluator|grader|reviewer|coder|performer"
)
LONG_VERDICT_NAMES = ordered(
    "verdict|vote|answer|rating|judgment|judgement|decision|preference|choice|winner|response|"
    "prediction|score"
)
TEXT_NAMES = ordered("text|raw_text|output|raw_output|transcript|completion|content")
"""Columns that hold what judges wrote, see ``judgepanel.votes.outputs``."""
FEATURE_NAMES = words_in(
    "difficulty|difficulty_level|priority|hard|is_hard|is_easy|is_adversarial|category|"
    "categories|subset|domain|topic|subject|language|lang|dataset|source|split|length|n_tokens|n_words|n_chars|turns|n_turns"
)
AGGREGATE_NAMES = words_in(
    "majority|majority_vote|maj_vote|majority_label|mode|consensus|mean|average|avg|mean_vote|"
    "mean_score|vote_mean|vote_sum|vote_count|n_votes|agreement|ensemble|aggregate|aggregated|"
    "unanimous"
)
PAIR_NAMES = (
    *(("model_a", "model_b"), ("model_1", "model_2"), ("model1", "model2")),
    *(("model_left", "model_right"), ("generator_1", "generator_2"), ("system_a", "system_b")),
)
"""Names of columns that hold the models behind the first and the second response."""
SYSTEM_NAMES = ordered(
    "system|system_name|model|model_name|policy|variant|version|prompt|prompt_name|prompt_version|"
    "config"
)
"""Names of columns that hold the system whose output was judged."""

JUDGE_WORDS = words_in(
    "judge|judges|rater|raters|annotator|annotators|worker|evaluator|grader|reviewer|labeler|"
    "labeller|coder|performer|assessor|scorer|critic|voter|user|users|participant|metric|"
    "assertion|completed"
)
VERDICT_WORDS = words_in(
    "verdict|vote|answer|rating|judgment|judgement|decision|score|preference|choice|winner|"
    "prediction|value|grade|result|better|comparison|label|preferred|outcome|pass|passed|correct|"
    "scores"
)
LABEL_WORDS = words_in("label|labels|gold|golden|truth|groundtruth|adjudicated|adjudication")
"""Words that name a label in a longer name, such as Input.gold."""
PERSON_WORDS = words_in("human|expert|humans|experts")
_ORDER_WORDS = words_in(
    "order|swap|swapped|flip|flipped|reversed|position|game|permutation|ordering|presented|shown"
)
_AROUND_ORDERS = words_in(
    "is|was|the|of|ab|first|response|responses|answer|output|model|a|b|display|presentation|pair|"
    "item|which|judge|prompt|in"
)
RUN_WORDS = words_in(
    "run|runs|epoch|trial|repeat|repetition|replicate|rep|seed|iteration|iter|draw|pass|attempt|try"
)
MEASURE_WORDS = words_in(
    "duration|seconds|second|sec|secs|ms|minutes|time|latency|length|len|count|counts|n|num|"
    "tokens|words|chars|characters|ratio|cost|price|usd|age|turns|size|bytes|year|temperature|"
    "percent|perplexity|entropy|similarity|distance|bleu|rouge|number"
)
"""Words for measurements of an item or of the work on it, which are no verdicts."""
COMPUTED_WORDS = words_in(
    "overall|mean|average|avg|median|total|sum|majority|consensus|aggregate|aggregated|ensemble|"
    "agreement|combined|final|unanimous"
)
"""Words for what is computed from judges."""


@lru_cache(20_000)
def tokens_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: ``humanScore_2`` is human, score, 2."""
    return tuple(token.lower() for token in _TOKENS.findall(name))


RECORD = "record"
"""The column with the number of the record, where a list in it makes several rows."""
INDEX_PREFIXES = ("unnamed:", "__index_level_")
"""How columns begin that hold the index of a data frame, in lower case."""


def names_order(name: str) -> bool:
    """Whether a name is wholly of words for the order in which two responses were shown."""
    words = set() if name.startswith("'") else set(tokens_of(name))
    return bool(words & _ORDER_WORDS) and words <= _ORDER_WORDS | _AROUND_ORDERS


def names_state(name: str) -> bool:
    """Whether a name says in what state a row is, as ``run status`` does."""
    return not name.startswith("'") and tokens_of(name)[-1:] in (("status",), ("state",))


def plain_name(name: str) -> str:
    """Return a column's name without case, blanks, underscores and hyphens."""
    return _BETWEEN_WORDS.sub("", name).lower()


_DESCRIPTIONS = FEATURE_NAMES | AGGREGATE_NAMES
_ROLE_NAMES = frozenset(map(plain_name, (*ID_NAMES, *LABEL_NAMES, *GROUP_NAMES, *SCORE_NAMES)))


def is_role_name(name: str) -> bool:
    """Whether a column of this name might be read as something else than the votes of a judge."""
    text = name.strip()
    described = text.startswith(FEATURE_PREFIX) or text.lower() in _DESCRIPTIONS
    ignored = text == RECORD or text.lower().startswith(INDEX_PREFIXES) or names_state(text)
    return described or ignored or plain_name(text) in _ROLE_NAMES or names_order(text)


def find_column(
    columns: Sequence[str], names: Sequence[str], fits: Callable[[str], bool] | None = None
) -> str | None:
    """Return the first column with one of the names, None if there is none.

    Only if no column has a name as it is written here are names compared by ``plain_name``; such a
    column has to fit as well.
    """
    written = {column.lower(): column for column in reversed(columns)}
    column = next((written[name] for name in names if name in written), None)
    if column is not None:
        return column
    plain = {plain_name(column): column for column in reversed(columns)}
    similar = (plain[name] for name in map(plain_name, names) if name in plain)
    return next(filter(fits, similar), None)


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
    return ", ".join([name for name, members in _FORMS.items() if texts & members]) or "0/1"


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


def distinct(cells: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes (n,) into the list of distinct words in the cells."""
    if isinstance(cells.array, pd.Categorical):  # ``cells.cat`` would take ten times as long.
        return np.asarray(cells.array.codes), list(map(str, cells.array.categories.tolist()))
    codes, words = pd.factorize(cells)
    return np.asarray(codes), [str(word) for word in words]


def counted_unknown(cells: pd.Series, vocabulary: Vocabulary) -> str:
    """Return words of unknown meaning with their numbers of cells, the most frequent first."""
    codes, words = distinct(cells)
    counts = np.bincount(codes, minlength=len(words))
    meanings = vocabulary.meanings(words)
    hits = [k for k in np.argsort(-counts, kind="stable") if counts[k] and meanings[k] == UNKNOWN]
    named = ", ".join(f"{quote_value(words[k], 30)} ({counts[k]:,})" for k in hits[:12])
    return named if len(hits) <= 12 else f"{named} and {len(hits) - 12} more"
