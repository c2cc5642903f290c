"""The recommendation in words: what to keep, how sure, what came close, what is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from judgepanel.decision.preference import EVERYONE
from judgepanel.decision.recommend import REFERENCE, RecommendSpec
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.decision.statuses import STATUSES, JudgeStatus
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.present.blocks import (
    Answer,
    Block,
    Figure,
    Heading,
    Method,
    Paragraph,
    Table,
    paragraphs,
)
from judgepanel.present.decide.absence import absence_table, absence_words
from judgepanel.scoring.interval import Interval
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import repeats_sentence
from judgepanel.words.cells import Column, ends, numbers, text
from judgepanel.words.numbers import counted, fixed, interval, sig, signed, with_interval
from judgepanel.words.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    CODING,
    if_positions_mean_nothing,
    pipeline_name,
)


@dataclass(frozen=True, slots=True)
class RecommendationView:
    """What is known besides the result: the votes, and the statuses of judges, which may be none.

    Without votes there is no figure of the judges.
    """

    votes: VoteMatrix | None = None
    statuses: tuple[JudgeStatus, ...] = ()


def recommendation_sentence(result: Recommendation) -> str:
    """Which judges, which pipeline, how good; and whether that is better than no judge at all."""
    return if_positions_mean_nothing(result.position, _answer(result))


def _answer(result: Recommendation) -> str:
    size, total = len(result.model.judges), result.n_judges
    who = f"Keep all {total} judges" if size == total else f"Keep {size} of {total} judges"
    if total == 1:
        who = "Keep the one judge"
    pipeline = pipeline_name(result.model.aggregator, result.model.calibrator)
    nll, lo, hi = result.nll
    expected = f"expected NLL {sig(nll)} {interval(lo, hi, 3)} on new items"
    coding = "".join(f" {sentence}" for sentence in reservations(result))
    if not beats_null(result):
        return (
            f"No panel is shown to beat the base rate (NLL {fixed(result.null_nll, 3)}). The best "
            f"found: {who[0].lower()}{who[1:]} with {pipeline}; {expected}.{coding}"
        )
    if size < total and not curating_is_safe(result):
        return (
            f"Undecided, leaning to {size} of {total} judges with {pipeline}: not shown to "
            f"be as good as keeping all; {expected}.{coding}"
        )
    return f"{who} with {pipeline}; {expected}.{coding}"


def reservations(result: Recommendation) -> list[str]:
    """What makes the expected NLL say less than it seems to: stands in the answer itself."""
    return [
        *([CODING] if result.measures_coding else []),
        *([repeats_sentence(result.repeats)] if result.repeats.apart else []),
    ]


def curating_is_safe(result: Recommendation) -> bool:
    """Whether the chosen judges are shown to lose at most the margin against all of them, under the
    same pipeline where that is a candidate, else under the reference.
    """
    for candidate in result.candidates:
        same = (candidate.aggregator, candidate.calibrator) == (
            result.chosen.aggregator,
            result.chosen.calibrator,
        )
        if candidate.panel == EVERYONE and same:
            return candidate.stands in ("keep all", "no loss from keeping", "tie")
    return result.verdict in ("curate", "no loss from curating", "tie")


def explained_by_position(result: Recommendation) -> bool:
    """Whether a constant position does as well on the file as given."""
    return result.position is not None and result.position.explains


def beats_null(result: Recommendation) -> bool:
    """Whether the interval of the expected NLL lies below the base rate's, and below ln 2: a base
    rate learned from few labels may do worse than a coin.
    """
    return bool(result.nll.below(min(result.null_nll, math.log(2.0))))


def certainty_sentence(result: Recommendation) -> str:
    """How the choice compares with the paper's default, and how sure that is."""
    delta, lo, hi = result.delta
    better = f"{signed(delta)} NLL {interval(lo, hi, sign=True)}"
    against = "all judges under one-coin + beta"
    outcome = {
        "keep all": f"{against} is better than choosing this way",
        "curate": f"choosing this way is better than {against}",
        "no loss from keeping": f"{against} loses nothing against choosing this way",
        "no loss from curating": f"choosing this way loses nothing against {against}",
        "undecided": f"whether that beats {against} is undecided",
        "tie": f"it never differed from {against}",
    }[result.verdict]
    return (
        f"Out of sample, {outcome}: {better}. Panels were chosen and fitted on "
        f"{result.n_calibration:,.0f} labels: the choice saw NLL {sig(result.chosen_on)} and got "
        f"{sig(float(result.nll.value))} (optimism {signed(result.optimism)}); the base rate alone "
        f"gives {fixed(result.null_nll, 3)}."
    )


