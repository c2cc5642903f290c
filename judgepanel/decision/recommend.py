"""The recommendation: which judges and which pipeline? The choice is nested inside the splits.

In every outer split all candidates are cross-validated on the calibration rows alone; they are
averaged, or one is chosen, by the same preference and within the same budget as in the final
choice, and scored on the evaluation rows. The mean of that score is what *the recommendation
itself* achieves on new items, including selection. The exported panel repeats the choice on all
labelled rows.

Every split chooses by all preferences at once, so a result contains the choice and score of each:
:func:`decision.reading.as_asked` derives another one without a new run.

Cost per split: folds + 1 evaluations of at most 7 panel sizes for each closed form, and one
cross-fitting (6 fits) per panel size for joint, which dominates. The wide list takes about ten
times as long, since curators choose again in every inner fold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judgepanel.arrays import Ints
from judgepanel.decision.candidate_figures import FinalChoice, readings_of
from judgepanel.decision.held_out import held_out_warnings
from judgepanel.decision.preference import Choices, choose
from judgepanel.decision.reading import (
    REFERENCE,
    fields_of,
    fitted_panel,
    reference_of,
    stand_ins,
    taking,
    with_absence,
)
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import (
    Contest,
    RecommendSpec,
    contest_of,
    shared_run,
)
from judgepanel.kernels.threads import threads
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.common import splits_of
from judgepanel.studies.compare import Estimator, mean_sizes, settled
from judgepanel.studies.contest.average import average_losses, average_scores, bootstrap
from judgepanel.studies.contest.compete import FINAL, Standing, absent_losses, compete, stand
from judgepanel.studies.contest.recommended import Averaged, averaged_of, fits_memory, remember
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import errs_rarely, few_labels, not_fitted
from judgepanel.studies.partials import by_split, frozen
from judgepanel.studies.position import against_position
from judgepanel.studies.settings import grouped_votes
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import reversal
from judgepanel.votes.matrix import cached
from judgepanel.votes.repeats import find_repeats

_LARGE = 10_000_000
_THREADS = 2


@frozen
class Scores:
    """Scores of the candidates in S splits, and of each preference's choice, one arm each.

    ``taken`` (S, n_preferences) are the positions of the choices among the arms of ``tally``: a
    candidate, or the arm itself if an average was chosen. Nothing here depends on the preference of
    the spec. ``averages`` are the logits of the default average in each split, for studies that use
    it (:mod:`studies.contest.recommended`); None if it is another average, or too large to store.
    """

    tally: Tally
    taken: Ints = by_split()
    averages: tuple[Averaged, ...] = by_split()


def run_chunk(
    votes: VoteMatrix, spec: RecommendSpec, chunk: Chunk, into: Scores | None = None
) -> Scores:
    """Choose by every preference and evaluate, in the splits of one chunk; add them to ``into``,
    whose memory is reused.
    """
    contest = contest_of(votes, spec)
    ballots, candidates = contest.prepared.ballots, contest.choices.all()
    positions, averages = [], []
    has_averages = _is_default(spec) and fits_memory(ballots.n_items, spec.settings)

    def arms(drawn: Split) -> tuple[Split, Arms]:
        n_choices = len(contest.offered)
        held = compete(ballots, drawn, contest.choices, contest.terms, n_choices=n_choices)
        rows, losses = drawn.calibration, held.standing.losses
        choices = _choose(held.standing, rows, contest, spec, (drawn.number, 1)).by_preference
        signs = ballots.signs[drawn.evaluation].astype(np.float64)
        n = end = len(losses)
        for choice in choices.values():
            scores = average_scores(held.items, choice.used, signs, symmetric=ballots.symmetric)
            end = held.arms.put(end, scores)
        inner = [average_losses(losses, choice.used).mean() for choice in choices.values()]
        if has_averages:
            averages.append(averaged_of(held, choices["nll"].weights, signs))
        positions.append(
            [n + i if c.taken is None else c.taken for i, c in enumerate(choices.values())]
        )
        return drawn, Arms(
            nll=held.arms.nll[None],
            brier=held.arms.brier[None],
            hit=held.arms.hit[None],
            ece=held.arms.ece[None],
            chosen_on=np.append(losses.mean(axis=1), inner)[None],
            null_nll=held.null_nll,
            constant_nll=np.array([held.constant_nll]),
            replaced=np.array([held.replaced]),
            taken=np.array([n]),
        )

    totals = tally(
        (arms(drawn) for drawn in splits_of(contest.prepared, spec.settings, chunk)),
        n_items=ballots.n_items,
        reference=reference_of(candidates),
        seed=spec.settings.seed,
        into=None if into is None else into.tally,
    )
    scores = Scores(totals, np.array(positions, dtype=np.int64), tuple(averages))
    if into is None:
        return scores
    taken = np.concatenate([into.taken, scores.taken])
    return replace(scores, taken=taken, averages=into.averages + scores.averages)


def extend(votes: VoteMatrix, spec: RecommendSpec, chunk: Chunk, into: Scores | None) -> Scores:
    """Add the splits of one chunk to the memory of others, on two threads."""
    with threads(_THREADS):
        return run_chunk(votes, spec, chunk, into)


def _is_default(spec: RecommendSpec) -> bool:
    """Whether the average is the one that other studies use."""
    return shared_run(spec) == RecommendSpec(settings=spec.settings)


def large(votes: VoteMatrix, spec: RecommendSpec) -> bool:
    """Whether the scores of a split have so many cells that workers would need too much memory."""
    contest = contest_of(votes, spec)
    n_arms = len(contest.choices.all()) + len(contest.offered)
    return contest.prepared.ballots.n_items * n_arms >= _LARGE


def _choose(
    standing: Standing, rows: Ints, contest: Contest, spec: RecommendSpec, key: tuple[int, ...]
) -> Choices:
    ballots, absent = contest.prepared.ballots, None
    if contest.families:
        absent = absent_losses(ballots, rows, contest.choices, contest.terms, contest.families, key)
    return choose(
        standing.losses,
        standing.panels,
        ballots.units[rows],
        contest.choices,
        bootstrap(spec.settings.seed, key),
        costs=contest.costs,
        budget=spec.budget,
        absent=absent,
    )


@cached(4)
def _final(votes: VoteMatrix, spec: RecommendSpec) -> FinalChoice:
    """Return the final choice, cached by votes and spec so that partial results share it."""
    contest = contest_of(votes, spec)
    ballots = contest.prepared.ballots
    everyone = np.arange(ballots.n_items)
    standing = stand(ballots, everyone, contest.choices, contest.terms, FINAL)
    choices = _choose(standing, everyone, contest, spec, FINAL)
    return FinalChoice.of(standing, choices, contest.costs)


def merge(votes: VoteMatrix, spec: RecommendSpec, partial: Scores) -> Recommendation:
    """Return intervals for every candidate and the choice, and the panel on all labelled rows."""
    with threads(_THREADS if large(votes, spec) else 1):
        return _merged(votes, spec, partial)


def _merged(votes: VoteMatrix, spec: RecommendSpec, scores: Scores) -> Recommendation:
    contest = contest_of(votes, spec)
    final, totals = _final(votes, shared_run(spec)), scores.tally
    for number, average in zip(totals.numbers.tolist(), scores.averages, strict=False):
        remember(votes, spec.settings, number, average)
    prepared = contest.prepared
    listed = contest.choices.all()
    n_arms = len(listed) + len(final.choices.by_preference)
    positions = against_position(
        prepared, spec.settings, totals, [(0, arm) for arm in range(n_arms)]
    )
    candidates, readings = readings_of(
        totals,
        scores.taken,
        prepared.ballots.units,
        listed,
        final,
        positions[len(listed) :],
        rare=errs_rarely(prepared),
    )
    reading = next(reading for reading in readings if reading.prefer == spec.prefer)
    model = fitted_panel(votes, spec, reading.used)
    n_calibration, n_evaluation = mean_sizes(totals)
    result = Recommendation(
        **fields_of(candidates, reading, model, prepared.judges, prepared.ballots.n_items),
        budget=spec.budget,
        null_nll=float(totals.null_nll.mean()),
        absence=None,
        set_aside=prepared.oriented.set_aside,
        orientation=prepared.oriented.policy,
        n_items=prepared.ballots.n_items,
        n_judges=prepared.ballots.n_judges,
        n_calibration=n_calibration,
        n_evaluation=n_evaluation,
        n_splits=len(totals.numbers),
        planned_splits=spec.settings.most_splits,
        seed=spec.settings.seed,
        measures_coding=prepared.oriented.measures_coding,
        repeats=find_repeats(grouped_votes(votes, spec.settings)).repeats,
        reversed_votes="" if spec.settings.judges else reversal(votes),
        readings=readings,
        positions=positions[: len(listed)],
        instead_of=None,
        warnings=(
            *_warnings(contest, totals),
            *held_out_warnings(
                grouped_votes(votes, spec.settings), spec.conformal, spec.settings.seed
            ),
            *stand_ins(model),
        ),
    )
    if spec.candidate:
        result = taking(votes, spec, result, spec.candidate)
    return with_absence(votes, spec, result)


def is_settled(votes: VoteMatrix, spec: RecommendSpec, partial: Scores) -> bool:
    """Whether more splits are unlikely to change the verdict on the choice by any preference."""
    contest, totals = contest_of(votes, spec), partial.tally
    estimated = Estimator.of(totals, contest.prepared.ballots.units)
    return settled(totals, estimated, np.array([len(contest.choices.all())]))


def _warnings(contest: Contest, totals: Tally) -> tuple[str, ...]:
    prepared = contest.prepared
    warnings = list(prepared.notices)
    warnings += few_labels(prepared, float(totals.n_calibration.mean()), allowed=True)
    if totals.replaced.any():
        cases = len(totals.numbers) * len(contest.choices.all())
        warnings.append(not_fitted("Calibrators", f"{int(totals.replaced.sum())} of {cases} cases"))
    if prepared.ballots.n_judges == 1:
        warnings.append("There is only one judge, so there is nothing to choose among judges.")
    return tuple(warnings)


RECOMMEND: Study[RecommendSpec, Scores, Recommendation] = Study(
    name="recommend",
    title="Recommended panel",
    question="Which judges, which pipeline?",
    spec=RecommendSpec,
    result=Recommendation,
    partial=Scores,
    run_chunk=run_chunk,
    merge=merge,
    chunk=2,
    large=large,
    extend=extend,
    settled=is_settled,
    complete=with_absence,
)

__all__ = ["RECOMMEND", "REFERENCE", "RecommendSpec", "Scores", "merge", "run_chunk"]
