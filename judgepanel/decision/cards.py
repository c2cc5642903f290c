"""The two panels to decide between, Best and Lean, and which of them is recommended.

Best has the lowest expected loss. Lean is the smallest panel within a stated price of it
(:mod:`judgepanel.decision.lean`). The rule: Lean is recommended if it saves at least ``SAVES`` of
the judges or of the cost, and its loss is within the price; else Best. The loss is the difference
between the two where each is chosen again in every split and scored on the other items, plus
``CAUTION`` of the way to the upper end of its interval. ``benchmarks/lean.py`` holds the rule to
account on items that nothing has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.decision.lean import CardName
from judgepanel.decision.recommend_result import CandidateFigures, Reading, Recommendation
from judgepanel.scoring.interval import Interval

SAVES = 1.0 / 3.0
"""Share of the judges or of the cost that a recommended Lean saves at least."""
CAUTION = 0.2
"""Which part of the upper half of the interval of its loss must be within the price too."""


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """A panel to decide on: its ``reading``, and its candidate's figures on all labelled rows."""

    name: CardName
    reading: Reading
    panel: CandidateFigures


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """Best, and Lean at a ``price`` if that is another panel; ``marked`` is recommended.

    ``loss`` = NLL(Lean) - NLL(Best) with interval, both chosen in every split.
    """

    best: Card
    lean: Card | None
    price: float
    loss: Interval
    marked: CardName

    @property
    def marked_card(self) -> Card:
        """The card that is recommended."""
        return self.lean if self.marked == "Lean" and self.lean is not None else self.best

    @property
    def all(self) -> tuple[Card, ...]:
        """The cards, one or two."""
        return (self.best,) if self.lean is None else (self.best, self.lean)


def cards_of(result: Recommendation, price: float) -> Cards:
    """Return the cards of a recommendation under any preference, and which one is recommended."""
    best, lean = result.reading("nll", price), result.reading("lean", price)
    first = Card("Best", best, _panel(result, best))
    second = None
    if lean.used.tolist() != best.used.tolist():
        second = Card("Lean", lean, _panel(result, lean))
    lean_is_marked = second is not None and (
        saved(first, second) >= SAVES
        and within(lean.against_best, price * float(best.nll.value), CAUTION)
    )
    marked: CardName = "Lean" if lean_is_marked else "Best"
    return Cards(first, second, price, lean.against_best, marked)


def within(loss: Interval, most: float, caution: float) -> bool:
    """Whether a loss is at most ``most``, with part of its upper half; False from one split."""
    return bool(loss.value + caution * (loss.hi - loss.value) <= most)


def saved(best: Card, lean: Card) -> float:
    """Return the share of the judges, or of the cost where that is more, that Lean saves."""
    judges = 1.0 - len(lean.reading.judges) / len(best.reading.judges)
    return max(judges, saved_cost(best, lean))


def saved_cost(best: Card, lean: Card) -> float:
    """Return the share of the cost that Lean saves, 0 if costs are unknown."""
    if not best.panel.cost or lean.panel.cost is None:
        return 0.0
    return 1.0 - lean.panel.cost / best.panel.cost


def _panel(result: Recommendation, reading: Reading) -> CandidateFigures:
    """Return the panel of a reading; an average of one pipeline is that pipeline."""
    singles = result.candidates[:-1]
    members = np.flatnonzero(reading.used)
    return singles[members[0]] if len(members) == 1 else reading.average
