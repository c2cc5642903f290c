"""A recommendation under another preference, or with another candidate, from the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.decision.absence import Absence, measure_absence
from judgepanel.decision.candidate_figures import read_figures, verdict_on
from judgepanel.decision.preference import Preference
from judgepanel.decision.recommend_result import CandidateFigures, Reading, Recommendation
from judgepanel.decision.recommend_spec import RecommendSpec, contest_of, shared_run
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.models.mixture import Mixture, mixture_of
from judgepanel.models.panel import PanelModel
from judgepanel.scoring.inference import MARGIN, labels_to_settle
from judgepanel.studies.contest.candidates import Candidate
from judgepanel.studies.contest.compete import final_members
from judgepanel.studies.one_thread import one_thread
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached

REFERENCE: tuple[str, Aggregator, Calibrator] = ("all", "one_coin", "beta")
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
    return taking(votes, spec, read, spec.candidate) if spec.candidate else read


def taking(
    votes: VoteMatrix, spec: RecommendSpec, result: Recommendation, name: str
) -> Recommendation:
    """Return the recommendation with the named candidate instead of the recommended one.

    Raises
    ------
    InputError
        A candidate that does not exist, or that exceeds the budget.
    """
    contest = contest_of(votes, replace(spec, candidate=name))
    place = next(i for i, row in enumerate(result.candidates) if row.name == name)
    row = result.candidates[place]
    if not row.allowed:
        raise InputError(
            "the candidate exceeds the budget",
            value=name,
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
        nll=row.nll,
        brier=row.brier,
        accuracy=row.accuracy,
        ece=row.ece,
        chosen_on=row.inner_nll,
        optimism=float(row.nll.value) - row.inner_nll,
        delta=row.delta,
        p=row.p,
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
    if prefer == result.prefer:
        return result
    reading = next(reading for reading in result.readings if reading.prefer == prefer)
    with one_thread():
        model = fitted_panel(votes, spec, reading.used, _fitted(result))
    return replace(
        result,
        **fields_of(
            result.candidates[:-1], reading, model, contest.prepared.judges, result.n_items
        ),
        absence=None,
        warnings=_warnings_for(result, model),
    )


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


def fields_of(
    candidates: tuple[CandidateFigures, ...],
    reading: Reading,
    model: Mixture,
    judges: tuple[str, ...],
    n_items: int,
) -> dict[str, Any]:
    """Return the fields of a recommendation that depend on the preference."""
    rows = read_figures(candidates, reading)
    chosen, reference = rows[reading.taken], rows[reference_of(candidates)]
    runner = _runner_up(rows, reading, model)
    behind, least, most = map(float, runner.behind)
    margin = MARGIN * float(reference.nll.value)
    return {
        "model": model,
        "prefer": reading.prefer,
        "chosen": chosen,
        "lowest": min((row for row in rows[:-1] if row.allowed), key=lambda row: row.smoothed_nll),
        "runner_up": runner,
        "reference": reference,
        "candidates": rows,
        "labels_to_settle": labels_to_settle(
            behind, (most - least) / 2.0, MARGIN * float(chosen.nll.value), n_items
        ),
        "nll": reading.nll,
        "brier": reading.brier,
        "accuracy": reading.accuracy,
        "ece": reading.ece,
        "chosen_on": reading.chosen_on,
        "optimism": float(reading.nll.value) - reading.chosen_on,
        "delta": reading.delta,
        "p": reading.p,
        "margin": margin,
        "verdict": verdict_on(reading.delta, margin),
        "cost": chosen.cost,
        "left_out": _left_out(judges, model),
        "position": reading.position,
    }


def _runner_up(
    rows: tuple[CandidateFigures, ...], reading: Reading, model: Mixture
) -> CandidateFigures:
    """The candidate of lowest NLL out of sample among the others within the budget.

    An average of one pipeline equals that pipeline, so neither is the other's runner-up.
    """
    same = {reading.taken}
    if len(model.members) == 1:
        alone = np.flatnonzero(reading.weights == 1.0).tolist()
        same |= set(alone) if reading.taken in alone else set()
    others = [row for place, row in enumerate(rows) if place not in same and row.allowed]
    return min(others, key=lambda row: float(row.nll.value), default=rows[reading.taken])


def reference_of(candidates: Sequence[Candidate | CandidateFigures]) -> int:
    """Return the position of the reference among the candidates."""
    for position, candidate in enumerate(candidates):
        panel = candidate.name if isinstance(candidate, Candidate) else candidate.panel
        if (panel, candidate.aggregator, candidate.calibrator) == REFERENCE:
            return position
    raise ValueError("the reference is not among the candidates")


@cached(32)
def _members(
    votes: VoteMatrix, spec: RecommendSpec, positions: tuple[int, ...]
) -> tuple[PanelModel, ...]:
    """Return candidates that differ by their calibrator alone, fitted on all labelled rows."""
    contest = contest_of(votes, spec)
    candidates = [contest.choices.all()[position] for position in positions]
    prepared = contest.prepared
    return tuple(final_members(prepared.ballots, prepared.judges, candidates, contest.terms))


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
    alike: dict[Candidate, list[int]] = {}
    for i in members:
        if i not in models:
            alike.setdefault(replace(listed[i], calibrator="none"), []).append(i)
    for positions in alike.values():
        models.update(zip(positions, _members(votes, shared, tuple(positions)), strict=True))
    return mixture_of([models[i] for i in members], weights[members].tolist())


@cached(4)
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