def way_sentence(result: Recommendation) -> str:
    """What the recommended pipeline does with the votes, for who does not know its name."""
    aggregator, calibrator = result.model.aggregator, result.model.calibrator
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


def statuses_sentence(statuses: tuple[JudgeStatus, ...]) -> str:
    """How many to keep, drop and watch; empty where it is not known."""
    if not statuses:
        return ""
    given = [judge.status for judge in statuses]
    numbers = {kind: given.count(kind) for kind in STATUSES}
    parts = [f"Keep: {counted(numbers['keep'], 'judge')} shown to help."]
    if numbers["drop"]:
        parts.append(
            f"Drop: {counted(numbers['drop'], 'judge')} that fail a check, that the panel is "
            "better without, or that can go together without a loss that could be seen."
        )
    if numbers["watch"]:
        parts.append(f"Watch: {counted(numbers['watch'], 'judge')}, since neither is settled.")
    return " ".join(parts)


def rival_sentence(result: Recommendation) -> str:
    """The runner-up out of sample, and what would decide between the two."""
    rival = result.runner_up
    if rival.name == result.chosen.name:
        return ""
    change = with_interval(*rival.behind, sign=True)
    text = f"Runner-up: {_candidate(rival)}. Its NLL differs by {change}: "
    return (
        text
        + {
            "keep all": "it is worse.",
            "curate": "it is better, though the final choice did not see that.",
            "no loss from keeping": "the chosen one loses at most 2 % against it.",
            "no loss from curating": "it loses at most 2 % against the chosen one.",
            "undecided": f"undecided; about {result.labels_to_settle:,} labels would settle it if "
            "the difference stays what it is.",
            "tie": "they never differ.",
        }[rival.stands]
    )


def tied_sentence(result: Recommendation) -> str:
    """How many candidates are within a standard error of the best, and which was taken why."""
    others = [candidate for candidate in result.tied if candidate.name != result.chosen.name]
    if not others:
        return ""
    are = "is" if len(others) == 1 else "are"
    text = f"{counted(len(others), 'other candidate')} {are} within one standard error of the best"
    if result.chosen.name == result.lowest.name:
        return f"{text}; this one has the lowest smoothed NLL where it was chosen."
    asked = {
        "nll": "keeping everyone comes first where nothing is shown against it",
        "simplest": "this one is the simplest",
        "cheapest": "this one is the cheapest",
        "fewest": "this one has the fewest judges",
    }[result.prefer]
    gap = result.chosen.smoothed_nll - result.lowest.smoothed_nll
    return (
        f"{text}; {asked}. Where they were chosen, the lowest smoothed NLL was that of "
        f"{_candidate(result.lowest)}, ahead by {sig(gap, 2)}."
    )


def _candidate(candidate: CandidateFigures) -> str:
    return f"{candidate.panel} ({counted(candidate.k, 'judge')}) with " + pipeline_name(
        candidate.aggregator, candidate.calibrator
    )


