"""The recommendation in words: what to keep, how sure, what came close, what is asked for."""

from __future__ import annotations

import math

from judgepanel.decision.preference import EVERYONE
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.report.numbers import counted, fixed, interval, sig, signed, with_interval
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    CODING,
    if_positions_mean_nothing,
    pipeline_name,
)
from judgepanel.votes.checks import repeats_sentence


def recommendation_sentence(found: Recommendation) -> str:
    """Which judges, which pipeline, how good; and whether that is better than no judge at all."""
    return if_positions_mean_nothing(found.position, _answer(found))


def _answer(found: Recommendation) -> str:
    kept, total = len(found.model.judges), found.n_judges
    who = f"Keep all {total} judges" if kept == total else f"Keep {kept} of {total} judges"
    if total == 1:
        who = "Keep the one judge"
    pipeline = pipeline_name(found.model.aggregator, found.model.calibrator)
    expected = f"expected NLL {sig(found.nll)} {interval(found.lo, found.hi, 3)} on new items"
    coding = "".join(f" {one}" for one in reservations(found))
    if not beats_null(found):
        return (
            f"No panel is shown to beat the base rate (NLL {fixed(found.null_nll, 3)}). The best "
            f"found: {who[0].lower()}{who[1:]} with {pipeline}; {expected}.{coding}"
        )
    if kept < total and not curating_is_safe(found):
        return (
            f"Undecided, leaning to {kept} of {total} judges with {pipeline}: not shown to "
            f"be as good as keeping all; {expected}.{coding}"
        )
    return f"{who} with {pipeline}; {expected}.{coding}"


def reservations(found: Recommendation) -> list[str]:
    """What makes the expected NLL say less than it seems to: stands in the answer itself."""
    return [
        *([CODING] if found.measures_coding else []),
        *([repeats_sentence(found.repeats)] if found.repeats.apart else []),
    ]


def curating_is_safe(found: Recommendation) -> bool:
    """Whether the chosen judges are shown to lose at most the margin against all of them, under the
    same pipeline where that is a candidate, else under the reference.
    """
    for one in found.candidates:
        same = (one.aggregator, one.calibrator) == (
            found.chosen.aggregator,
            found.chosen.calibrator,
        )
        if one.panel == EVERYONE and same:
            return one.stands in ("keep all", "no loss from keeping", "tie")
    return found.verdict in ("curate", "no loss from curating", "tie")


def explained_by_position(found: Recommendation) -> bool:
    """Whether a constant position does as well on the file as given."""
    return found.position is not None and found.position.explains


def beats_null(found: Recommendation) -> bool:
    """Whether the interval of the expected NLL lies below the base rate's, and below ln 2: a base
    rate learnt from few labels may do worse than a coin.
    """
    return found.hi < min(found.null_nll, math.log(2.0))


def certainty_sentence(found: Recommendation) -> str:
    """How the choice compares with the paper's default, and how sure that is."""
    better = f"{signed(found.delta)} NLL {interval(found.delta_lo, found.delta_hi, sign=True)}"
    against = "all judges under one-coin + beta"
    outcome = {
        "keep all": f"{against} is better than choosing this way",
        "curate": f"choosing this way is better than {against}",
        "no loss from keeping": f"{against} loses nothing against choosing this way",
        "no loss from curating": f"choosing this way loses nothing against {against}",
        "undecided": f"whether that beats {against} is undecided",
        "tie": f"it never differed from {against}",
    }[found.verdict]
    return (
        f"Out of sample, {outcome}: {better}. Panels were chosen and fitted on "
        f"{found.n_calibration:,.0f} labels: the choice saw NLL {sig(found.chosen_on)} and got "
        f"{sig(found.nll)} (optimism {signed(found.optimism)}); the base rate alone gives "
        f"{fixed(found.null_nll, 3)}."
    )


def way_sentence(found: Recommendation) -> str:
    """What the recommended pipeline does with the votes, for who does not know its name."""
    aggregator, calibrator = found.model.aggregator, found.model.calibrator
    if calibrator == "none":
        then = "raw means that its probabilities are taken as they come"
    else:
        then = f"{CALIBRATOR_NAMES[calibrator]} makes probabilities of that"
    return f"How: {AGGREGATOR_NAMES[aggregator]} {_WAYS[aggregator]}; {then}."


_BY_CHANCE = "so one near chance hardly counts, and one below chance counts against what it says"
_TOGETHER = (
    "weighs all judges in one regression, so copies share their weight and one that is mostly "
    "wrong counts against what it says"
)
_WAYS = {
    "majority": "counts every judge alike",
    "accuracy_weighted": "weighs a judge by its accuracy",
    "log_odds": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "one_coin": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "dawid_skene": "learns how often a judge errs on either label from how judges agree",
    "dawid_skene_semi": "learns how often a judge errs on either label from labels and agreement",
    "stacking": _TOGETHER,
    "joint": _TOGETHER,
}


def statuses_sentence(found: tuple[JudgeStatus, ...]) -> str:
    """How many to keep, drop and watch; empty where it is not known."""
    if not found:
        return ""
    numbers = {kind: sum(one.status == kind for one in found) for kind in ("keep", "drop", "watch")}
    parts = [f"Keep: {counted(numbers['keep'], 'judge')} shown to help."]
    if numbers["drop"]:
        parts.append(
            f"Drop: {counted(numbers['drop'], 'judge')} that fail a check, that the panel is "
            "better without, or that can go together without a loss that could be seen."
        )
    if numbers["watch"]:
        parts.append(f"Watch: {counted(numbers['watch'], 'judge')}, since neither is settled.")
    return " ".join(parts)


def rival_sentence(found: Recommendation) -> str:
    """The runner-up out of sample, and what would decide between the two."""
    rival = found.runner_up
    if rival.name == found.chosen.name:
        return ""
    change = with_interval(rival.behind, rival.behind_lo, rival.behind_hi, sign=True)
    text = f"Runner-up: {_candidate(rival)}. Its NLL differs by {change}: "
    return (
        text
        + {
            "keep all": "it is worse.",
            "curate": "it is better, though the final choice did not see that.",
            "no loss from keeping": "the chosen one loses at most 2 % against it.",
            "no loss from curating": "it loses at most 2 % against the chosen one.",
            "undecided": f"undecided; about {found.labels_to_settle:,} labels would settle it if "
            "the difference stays what it is.",
            "tie": "they never differ.",
        }[rival.stands]
    )


def tied_sentence(found: Recommendation) -> str:
    """How many candidates are within a standard error of the best, and which was taken why."""
    others = [one for one in found.tied if one.name != found.chosen.name]
    if not others:
        return ""
    are = "is" if len(others) == 1 else "are"
    text = f"{counted(len(others), 'other candidate')} {are} within one standard error of the best"
    if found.chosen.name == found.lowest.name:
        return f"{text}; this one has the lowest smoothed NLL where it was chosen."
    asked = {
        "nll": "keeping everyone comes first where nothing is shown against it",
        "simplest": "this one is the simplest",
        "cheapest": "this one is the cheapest",
        "fewest": "this one has the fewest judges",
    }[found.prefer]
    gap = found.chosen.smoothed_nll - found.lowest.smoothed_nll
    return (
        f"{text}; {asked}. Where they were chosen, the lowest smoothed NLL was that of "
        f"{_candidate(found.lowest)}, ahead by {sig(gap, 2)}."
    )


def _candidate(one: CandidateFigures) -> str:
    return f"{one.panel} ({counted(one.k, 'judge')}) with " + pipeline_name(
        one.aggregator, one.calibrator
    )
