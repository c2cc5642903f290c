"""Which judges and which pipeline? A choice nested inside the splits, so that its NLL is honest.

In every outer split all candidates are cross-validated on the calibration rows alone; they are
averaged, or one is taken, by the same preference and within the same budget as in the end, and
scored on the evaluation rows. The mean of that score is what *the recommendation itself* achieves
on new items, selection included. The panel that is exported repeats the choice on all labelled
rows.

Cost per split: folds + 1 evaluations of at most 7 panel sizes for each closed form, and one
cross-fitting (6 fits) a panel size for joint, which is most of it. The wide list takes about ten
times as long, since curators choose again in every inner fold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.decision.absence import Absence, measure_absence
from judgepanel.decision.average import average_losses, average_scores
from judgepanel.decision.candidates import LISTS, Candidate, Candidates, candidates_of
from judgepanel.decision.contest import FINAL, Standing, Terms, compete, final_panel, stand
from judgepanel.decision.held_out import check_share, fitting_votes, held_out_warnings
from judgepanel.decision.preference import (
    PREFERENCES,
    Choice,
    Preference,
    affordable,
    choose,
    cost_of,
    smoothed_nll,
    tied_with_best,
)
from judgepanel.decision.recommend_result import AVERAGE, CandidateFigures, Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.models.mixture import Mixture
from judgepanel.scoring.inference import (
    MARGIN,
    Estimate,
    Verdict,
    estimate,
    labels_to_settle,
    verdict,
)
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.rare_errors import allow_difference, between, one_more_error
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.common import check_known, splits_of
from judgepanel.studies.compare import grid_estimates, mean_sizes
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import errs_rarely, few_labels, not_fitted
from judgepanel.studies.panel.evidence import Rules, known_judges
from judgepanel.studies.position import ConstantPosition, against_position
from judgepanel.studies.settings import Prepared, Settings, grouped_votes, prepare
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached
from judgepanel.votes.repeats import find_repeats

Floats = NDArray[np.float64]

_BOOTSTRAP = 67
"""Where the random stream of the average's weights begins."""
REFERENCE: tuple[str, Aggregator, Calibrator] = ("all", "one_coin", "beta")
"""What the recommendation is held against: the paper's default, all judges with one-coin + beta."""


