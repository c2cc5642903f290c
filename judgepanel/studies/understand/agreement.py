"""Agreement: of judges with the labels and with each other, as people report it.

Every judge's confusion matrix, kappa and AC1 with the labels, its mean kappa with the others,
alpha of all judges, and the labels that the panel contradicts most. There are no splits: one round
counts. Under ``symmetric`` every pair counts together with its swap: kappa is 2 accuracy - 1
then, as for labels that are balanced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.cross_proxies import cross_proxies
from judgepanel.scoring import descriptive, interval
from judgepanel.studies import contract, options
from judgepanel.studies.results import Declared, column, frozen, json_values, long_frame
from judgepanel.votes import VoteMatrix

MOST_DOUBTS = 50
PAIR_BLOCKS = 20


@dataclass(frozen=True, slots=True)
class AgreementSpec(options.StudySpec):
    """No options; the number of splits is not used."""


@frozen
class Counts:
    """Counts by block: of judges by label (B, J, 2, 2), of items (B, 3), and pairwise kappas.

    ``others`` are mean kappas (B + 1, J) with the other judges, of all items and without each
    block; ``proxies`` (n,) are cross-fitted probabilities of the labels, empty for one class.
    """

    judges: Floats
    items: Floats
    others: Floats
    proxies: Floats


@frozen
class Agreement(Declared):
    """Result of :data:`AGREEMENT`; arrays are (n_judges,), in the order of ``judge``.

    ``doubt`` (m,) are the items whose label the panel contradicts most, the most first:
    ``doubt_probability`` is what the panel, fitted to other labels, gives label 1, and
    ``doubt_share`` the share of votes for 1.
    """

    judge: tuple[str, ...] = column(heading="judge", key=True)
    items: Ints = column("Labelled items that the judge voted on.", "items", "whole", name="voted")
    base_rate: Floats = column("Share of label 1 among them.", "label 1", "share")
    label_1_vote_1: Ints = column("Items with label 1 and vote 1.", "1, voted 1", "whole")
    label_1_vote_0: Ints = column("Items with label 1 and vote 0.", "1, voted 0", "whole")
    label_0_vote_1: Ints = column("Items with label 0 and vote 1.", "0, voted 1", "whole")
    label_0_vote_0: Ints = column("Items with label 0 and vote 0.", "0, voted 0", "whole")
    kappa: interval.Interval = column(
        "Cohen's kappa of votes and labels; blank if all labels and votes are equal.", "kappa"
    )
    ac1: interval.Interval = column("Gwet's AC1 of votes and labels.", "AC1")
    others: interval.Interval = column(
        "Mean of Cohen's kappa with each other judge.", "kappa, others", name="kappa_others"
    )
    alpha: interval.Interval
    doubt: tuple[str, ...]
    doubt_label: Ints
    doubt_probability: Floats
    doubt_share: Floats
    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    seed: int = column()
    warnings: tuple[str, ...]

    def doubts(self) -> pd.DataFrame:
        """Return the items whose label the panel contradicts most."""
        return long_frame(
            {
                "item_id": np.array(self.doubt, dtype=object),
                "label": self.doubt_label,
                "probability": self.doubt_probability,
                "share_of_votes": self.doubt_share,
            }
        )

    def decisions(self) -> dict[str, Any]:
        """Return alpha, and the labels in doubt."""
        return json_values({"alpha": self.alpha}) | {"doubts": self.doubts().to_dict("records")}


def run_chunk(votes: VoteMatrix, spec: AgreementSpec, chunk: contract.Chunk) -> Counts:
    """Return all counts; ``chunk`` holds one round."""
    ballots = contract.prepare(votes, spec.settings).ballots
    signs, labels, seed = ballots.votes, ballots.signs, spec.settings.seed
    blocks = descriptive.blocks_of(ballots.units, seed=seed)
    judges = descriptive.pair_counts(signs, labels[:, None], blocks)
    items = descriptive.item_counts(signs, blocks)
    if ballots.symmetric:
        items = descriptive.items_with_swaps(items)
    few = descriptive.blocks_of(ballots.units, seed=seed, most=PAIR_BLOCKS)
    proxies = np.zeros(0)
    if len(np.unique(labels)) > 1:
        proxies = cross_proxies(signs, (labels > 0).astype(np.float64), ballots.units, seed=seed)
    # Mean kappas (n_blocks + 1, J) with the other judges: of all items, and without each block.
    n_blocks, n_judges = int(few.max(initial=-1)) + 1, signs.shape[1]
    counts = np.zeros((n_blocks, n_judges, n_judges, 2, 2))
    for block in range(n_blocks):
        some = signs[few == block]
        sides = [(some < 0).astype(np.float64), (some > 0).astype(np.float64)]
        for i, first in enumerate(sides):
            for j, second in enumerate(sides):
                counts[block, :, :, i, j] = first.T @ second
    if ballots.symmetric:
        counts = descriptive.with_swaps(counts)
    total = counts.sum(axis=0)
    means = np.full((n_blocks + 1, n_judges), np.nan)
    for place, own in enumerate((total, *(total - part for part in counts))):
        pairs = descriptive.kappa(own)
        np.fill_diagonal(pairs, np.nan)
        known = np.isfinite(pairs)
        sums = np.where(known, pairs, 0.0).sum(axis=1)
        means[place] = np.where(known.any(axis=1), sums / np.maximum(known.sum(axis=1), 1), np.nan)
    return Counts(judges, items, means, proxies)


def merge(votes: VoteMatrix, spec: AgreementSpec, partial: Counts) -> Agreement:
    """Return agreement with intervals, and the labels in doubt."""
    prepared = contract.prepare(votes, spec.settings)
    given, ballots = prepared.oriented.votes, prepared.ballots
    cells = partial.judges.sum(axis=0).astype(np.int64)
    by_label = descriptive.with_swaps(partial.judges) if ballots.symmetric else partial.judges
    table = by_label.sum(axis=0)
    n_voted = table.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        base = table[:, :, 1].sum(axis=1) / n_voted
    labels = given.labels.astype(np.int64)
    against = np.abs(labels - partial.proxies) if len(partial.proxies) else np.zeros(0)
    worst = np.argsort(-against, kind="stable")[:MOST_DOUBTS]
    worst = worst[against[worst] > 0.5]
    cast = np.maximum((ballots.votes != 0).sum(axis=1), 1)
    return Agreement.from_run(
        prepared,
        spec,
        1,
        judge=prepared.judges,
        items=n_voted.astype(np.int64),
        base_rate=base,
        label_1_vote_1=cells[:, 1, 1],
        label_1_vote_0=cells[:, 0, 1],
        label_0_vote_1=cells[:, 1, 0],
        label_0_vote_0=cells[:, 0, 0],
        kappa=descriptive.jackknifed(descriptive.kappa, by_label),
        ac1=descriptive.jackknifed(descriptive.ac1, by_label),
        others=descriptive.around(partial.others[0], partial.others[1:]),
        alpha=descriptive.single(descriptive.jackknifed(descriptive.alpha, partial.items)),
        doubt=tuple(given.item_ids[i] for i in worst),
        doubt_label=labels[worst],
        doubt_probability=partial.proxies[worst] if len(partial.proxies) else np.zeros(0),
        doubt_share=((ballots.votes > 0).sum(axis=1) / cast)[worst],
        one_class=len(np.unique(labels)) < 2,
        warnings=prepared.notices,
    )


AGREEMENT: contract.Study[AgreementSpec, Counts, Agreement] = contract.Study(
    name="agreement",
    title="Agreement",
    question="How much do judges agree with the labels, and with each other?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda _: 1,
)
