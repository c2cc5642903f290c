"""Sentences shared by studies' answers; plain text, which each renderer escapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from judgepanel.studies.contract import Settings
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check, check_repeats
from judgepanel.votes.matrix import BALANCED_SHARE
from judgepanel.words.text import capital, counted, fixed, interval, percent, signed

if TYPE_CHECKING:
    from judgepanel.models.mixture import Member, Mixture
    from judgepanel.studies.compare import ConstantPosition

CALIBRATOR_NAMES = {
    "none": "uncalibrated",
    "temperature": "temperature",
    "platt": "Platt",
    "beta": "beta",
    "beta_clipped": "beta (clipped)",
    "beta_l2": "beta (L2)",
    "beta_free": "beta (no penalty)",
    "beta_cv": "beta (penalty by CV)",
    "isotonic": "isotonic",
    "auto": "automatic",
}
CALIBRATED = {
    "none": "no calibrator",
    "temperature": "temperature scaling",
    "platt": "Platt scaling",
    "beta": "the beta calibrator",
    "beta_clipped": "the paper's clipped beta calibrator",
    "beta_l2": "the L2-penalised beta calibrator",
    "beta_free": "the beta calibrator without a penalty",
    "beta_cv": "the beta calibrator, penalty chosen by CV",
    "isotonic": "isotonic regression",
    "auto": "the automatic calibrator",
}
"""Names of calibrators within a sentence."""

AGGREGATOR_NAMES = {
    "majority": "majority vote",
    "accuracy_weighted": "accuracy-weighted vote",
    "log_odds": "log-odds",
    "one_coin": "one-coin",
    "dawid_skene": "Dawid–Skene",
    "dawid_skene_semi": "Dawid–Skene with labels",
    "stacking": "stacking",
    "joint": "joint",
    "stacking_monotone": "monotone stacking",
    "joint_monotone": "monotone joint",
    "one_coin_graded": "one-coin on grades",
    "joint_graded": "joint on grades",
    "average": "the recommended panel",
}
_LOGISTIC = frozenset({"stacking", "joint", "stacking_monotone", "joint_monotone", "joint_graded"})
"""Aggregators that fit log-odds to labels: without a calibrator they are no raw score."""
EVEN_SHARE = 0.4
"""Minority share from which labels count as balanced in the sentence on votes."""
CODING = "These figures measure the coding, not the judges."


def first_calibrator(calibrators: Sequence[str]) -> str:
    """Return the calibrator to show first: beta if it was fitted."""
    return "beta" if "beta" in calibrators else str(calibrators[0])


def position_sentence(position: ConstantPosition) -> str:
    """Say that a constant position explains the score; precedes any statement about judges."""
    value, lo, hi = position.gap
    gap = f"{signed(value)} {interval(lo, hi, sign=True)}"
    return (
        f"A constant position explains this: on the file as given, 'always {position.label}' "
        f"alone gets NLL {fixed(position.nll, 3)}, which the panel is not shown to beat ({gap})."
    )


def if_positions_mean_nothing(position: ConstantPosition | None, text: str) -> str:
    """Return an answer on condition that judges prefer no position, if that could explain it."""
    if position is None or not position.explains:
        return text
    text = f"{text[0].lower()}{text[1:]}"
    return f"{position_sentence(position)} Only if no judge prefers a position: {text}"


def votes_sentence(
    votes: VoteMatrix, *, group_duplicates: bool = False, repeats: Check | None = None
) -> str:
    """Describe the votes and whether they are ready: copies of items must be kept together.

    ``repeats`` is the check of repeated items, if it has been made.
    """
    labelled = int(votes.labelled.sum())
    share = votes.minority_share
    size = f"{counted(votes.n_items, 'item')}, {counted(votes.n_judges, 'judge')}"
    if labelled == 0:
        return f"{size}, no labels."
    known = "all labelled" if labelled == votes.n_items else f"{labelled:,} labelled"
    if share == 0.0:
        balance = "every label is the same"
    elif share < BALANCED_SHARE:
        balance = f"lopsided ({percent(share)} of the rarer label)"
    elif share < EVEN_SHARE:
        balance = f"{percent(share)} of the rarer label"
    else:
        balance = "balanced"
    if share < BALANCED_SHARE and votes.task == "pairwise":
        state = "see item order"
    else:
        check = repeats or check_repeats(votes, group_duplicates=group_duplicates)
        state = "items repeat" if check.outcome == "fail" else "ready"
    return f"{size}, {known}, {balance}: {state}."


SAME_PANEL = "same panel as all"
SAME_PROBABILITIES = "same probabilities as all"


def tie_words(k_lo: int, n_judges: int) -> str:
    """Return the words for a difference when an arm never differs from all judges.

    ``k_lo`` is the smallest panel of the arm in any split.
    """
    return SAME_PANEL if k_lo == n_judges else SAME_PROBABILITIES


def pipeline_name(aggregator: str, calibrator: str) -> str:
    """``one-coin + beta``, ``uncalibrated one-coin``, or ``joint`` without a calibrator."""
    if aggregator == "average" or (calibrator == "none" and aggregator in _LOGISTIC):
        return AGGREGATOR_NAMES[aggregator]
    if calibrator == "none":
        return f"{CALIBRATOR_NAMES[calibrator]} {AGGREGATOR_NAMES[aggregator]}"
    return f"{AGGREGATOR_NAMES[aggregator]} + {CALIBRATOR_NAMES[calibrator]}"


def calibrator_name(aggregator: str, calibrator: str) -> str:
    """Name the calibrator of a pipeline where its aggregator is named beside it."""
    return (
        "none" if aggregator in _LOGISTIC and calibrator == "none" else CALIBRATOR_NAMES[calibrator]
    )


def panel_pipelines(panel: Mixture) -> str:
    """``joint``, or ``an average of 4 pipelines (93 % joint)``."""
    main = panel.members[0]
    name = _member_name(main, len(panel.judges))
    if len(panel.members) == 1:
        return name
    average = f"an average of {counted(len(panel.members), 'pipeline')}"
    return f"{average} ({percent(main.weight)} {name})"


def _member_name(member: Member, n_judges: int) -> str:
    name = pipeline_name(member.model.aggregator, member.model.calibrator)
    size = len(member.columns)
    return name if size == n_judges else f"{name} of {counted(size, 'judge')}"


def in_words(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Return studies' warnings with calibrator names as elsewhere on the page."""
    words = []
    for sentence in warnings:
        name, _, rest = sentence.partition(" ")
        words.append(f"{capital(CALIBRATED[name])} {rest}" if name in CALIBRATED else sentence)
    return tuple(words)


