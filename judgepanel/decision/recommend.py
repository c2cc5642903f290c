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

Out-of-sample figures of each candidate, and of choosing by each preference.

A recommendation under another preference, or with another candidate, from the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.decision.absence import Absence, measure_absence
from judgepanel.decision.lean import PRICE
from judgepanel.decision.recommend_result import (
    CAUTION,
    SAVES,
    CandidateFigures,
    Choice,
    Choices,
    Contest,
    Preference,
    Reading,
    Recommendation,
    RecommendSpec,
    choose,
    contest_of,
    cost_of,
    reading_of,
    shared_run,
    within,
)
from judgepanel.decision.training_items import held_out_warnings
from judgepanel.kernels import aggregation, calibration
from judgepanel.kernels.threads import threads
from judgepanel.models.panel import Mixture, PanelModel, mixture_of
from judgepanel.scoring import descriptive, splits
from judgepanel.scoring.inference import MARGIN, Verdict, labels_to_settle, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies import accumulate, common, results
from judgepanel.studies.contract import REACH, Chunk, Extend, Prepared, Study, grouped_votes
from judgepanel.studies.panel import recommended
from judgepanel.studies.runner import one_thread
from judgepanel.studies.trust.selective import SureSums, sure_decisions, sure_levels, sure_sums
from judgepanel.votes import InputError, VoteMatrix, checks, matrix


@dataclass(frozen=True, slots=True, eq=False)
class FinalChoice:
    """The choices from n candidates on all labelled rows.

    ``inner_nll`` (n,) is the cross-validated NLL of each candidate and ``average_nll`` that of the
    average under each preference; ``panels`` bool (n, n_judges) are the judges chosen on these
    rows.
    """

    choices: Choices
    inner_nll: Floats
    average_nll: dict[Preference, float]
    panels: Bools
    costs: Floats | None

    def panel(self, choice: Choice) -> Bools:
        """Return which judges (n_judges,) a choice uses."""
        return np.asarray(self.panels[choice.used > 0.0].any(axis=0))

    def size(self, choice: Choice) -> tuple[float, float]:
        """Return the number of judges of a choice, and their cost (their number if unknown)."""
        panel = self.panel(choice)
        number = float(panel.sum())
        return number, number if self.costs is None else float(self.costs[panel].sum())


