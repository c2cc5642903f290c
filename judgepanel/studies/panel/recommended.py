"""The average of the default candidates in a split: what is recommended, as other studies see it.

Its weights are learnt on the calibration rows of the split alone, as the recommendation learns
them, so that studies of the average and the recommendation speak of the same probabilities.

Cost per split: that of the recommendation; about half of it where members alone compete
(:func:`average_on`, which studies with splits of their own use). Averages are kept with the splits
(:mod:`judgepanel.kernels.threads`): what a recommendation computed is not computed again.

The average of candidates: weights by Bayesian bootstrap, under a prior that is stated.

A member's weight is the mean, over draws of Dirichlet weights d on clusters of items (the Bayesian
bootstrap, Rubin 1981, doi:10.1214/aos/1176345338), of

    prior exp(-sum_i n d_i loss_i) / its sum over members,

the losses being cross-validated NLL on calibration rows. Without the draws these are pseudo-BMA
weights, with them pseudo-BMA+ (Yao, Vehtari, Simpson and Gelman 2018, doi:10.1214/17-BA1091,
section 3.4), here with a prior: .5 on joint over everyone
(:data:`studies.contest.candidates.LEAD`).

Cost: draws x clusters x members.

Panels beside the recommended average: their pipeline, their names, and verdicts in words.

Of the average there is no top k, since it weighs panels itself. It is compared with the top k under
``COMPARED``: the pipeline of its members that keep a few judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.ballots import Ballots, digest_of
from judgepanel.kernels.calibrated import Calibrated, SplitScores, evaluate
from judgepanel.kernels.calibration import Calibrator, fit
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.kernels.graded import has_levels
from judgepanel.kernels.threads import SHARED
from judgepanel.models.panel import pooled
from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.metrics import ItemScores, item_scores
from judgepanel.scoring.splits import Split, unit_codes
from judgepanel.studies.compare import arm_name
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.options import StudySpec, check_known, option
from judgepanel.studies.panel.candidates import (
    FEW_MEMBER,
    Candidates,
    Results,
    Terms,
    candidates_of,
    compete,
)
from judgepanel.studies.panel.curator import Known, Rules
from judgepanel.votes import InputError, VoteMatrix

DRAWS = 200
LEAST = 0.02
"""Weight below which a member is left out."""
_CELLS = 2_000_000
_BOOTSTRAP = 67
"""Where the random stream of the weights begins."""


def bootstrap(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    """The random stream of the weights that rows learn; ``key`` says which rows."""
    sequence = np.random.SeedSequence(seed, spawn_key=(*key, _BOOTSTRAP))
    return np.random.default_rng(sequence)


def average_weights(
    losses: Floats, units: Ints, priors: Floats, rng: np.random.Generator
) -> Floats:
    """Weights (P, A) under each prior, which add up to 1; members below ``LEAST`` have none.

    Parameters
    ----------
    losses : float (A, n), cross-validated NLL of every candidate on the rows to learn from.
    units : int (n,), the cluster of each row.
    priors : float (P, A), in each at least one above 0; candidates with 0 take no part.
    rng : draws the bootstrap, one for all priors.
    """
    members = np.flatnonzero((priors > 0.0).any(axis=0))
    place, n_clusters = unit_codes(units)
    sums = np.stack([np.bincount(place, losses[m], n_clusters) for m in members])
    block = max(1, _CELLS // n_clusters)
    with np.errstate(divide="ignore"):
        starts = np.log(priors[:, members])
    total = np.zeros_like(starts)
    for start in range(0, DRAWS, block):
        cluster_weights = rng.standard_exponential((min(block, DRAWS - start), n_clusters))
        cluster_weights *= n_clusters / cluster_weights.sum(axis=1, keepdims=True)
        logs = starts[:, None] - cluster_weights @ sums.T
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        total += (weights / weights.sum(axis=-1, keepdims=True)).sum(axis=1)
    total[total < LEAST * DRAWS] = 0.0
    result = np.zeros(priors.shape)
    result[:, members] = total / total.sum(axis=1, keepdims=True)
    return result


def average_losses(losses: Floats, weights: Floats) -> Floats:
    """NLL (n,) of the average of candidates whose NLL is ``losses`` (A, n)."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return np.asarray(losses[members[0]])
    p = pooled(list(np.exp(-losses[members])), weights[members].tolist())
    return np.asarray(-np.log(p))


