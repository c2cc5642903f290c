"""Judgments of pairs by people and by models: what most people say is the label.

Where nobody but people judged, they are the judges, and there is no label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from judgepanel.votes.imports.rows import HALF, LeftOut, Row, turned

AB, BA = "AB", "BA"
ORDERS = (AB, BA)


def pair_of(question: str, first: str, second: str) -> tuple[str, str]:
    """The id of a pair and the order it was shown in, ``first`` as A; the same if it is exchanged.

    Which response is the item's first is a coin: files name one model first everywhere, or go by
    the alphabet, and the order of the two would tell the label.
    """
    low, high = sorted((first, second))
    item = f"{question}/{low} vs {high}"
    return item, AB if (first == low) != turned(item) else BA


def share_row(item: str, question: str, judge: str, order: str, share: float) -> Row:
    """A judgment without a text; ``share`` is 1 for what was shown as A, 0 for B, .5 for a tie."""
    about = {"item_id": item, "group_id": question, "judge": judge, "order": order}
    return {**about, "score_a": share, "score_b": 1 - share}


def with_labels(models: Iterable[Row], people: Iterable[Row], left_out: LeftOut) -> Iterator[Row]:
    """What models judged, labelled by people; what people judged, where there is nothing else.

    Of judgments that were made again the last counts.
    """
    by_models, by_people = _last(models, left_out), _last(people, left_out)
    rows = by_models or by_people
    items = {row["item_id"] for row in rows}
    labels = _majorities(by_people) if by_models else {}
    left_out["pairs that only people judged"] += len(labels.keys() - items)
    left_out["labels of pairs on which people are divided"] += sum(
        labels[item] is None for item in items & labels.keys()
    )
    grouped = len({row["group_id"] for row in rows}) < len(items)
    for row in rows:
        label = labels.get(row["item_id"])
        group = row.pop("group_id")
        yield {
            **row,
            **({} if label is None else {"label": label}),
            **({"group_id": group} if grouped else {}),
        }


def _last(rows: Iterable[Row], left_out: LeftOut) -> list[Row]:
    latest: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = row["item_id"], row["judge"], row["order"]
        left_out["judgments that were made again"] += key in latest
        latest[key] = row
    return list(latest.values())


def _majorities(rows: Iterable[Row]) -> dict[str, int | None]:
    """For each pair 1 where most people prefer its first response, 0 its second; None otherwise.

    Most is more than prefer the other one, and more than say that it is a tie.
    """
    counts: dict[str, Counter[float]] = {}
    for row in rows:
        share = row["score_a"] if row["order"] == AB else row["score_b"]
        side = HALF if share == HALF else float(share > HALF)
        counts.setdefault(row["item_id"], Counter())[side] += 1
    majorities: dict[str, int | None] = {}
    for item, count in counts.items():
        (side, most), *others = count.most_common(2)
        decided = side != HALF and all(n < most for _, n in others)
        majorities[item] = int(side) if decided else None
    return majorities