def readings_of(
    scores: Scores,
    prepared: Prepared,
    candidates: tuple[recommended.Candidate, ...],
    final: FinalChoice,
    positions: tuple[accumulate.ConstantPosition, ...],
) -> tuple[tuple[CandidateFigures, ...], tuple[Reading, ...]]:
    """Figures of all n candidates, and the reading of every preference of the final choice.

    ``positions`` compare the choices with a constant position, empty if not applicable.
    :func:`fields_of` fills in the figures that depend on a preference.
    """
    totals, taken = scores.tally, scores.taken
    units, rare = prepared.ballots.units, common.errs_rarely(prepared)
    n, prefers = len(candidates), [prefer for prefer, _, _ in final.choices.all]
    sure, sure_right = sure_levels(scores.sure, totals, units)
    judges = _by_accuracy(prepared)
    estimated = accumulate.Estimator.of(totals, units)
    grid = accumulate.grid_estimates(totals, estimated, rare=rare)
    levels = {metric: level[0] for metric, level in grid.items()}
    extra = _one_more_error(totals, estimated, accumulate.arm_blocks(totals)) * rare
    delta, p = _against(totals, estimated, totals.reference, extra)
    null = float(totals.null_nll.mean())

    @cache
    def behind(arm: int) -> Interval:
        return _against(totals, estimated, arm, extra)[0]

    def achieved(arm: int) -> dict[str, Any]:
        return {
            "nll": levels["nll"][arm],
            **{name: float(levels[name].value[arm]) for name in ("brier", "ece")},
            "delta": delta[arm],
            "p": float(p[arm]),
        }

    def figures(arm: int, described: dict[str, Any]) -> CandidateFigures:
        """Figures that do not depend on a preference (:func:`fields_of`)."""
        return CandidateFigures(
            **described,
            **achieved(arm),
            accuracy=levels["accuracy"][arm],
            skill=1.0 - float(levels["nll"].value[arm]) / null,
            chosen_share=0.0,
            weight=0.0,
            behind=delta[arm],
            stands="undecided",
        )

    listed = tuple(figures(i, _described(candidates[i], final, i)) for i in range(n))
    readings = []
    for place, (prefer, price, choice) in enumerate(final.choices.all):
        # A single chosen candidate is compared with the average that was not chosen, and where
        # nothing leaner is within the price, lean is that average.
        own = prefer if choice.taken is None and prefer != "lean" else "nll"
        arm = n + prefers.index(own)
        against = behind(arm if choice.taken is None else choice.taken)
        shares = np.bincount(taken[:, place], minlength=n + len(prefers)) / len(taken)
        panel = final.panel(choice)
        readings.append(
            Reading(
                prefer=prefer,
                price=price,
                judges=tuple(name for column, name in judges if panel[column]),
                against_best=behind(n + prefers.index("nll"))[n + place],
                right=levels["accuracy"][n + place],
                sure=sure[place],
                sure_right=sure_right[place],
                taken=n if choice.taken is None else choice.taken,
                average=figures(
                    arm, _described_average(final, "nll" if prefer == "lean" else prefer)
                ),
                weights=np.append(choice.weights, 1.0),
                chosen_shares=shares[[*range(n), n + place]],
                behind=against[[*range(n), arm]],
                **achieved(n + place),
                chosen_on=float(totals.chosen_on[:, 0, n + place].mean()),
                position=positions[place] if positions else None,
            )
        )
    return listed, tuple(readings)


def _by_accuracy(prepared: Prepared) -> list[tuple[int, str]]:
    """Columns and names of the judges, the most accurate on all labelled rows first."""
    agree = prepared.ballots.votes * prepared.ballots.signs[:, None]
    right, voted = (agree > 0).sum(axis=0), (agree != 0).sum(axis=0)
    order = np.argsort(-(right + 1) / (voted + 2), kind="stable").tolist()
    return [(column, prepared.judges[column]) for column in order]


def verdict_on(difference: Interval, margin: float) -> Verdict:
    """Return the verdict on a difference; 0 without width means that the two never differ."""
    value, lo, hi = map(float, difference)
    return verdict(lo, hi, margin, identical=value == 0.0 and lo == hi)


def _one_more_error(
    totals: accumulate.Tally, estimated: accumulate.Estimator, arms: Sequence[slice]
) -> Floats:
    """Increase of the NLL of these arms with one more wrong decision, 0 for all others."""
    item_means, _ = totals.item_means()
    extra = np.zeros(totals.n_arms + 1)
    for block in arms:
        extra[block] = descriptive.one_more_error(item_means[0, 0, block], estimated.units)
    return extra


def _against(
    totals: accumulate.Tally,
    estimated: accumulate.Estimator,
    arm: int,
    extra: Floats,
    arms: Sequence[slice] = (),
) -> tuple[Interval, Floats]:
    """NLL of some arms, by default of all, minus that of one arm, and p of these differences.

    ``extra`` (A,) is the NLL that one more wrong decision may add to each arm.
    """
    item_means, _ = totals.item_means()
    split_nll, own = totals.split_means[:, 0, 0], item_means[0, 0, np.array([arm])]
    fitted = []
    for block in arms or accumulate.arm_blocks(totals):
        nll = item_means[0, 0, block]
        nll -= own
        difference = estimated(nll, split_nll[:, block] - split_nll[:, [arm]])
        doubt = descriptive.between(extra[block], extra[arm]) * nll.any(axis=1)
        fitted.append(descriptive.allow_difference(difference, doubt))
    return Interval.joined(map(Interval.of, fitted)), np.concatenate([each.p for each in fitted])


