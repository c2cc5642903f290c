"""Best or Lean: does the panel that the rule marks lose no more than the price on hidden items?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.decision import NEW_ITEMS, WORLD_ITEMS, WORLDS
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Floats, Ints
from judgepanel.decision.lean import PRICE, PRICES
from judgepanel.decision.recommend import RECOMMEND, preferring
from judgepanel.decision.recommend_result import CAUTION, SAVES, RecommendSpec, cards_of, saved
from judgepanel.models.panel import Mixture
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, sample_votes, simulate

MATRICES = ("llmbar", "rewardbench", "sentpop", "mozafari")
SAMPLES = ("clean_pairwise", "hard_panel", "sparse_humans")
LABELS = (100, 200)
CAUTIONS = (0.0, 0.1, 0.2, 0.5, 1.0)
LEAST = 0.95


@dataclass(frozen=True, slots=True)
class Draw:
    """Lean at one price on one half: what it saves, its loss as estimated and on hidden items.

    ``estimated`` and ``upper`` are the nested loss and the upper end of its interval, ``hidden``
    the loss of the exported panel on the hidden items, all as shares of the NLL of Best.
    """

    saved: float
    estimated: float
    upper: float
    hidden: float

    def marked(self, price: float, caution: float) -> bool:
        """Whether the rule marks Lean at this price, with this caution."""
        reached = self.estimated + caution * (self.upper - self.estimated)
        return self.saved >= SAVES and reached <= price


Draws = dict[float, list[Draw]]
"""By price, one per seed."""


def run(seeds: int = 10, splits: int = 10) -> Report:
    with threadpool_limits(1):
        cells = dict(_cells(seeds, splits))
    by_caution = [_cautious(cells, caution) for caution in CAUTIONS]
    share = _within(cells, PRICE, CAUTION)
    met = "met" if share >= LEAST else "missed"
    marked = [d.marked(PRICE, CAUTION) for draws in cells.values() for d in draws[PRICE]]
    savings = [
        d.saved for draws in cells.values() for d in draws[PRICE] if d.marked(PRICE, CAUTION)
    ]
    return Report(
        "Best or Lean on hidden items",
        f"Some labels choose and fit both panels, as the exported ones are, from {splits} splits; "
        "the loss of the marked panel against Best is measured on items that nothing has seen: "
        f"the other half of real votes and samples, {NEW_ITEMS:,} new items of simulated worlds. "
        f"A cell is a data set at a number of labels; its expected loss is the mean over {seeds} "
        "seeds of the marked panel's loss, 0 where Best is marked.",
        [
            Table(
                "What counts as within the price",
                (
                    "caution",
                    *(f"cells within {price:.1%}" for price in PRICES),
                    "draws within 2 %, worlds",
                    "Lean marked",
                    "saved when marked",
                    "lost when marked",
                ),
                by_caution,
                "Caution is the part of the upper half of the interval of the nested loss that "
                "must be within the price: 0 is the point estimate, 1 the upper end.",
            ),
            Table(
                f"Cells at a price of {PRICE:.0%}, caution {CAUTION:g}",
                (
                    "votes",
                    "another panel",
                    "marked",
                    "saved when marked",
                    "expected loss of the marked",
                    "worst",
                    "expected loss of Lean",
                ),
                [_row(name, draws[PRICE]) for name, draws in cells.items()],
            ),
        ],
        [
            f"Expected loss within {PRICE:.0%}: {share:.0%} of {len(cells)} cells (target at least "
            f"{LEAST:.0%}: {met}).",
            f"Lean is marked in {np.mean(marked):.0%} of {len(marked)} draws, and then saves "
            f"{_mean(savings):.0%} of the judges or of the cost.",
            f"By the point estimate alone: {_within(cells, PRICE, 0.0):.0%} of the cells within "
            f"{PRICE:.0%}.",
        ],
    )


def _cells(seeds: int, splits: int) -> Iterator[tuple[str, Draws]]:
    for name in (*MATRICES, *SAMPLES):
        votes = real_votes(name) if name in MATRICES else sample_votes(name)
        units = prepare(votes, Settings()).ballots.units
        labelled = np.flatnonzero(votes.labelled)
        for n_labels in LABELS:
            drawn = (_half(votes, units, labelled, n_labels, seed) for seed in range(seeds))
            yield f"{name}, {n_labels} labels", _draws(drawn, splits)
            say(f"{name}, {n_labels} labels")
    for name, (spec, n_labels) in WORLDS.items():
        yield name, _draws(_worlds(spec, n_labels, seeds), splits)
        say(name)


def _worlds(
    spec: SimulationSpec, n_labels: int, seeds: int
) -> Iterator[tuple[VoteMatrix, VoteMatrix]]:
    for seed in range(seeds):
        votes = simulate(replace(spec, seed=seed))
        items = np.arange(votes.n_items)
        yield votes.with_items(items[:n_labels]), votes.with_items(items[WORLD_ITEMS:])


def _half(
    votes: VoteMatrix, units: Ints, labelled: Ints, n_labels: int, seed: int
) -> tuple[VoteMatrix, VoteMatrix]:
    """Up to ``n_labels`` items of a random half, and the other half."""
    halves = split(units, seed)
    most = min(n_labels, len(halves.calibration))
    some = np.random.default_rng(seed).choice(halves.calibration, most, replace=False)
    known, hidden = labelled[np.sort(some)], labelled[halves.evaluation]
    return votes.with_items(known), votes.with_items(hidden)


def _draws(drawn: Iterable[tuple[VoteMatrix, VoteMatrix]], splits: int) -> Draws:
    draws: Draws = {price: [] for price in PRICES}
    # More splits are planned than are run: losses under absence are not needed here.
    spec = RecommendSpec(Settings(splits=splits + 1))
    for known, hidden in drawn:
        general = RECOMMEND.merge(
            known, spec, RECOMMEND.run_chunk(known, spec, Chunk(0, 0, splits))
        )
        own = _losses(general.model, hidden).mean()
        for price in PRICES:
            cards = cards_of(general, price)
            nll = float(cards.best.reading.nll.value)
            loss = cards.loss
            saving, gap = 0.0, 0.0
            if cards.lean is not None:
                lean = preferring(known, replace(spec, price=price), general, "lean")
                saving = saved(cards.best, cards.lean)
                gap = float(_losses(lean.model, hidden).mean() / own - 1.0)
            draws[price].append(Draw(saving, float(loss.value) / nll, float(loss.hi) / nll, gap))
    return draws


def _losses(model: Mixture, votes: VoteMatrix) -> Floats:
    column = {judge: place for place, judge in enumerate(votes.judges)}
    codes = votes.votes[:, [column[judge] for judge in model.judges]]
    p = model.score(model.codes(codes, None))
    return np.asarray(-np.log(np.where(votes.labels == 1, p, 1.0 - p)))


def _paid(draws: list[Draw], price: float, caution: float) -> Floats:
    """Loss of the marked panel on hidden items in every draw."""
    return np.array([d.hidden if d.marked(price, caution) else 0.0 for d in draws])


def _within(cells: dict[str, Draws], price: float, caution: float) -> float:
    paid = [_paid(draws[price], price, caution).mean() for draws in cells.values()]
    return float(np.mean([loss <= price for loss in paid]))


def _cautious(cells: dict[str, Draws], caution: float) -> tuple[str, ...]:
    every = [d for draws in cells.values() for d in draws[PRICE]]
    marked = [d for d in every if d.marked(PRICE, caution)]
    worlds = np.concatenate([_paid(cells[name][PRICE], PRICE, caution) for name in WORLDS])
    return (
        f"{caution:g}",
        *(f"{_within(cells, price, caution):.0%}" for price in PRICES),
        f"{np.mean(worlds <= PRICE):.0%}",
        f"{len(marked) / len(every):.0%}",
        f"{_mean([d.saved for d in marked]):.0%}",
        f"{_mean([d.hidden for d in marked]):+.1%}",
    )


def _row(name: str, draws: list[Draw]) -> tuple[str, ...]:
    marked = [d for d in draws if d.marked(PRICE, CAUTION)]
    paid = _paid(draws, PRICE, CAUTION)
    return (
        name,
        f"{sum(d.saved > 0.0 for d in draws)} of {len(draws)}",
        f"{len(marked)} of {len(draws)}",
        f"{_mean([d.saved for d in marked]):.0%}" if marked else "",
        f"{paid.mean():+.2%}",
        f"{paid.max():+.1%}",
        f"{np.mean([d.hidden for d in draws]):+.2%}",
    )


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0