@dataclass(frozen=True, slots=True)
class RecommendSpec:
    """Candidates and how they are chosen; ``folds`` inner folds on calibration rows.

    Raises
    ------
    InputError
        The paper's protocol, fewer than 2 folds, an unknown list or preference, a budget that is
        not above 0, a share held out outside [0, 1).
    """

    settings: Settings = Settings()
    candidates: str = field(
        default="default", metadata={"help": "the list to choose from: default or wide"}
    )
    folds: int = field(default=5, metadata={"help": "inner folds on calibration rows"})
    prefer: Preference = field(
        default="nll",
        metadata={
            "help": "what to take: the average of lowest NLL (nll), its heaviest pipeline alone "
            "(single), the average over everyone, or the simplest, cheapest, or fewest judges "
            "among candidates tied with the best"
        },
    )
    budget: float | None = field(
        default=None, metadata={"help": "most that the panel may cost per item (no limit)"}
    )
    conformal: float = field(
        default=0.0,
        metadata={"help": "share of the labels held out to make sets at 80 and 90 %; 0: no sets"},
    )

    def __post_init__(self) -> None:
        if self.settings.protocol != "honest":
            raise InputError(
                "a recommendation under the paper's protocol would rest on in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        if self.folds < 2:
            raise InputError("too few inner folds", value=self.folds, allowed="2 or more")
        check_known("list of candidates", tuple(LISTS), (self.candidates,))
        check_known("preference", PREFERENCES, (self.prefer,))
        if self.budget is not None and not 0.0 < self.budget < float("inf"):
            raise InputError(
                "the budget is not a price", value=self.budget, allowed="a number above 0"
            )
        check_share(self.conformal)


@dataclass(frozen=True, slots=True, eq=False)
class _Contest:
    """Who competes under what: built once from votes and spec."""

    prepared: Prepared
    choices: Candidates
    terms: Terms
    costs: Floats | None


def _contest(votes: VoteMatrix, spec: RecommendSpec) -> _Contest:
    """All that may be looked at: what is held out for sets is not there.

    Raises
    ------
    InputError
        Costs are asked for and not known; a budget that no judge keeps within.
    """
    fitting = fitting_votes(grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed)
    prepared = prepare(fitting, spec.settings)
    ballots, known = prepared.ballots, known_judges(fitting, prepared)
    costs = None if known.costs is None else np.array(known.costs)
    if costs is None and (spec.prefer == "cheapest" or spec.budget is not None):
        raise InputError(
            "costs of the judges are not known",
            allowed="a judge table with a cost for every judge",
        )
    if costs is not None and spec.budget is not None and spec.budget < costs.min():
        raise InputError(
            "no judge keeps within the budget",
            value=spec.budget,
            allowed=f"{costs.min():g} or more, what the cheapest judge costs",
        )
    if costs is not None and spec.budget is not None and spec.prefer == "everyone":
        total = float(costs.sum())
        if spec.budget < total:
            raise InputError(
                "keeping everyone exceeds the budget",
                value=spec.budget,
                allowed=f"{total:g} or more, what all judges cost",
                remedy="raise the budget or take another preference",
            )
    rules = Rules(seed=spec.settings.seed, budget=spec.budget, tables=False)
    choices = candidates_of(
        spec.candidates,
        ballots.n_judges,
        symmetric=ballots.symmetric,
        budget=spec.budget is not None,
    )
    return _Contest(prepared, choices, Terms(spec.folds, spec.settings.seed, known, rules), costs)


def _reference(candidates: tuple[Candidate, ...]) -> int:
    for position, candidate in enumerate(candidates):
        if (candidate.name, candidate.aggregator, candidate.calibrator) == REFERENCE:
            return position
    raise ValueError("the reference is not among the candidates")


def run_chunk(votes: VoteMatrix, spec: RecommendSpec, chunk: Chunk) -> Tally:
    """Choose and evaluate in the splits of one chunk."""
    contest = _contest(votes, spec)
    ballots, candidates = contest.prepared.ballots, contest.choices.all()

    def arms(drawn: Split) -> tuple[Split, Arms]:
        held = compete(ballots, drawn, contest.choices, contest.terms)
        rows, losses = drawn.calibration, held.standing.losses
        choice = _choose(held.standing, ballots.units[rows], contest, spec, (drawn.number, 1))
        signs = ballots.signs[drawn.evaluation].astype(np.float64)
        average = average_scores(held.items, choice.weights, signs, symmetric=ballots.symmetric)
        inner = np.append(losses.mean(axis=1), average_losses(losses, choice.weights).mean())
        nll, brier, hit, ece = (
            np.concatenate([getattr(held.items, part), getattr(average, part)])[None]
            for part in ("nll", "brier", "hit", "ece")
        )
        return drawn, Arms(
            nll=nll,
            brier=brier,
            hit=hit,
            ece=ece,
            chosen_on=inner[None],
            null_nll=held.null_nll,
            constant_nll=np.array([held.constant_nll]),
            replaced=np.array([held.replaced]),
            taken=np.array([len(losses) if choice.taken is None else choice.taken]),
        )

    return tally(
        (arms(drawn) for drawn in splits_of(contest.prepared, spec.settings, chunk)),
        n_items=ballots.n_items,
        reference=_reference(candidates),
        seed=spec.settings.seed,
    )


def _choose(
    standing: Standing,
    units: NDArray[np.int64],
    contest: _Contest,
    spec: RecommendSpec,
    key: tuple[int, ...],
) -> Choice:
    return choose(
        standing.losses,
        standing.panels,
        units,
        contest.choices,
        spec.prefer,
        np.random.default_rng(
            np.random.SeedSequence(spec.settings.seed, spawn_key=(*key, _BOOTSTRAP))
        ),
        costs=contest.costs,
        budget=spec.budget,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Final:
    """The choice on all labelled rows; arms are the candidates, then their average.

    ``taken`` and ``lowest`` are positions of arms, ``weights`` (n_arms,) are those in the average.
    ``inner`` (n_arms,) is the NLL the choice saw, ``smoothed`` that by which single candidates are
    compared (infinite where not allowed, NaN for the average); ``tied`` and ``allowed`` (n_arms,)
    are marks; ``size`` and ``cost`` (n_arms,) are those of the panels.
    """

    taken: int
    lowest: int
    model: Mixture
    weights: Floats
    inner: Floats
    smoothed: Floats
    tied: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    size: NDArray[np.int64]
    cost: Floats | None


@cached(4)
def _final(votes: VoteMatrix, spec: RecommendSpec) -> _Final:
    """It rests on votes and spec alone, so that no refresh of a partial result repeats it."""
    contest = _contest(votes, spec)
    ballots, candidates = contest.prepared.ballots, contest.choices.all()
    everyone = np.arange(ballots.n_items)
    standing = stand(ballots, everyone, contest.choices, contest.terms, FINAL)
    choice = _choose(standing, ballots.units, contest, spec, FINAL)
    allowed = affordable(standing.panels, contest.costs, spec.budget)
    smoothed = smoothed_nll(standing.losses, ballots.units, allowed)
    panels = np.vstack([standing.panels, standing.panels[choice.weights > 0.0].any(axis=0)])
    average = average_losses(standing.losses, choice.weights)
    return _Final(
        taken=len(candidates) if choice.taken is None else choice.taken,
        lowest=int(smoothed.argmin()),
        model=final_panel(ballots, contest.prepared.judges, candidates, choice.used, contest.terms),
        weights=np.append(choice.weights, 1.0),
        inner=np.append(standing.losses.mean(axis=1), average.mean()),
        smoothed=np.append(smoothed, np.nan),
        tied=np.append(tied_with_best(standing.losses, ballots.units, allowed), False),
        allowed=np.append(allowed, True),
        size=panels.sum(axis=1),
        cost=None if contest.costs is None else cost_of(panels, contest.costs),
    )


@cached(4)
def _absence(votes: VoteMatrix, spec: RecommendSpec) -> Absence | None:
    contest = _contest(votes, spec)
    model, families = _final(votes, spec).model, contest.terms.known.families
    return measure_absence(contest.prepared, spec.settings, model, families)


def merge(votes: VoteMatrix, spec: RecommendSpec, partial: Tally) -> Recommendation:
    """Intervals for every candidate and for the choice itself; the panel on all labelled rows."""
    contest, final, totals = _contest(votes, spec), _final(votes, spec), partial.in_order()
    complete = len(totals.numbers) >= spec.settings.splits
    absence = _absence(votes, spec) if complete else None
    prepared = contest.prepared
    model = replace(final.model, fallback=absence.fallback if absence else None)
    figures = _figures(
        totals, prepared.ballots.units, contest.choices.all(), final, rare=errs_rarely(prepared)
    )
    overall, reference = figures[-1], figures[totals.reference]
    runner = _runner_up(figures[:-1], final)
    behind, least, most = map(float, runner.behind)
    n_calibration, n_evaluation = mean_sizes(totals)
    seen = np.take_along_axis(totals.chosen_on[:, 0], totals.chosen[:, :1], axis=-1)
    chosen_on = float(seen.mean())
    margin = MARGIN * float(reference.nll.value)
    return Recommendation(
        model=model,
        prefer=spec.prefer,
        budget=spec.budget,
        chosen=figures[final.taken],
        lowest=figures[final.lowest],
        runner_up=runner,
        reference=reference,
        candidates=figures[:-1],
        labels_to_settle=labels_to_settle(
            behind,
            (most - least) / 2.0,
            MARGIN * float(figures[final.taken].nll.value),
            prepared.ballots.n_items,
        ),
        nll=overall.nll,
        brier=overall.brier,
        accuracy=overall.accuracy,
        ece=overall.ece,
        chosen_on=chosen_on,
        optimism=float(overall.nll.value) - chosen_on,
        delta=overall.delta,
        p=overall.p,
        margin=margin,
        verdict=_verdict(overall.delta, margin),
        null_nll=float(totals.null_nll.mean()),
        cost=figures[final.taken].cost,
        absence=absence,
        left_out=tuple(name for name in prepared.judges if name not in set(model.judges)),
        set_aside=prepared.oriented.set_aside,
        orientation=prepared.oriented.policy,
        n_items=prepared.ballots.n_items,
        n_judges=prepared.ballots.n_judges,
        n_calibration=n_calibration,
        n_evaluation=n_evaluation,
        n_splits=len(totals.numbers),
        planned_splits=spec.settings.splits,
        seed=spec.settings.seed,
        measures_coding=prepared.oriented.measures_coding,
        position=next(iter(_position(prepared, spec, totals)), None),
        repeats=find_repeats(grouped_votes(votes, spec.settings)).repeats,
        warnings=(
            *_warnings(contest, model, totals),
            *held_out_warnings(
                grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed
            ),
        ),
    )


def _runner_up(figures: tuple[CandidateFigures, ...], final: _Final) -> CandidateFigures:
    """Of the others within the budget the one of lowest NLL out of sample.

    An average of one pipeline is that pipeline, and neither is the other's rival.
    """
    same = {final.taken}
    if len(final.model.members) == 1:
        alone = np.flatnonzero(final.weights == 1.0).tolist()
        same |= set(alone) if final.taken in alone else set()
    others = [row for arm, row in enumerate(figures) if arm not in same and row.allowed]
    return min(others, key=lambda row: float(row.nll.value), default=figures[final.taken])


def _position(
    prepared: Prepared, spec: RecommendSpec, totals: Tally
) -> tuple[ConstantPosition, ...]:
    """The choice itself against the base rate of the file as given."""
    return against_position(prepared, spec.settings, totals, [(0, totals.n_arms)])


def _figures(
    totals: Tally,
    units: NDArray[np.int64],
    candidates: tuple[Candidate, ...],
    final: _Final,
    *,
    rare: bool,
) -> tuple[CandidateFigures, ...]:
    """Figures of all candidates and of their average, then of the nested choice."""
    table = {metric: level[0] for metric, level in grid_estimates(totals, units, rare=rare).items()}
    nll = table["nll"]
    gaps, others = (_against(totals, units, arm, rare) for arm in (totals.reference, final.taken))
    delta, behind = Interval.of(gaps), Interval.of(others)
    shares = np.bincount(totals.chosen[:, 0], minlength=totals.n_arms) / len(totals.chosen)
    null = float(totals.null_nll.mean())
    margin = MARGIN * float(nll.value[final.taken])
    candidate_figures = []
    for i in range(totals.n_arms + 1):
        candidate_figures.append(
            CandidateFigures(
                **_described(candidates, final, i),
                nll=nll[i],
                brier=float(table["brier"].value[i]),
                accuracy=float(table["accuracy"].value[i]),
                ece=float(table["ece"].value[i]),
                skill=1.0 - float(nll.value[i]) / null,
                delta=delta[i],
                p=float(gaps.p[i]),
                chosen_share=float(shares[i]) if i < totals.n_arms else 1.0,
                behind=behind[i],
                stands=_verdict(behind[i], margin),
            )
        )
    return tuple(candidate_figures)


def _against(totals: Tally, units: NDArray[np.int64], arm: int, rare: bool) -> Estimate:
    """Every arm's NLL less that of one arm; ``rare`` as in :func:`grid_estimates`."""
    item_means, seen = totals.item_means()
    nll, split_nll = item_means[0, 0], totals.split_means[:, 0, 0]
    differences = nll - nll[arm]
    fitted = estimate(
        differences, split_nll - split_nll[:, [arm]], units[seen], *mean_sizes(totals), joint=False
    )
    extra = one_more_error(nll, units[seen]) * rare
    return allow_difference(fitted, between(extra, extra[arm]) * differences.any(axis=1))


def _described(candidates: tuple[Candidate, ...], final: _Final, i: int) -> dict[str, Any]:
    """What an arm is, and what the final choice made of it; the nested choice comes last."""
    if i > len(candidates):
        return {**_described(candidates, final, final.taken), "panel": "recommended"}
    if i == len(candidates):
        named = {"panel": AVERAGE, "aggregator": AVERAGE, "calibrator": "none"}
    else:
        candidate = candidates[i]
        named = {
            "panel": candidate.name,
            "aggregator": candidate.aggregator,
            "calibrator": candidate.calibrator,
        }
    return {
        **named,
        "k": int(final.size[i]),
        "weight": float(final.weights[i]),
        "inner_nll": float(final.inner[i]),
        "smoothed_nll": float(final.smoothed[i]) if final.allowed[i] else float("nan"),
        "tied": bool(final.tied[i]),
        "cost": None if final.cost is None else float(final.cost[i]),
        "allowed": bool(final.allowed[i]),
    }


def _verdict(difference: Interval, margin: float) -> Verdict:
    """A difference of 0 without any width is none: the two never differ."""
    value, lo, hi = map(float, difference)
    return verdict(lo, hi, margin, identical=value == 0.0 and lo == hi)


def _warnings(contest: _Contest, model: Mixture, totals: Tally) -> tuple[str, ...]:
    prepared = contest.prepared
    warnings = list(prepared.notices)
    warnings += few_labels(prepared, float(totals.n_calibration.mean()), allowed=True)
    if totals.replaced.any():
        cases = len(totals.numbers) * len(contest.choices.all())
        warnings.append(not_fitted("Calibrators", f"{int(totals.replaced.sum())} of {cases} cases"))
    replaced = {member.model.calibrator for member in model.members if member.model.replaced}
    warnings += [
        f"{calibrator} could not be fitted on all labelled items (one class, or "
        "perfectly separated); temperature stands in."
        for calibrator in sorted(replaced)
    ]
    if prepared.ballots.n_judges == 1:
        warnings.append("There is one judge only, so there is nothing to choose among judges.")
    return tuple(warnings)


RECOMMEND: Study[RecommendSpec, Tally, Recommendation] = Study(
    name="recommend",
    title="Recommended panel",
    question="Which judges, which pipeline?",
    spec=RecommendSpec,
    result=Recommendation,
    partial=Tally,
    run_chunk=run_chunk,
    combine=combine,
    merge=merge,
    chunk=2,
)