def _described(candidate: recommended.Candidate, final: FinalChoice, i: int) -> dict[str, Any]:
    """Return a candidate's description, and its figures in the final choice."""
    choices = final.choices
    return {
        "panel": candidate.name,
        "aggregator": candidate.aggregator,
        "calibrator": candidate.calibrator,
        "inner_nll": float(final.inner_nll[i]),
        "smoothed_nll": float(choices.smoothed[i]) if choices.allowed[i] else float("nan"),
        "tied": bool(choices.tied[i]),
        "allowed": bool(choices.allowed[i]),
        **_size(final, final.panels[i]),
    }


def _described_average(final: FinalChoice, prefer: Preference) -> dict[str, Any]:
    """Return the same for the average under a preference; only single candidates can be tied."""
    weights = final.choices.by_preference[prefer].weights
    return {
        "panel": recommended.AVERAGE,
        "aggregator": recommended.AVERAGE,
        "calibrator": "none",
        "inner_nll": final.average_nll[prefer],
        "smoothed_nll": float("nan"),
        "tied": False,
        "allowed": True,
        **_size(final, np.asarray(final.panels[weights > 0.0].any(axis=0))),
    }


def _size(final: FinalChoice, panel: Bools) -> dict[str, Any]:
    cost = None if final.costs is None else float(cost_of(panel[None], final.costs)[0])
    return {"k": int(panel.sum()), "cost": cost}


REFERENCE: tuple[str, aggregation.Aggregator, calibration.Calibrator] = ("all", "one_coin", "beta")
"""The reference of the recommendation: the paper's default, all judges with one-coin + beta."""


def as_asked(votes: VoteMatrix, spec: RecommendSpec, result: Recommendation) -> Recommendation:
    """Return a spec's recommendation from the result of the run it shares (:func:`shared_run`).

    Only the panel may need a fit; losses under absence are left to :func:`with_absence`, which
    takes seconds.

    Raises
    ------
    InputError
        A preference that the costs or the budget do not allow, a candidate that does not exist or
        exceeds the budget.
    """
    read = preferring(votes, spec, result, spec.prefer)
    return taking(votes, spec, read) if spec.candidate else read


def taking(votes: VoteMatrix, spec: RecommendSpec, result: Recommendation) -> Recommendation:
    """Return the recommendation with the candidate of the spec instead of the recommended one.

    Raises
    ------
    InputError
        A candidate that does not exist, or that exceeds the budget.
    """
    contest = contest_of(votes, spec)
    place = next(i for i, row in enumerate(result.candidates) if row.name == spec.candidate)
    row = result.candidates[place]
    if not row.allowed:
        raise InputError(
            "the candidate exceeds the budget",
            value=spec.candidate,
            allowed=f"candidates that cost at most {spec.budget:g}",
            remedy="raise the budget or take another candidate",
        )
    alone = np.asarray(np.arange(len(result.candidates) - 1) == place, dtype=np.float64)
    with one_thread():
        model = fitted_panel(votes, spec, alone, _fitted(result))
    return replace(
        result,
        model=model,
        chosen=row,
        instead_of=replace(result.chosen, nll=result.nll),
        **{name: getattr(row, name) for name in _OF_CHOICE},
        accuracy=float(row.accuracy.value),
        chosen_on=row.inner_nll,
        optimism=float(row.nll.value) - row.inner_nll,
        verdict=verdict_on(row.delta, result.margin),
        cost=row.cost,
        absence=None,
        left_out=_left_out(contest.prepared.judges, model),
        position=result.positions[place] if result.positions else None,
        warnings=_warnings_for(result, model),
    )


