"""Judgments of MT-bench and Chatbot Arena: votes of people, and files of models as judges.

The layouts are those of lm-sys/FastChat (arXiv 2306.05685). Votes, as JSON, Parquet or CSV:
``question_id``, ``model_a``, ``model_b``, ``winner`` and ``judge``. Model judgments, as JSON Lines:
``question_id``, ``model_1``, ``model_2``, ``g1_judgment`` and ``g2_judgment``, the second with the
responses exchanged; or ``model``, ``judgment`` and ``score``, a grade of one response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from judgepanel.votes.imports.people import pair_of, share_row, with_labels
from judgepanel.votes.imports.rows import HALF, ImportedRows, LeftOut, Row, share_of
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "human judgments, or model_judgment files, of MT-bench or Chatbot Arena"
_VOTE = {"question_id", "model_a", "model_b", "winner"}
_PAIR = {"question_id", "model_1", "model_2", "judge", "g1_winner", "g2_winner"}
_SINGLE = {"question_id", "model", "judge", "judgment", "score"}
_LABELS = re.compile(
    r"(?:.*[_ ])?(?:labels?|gold|truth)|.+[_ ](?:winner|preference)", re.IGNORECASE
)
_PEOPLE = re.compile(r"(?:author|expert|arena_user|human)(?:[_ -]\w+)*\Z", re.IGNORECASE)
_PROMPT = re.compile(r"(pair|single)(?:-math)?-v\d+(?:-multi-turn)?\Z")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_SHARES = {"a": 1.0, "1": 1.0, "b": 0.0, "2": 0.0}
_NO_VERDICT = "judgments without a verdict"


@dataclass(frozen=True, slots=True, order=True)
class _Question:
    """A question, which is a group of items, and its turn, of which each is an item."""

    group: str
    turn: str

    @classmethod
    def of(cls, record: Row) -> _Question:
        group, turn = str(record["question_id"]), record.get("turn")
        return cls(group, group if turn in (None, "") else f"{group}/turn {turn}")


@dataclass(slots=True)
class _Judgments:
    """``pairs`` are models that were compared, by question; ``grades`` are of single responses, by
    question and judge, then model.
    """

    file: str
    models: list[Row] = field(default_factory=list)
    people: list[Row] = field(default_factory=list)
    pairs: set[tuple[_Question, str, str]] = field(default_factory=set)
    grades: dict[tuple[_Question, str], dict[str, float]] = field(default_factory=dict)

    def add_vote(self, record: Row, left_out: LeftOut) -> None:
        """A verdict on two models."""
        names = str(record["model_a"]), str(record["model_b"])
        share = _share(record["winner"], names)
        judge, by_person = _judge(record["judge"])
        if share is None:
            left_out[_NO_VERDICT] += 1
            return
        row = self._judgment(record, judge, names, share)
        (self.people if by_person else self.models).append(row)

    def add_pair(self, record: Row, left_out: LeftOut) -> None:
        """What a model wrote on two others, in both orders."""
        names = str(record["model_1"]), str(record["model_2"])
        judge, _ = _judge(record["judge"])
        for game, shown in ((1, names), (2, names[::-1])):
            text, share = record.get(f"g{game}_judgment"), _share(record[f"g{game}_winner"])
            if text:
                row = self._judgment(record, judge, shown, HALF)
                self.models.append({**row, "score_a": None, "score_b": None, "text": str(text)})
            elif share is None:
                left_out[_NO_VERDICT] += 1
            else:
                share = share if game == 1 else 1 - share
                self.models.append(self._judgment(record, judge, shown, share))

    def add_grade(self, record: Row, left_out: LeftOut) -> None:
        """A model's score of one response."""
        score = share_of(record["score"])
        if score is None or score < 0:  # -1 says that none was read.
            left_out["grades that are not numbers"] += 1
            return
        key = _Question.of(record), _judge(record["judge"])[0]
        self.grades.setdefault(key, {})[str(record["model"])] = score

    def _judgment(self, record: Row, judge: str, shown: tuple[str, str], share: float) -> Row:
        question = _Question.of(record)
        low, high = sorted(shown)
        self.pairs.add((question, low, high))
        item, order = pair_of(question.turn, *shown)
        return share_row(item, question.group, judge, order, share)


def named(path: str) -> bool:
    """Whether the file may hold judgments."""
    return path.lower().endswith((".json", ".jsonl", ".parquet", ".csv"))


def fits(document: Document) -> bool:
    """Whether the first record has the keys of one of the layouts.

    Votes with labels of their own are not of the benchmark, which has none.
    """
    keys = document.first.keys()
    votes = keys >= {*_VOTE, "judge"} and not any(map(_LABELS.fullmatch, keys))
    return keys >= _PAIR or keys >= _SINGLE or votes


def read_file(document: Document, left_out: LeftOut) -> _Judgments:
    """Judgments in a file."""
    judgments = _Judgments(document.file)

    def read(record: Row) -> None:
        if record.keys() >= _PAIR:
            judgments.add_pair(record, left_out)
        elif record.keys() >= _SINGLE:
            judgments.add_grade(record, left_out)
        else:
            judgments.add_vote(record, left_out)

    document.each(read, "question_id, judge, and two models with their winner or one with a score")
    return judgments


def together(files: Sequence[_Judgments], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Judgments of all files; grades of two responses are a judgment of their pair."""
    models = list(chain.from_iterable(judgments.models for judgments in files))
    people = list(chain.from_iterable(judgments.people for judgments in files))
    pairs = sorted(set().union(*(judgments.pairs for judgments in files)))
    for judgments in files:
        compared = list(_compared(judgments.grades, pairs))
        if judgments.grades and not compared:
            left_out.file(judgments.file, "grades of single responses without pairs to compare")
        models += compared
    return ImportedRows(with_labels(models, people, left_out), left_out)


def _compared(
    grades: dict[tuple[_Question, str], dict[str, float]], pairs: list[tuple[_Question, str, str]]
) -> Iterator[Row]:
    by_question: dict[_Question, list[tuple[str, str]]] = {}
    for question, first, second in pairs:
        by_question.setdefault(question, []).append((first, second))
    for (question, judge), by_model in grades.items():
        for first, second in by_question.get(question, []):
            if first in by_model and second in by_model:
                item, order = pair_of(question.turn, first, second)
                row = share_row(item, question.group, judge, order, HALF)
                yield {**row, "score_a": by_model[first], "score_b": by_model[second]}


def _share(winner: Any, names: Sequence[str] = ()) -> float | None:
    """1 for what is called a or 1, 0 for b or 2, .5 for a tie; None where there is no verdict.

    ``names`` are those of the two models, either of which may be the winner.
    """
    if winner in names:
        return 1.0 - names.index(winner)
    word = str(winner).strip().lower()
    if word.startswith("tie") or word in ("bothbad", "both_bad", "inconsistent"):
        return HALF
    return _SHARES.get(word.removeprefix("model_"))


def _judge(judge: Any) -> tuple[str, bool]:
    """A judge's name, and whether it is a person.

    Models are lists of a name and a prompt; prompts of the benchmark are pair or single.
    """
    if isinstance(judge, str):
        parts = _QUOTED.findall(judge) if judge.startswith(("[", "(")) else [judge]
    else:
        parts = [str(part) for part in judge]
    name, *prompts = parts
    usual = [_PROMPT.match(prompt) for prompt in prompts]
    kinds = [kind[1] if kind else prompt for kind, prompt in zip(usual, prompts, strict=True)]
    return "/".join((name, *kinds)), not kinds and _PEOPLE.match(name) is not None