def so_far(result: Any) -> str:
    """Return the start of an answer that some splits or halves are missing from; else nothing."""
    splits = splits_so_far(result)
    return f"So far, {splits}: " if splits else ""


def splits_so_far(result: Any) -> str:
    """Return how many splits or halves an answer is based on if some are missing; else nothing."""
    if getattr(result, "partial", False):
        for noun, name in (("splits", "splits"), ("halves", "rounds")):
            if hasattr(result, f"planned_{name}"):
                completed, planned = (
                    getattr(result, f"n_{name}"),
                    getattr(result, f"planned_{name}"),
                )
                return f"{completed:,} of {planned:,} {noun}"
    return ""


CHECK_MARKS = {
    "pass": "passes",
    "review": "needs review",
    "fail": "fails",
    "not applicable": "does not apply",
}
"""Outcomes of checks, following 'P0 Item order:'."""


def check_sentences(check: Check) -> str:
    """Return a check's outcome, the reason, and what to do."""
    return f"{check.title}: {CHECK_MARKS[check.outcome]}. {check.why} {check.advice}"


def check_numbers(check: Check) -> str:
    """Return the counts of a check."""
    return "; ".join(
        f"{name}: {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in check.numbers.items()
    )


def settings_words(settings: Settings) -> str:
    """Return the settings that differ from their defaults, such as ``10 splits, seed 7``."""
    sentence = {
        "orientation": f"order {settings.orientation.replace('_', ' ')}",
        "protocol": f"protocol {settings.protocol}",
        "judges": counted(len(settings.judges or ()), "chosen judge"),
        "splits": f"{settings.splits_text} splits",
        "fraction": f"{percent(settings.fraction)} calibrate",
        "seed": f"seed {settings.seed}",
        "group_duplicates": "duplicates grouped",
    }
    default = Settings()
    names = [field.name for field in fields(Settings)]
    return ", ".join(
        sentence[name] for name in names if getattr(settings, name) != getattr(default, name)
    )