def preferring(
    votes: VoteMatrix, spec: RecommendSpec, result: Recommendation, prefer: Preference
) -> Recommendation:
    """Return the recommendation of the same study under another preference, without a new run.

    ``result`` is that of ``spec`` under any preference, without another candidate chosen. A budget
    and a held-out share need a new run: they change the candidates and the labels of all fits.

    Raises
    ------
    InputError
        A preference that the costs or the budget do not allow.
    """
    contest = contest_of(votes, replace(spec, prefer=prefer))
    reading = result.reading(prefer, spec.price)
    if (reading.prefer, reading.price) == (result.prefer, result.price):
        return result
    with one_thread():
        model = fitted_panel(votes, spec, reading.used, _fitted(result))
    judges = contest.prepared.judges
    fields = fields_of(result.candidates[:-1], reading, model, judges, result.n_items)
    return replace(result, **fields, absence=None, warnings=_warnings_for(result, model))


def _fitted(result: Recommendation) -> dict[int, PanelModel]:
    """Return the candidates, by position, that the panel of a result has fitted."""
    place = {row.name: position for position, row in enumerate(result.candidates)}
    return {
        place[row.name]: member.model
        for row, member in zip(result.members, result.model.members, strict=True)
    }


def _warnings_for(result: Recommendation, model: Mixture) -> tuple[str, ...]:
    """Return the warnings of a result for another panel."""
    rest = [sentence for sentence in result.warnings if sentence not in stand_ins(result.model)]
    return (*rest, *stand_ins(model))


def _left_out(judges: tuple[str, ...], model: Mixture) -> tuple[str, ...]:
    return tuple(name for name in judges if name not in set(model.judges))


def with_absence(votes: VoteMatrix, spec: RecommendSpec, result: Recommendation) -> Recommendation:
    """Return the recommendation with the panel's losses under absence, and its fallback.

    Measured once all splits are in; a known measurement is not repeated.
    """
    if result.partial or result.absence is not None:
        return result
    with one_thread():
        absence = _absence(votes, shared_run(spec), result.model, result.n_splits)
    if absence is None:
        return result
    return replace(result, absence=absence, model=replace(result.model, fallback=absence.fallback))


_OF_CHOICE = ("nll", "brier", "ece", "delta", "p")
_OF_READING = ("prefer", "price", *_OF_CHOICE, "chosen_on", "position")
"""Fields of a recommendation that are those of its reading."""


def fields_of(
    candidates: tuple[CandidateFigures, ...],
    reading: Reading,
    model: Mixture,
    judges: tuple[str, ...],
    n_items: int,
) -> dict[str, Any]:
    """Return the fields of a recommendation that depend on the preference."""
    rows = (*candidates, reading.average)
    own_margin = MARGIN * float(rows[reading.taken].nll.value)
    rows = tuple(
        replace(
            row,
            weight=float(reading.weights[i]),
            chosen_share=float(reading.chosen_shares[i]),
            behind=reading.behind[i],
            stands=verdict_on(reading.behind[i], own_margin),
        )
        for i, row in enumerate(rows)
    )
    chosen, reference = rows[reading.taken], rows[reference_of(candidates)]
    # An average of one pipeline equals that pipeline, so neither is the other's runner-up.
    same = {reading.taken}
    alone = np.flatnonzero(reading.weights == 1.0).tolist()
    if len(model.members) == 1 and reading.taken in alone:
        same |= set(alone)
    others = [row for place, row in enumerate(rows) if place not in same and row.allowed]
    runner = min(others, key=lambda row: float(row.nll.value), default=chosen)
    behind, least, most = map(float, runner.behind)
    margin = MARGIN * float(reference.nll.value)
    return {
        "model": model,
        **{name: getattr(reading, name) for name in _OF_READING},
        "accuracy": float(reading.right.value),
        "chosen": chosen,
        "lowest": min((row for row in rows[:-1] if row.allowed), key=lambda row: row.smoothed_nll),
        "runner_up": runner,
        "reference": reference,
        "candidates": rows,
        "labels_to_settle": labels_to_settle(behind, (most - least) / 2.0, own_margin, n_items),
        "optimism": float(reading.nll.value) - reading.chosen_on,
        "margin": margin,
        "verdict": verdict_on(reading.delta, margin),
        "cost": chosen.cost,
        "left_out": _left_out(judges, model),
    }


