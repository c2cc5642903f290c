"""Best and Lean in words: what each does on new items, what it costs, and which is recommended.

Other ways to choose, as one table.
"""

from __future__ import annotations

import math

from judgepanel.decision import recommend_result
from judgepanel.decision.lean import PRICE
from judgepanel.present.blocks import Facts, Table
from judgepanel.present.decide.cost import amount
from judgepanel.scoring.interval import Interval
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.words import sentences, tables
from judgepanel.words import text as txt

ALONE = "The best judge alone"
MOST_NAMES = 6
"""Judges of a card that are named; more are counted."""
_NAME = 40
WAYS: dict[recommend_result.Preference, str] = {
    "nll": "best",
    "lean": "lean",
    "single": "one pipeline",
    "everyone": "all judges",
    "robust": "robust",
    "simplest": "simplest",
    "cheapest": "cheapest",
    "fewest": "fewest judges",
}
"""Names of the preferences."""


def cards_block(result: recommend_result.Recommendation, price: float, unit: str = "") -> Facts:
    """Return both cards, their difference and the rule as pairs of names and sentences.

    ``unit`` is that of the costs.
    """
    cards, pairs = recommend_result.cards_of(result, price), list[tuple[str, str]]()
    for card in cards.all:
        name = f"{card.name} (recommended)" if card.name == cards.marked else card.name
        who = f"{txt.capital(_who(result, card))} with {_pipeline_words(card)}."
        words = (who, use_words(result, card), price_words(card, unit))
        pairs.append((name, " ".join(filter(None, words))))
    if cards.lean is not None:
        pairs.append(("Lean against Best", difference_words(cards)))
    pairs.append(("Which of them", rule_sentence(cards)))
    if alone := alone_words(result, cards):
        pairs.append((ALONE, alone))
    return Facts(tuple(pairs))


def card_sentence(result: recommend_result.Recommendation, card: recommend_result.Card) -> str:
    """Say which judges to use, and how often their panel is right."""
    right = f"right on {_share(card.reading.right)} of new items"
    return f"Use {_who(result, card)}: {right}."


def judges_words(result: recommend_result.Recommendation, card: recommend_result.Card) -> str:
    """Name a card's judges if they are few, else count them."""
    return f"{txt.capital(_who(result, card))}."


def _who(result: recommend_result.Recommendation, card: recommend_result.Card) -> str:
    names = card.reading.judges
    if len(names) == result.n_judges and len(names) > 1:
        return txt.all_judges(len(names))
    if len(names) > MOST_NAMES:
        return f"{len(names)} of {result.n_judges} judges"
    return txt.listed([txt.plain(name, _NAME) for name in names])


def _pipeline_words(card: recommend_result.Card) -> str:
    """Return a card's pipeline in a few words."""
    if card.panel.panel == AVERAGE:
        return "an average of pipelines"
    return sentences.pipeline_name(card.panel.aggregator, card.panel.calibrator)


def use_words(result: recommend_result.Recommendation, card: recommend_result.Card) -> str:
    """Say what a panel does on new items; nothing where figures show how labels were coded."""
    constant = result.position is not None and result.position.explains
    if result.measures_coding or constant:
        return ""
    return f"Right on {_share(card.reading.right)} of new items; {_sure(card.reading)}."


def price_words(card: recommend_result.Card, unit: str) -> str:
    """Return a card's NLL, and the number of calls of an item with their cost if it is known."""
    calls, cost = txt.counted(len(card.reading.judges), "call"), ""
    if card.panel.cost is not None:
        cost = f", {'' if unit else 'cost '}{amount(card.panel.cost, unit)}"
    return f"NLL {txt.level(*card.reading.nll)}; {calls}{cost} per item."


def title_words(cards: recommend_result.Cards, card: recommend_result.Card) -> tuple[str, str]:
    """Return a card's name, and what it stands for."""
    if card.name == "Best":
        return "Best", "lowest expected loss"
    fewest = "fewest judges" if card.panel.cost is None else "lowest cost"
    return "Lean", f"{fewest} within {price_text(cards.price)}"


def alone_words(
    result: recommend_result.Recommendation, cards: recommend_result.Cards, *, nll: bool = True
) -> str:
    """Say what the best judge alone does on new items; empty where :func:`use_words` is.

    Without ``nll`` only how often it is right.
    """
    row, card = result.best_judge, cards.marked_card
    if row is None or len(card.reading.judges) == 1 or not use_words(result, card):
        return ""
    right = f"right on {_share(row.accuracy)}"
    if not nll:
        return f"{right}, guessing where silent."
    change = txt.with_interval(*card.reading.behind[result.candidates.index(row)], sign=True)
    nll_words = f"NLL {txt.level(*row.nll)}, {change} against the recommended panel"
    return f"{right}, guessing where it has no verdict; {nll_words}."


