"""The average of the default candidates in a split: what is recommended, as other studies see it.

Its weights are learnt on the calibration rows of the split alone, as the recommendation learns
them, so that studies of the average and the recommendation speak of the same probabilities.

Cost per split: that of the recommendation; about half of it where members alone compete
(:func:`average_on`, which studies with splits of their own use). Averages are kept with the splits
(:mod:`judgepanel.kernels.recent`): what a recommendation computed is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.levels import has_levels
from judgepanel.kernels.ballots import Ballots, digest_of
from judgepanel.kernels.calibrate.calibration import Calibrator, fit
from judgepanel.kernels.evaluate.calibrated import Calibrated, SplitScores, evaluate
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.kernels.recent import SHARED
from judgepanel.scoring.splits import Split
from judgepanel.studies.common import check_known
from judgepanel.studies.contest.average import average_logits, average_weights, bootstrap
from judgepanel.studies.contest.candidates import Candidates, candidates_of
from judgepanel.studies.contest.compete import Results, Terms, compete
from judgepanel.studies.panel.curator import Known, Rules
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

Value = TypeVar("Value")

AVERAGE: Literal["average"] = "average"
"""Name of the average, as a panel and where a study asks for an aggregator."""
PanelAggregator = Literal[Aggregator, "average"]
AVERAGE_HELP = "how votes are summed; average: the recommended panel"
PANEL_AGGREGATORS: tuple[PanelAggregator, ...] = (AVERAGE, *AGGREGATORS)
"""Aggregators of a panel: the recommended average, or one aggregator."""
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
    average: Averaged | None = SHARED.find(split.number, _key(settings), votes.sha256)
    if average is None:
        ballots = prepare(votes, settings).ballots
        average = _averaged(ballots, split, _candidates(ballots), settings.seed)
        remember(votes, settings, split.number, average)
    return average


def recommended_on(votes: VoteMatrix, settings: Settings, split: Split) -> Averaged:
    """The same on any other split of the items; members alone compete, to the same but rounding."""
    return average_on(prepare(votes, settings).ballots, split, settings.seed)


def average_on(ballots: Ballots, split: Split, seed: int) -> Averaged:
    """The same on a split of any ballots: other judges, fewer labels, damaged votes."""
    key = AVERAGE, seed, digest_of(ballots.digest, split.calibration, split.evaluation)
    average: Averaged | None = SHARED.find(split.number, key)
    if average is None:
        average = _averaged(ballots, split, _candidates(ballots).members(), seed)
        SHARED.keep(split.number, key, average, average.logits.nbytes)
    return average


def all_judges(
    ballots: Ballots,
    split: Split,
    aggregator: PanelAggregator,
    calibrator: Calibrator,
    settings: Settings,
) -> SplitScores:
    """Scores of all judges in a split, under one pipeline or the recommended average."""
    if aggregator == AVERAGE:
        return scored_average(ballots, split, settings.seed)
    in_sample = settings.protocol == "paper"
    recipe = Recipe(aggregator, (calibrator,), in_sample=in_sample, seed=settings.seed)
    return evaluate_split(ballots, split, np.array([ballots.n_judges]), recipe)


def scored_average(ballots: Ballots, split: Split, seed: int) -> SplitScores:
    """The average as a single uncalibrated panel: its members have calibrators of their own."""
    return as_scores(ballots, split, average_on(ballots, split, seed))


def as_scores(ballots: Ballots, split: Split, average: Averaged) -> SplitScores:
    """Scores of the average on the evaluation rows of a split."""
    signs = ballots.signs.astype(np.float64)
    labels = signs[split.calibration]
    maps = fit(("none",), np.zeros((1, len(labels))), labels, symmetric=ballots.symmetric)
    fitted = Calibrated(
        maps, average.logits[None], None, signs[split.evaluation], null=average.null
    )
    scores = evaluate(ballots, split, fitted, np.arange(ballots.n_judges), np.zeros((0, 1)))
    return replace(scores, constant_nll={"none": scores.null_nll})


def check_panel_aggregators(names: Sequence[str], settings: Settings) -> None:
    """Refuse unknown aggregators, and the average under the paper's protocol.

    Raises
    ------
    InputError
        An unknown name; under the paper's protocol the average would rest on in-sample scores.
    """
    check_known("aggregator", PANEL_AGGREGATORS, names)
    if AVERAGE in names and settings.protocol != "honest":
        raise InputError(
            "the average under the paper's protocol would rest on in-sample scores",
            value=settings.protocol,
            allowed="honest",
        )


def remember(votes: VoteMatrix, settings: Settings, number: int, average: Averaged) -> None:
    """Keep the average of a split of an analysis for studies that ask for it."""
    SHARED.keep(number, _key(settings), average, average.logits.nbytes, votes.sha256)


def remembered(
    votes: VoteMatrix, settings: Settings, numbers: Iterable[int]
) -> dict[int, Averaged]:
    """What is remembered of these splits of an analysis, by number."""
    key = _key(settings)
    known = {number: SHARED.find(number, key, votes.sha256) for number in numbers}
    return {number: average for number, average in known.items() if average is not None}


def _key(settings: Settings) -> tuple[str, Settings]:
    return AVERAGE, settings.of_splits


def fits_memory(n_items: int, settings: Settings) -> bool:
    """Whether the averages of all splits of an analysis can be kept."""
    return 8 * n_items * settings.most_splits <= _KEPT_BYTES


def averaged_of(results: Results, weights: Floats, signs: Floats) -> Averaged:
    """The average under these weights (A,), from the scores of the candidates."""
    logits = average_logits(results.items.nll, weights, signs)
    return Averaged(logits, results.null, results.null_nll)


def _candidates(ballots: Ballots) -> Candidates:
    return candidates_of(
        "default", ballots.n_judges, symmetric=ballots.symmetric, graded=has_levels(ballots)
    )


def _averaged(ballots: Ballots, split: Split, choices: Candidates, seed: int) -> Averaged:
    unknown = Known(("",) * ballots.n_judges, None)  # the default candidates have no curator
    terms = Terms(FOLDS, seed, unknown, Rules(seed=seed, budget=None, tables=False))
    results = compete(ballots, split, choices, terms)
    weights = average_weights(
        results.standing.losses,
        ballots.units[split.calibration],
        choices.with_everyone(choices.prior()),
        bootstrap(seed, (split.number, 1)),
    )
    return averaged_of(results, weights[0], ballots.signs[split.evaluation].astype(np.float64))