def average_logits(losses: Floats, weights: Floats, signs: Floats) -> Floats:
    """Logits (n,) of the average; ``signs`` (n,) are +1 where the label is 1, else -1."""
    p_true = np.exp(-average_losses(losses, weights))
    with np.errstate(divide="ignore"):
        return np.asarray(signs * (np.log(p_true) - np.log1p(-p_true)))


def average_scores(
    items: ItemScores, weights: Floats, signs: Floats, *, symmetric: bool
) -> ItemScores:
    """Scores (1, n) of the average; ``items`` are those of the candidates."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return items.part(slice(members[0], members[0] + 1))
    return item_scores(average_logits(items.nll, weights, signs)[None], signs, symmetric=symmetric)


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


@dataclass(frozen=True, slots=True)
class AverageSpec(StudySpec):
    """The aggregator of a study that can show the recommended average, which has no calibrator.

    Raises
    ------
    InputError
        As for :class:`StudySpec`; the average under the paper's protocol.
    """

    aggregator: PanelAggregator = option("one_coin", AVERAGE_HELP)

    def __post_init__(self) -> None:
        StudySpec.__post_init__(self)
        check_panel_aggregators((self.aggregator,), self.settings)
        if self.aggregator == AVERAGE:
            for name, none in (("calibrator", "none"), ("calibrators", ("none",))):
                if hasattr(self, name):
                    object.__setattr__(self, name, none)


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


Objects = NDArray[np.object_]

COMPARED = FEW_MEMBER
"""Pipeline of the panels that the average is compared with."""
RECOMMENDED: Literal["the recommended panel"] = "the recommended panel"
"""Name of the average among the panels."""


def panel_names(panels: Ints, aggregator: str) -> tuple[str, ...]:
    """Return ``top-5``, ..., ``all 65``: the last size is all judges.

    By average they are ``top-5 by one-coin``, ..., ``the recommended panel``.
    """
    everyone = RECOMMENDED if aggregator == AVERAGE else f"all {panels[-1]:,}"
    return (*(compared_name(int(k), aggregator) for k in panels[:-1]), everyone)


def compared_name(k: int, aggregator: str) -> str:
    """Return the name of the k best judges: ``top-5``, or by average ``top-5 by one-coin``."""
    return by_aggregator(arm_name(k), COMPARED[0]) if aggregator == AVERAGE else arm_name(k)


def pipeline_columns(
    aggregator: str, calibrators: Sequence[str], n_panels: int
) -> tuple[Objects, Objects]:
    """Return aggregators (n_panels, 1) and calibrators (n_calibrators, n_panels, 1) by name."""
    aggregators = np.full((n_panels, 1), aggregator, dtype=object)
    names = np.array(calibrators, dtype=object)[:, None, None].repeat(n_panels, axis=1)
    if aggregator == AVERAGE:
        aggregators[:-1], names[:, :-1] = COMPARED
    return aggregators, names


def verdicts_between(first: str, second: str) -> dict[Verdict, str]:
    """Return verdicts in words for two panels that may both keep all judges."""
    return {
        "keep all": f"{first} is better",
        "curate": f"{second} is better",
        "no loss from keeping": f"no loss with {first}",
        "no loss from curating": f"no loss with {second}",
        "undecided": "undecided",
        "tie": "tie",
    }


AGAINST_AVERAGE = verdicts_between(RECOMMENDED, "the other")
"""Verdicts for any other panel against the recommended one."""


def by_aggregator(panel: str, aggregator: str) -> str:
    """Return ``all 65 by joint``, ``top-5 by one-coin``."""
    return f"{panel} by {aggregator.replace('_', '-')}"
