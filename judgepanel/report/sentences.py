"""The answer of a study as one sentence; plain text, so that every way out can escape it."""

from __future__ import annotations

from collections.abc import Sequence

from judgepanel.report.numbers import counted, fixed, interval, percent, sig, signed
from judgepanel.studies.compare import CHOSEN, Comparison
from judgepanel.studies.curve.panel_curve import PanelCurve
from judgepanel.studies.position import ConstantPosition
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import check_repeats
from judgepanel.votes.orientation import BALANCED_SHARE

CALIBRATOR_NAMES = {
    "none": "raw",
    "temperature": "temperature",
    "platt": "Platt",
    "beta": "beta",
    "beta_clipped": "beta, clipped",
    "beta_l2": "beta, L2",
    "beta_free": "beta, no penalty",
    "beta_cv": "beta, penalty by CV",
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
"""What a score was calibrated with, within a sentence."""

AGGREGATOR_NAMES = {
    "majority": "majority vote",
    "accuracy_weighted": "accuracy-weighted vote",
    "log_odds": "log-odds",
    "one_coin": "one-coin",
    "dawid_skene": "Dawid–Skene",
    "dawid_skene_semi": "Dawid–Skene with labels",
    "stacking": "stacking",
    "joint": "joint",
}
EVEN_SHARE = 0.4
CODING = "These figures measure the coding, not the judges."


def first_calibrator(calibrators: Sequence[str]) -> str:
    """The calibrator that is shown first: beta where it was fitted."""
    return "beta" if "beta" in calibrators else str(calibrators[0])


def position_sentence(position: ConstantPosition) -> str:
    """That a constant position explains the score, before anything is said about judges."""
    gap = f"{signed(position.gap)} {interval(position.lo, position.hi, sign=True)}"
    return (
        f"A constant position explains this: on the file as given, 'always {position.label}' "
        f"alone gets NLL {fixed(position.nll, 3)}, which the panel is not shown to beat ({gap})."
    )


def if_positions_mean_nothing(position: ConstantPosition | None, text: str) -> str:
    """An answer, on condition that judges do not prefer a position where that would explain it."""
    if position is None or not position.explains:
        return text
    text = f"{text[0].lower()}{text[1:]}"
    return f"{position_sentence(position)} Only if no judge prefers a position: {text}"


def votes_sentence(votes: VoteMatrix, *, group_duplicates: bool = False) -> str:
    """What was brought, and whether it is ready: copies of items must be kept together."""
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
    elif check_repeats(votes, group_duplicates=group_duplicates).outcome == "fail":
        state = "items repeat"
    else:
        state = "ready"
    return f"{size}, {known}, {balance}: {state}."


def curve_sentence(curve: PanelCurve, calibrator: str) -> str:
    """Keep all, or curate? The answer never contradicts an arm that is shown below it."""
    text = if_positions_mean_nothing(curve.position(calibrator), _curve_answer(curve, calibrator))
    return f"{text} {CODING}" if curve.measures_coding else text


def _curve_answer(curve: PanelCurve, calibrator: str) -> str:
    if curve.n_judges == 1:
        return "There is one judge only, so there is nothing to curate."
    arm = headline(curve, calibrator)
    return "Not enough splits yet to say." if arm is None else _verdict_sentence(curve, arm)


def headline(curve: PanelCurve, calibrator: str) -> Comparison | None:
    """The comparison the answer rests on.

    Where a smaller panel is shown to be better, that one (the k chosen on calibration rows first,
    for nobody could choose a fixed k in hindsight); else top-5, the habit, or the largest fixed
    panel compared, or the chosen k.
    """
    arms = {c.arm: c for c in curve.comparisons if c.calibrator == calibrator}
    fixed_arms = [found for name, found in arms.items() if name != CHOSEN]
    better = [found for found in arms.values() if found.verdict == "curate"]
    for found in better:
        if found.arm == CHOSEN:
            return found
    if better:
        return min(better, key=lambda found: found.delta)
    if "top-5" in arms:
        return arms["top-5"]
    return fixed_arms[-1] if fixed_arms else arms.get(CHOSEN)


def _verdict_sentence(curve: PanelCurve, arm: Comparison) -> str:
    n = curve.n_judges
    chosen = arm.arm == CHOSEN
    name = "the k chosen on calibration rows" if chosen else arm.arm
    size = f"about {arm.k}" if chosen else f"{arm.k}"
    bounds = interval(arm.lo, arm.hi, sign=True)
    against = f"{name} changes NLL by {signed(arm.delta)} {bounds}"
    if arm.delta > 0:
        against = f"{name} costs {signed(arm.delta)} NLL {bounds}"
    if arm.verdict == "tie" and chosen and arm.k_lo == n:
        return f"A tie: the k chosen on calibration rows is the {SAME_PANEL} {n} in every split."
    if arm.lo > -arm.margin and arm.hi < arm.margin and arm.verdict != "tie":
        return f"Either will do: {against} against all {n}, less than 2 % of their NLL."
    return {
        "keep all": f"Keep all {n}: {against}.",
        "curate": f"Curate to {size}: {name} saves {sig(-arm.delta, 2)} NLL "
        f"{interval(-arm.hi, -arm.lo)} against all {n}.",
        "no loss from keeping": f"At most 2 % is lost by keeping all {n}: {against} against all.",
        "no loss from curating": f"At most 2 % is lost by curating to {size}: {against} against "
        f"all {n}.",
        "undecided": f"Undecided: {against} against all {n}.",
        "tie": f"A tie: {name} and all {n} give the same probabilities.",
    }[arm.verdict]


SAME_PANEL = "same panel as all"
SAME_PROBABILITIES = "same probabilities as all"


def tie_words(k_lo: int, n_judges: int) -> str:
    """What stands in place of a difference where an arm never differs from all judges.

    ``k_lo`` is the smallest panel of the arm in any split.
    """
    return SAME_PANEL if k_lo == n_judges else SAME_PROBABILITIES


def optimism_sentence(curve: PanelCurve, calibrator: str) -> str | None:
    """How much the best k flatters itself where it was chosen."""
    arm = curve.comparison(calibrator, CHOSEN)
    if arm is None:
        return None
    return (
        f"Choosing k on calibration rows (median {arm.k}, mostly {arm.k_lo} to {arm.k_hi}) "
        f"promised NLL {sig(arm.chosen_on)} and gave {sig(arm.nll)} on untouched items: an "
        f"optimism of {signed(arm.optimism)}."
    )


def pipeline_name(aggregator: str, calibrator: str) -> str:
    """``one-coin + beta``."""
    return f"{AGGREGATOR_NAMES[aggregator]} + {CALIBRATOR_NAMES[calibrator]}"
