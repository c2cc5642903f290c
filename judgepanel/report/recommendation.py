"""The recommendation in words: what to keep, how sure, what came close, what is asked for."""

from __future__ import annotations

from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.report.numbers import counted, fixed, interval, sig, signed, with_interval
from judgepanel.report.sentences import pipeline_name


def recommendation_sentence(found: Recommendation) -> str:
    """Which judges, which pipeline, how good; and whether that is better than no judge at all."""
    kept, total = len(found.model.judges), found.n_judges
    who = f"Keep all {total} judges" if kept == total else f"Keep {kept} of {total} judges"
    if total == 1:
        who = "Keep the one judge"
    pipeline = pipeline_name(found.model.aggregator, found.model.calibrator)
    expected = f"expected NLL {sig(found.nll)} {interval(found.lo, found.hi, 3)} on new items"
    if beats_null(found):
        if kept < total and found.verdict == "undecided":
            return (
                f"Undecided, leaning to {kept} of {total} judges with {pipeline}: not shown to "
                f"beat keeping all; {expected}."
            )
        return f"{who} with {pipeline}; {expected}."
    return (
        f"No panel is shown to beat the base rate (NLL {fixed(found.null_nll, 3)}). The best "
        f"found: {who[0].lower()}{who[1:]} with {pipeline}; {expected}."
    )


def beats_null(found: Recommendation) -> bool:
    """Whether the interval of the expected NLL lies below the base rate's."""
    return found.hi < found.null_nll


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


def statuses_sentence(found: tuple[JudgeStatus, ...]) -> str:
    """How many to keep, drop and watch; empty where it is not known."""
    if not found:
        return ""
    numbers = {kind: sum(one.status == kind for one in found) for kind in ("keep", "drop", "watch")}
    parts = [f"Keep: {counted(numbers['keep'], 'judge')} shown to help."]
    if numbers["drop"]:
        parts.append(
            f"Drop: {counted(numbers['drop'], 'judge')} that fail a check, or that can go together "
            "without a loss that could be seen."
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
    """How many candidates could not be told from the best, and which of them was taken why."""
    others = [one for one in found.tied if one.name != found.chosen.name]
    if not others:
        return ""
    text = f"{counted(len(others), 'other candidate')} could not be told from the best"
    if found.chosen.name == found.lowest.name:
        return f"{text}; this one has the lowest NLL where it was chosen."
    asked = {
        "nll": "keeping everyone under joint comes first among the tied",
        "simplest": "this one is the simplest",
        "cheapest": "this one is the cheapest",
        "fewest": "this one has the fewest judges",
    }[found.prefer]
    gap = found.chosen.inner_nll - found.lowest.inner_nll
    return (
        f"{text}; {asked}. Where they were chosen, the lowest was {_candidate(found.lowest)}, "
        f"ahead by {sig(gap, 2)} NLL."
    )


def _candidate(one: CandidateFigures) -> str:
    return f"{one.panel} ({counted(one.k, 'judge')}) with " + pipeline_name(
        one.aggregator, one.calibrator
    )
