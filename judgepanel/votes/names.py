"""What the name of a column says: the role that it names, and the words in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache


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


def names_order(name: str) -> bool:
    """Whether a name is wholly of words for the order in which two responses were shown."""
    words = set() if name.startswith("'") else set(tokens_of(name))
    return bool(words & _ORDER_WORDS) and words <= _ORDER_WORDS | _AROUND_ORDERS


def plain_name(name: str) -> str:
    """Return a column's name without case, blanks, underscores and hyphens."""
    return _BETWEEN_WORDS.sub("", name).lower()


_DESCRIPTIONS = FEATURE_NAMES | AGGREGATE_NAMES
_ROLE_NAMES = frozenset(map(plain_name, (*ID_NAMES, *LABEL_NAMES, *GROUP_NAMES, *SCORE_NAMES)))


def is_role_name(name: str) -> bool:
    """Whether a column of this name would be read as an id, label, group, feature or score."""
    text = name.strip()
    described = text.startswith(FEATURE_PREFIX) or text.lower() in _DESCRIPTIONS
    return described or plain_name(text) in _ROLE_NAMES or names_order(text)


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
