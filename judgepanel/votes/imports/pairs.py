"""Benchmarks and tools in which judges compare two responses: one importer each."""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import EXPORT_AGAIN, InputError
from judgepanel.votes.imports.rows import (
    AB,
    BA,
    HALF,
    NO_VERDICT,
    ImportedRows,
    Importer,
    LeftOut,
    Row,
    at,
    item_label,
    label_in,
    pair_of,
    share_of,
    share_row,
    turned,
    with_features,
    with_labels,
)
from judgepanel.votes.matrix import Task
from judgepanel.votes.sources import Document

ORDERS = (AB, BA)

# --- LLMBar (princeton-nlp/LLMBar, arXiv 2310.07641) -----------------------------------------
# SUBSET/evaluators/MODEL/STRATEGY/result.json: a list of items with a label 1 or 2 and results, one
# entry per stage. An entry has the output under 'swap = False' and 'swap = True', or two scores
# that were given apart; what only prepares is a list of a text and why it ended.

_LLMBAR = re.compile(r"(?:.*/)?([^/]+)/evaluators/([^/]+)/([^/]+)/result\.json\Z")
_SWAPS = {"swap = False": AB, "swap = True": BA}


def _llmbar(document: Document, left_out: LeftOut) -> list[Row]:
    place = _LLMBAR.match(document.path)
    if place is None or not isinstance(document.whole, list):
        raise InputError("holds no list of items", file=document.file, remedy=EXPORT_AGAIN)
    subset, model, strategy = place.groups()
    rows: list[Row] = []
    for number, item in enumerate(document.whole):
        try:
            about: Row = {"item_id": f"{subset}-{number:03d}", "judge": f"{model}/{strategy}"}
            about |= {"label": {1: 1, 2: 0}[item["label"]], "feat_subset": subset}
            found = list(_llmbar_item(item, about, left_out))
        except (KeyError, TypeError, AttributeError, IndexError):
            raise InputError(
                f"item {number + 1} is not as LLMBar writes them",
                file=document.file,
                allowed="label and results",
                remedy=EXPORT_AGAIN,
            ) from None
        rows += found
    return rows


def _llmbar_item(item: dict[str, Any], about: Row, left_out: LeftOut) -> Iterator[Row]:
    compares = False
    for stage, entry in enumerate(item["results"], start=1):
        if isinstance(entry, list) and all(isinstance(part, str | None) for part in entry):
            continue
        compares = True
        row = {**about, "stage": stage}
        if "score_1" in entry:
            scores = entry["score_1"][0], entry["score_2"][0]
            if all(is_number(str(score).strip().lower()) for score in scores):
                yield {**row, "order": AB, "score_a": scores[0], "score_b": scores[1]}
            else:
                left_out["scores that are no numbers"] += 1
            continue
        for name, order in _SWAPS.items():
            output = entry[name].get("completion")
            if output is None:
                left_out["outputs that are not there"] += 1
            else:
                yield {**row, "order": order, "text": output[0] or ""}
    if not compares:
        left_out["items that were never compared"] += 1


LLMBAR = Importer(
    title="outputs of LLMBar's evaluators",
    wanted="a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json",
    endings=("result.json",),
    fits=lambda document: _LLMBAR.match(document.path) is not None,
    read=_llmbar,
    named=lambda path: _LLMBAR.match(path) is not None,
)

# --- JudgeBench (ScalerLab/JudgeBench, arXiv 2410.12784) -------------------------------------
# A line per pair: label 'A>B' or 'B>A', and judgments, the first with the responses as given, the
# second with them exchanged; a reward model has scores in place of a response.

_JUDGE_MODEL = re.compile(r"judge_model=(.+?)\.jsonl\Z")
_COMPARED = {"A>B": 1, "B>A": 0}


def _judgebench(document: Document, left_out: LeftOut) -> list[Row]:
    model = _JUDGE_MODEL.search(document.path)
    rows: list[Row] = []

    def read(pair: Row) -> None:
        about = {
            "item_id": str(pair["pair_id"]),
            "judge": f"{pair['judge_name']}/{model[1] if model else 'unknown'}",
            "label": _COMPARED[pair["label"]],
            "feat_source": str(pair["source"]),
            "feat_response_model": str(pair.get("response_model", "")),
        }
        for order, judgment in zip(ORDERS, pair["judgments"], strict=False):
            said = None if judgment is None else judgment.get("judgment")
            if said is None:
                left_out["judgments that are not there"] += 1
            elif "scores" in said:
                first, second = said["scores"]
                rows.append({**about, "order": order, "score_a": first, "score_b": second})
            else:
                rows.append({**about, "order": order, "text": said["response"] or ""})

    document.each(read, "pair_id, source, label, judge_name and judgments")
    return rows