def reference_of(candidates: Sequence[recommended.Candidate | CandidateFigures]) -> int:
    """Return the position of the reference among the candidates."""
    for position, candidate in enumerate(candidates):
        panel = candidate.name if isinstance(candidate, recommended.Candidate) else candidate.panel
        if (panel, candidate.aggregator, candidate.calibrator) == REFERENCE:
            return position
    raise ValueError("the reference is not among the candidates")


@matrix.cached(32)
def _members(
    votes: VoteMatrix, spec: RecommendSpec, positions: tuple[int, ...]
) -> tuple[PanelModel, ...]:
    """Return candidates that differ by their calibrator alone, fitted on all labelled rows."""
    contest = contest_of(votes, spec)
    candidates = [contest.choices.all()[position] for position in positions]
    ballots, judges = contest.prepared.ballots, contest.prepared.judges
    return tuple(recommended.final_members(ballots, judges, candidates, contest.terms))


def fitted_panel(
    votes: VoteMatrix,
    spec: RecommendSpec,
    weights: Floats,
    fitted: Mapping[int, PanelModel] = MappingProxyType({}),
) -> Mixture:
    """Return the average of candidates with ``weights`` (n_candidates,) on all labelled rows.

    ``fitted`` are candidates that are already fitted.
    """
    members, models = np.flatnonzero(weights).tolist(), dict(fitted)
    shared = shared_run(spec)
    listed = contest_of(votes, shared).choices.all()
    alike: dict[recommended.Candidate, list[int]] = {}
    for i in members:
        if i not in models:
            alike.setdefault(replace(listed[i], calibrator="none"), []).append(i)
    for positions in alike.values():
        models.update(zip(positions, _members(votes, shared, tuple(positions)), strict=True))
    return mixture_of([models[i] for i in members], weights[members].tolist())


@matrix.cached(4)
def _absence(
    votes: VoteMatrix, spec: RecommendSpec, model: Mixture, n_splits: int
) -> Absence | None:
    contest = contest_of(votes, spec)
    settings = replace(spec.settings, splits=n_splits)
    return measure_absence(contest.prepared, settings, model, contest.terms.known.families)


def stand_ins(model: Mixture) -> tuple[str, ...]:
    """Return warnings about calibrators of the panel that could not be fitted."""
    replaced = {member.model.calibrator for member in model.members if member.model.replaced}
    return tuple(
        f"{calibrator} could not be fitted on all labelled items (one class, or "
        "perfectly separated); temperature stands in."
        for calibrator in sorted(replaced)
    )


_LARGE = 10_000_000
_THREADS = 2


@results.frozen
class Scores:
    """Scores of the candidates in S splits, and of each preference's choice, one arm each.

    ``taken`` (S, n_choices) are the positions of the choices among the arms of ``tally``: a
    candidate, or the arm itself if an average was chosen. Nothing here depends on the preference of
    the spec. ``averages`` are the logits of the default average in each split, for studies that use
    it (:mod:`studies.contest.recommended`); None if it is another average, or too large to store.
    ``sure`` counts the decisions of these choices that are sure.
    """

    tally: accumulate.Tally
    sure: SureSums
    taken: Ints = results.by_split()
    averages: tuple[recommended.Averaged, ...] = results.by_split()


