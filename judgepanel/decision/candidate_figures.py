"""Out-of-sample figures of each candidate, and of choosing by each preference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.decision.preference import Choices, Preference, cost_of
from judgepanel.decision.recommend_result import CandidateFigures, Reading
from judgepanel.scoring.inference import MARGIN, Estimate, Verdict, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.rare_errors import allow_difference, between, one_more_error
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import Estimator, grid_estimates
from judgepanel.studies.contest.average import average_losses
from judgepanel.studies.contest.candidates import Candidate
from judgepanel.studies.contest.compete import Standing
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.position import ConstantPosition


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

    @classmethod
    def of(cls, standing: Standing, choices: Choices, costs: Floats | None) -> FinalChoice:
        """The same of choices among candidates whose losses are not needed any more."""
        losses = standing.losses
        averages = {
            prefer: float(average_losses(losses, choice.weights).mean())
            for prefer, choice in choices.by_preference.items()
        }
        return cls(choices, losses.mean(axis=1), averages, standing.panels, costs)


def readings_of(
    totals: Tally,
    taken: Ints,
    units: Ints,
    candidates: tuple[Candidate, ...],
    final: FinalChoice,
    positions: tuple[ConstantPosition, ...],
    *,
    rare: bool,
) -> tuple[tuple[CandidateFigures, ...], tuple[Reading, ...]]:
    """Figures of all n candidates, and the reading of every preference of the final choice.

    ``totals`` has the candidates followed by one arm per preference with its selection in each
    split; ``taken`` (S, n_preferences) are the positions of these selections, and ``positions``
    compare the preferences with a constant position, empty if not applicable. :func:`read_figures`
    fills in the figures that depend on a preference. ``rare`` as in :func:`grid_estimates`.
    """
    n, prefers = len(candidates), tuple(final.choices.by_preference)
    estimated = Estimator.of(totals, units)
    grid = grid_estimates(totals, estimated, rare=rare)
    levels = {metric: level[0] for metric, level in grid.items()}
    to_reference = _against(totals, estimated, totals.reference, rare)
    delta, null = Interval.of(to_reference), float(totals.null_nll.mean())
    behind: Callable[[int], Interval] = cache(
        lambda arm: Interval.of(_against(totals, estimated, arm, rare))
    )

    def achieved(arm: int) -> dict[str, Any]:
        return {
            "nll": levels["nll"][arm],
            **{name: float(levels[name].value[arm]) for name in ("brier", "accuracy", "ece")},
            "delta": delta[arm],
            "p": float(to_reference.p[arm]),
        }

    def figures(arm: int, described: dict[str, Any]) -> CandidateFigures:
        """Figures that do not depend on a preference (:func:`read_figures`)."""
        return CandidateFigures(
            **described,
            **achieved(arm),
            skill=1.0 - float(levels["nll"].value[arm]) / null,
            chosen_share=0.0,
            weight=0.0,
            behind=delta[arm],
            stands="undecided",
        )

    listed = tuple(figures(i, _described(candidates[i], final, i)) for i in range(n))
    readings = []
    for place, (prefer, choice) in enumerate(final.choices.by_preference.items()):
        # A single chosen candidate is compared with the average that was not chosen.
        own = prefer if choice.taken is None else "nll"
        arm = n + prefers.index(own)
        against = behind(arm if choice.taken is None else choice.taken)
        shares = np.bincount(taken[:, place], minlength=n + len(prefers)) / len(taken)
        rows = [*range(n), arm]
        readings.append(
            Reading(
                prefer=prefer,
                taken=n if choice.taken is None else choice.taken,
                average=figures(arm, _described_average(final, prefer)),
                weights=np.append(choice.weights, 1.0),
                chosen_shares=shares[[*range(n), n + place]],
                behind=against[rows],
                **achieved(n + place),
                chosen_on=float(totals.chosen_on[:, 0, n + place].mean()),
                position=positions[place] if positions else None,
            )
        )
    return listed, tuple(readings)


def read_figures(
    candidates: tuple[CandidateFigures, ...], reading: Reading
) -> tuple[CandidateFigures, ...]:
    """Return the figures of candidates and their average under one preference."""
    rows = (*candidates, reading.average)
    margin = MARGIN * float(rows[reading.taken].nll.value)
    return tuple(
        replace(
            row,
            weight=float(reading.weights[i]),
            chosen_share=float(reading.chosen_shares[i]),
            behind=reading.behind[i],
            stands=verdict_on(reading.behind[i], margin),
        )
        for i, row in enumerate(rows)
    )


def verdict_on(difference: Interval, margin: float) -> Verdict:
    """Return the verdict on a difference; 0 without width means that the two never differ."""
    value, lo, hi = map(float, difference)
    return verdict(lo, hi, margin, identical=value == 0.0 and lo == hi)


def _against(totals: Tally, estimated: Estimator, arm: int, rare: bool) -> Estimate:
    """Every arm's NLL minus that of one arm; ``rare`` as in :func:`grid_estimates`."""
    item_means, _ = totals.item_means()
    nll, split_nll = item_means[0, 0], totals.split_means[:, 0, 0]
    differences = nll - nll[arm]
    fitted = estimated(differences, split_nll - split_nll[:, [arm]])
    extra = one_more_error(nll, estimated.units) * rare
    return allow_difference(fitted, between(extra, extra[arm]) * differences.any(axis=1))


def _described(candidate: Candidate, final: FinalChoice, i: int) -> dict[str, Any]:
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
        "panel": AVERAGE,
        "aggregator": AVERAGE,
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