JUDGEBENCH = Importer(
    title="outputs of JudgeBench's judges",
    wanted="a folder with dataset=judgebench,...,judge_name=...,judge_model=....jsonl, or one of "
    "them",
    endings=(".jsonl",),
    fits=lambda d: bool(d.lines) and {"pair_id", "judge_name", "judgments"} <= d.first.keys(),
    read=_judgebench,
)

# --- RewardBench (allenai/reward-bench, arXiv 2403.13787; 2: arXiv 2506.01937) ---------------
# eval-set-scores: an object per model with lists id, subset, results and, of reward models,
# scores_chosen and scores_rejected. The chosen response comes first everywhere, so each item is
# turned around or not by its own id. RewardBench 2 has a list of scores for each prompt, those of
# the num_correct right responses first; each wrong response is a pair with a right one.

_LISTS = ("id", "subset", "results")
_NO_NUMBERS = "results that are no numbers"


def _rewardbench(document: Document, left_out: LeftOut) -> list[Row]:
    try:
        return list(_of_model(document.whole, document.path, left_out))
    except (ValueError, TypeError, IndexError, KeyError):
        raise InputError(
            "not as RewardBench writes them",
            file=document.file,
            allowed="lists of one length",
            remedy=EXPORT_AGAIN,
        ) from None


def _of_model(content: dict[str, Any], name: str, left_out: LeftOut) -> Iterator[Row]:
    model = content.get("model")
    model = (model or [None])[0] if isinstance(model, list) else model
    judge = str(model) if model else name.removesuffix(".json")
    blank: list[Any] = [None] * len(content["id"])
    if "num_correct" in content:
        yield from _of_lists(content, judge, blank, left_out)
        return
    chosen, rejected = (content.get(key) or blank for key in ("scores_chosen", "scores_rejected"))
    for number, subset, right, won, lost in zip(
        content["id"], content["subset"], content["results"], chosen, rejected, strict=True
    ):
        scores = _score(won), _score(lost)
        if None in scores:
            # A generative judge has no scores, only whether it was right; .5 is a tie.
            share = _score(right)
            scores = (None, None) if share is None else (share, 1 - share)
        if None in scores:
            left_out[_NO_NUMBERS] += 1
        else:
            yield _scored(f"{subset}-{number}", judge, subset, scores)


def _of_lists(
    content: dict[str, Any], judge: str, blank: list[Any], left_out: LeftOut
) -> Iterator[Row]:
    """Pairs of RewardBench 2: one per wrong response, with the right ones in turn."""
    for number, subset, scores, n_right in zip(
        *(content["id"], content["subset"], content.get("scores") or blank),
        content["num_correct"],
        strict=True,
    ):
        if not isinstance(scores, list):
            left_out["prompts whose responses have no scores"] += 1
            continue
        right, wrong = scores[: int(n_right)], scores[int(n_right) :]
        for place, lost in enumerate(wrong):
            pair = _score(right[place % len(right)]), _score(lost)
            prompt = f"{subset}-{number}"
            if None in pair:
                left_out[_NO_NUMBERS] += 1
            else:
                yield {**_scored(f"{prompt}/{place + 1}", judge, subset, pair), "group_id": prompt}


def _scored(item: str, judge: str, subset: Any, scores: tuple[float | None, ...]) -> Row:
    """A judge's scores of the right and of the wrong response, in the item's own order."""
    first, second = scores[::-1] if turned(item) else scores
    about = {"item_id": item, "judge": judge, "label": int(not turned(item))}
    about |= {"feat_subset": str(subset), "order": AB}
    return {**about, "score_a": first, "score_b": second}


def _score(value: Any) -> float | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, list | dict):
        return None
    word = str(value).strip().lower()
    return float(word) if is_number(word) else None


def _all_models(files: Sequence[list[Row]], left_out: LeftOut, _task: Task | None) -> ImportedRows:
    """Scores of all models, with the margin of each item as a feature.

    Each prompt of RewardBench 1 is a group of its own beside those of RewardBench 2.
    """
    rows = list(chain.from_iterable(files))
    margins = _margins(rows)
    about = {item: {"feat_margin": margin} for item, margin in margins.items()}
    if any("group_id" in row for row in rows):
        rows = [{"group_id": row["item_id"], **row} for row in rows]
    return ImportedRows(({**row, **about.get(row["item_id"], {})} for row in rows), left_out)


def _margins(rows: list[Row]) -> dict[str, float]:
    """Of each item the median, over judges that score, of |difference| / that judge's median."""
    by_judge: dict[str, list[float]] = {}
    for row in rows:
        by_judge.setdefault(row["judge"], []).append(abs(row["score_a"] - row["score_b"]))
    unit = {
        judge: statistics.median(sizes) for judge, sizes in by_judge.items() if len(set(sizes)) > 2
    }
    by_item: dict[str, list[float]] = {}
    for row in rows:
        if unit.get(row["judge"], 0) > 0:
            size = abs(row["score_a"] - row["score_b"]) / unit[row["judge"]]
            by_item.setdefault(row["item_id"], []).append(size)
    return {item: round(statistics.median(sizes), 4) for item, sizes in by_item.items()}