def run_chunk(
    votes: VoteMatrix, spec: RecommendSpec, chunk: Chunk, into: Scores | None = None
) -> Scores:
    """Choose by every preference and evaluate, in the splits of one chunk; add them to ``into``,
    whose memory is reused.
    """
    contest = contest_of(votes, spec)
    ballots, candidates = contest.prepared.ballots, contest.choices.all()
    positions, averages, decided = [], [], []
    # Other studies use the average of the default options.
    is_default = shared_run(spec) == RecommendSpec(settings=spec.settings)
    has_averages = is_default and recommended.fits_memory(ballots.n_items, spec.settings)

    def arms(drawn: splits.Split) -> tuple[splits.Split, accumulate.Arms]:
        held = recommended.compete(
            ballots, drawn, contest.choices, contest.terms, n_choices=contest.n_readings
        )
        rows, losses = drawn.calibration, held.standing.losses
        made = _choose(held.standing, rows, contest, spec, (drawn.number, 1)).all
        choices = [choice for _, _, choice in made]
        signs = ballots.signs[drawn.evaluation].astype(np.float64)
        n = end = len(losses)
        for choice in choices:
            scores = recommended.average_scores(
                held.items, choice.used, signs, symmetric=ballots.symmetric
            )
            end = held.arms.put(end, scores)
        inner = [recommended.average_losses(losses, choice.used).mean() for choice in choices]
        if has_averages:
            averages.append(recommended.averaged_of(held, choices[0].weights, signs))
        positions.append([n + i if c.taken is None else c.taken for i, c in enumerate(choices)])
        decided.append((drawn, sure_decisions(held.arms.nll[n:end])))
        return drawn, accumulate.Arms(
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

    totals = accumulate.tally(
        (arms(drawn) for drawn in common.splits_of(contest.prepared, spec.settings, chunk)),
        n_items=ballots.n_items,
        reference=reference_of(candidates),
        seed=spec.settings.seed,
        into=None if into is None else into.tally,
    )
    taken, sure = np.array(positions, dtype=np.int64), sure_sums(ballots.n_items, decided)
    scores = Scores(totals, sure, taken, tuple(averages))
    if into is None:
        return scores
    return replace(
        scores,
        sure=results.combine_into(into.sure, scores.sure),
        taken=np.concatenate([into.taken, scores.taken]),
        averages=into.averages + scores.averages,
    )


def extend(votes: VoteMatrix, spec: RecommendSpec) -> Extend[Scores] | None:
    """Return what adds chunks in place on two threads, if splits have many cells of scores."""

    def on_threads(chunk: Chunk, into: Scores | None) -> Scores:
        with threads(_THREADS):
            return run_chunk(votes, spec, chunk, into)

    return on_threads if large(votes, spec) else None


def large(votes: VoteMatrix, spec: RecommendSpec) -> bool:
    """Whether the scores of a split have so many cells that workers would need too much memory."""
    contest = contest_of(votes, spec)
    n_arms = len(contest.choices.all()) + contest.n_readings
    return contest.prepared.ballots.n_items * n_arms >= _LARGE


def _choose(
    standing: recommended.CrossValidated,
    rows: Ints,
    contest: Contest,
    spec: RecommendSpec,
    key: tuple[int, ...],
) -> Choices:
    ballots, absent = contest.prepared.ballots, None
    if contest.families:
        absent = recommended.absent_losses(
            ballots, rows, contest.choices, contest.terms, contest.families, key
        )
    return choose(
        standing.losses,
        standing.panels,
        ballots.units[rows],
        contest.choices,
        recommended.bootstrap(spec.settings.seed, key),
        costs=contest.costs,
        budget=spec.budget,
        absent=absent,
    )


@matrix.cached(4)
def _final(votes: VoteMatrix, spec: RecommendSpec) -> FinalChoice:
    """Return the final choice, cached by votes and spec so that partial results share it."""
    contest = contest_of(votes, spec)
    ballots = contest.prepared.ballots
    all_rows, key = np.arange(ballots.n_items), recommended.FINAL
    standing = recommended.stand(ballots, all_rows, contest.choices, contest.terms, key)
    choices = _choose(standing, all_rows, contest, spec, key)
    losses = standing.losses
    averages = {
        prefer: float(recommended.average_losses(losses, choice.weights).mean())
        for prefer, choice in choices.by_preference.items()
    }
    return FinalChoice(choices, losses.mean(axis=1), averages, standing.panels, contest.costs)


def merge(votes: VoteMatrix, spec: RecommendSpec, partial: Scores) -> Recommendation:
    """Return intervals for every candidate and the choice, and the panel on all labelled rows."""
    with threads(_THREADS if large(votes, spec) else 1):
        return _merged(votes, spec, partial)


def _merged(votes: VoteMatrix, spec: RecommendSpec, scores: Scores) -> Recommendation:
    contest = contest_of(votes, spec)
    final, totals = _final(votes, shared_run(spec)), scores.tally
    for number, average in zip(totals.numbers.tolist(), scores.averages, strict=False):
        recommended.remember(votes, spec.settings, number, average)
    prepared = contest.prepared
    listed = contest.choices.all()
    n_arms = len(listed) + contest.n_readings
    positions = accumulate.against_position(
        prepared, spec.settings, totals, [(0, arm) for arm in range(n_arms)]
    )
    candidates, readings = readings_of(scores, prepared, listed, final, positions[len(listed) :])
    reading = reading_of(readings, spec.prefer, spec.price)
    model = fitted_panel(votes, spec, reading.used)
    grouped = grouped_votes(votes, spec.settings)
    held_out = held_out_warnings(grouped, spec.conformal, spec.settings.seed)
    result = Recommendation.from_splits(
        prepared,
        spec,
        totals,
        **fields_of(candidates, reading, model, prepared.judges, prepared.ballots.n_items),
        absence=None,
        set_aside=prepared.oriented.set_aside,
        repeats=checks.find_repeats(grouped).repeats,
        reversed_votes="" if spec.settings.judges else checks.reversal(votes),
        readings=readings,
        positions=positions[: len(listed)],
        instead_of=None,
        warnings=(*_warnings(contest, totals), *held_out, *stand_ins(model)),
    )
    if spec.candidate:
        result = taking(votes, spec, result)
    return with_absence(votes, spec, result)


def is_settled(votes: VoteMatrix, spec: RecommendSpec, partial: Scores) -> bool:
    """Whether more splits are unlikely to change the verdict on Best, or which card is marked."""
    contest, totals = contest_of(votes, spec), partial.tally
    estimated = accumulate.Estimator.of(totals, contest.prepared.ballots.units)
    n = len(contest.choices.all())
    if not accumulate.settled(totals, estimated, np.array([n])):
        return False
    # Is Lean at the default price on one side of the rule of the cards, beyond chance?
    final = _final(votes, shared_run(spec))
    listed = {(prefer, price): i for i, (prefer, price, _) in enumerate(final.choices.all)}
    best, lean = listed["nll", None], listed["lean", PRICE]
    sizes = np.array([final.size(final.choices.all[place][2]) for place in (best, lean)])
    if (sizes[1] > (1.0 - SAVES) * sizes[0]).all():
        return True
    cards = [slice(n + place, n + place + 1) for place in (best, lean)]
    extra = _one_more_error(totals, estimated, cards) * common.errs_rarely(contest.prepared)
    loss = _against(totals, estimated, n + best, extra, cards[1:])[0][0]
    most = PRICE * float(totals.item_means()[0][0, 0, n + best].mean())
    error = 0.0 if loss.monte_carlo is None else REACH * float(loss.monte_carlo)
    return within(loss, most + error, CAUTION) == within(loss, most - error, CAUTION)


def _warnings(contest: Contest, totals: accumulate.Tally) -> tuple[str, ...]:
    n_replaced = int(totals.replaced.sum())
    n_fits = len(totals.numbers) * len(contest.choices.all())
    alone = "There is only one judge, so there is nothing to choose among judges."
    return common.run_warnings(
        contest.prepared,
        totals,
        common.not_fitted("Calibrators", f"{n_replaced} of {n_fits} fits") if n_replaced else "",
        alone if contest.prepared.ballots.n_judges == 1 else "",
        allowed=True,
    )


RECOMMEND: Study[RecommendSpec, Scores, Recommendation] = Study(
    name="recommend",
    title="Recommended panel",
    question="Which judges, which pipeline?",
    run_chunk=run_chunk,
    merge=merge,
    chunk=2,
    extend=extend,
    settled=is_settled,
    complete=with_absence,
)

__all__ = ["RECOMMEND", "REFERENCE", "RecommendSpec", "Scores", "merge", "run_chunk"]
