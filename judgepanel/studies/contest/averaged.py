"""The average of the default candidates in a split: what is recommended, as other studies see it.

Its weights are learnt on the calibration rows of the split alone, as the recommendation learns
them, so that studies of the average and the recommendation speak of the same probabilities.

Cost per split: that of the recommendation; about half of it where members alone compete. Averages
of the last splits are remembered, ``_KEPT_BYTES`` of them: what a recommendation computed in this
process is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.levels import has_levels
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import Split
from judgepanel.studies.contest.average import average_logits, average_weights, bootstrap
from judgepanel.studies.contest.candidates import Candidates, candidates_of
from judgepanel.studies.contest.compete import Results, Terms, compete
from judgepanel.studies.panel.evidence import Rules, known_judges
from judgepanel.studies.recent import Recent
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import cached

Floats = NDArray[np.float64]

AVERAGE: Literal["average"] = "average"
"""Name of the average where a study asks for an aggregator."""
FOLDS = 5
"""Inner folds in which candidates are compared."""
_KEPT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Averaged:
    """The average on the rows that were scored: ``logits`` (n_eval,), the logit of the base rate
    and its NLL.
    """

    logits: Floats
    null: float
    null_nll: float


def recommended(votes: VoteMatrix, settings: Settings, split: Split) -> Averaged:
    """The average of the default candidates in a split of an analysis; remembered."""
    average = _RECENT.get((votes.sha256, settings, split.number))
    if average is None:
        average = _averaged(prepare(votes, settings).ballots, split, *_contest(votes, settings))
        remember(votes, settings, split.number, average)
    return average


def recommended_on(votes: VoteMatrix, settings: Settings, split: Split) -> Averaged:
    """The same on any other split of the items; members alone compete, to the same but rounding."""
    choices, terms = _contest(votes, settings)
    return _averaged(prepare(votes, settings).ballots, split, choices.members(), terms)


def remember(votes: VoteMatrix, settings: Settings, number: int, average: Averaged) -> None:
    """Keep the average of a split of an analysis for studies that ask for it."""
    _RECENT.put((votes.sha256, settings, number), average, average.logits.nbytes)


def remembered(
    votes: VoteMatrix, settings: Settings, numbers: Iterable[int]
) -> dict[int, Averaged]:
    """What is remembered of these splits of an analysis, by number."""
    known = {number: _RECENT.get((votes.sha256, settings, number)) for number in numbers}
    return {number: average for number, average in known.items() if average is not None}


def fits_memory(n_items: int, settings: Settings) -> bool:
    """Whether the averages of all splits of an analysis can be kept."""
    return 8 * n_items * settings.splits <= _KEPT_BYTES


def averaged_of(results: Results, weights: Floats, signs: Floats) -> Averaged:
    """The average under these weights (A,), from the scores of the candidates."""
    logits = average_logits(results.items.nll, weights, signs)
    return Averaged(logits, results.null, results.null_nll)


@cached(4)
def _contest(votes: VoteMatrix, settings: Settings) -> tuple[Candidates, Terms]:
    prepared = prepare(votes, settings)
    ballots = prepared.ballots
    choices = candidates_of(
        "default",
        ballots.n_judges,
        symmetric=ballots.symmetric,
        graded=has_levels(ballots),
    )
    rules = Rules(seed=settings.seed, budget=None, tables=False)
    return choices, Terms(FOLDS, settings.seed, known_judges(votes, prepared), rules)


def _averaged(ballots: Ballots, split: Split, choices: Candidates, terms: Terms) -> Averaged:
    results = compete(ballots, split, choices, terms)
    weights = average_weights(
        results.standing.losses,
        ballots.units[split.calibration],
        choices.with_everyone(choices.prior()),
        bootstrap(terms.seed, (split.number, 1)),
    )
    return averaged_of(results, weights[0], ballots.signs[split.evaluation].astype(np.float64))


_RECENT: Recent[Averaged] = Recent(_KEPT_BYTES)