REWARDBENCH = Importer(
    title="results of RewardBench on each prompt",
    wanted="a file of eval-set-scores (id, subset, results), or a folder with them",
    endings=(".json",),
    fits=lambda d: (
        isinstance(d.whole, dict) and all(isinstance(d.whole.get(key), list) for key in _LISTS)
    ),
    read=_rewardbench,
    together=_all_models,
)

# --- MT-bench and Chatbot Arena (lm-sys/FastChat, arXiv 2306.05685) --------------------------
# Votes: question_id, model_a, model_b, winner and judge. Model judgments: question_id, model_1,
# model_2, g1_judgment and g2_judgment, the second with the responses exchanged; or model, judgment
# and score, a grade of one response.

_VOTE = {"question_id", "model_a", "model_b", "winner"}
_PAIR = {"question_id", "model_1", "model_2", "judge", "g1_winner", "g2_winner"}
_SINGLE = {"question_id", "model", "judge", "judgment", "score"}
_OWN_LABELS = re.compile(
    r"(?:.*[_ ])?(?:labels?|gold|truth)|.+[_ ](?:winner|preference)", re.IGNORECASE
)
_PEOPLE = re.compile(r"(?:author|expert|arena_user|human)(?:[_ -]\w+)*\Z", re.IGNORECASE)
_PROMPT = re.compile(r"(pair|single)(?:-math)?-v\d+(?:-multi-turn)?\Z")
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
_SHARES = {"a": 1.0, "1": 1.0, "b": 0.0, "2": 0.0}
_Question = tuple[str, str]
"""A question, which is a group of items, and its turn, of which each is an item."""


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
            left_out[NO_VERDICT] += 1
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
                left_out[NO_VERDICT] += 1
            else:
                share = share if game == 1 else 1 - share
                self.models.append(self._judgment(record, judge, shown, share))

    def add_grade(self, record: Row, left_out: LeftOut) -> None:
        """A model's score of one response."""
        score = share_of(record["score"])
        if score is None or score < 0:  # -1 says that none was read.
            left_out["grades that are not numbers"] += 1
            return
        key = _question(record), _judge(record["judge"])[0]
        self.grades.setdefault(key, {})[str(record["model"])] = score

    def _judgment(self, record: Row, judge: str, shown: tuple[str, str], share: float) -> Row:
        question = _question(record)
        low, high = sorted(shown)
        self.pairs.add((question, low, high))
        item, order = pair_of(question[1], *shown)
        return share_row(item, question[0], judge, order, share)


def _question(record: Row) -> _Question:
    group, turn = str(record["question_id"]), record.get("turn")
    return group, group if turn in (None, "") else f"{group}/turn {turn}"


def _arena(document: Document, left_out: LeftOut) -> _Judgments:
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


def _all_judgments(
    files: Sequence[_Judgments], left_out: LeftOut, _task: Task | None
) -> ImportedRows:
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
                item, order = pair_of(question[1], first, second)
                row = share_row(item, question[0], judge, order, HALF)
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


def _is_arena(document: Document) -> bool:
    """Votes with labels of their own are not of the benchmark, which has none."""
    keys = document.first.keys()
    votes = keys >= {*_VOTE, "judge"} and not any(map(_OWN_LABELS.fullmatch, keys))
    return keys >= _PAIR or keys >= _SINGLE or votes


ARENA = Importer(
    title="judgments of MT-bench and Chatbot Arena",
    wanted="human judgments, or model_judgment files, of MT-bench or Chatbot Arena",
    endings=(".json", ".jsonl", ".parquet", ".csv"),
    fits=_is_arena,
    read=_arena,
    together=_all_judgments,
)

# --- Arena-Hard (lmarena/arena-hard-auto) ----------------------------------------------------
# model_judgment/JUDGE/MODEL.jsonl: a line per question with games, the first with the baseline as
# A, the second with it as B; each has a judgment and a score such as A>>B. The baseline is an
# item's first output: labels in another file can name it, which a coin would not allow.


def _arena_hard(document: Document, left_out: LeftOut) -> list[Row]:
    rows: list[Row] = []
    folder = PurePosixPath(document.path).parent.name

    def read(record: Row) -> None:
        judge = str(record.get("judge") or folder or "judge")
        model = str(record.get("model") or PurePosixPath(document.path).stem)
        question = str(record.get("question_id") or record["uid"])
        about: Row = {"item_id": f"{question}/{model}", "group_id": question, "judge": judge}
        about["feat_model"] = model
        label = label_in(record)
        if label is not None:
            about["label"] = item_label(label, AB)
        for game, order in zip(record["games"], ORDERS, strict=False):
            score = at(game, "score")
            text = f"[[{score}]]" if score else at(game, "judgment") or ""
            rows.append({**about, "order": order, "text": str(text)})

    document.each(read, "question_id or uid, judge, model and games")
    return rows