def candidate_table(result: Recommendation) -> dict[str, Column]:
    """Every candidate, best expected NLL first."""
    rows = sorted(result.candidates, key=lambda row: float(row.nll.value))
    nll = Interval.stacked(row.nll for row in rows)
    delta = Interval.stacked(row.delta for row in rows)
    reference = {
        place: "reference"
        for place, row in enumerate(rows)
        if (row.panel, row.aggregator, row.calibrator) == REFERENCE
    }
    return {
        "panel": text([row.panel for row in rows]),
        "judges": numbers([row.k for row in rows], "whole"),
        "aggregator": text([AGGREGATOR_NAMES[row.aggregator] for row in rows]),
        "calibrator": text([CALIBRATOR_NAMES[row.calibrator] for row in rows]),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
        "skill": numbers([row.skill for row in rows], "share"),
        "difference": Column(delta.value, "signed", reference),
        "difference 95 %": ends(delta, words=reference, sign=True),
        "Brier": numbers([row.brier for row in rows]),
        "accuracy": numbers([row.accuracy for row in rows], "share"),
        "ECE": numbers([row.ece for row in rows]),
        "chosen in": numbers([row.chosen_share for row in rows], "share"),
    }


def weights_frame(result: Recommendation) -> pd.DataFrame:
    """Judges of the panel in panel order with weight and counts, then those that are not in it."""
    model = result.model
    remaining = pd.DataFrame(
        {
            "judge": list(model.judges),
            "status": "kept",
            "weight": list(model.weights),
            "correct": [str(count) for count in model.correct],
            "voted": [str(count) for count in model.voted],
        }
    )
    others = [(name, "left out") for name in result.left_out]
    others += [(name, "set aside") for name in result.set_aside]
    rest = pd.DataFrame(others, columns=["judge", "status"]).assign(correct="", voted="")
    return pd.concat([remaining, rest], ignore_index=True)


def weights_table(result: Recommendation) -> dict[str, Column]:
    """The same for people."""
    frame = weights_frame(result)
    return {
        "judge": text(frame["judge"].tolist()),
        "status": text(frame["status"].tolist()),
        "weight": numbers(frame["weight"]),
        "correct": numbers(pd.to_numeric(frame["correct"]), "whole"),
        "voted": numbers(pd.to_numeric(frame["voted"]), "whole"),
    }


def present(
    result: Recommendation,
    spec: RecommendSpec,
    view: RecommendationView = RecommendationView(),
) -> list[Block]:
    """The verdict; who is in the panel, what it loses without some of them, and all candidates."""
    return [
        Answer(recommendation_sentence(result)),
        *paragraphs(
            way_sentence(result),
            statuses_sentence(view.statuses),
            certainty_sentence(result),
            rival_sentence(result),
            tied_sentence(result),
        ),
        *([] if view.votes is None else [_judges(result, view.votes)]),
        Heading("The panel", 3),
        Table(
            weights_table(result),
            "Judges of the panel in panel order, and those left out.",
            height=320,
        ),
        *_absences(result),
        Heading("All candidates", 3),
        Paragraph(
            "A candidate's own figures do not allow for having been picked among many; the "
            "expected NLL above does.",
            quiet=True,
        ),
        Table(candidate_table(result), "Candidates, lowest NLL first."),
        _method(result, spec),
    ]


def _judges(result: Recommendation, votes: VoteMatrix) -> Figure:
    return Figure(
        kept_judges(judge_table(votes), result.model.judges, result.set_aside),
        "Accuracy of every judge with its interval; kept and left out are told apart.",
    )


def _absences(result: Recommendation) -> list[Block]:
    if result.absence is None:
        return []
    return [
        Heading("When judges are absent", 3),
        *paragraphs(*absence_words(result)),
        Table(
            absence_table(result),
            "Rise of the NLL, out of sample, with judges absent and nothing refitted; intervals "
            "are for this panel on very many new items.",
            height=320,
        ),
    ]


def _method(result: Recommendation, spec: RecommendSpec) -> Method:
    return Method(
        f"In each split every candidate is cross-validated on the {result.n_calibration:,.0f} "
        f"calibration items alone ({spec.folds} folds, ranking and calibration inside), one is "
        f"taken as in the end and scored on the other {result.n_evaluation:,.0f}: that mean is the "
        "expected NLL above, selection included. The panel in the file repeats the choice on all "
        f"{result.n_items:,} labelled items. The reference is the paper's default: all judges, "
        "one-coin, beta."
    )