def sure_words(result: recommend_result.Recommendation, card: recommend_result.Card) -> str:
    """Say only how often a panel is sure, and then right; empty where :func:`use_words` is."""
    words = f"{txt.capital(_sure(card.reading, ' of new items'))}."
    return words if use_words(result, card) else ""


def _sure(reading: recommend_result.Reading, items: str = "") -> str:
    sure, sure_right = float(reading.sure.value), float(reading.sure_right.value)
    if not sure > 0.0 or not math.isfinite(sure_right):
        return "never 90 % sure"
    on_these = f"right on {txt.fixed(100.0 * sure_right, 0)} % of those"
    return f"at least 90 % sure on {txt.fixed(100.0 * sure, 0)} %{items}, {on_these}"


def _share(right: Interval) -> str:
    value, lo, hi = (100.0 * float(end) for end in right)
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return f"{txt.fixed(value, 0)} %"
    return f"{txt.fixed(value, 0)} % [{txt.fixed(lo, 0)}, {txt.fixed(hi, 0)}]"


def difference_words(cards: recommend_result.Cards) -> str:
    """Return what Lean loses against Best on new items."""
    share = 1.0 / float(cards.best.reading.nll.value)
    loss = f"NLL changes by {txt.with_interval(*cards.loss, sign=True)}"
    relative = txt.fixed(100.0 * share * float(cards.loss.value), 1, sign=True)
    return f"{loss} ({relative} %)."


def price_text(price: float) -> str:
    """Return a largest loss accepted in per cent."""
    return f"{100.0 * price:g} %"


def no_smaller_sentence(cards: recommend_result.Cards) -> str:
    """Say that there is no Lean beside Best."""
    within = f"within {price_text(cards.price)} of its NLL"
    return f"No smaller panel under one pipeline comes {within}."


def rule_sentence(cards: recommend_result.Cards) -> str:
    """Say which card is recommended, and by which rule."""
    accepted = f"the {price_text(cards.price)} accepted"
    if cards.lean is None:
        return no_smaller_sentence(cards)
    cheaper = recommend_result.saved_cost(cards.best, cards.lean)
    best, lean = len(cards.best.reading.judges), len(cards.lean.reading.judges)
    saves = f"{best - lean} of {best} judges"
    if cheaper > 1.0 - lean / best:
        saves = f"{txt.percent(cheaper)} of the cost"
    if cards.marked == "Lean":
        return f"Lean is recommended: it saves {saves}, and loses less than {accepted}."
    if recommend_result.saved(cards.best, cards.lean) < recommend_result.SAVES:
        return "Best is recommended: Lean saves less than a third of judges or cost."
    return (
        f"Best is recommended: Lean saves {saves}, but is not shown to lose less than {accepted}."
    )


def ways_table(result: recommend_result.Recommendation, price: float = PRICE) -> Table:
    """Return what every preference takes: judges, cost, NLL, and its difference from Best."""
    rows = [
        reading for reading in result.readings if reading.prefer != "lean" or reading.price == price
    ]
    rows.sort(key=lambda reading: list(WAYS).index(reading.prefer))
    same = {
        place: "" if row.prefer == "nll" else "the same"
        for place, row in enumerate(rows)
        if txt.compared(*map(float, row.against_best)) == "the same"
    }
    singles = result.candidates[:-1]
    panels = [row.average if row.taken == len(singles) else singles[row.taken] for row in rows]
    costs = [panel.cost for panel in panels]
    priced = [cost for cost in costs if cost is not None]
    cost = {"cost": tables.numbers(priced)} if len(priced) == len(costs) else {}
    columns = {
        "way to choose": tables.text([WAYS[row.prefer] for row in rows]),
        "judges": tables.numbers([len(row.judges) for row in rows], "whole"),
        **cost,
        "accuracy": tables.numbers([float(row.right.value) for row in rows], "share"),
        "NLL": tables.numbers([float(row.nll.value) for row in rows]),
        "against Best": tables.differences([row.against_best for row in rows], same),
    }
    caption = (
        "What each way takes; NLL and difference are those of choosing this way in every split."
    )
    return Table(columns, caption)