ARENA_HARD = Importer(
    title="judgments of Arena-Hard",
    wanted="model_judgment/JUDGE/MODEL.jsonl (uid or question_id, games)",
    endings=(".jsonl", ".json"),
    fits=lambda d: (
        isinstance(d.first.get("games"), list) and bool({"question_id", "uid"} & d.first.keys())
    ),
    read=_arena_hard,
)

# --- AlpacaEval (tatsu-lab/alpaca_eval) ------------------------------------------------------
# MODEL/ANNOTATOR/annotations.json: instruction, output_1, output_2, annotator and preference, 1 for
# the first, 2 for the second, anything between for a share, 1.5 and 0 for a tie. Annotations of
# people have an annotator_index. A pair is known by its texts, as there is no id.

_DIGITS = 10


@dataclass(slots=True)
class _Annotations:
    models: list[Row] = field(default_factory=list)
    people: list[Row] = field(default_factory=list)


def _alpacaeval(document: Document, left_out: LeftOut) -> _Annotations:
    """Annotations in a file; those that do not name their annotator are called by their folder."""
    annotations = _Annotations()
    folder = PurePosixPath(document.path).parent.name or PurePosixPath(document.path).stem

    def read(record: Row) -> None:
        number = None if record["preference"] is None else share_of(record["preference"])
        share = HALF if number == 0 else None
        if number is not None and 1 <= number <= 2:
            share = 2 - number
        if share is None:
            left_out["annotations without a preference"] += 1
            return
        by_person = record.get("annotator_index") is not None and not record.get("annotator")
        judge = record["annotator_index"] if by_person else record.get("annotator") or folder
        question = _short(f"{record['instruction']}\n{record.get('input') or ''}")
        shown = _short(str(record["output_1"])), _short(str(record["output_2"]))
        item, order = pair_of(question, *shown)
        name = f"person {judge}" if by_person else str(judge)
        row = share_row(item, question, name, order, share)
        if record.get("dataset"):
            row["feat_dataset"] = str(record["dataset"])
        (annotations.people if by_person else annotations.models).append(row)

    document.each(read, "instruction, output_1, output_2 and preference")
    return annotations


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


def _all_annotations(
    files: Sequence[_Annotations], left_out: LeftOut, _task: Task | None
) -> ImportedRows:
    models = chain.from_iterable(annotations.models for annotations in files)
    people = chain.from_iterable(annotations.people for annotations in files)
    return ImportedRows(with_labels(models, people, left_out), left_out)


ALPACAEVAL = Importer(
    title="annotations of AlpacaEval",
    wanted="a file of annotations (instruction, output_1, output_2, preference), or a folder of "
    "them",
    endings=(".json", ".jsonl"),
    fits=lambda d: d.first.keys() >= {"instruction", "output_1", "output_2", "preference"},
    read=_alpacaeval,
    together=_all_annotations,
)

# --- LLM Comparator (PAIR-code/llm-comparator) -----------------------------------------------
# examples with individual_rater_scores from -1.5 to 1.5, above 0 where A is better. Scores are
# turned back already where is_flipped says that B was shown first.


def _llm_comparator(document: Document, left_out: LeftOut) -> list[Row]:
    rows: list[Row] = []
    about: dict[str, Row] = {}
    for number, example in enumerate(document.whole["examples"], start=1):
        fields = example.get("custom_fields") or {}
        item = str(example.get("id") or fields.get("id") or number)
        tags = example.get("tags") or []
        about[item] = {**fields, **({"tag": tags[0]} if tags else {})}
        for rater, score in enumerate(example["individual_rater_scores"], start=1):
            value = share_of(score.get("score"))
            if value is None:
                left_out[NO_VERDICT] += 1
                continue
            judge = str(score.get("rater_id") or score.get("rater") or f"rater {rater}")
            row = {"item_id": item, "judge": judge, "label": item_label(label_in(fields), AB)}
            rows.append({**row, "order": AB, "score_a": value, "score_b": 0.0})
    return list(with_features(rows, about))


LLM_COMPARATOR = Importer(
    title="a file of LLM Comparator",
    wanted="a .json with models and examples (individual_rater_scores)",
    endings=(".json",),
    fits=lambda d: (
        isinstance(d.whole, dict)
        and isinstance(d.whole.get("examples"), list)
        and any(at(e, "individual_rater_scores") is not None for e in d.whole["examples"][:5])
    ),
    read=_llm_comparator,
)
