"""Every column of every study's frame, described once: for docs, tooltips and data dictionaries.

``COMMON`` holds what a name means wherever it occurs, ``OWN`` what it means in one study alone.
Ends of intervals (``nll_lo``, ``nll_hi``) are described after the figure that they bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pandas as pd

_COMPARED = "NLL of this panel less that of all judges, in nats; above 0, keeping all is better."

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "aggregator": "How the votes are summed.",
        "calibrator": "How the sum becomes a probability.",
        "panel": "Which judges: all, or the top k.",
        "judge": "Name of the judge.",
        "judges": "Number of judges.",
        "family": "Family of the judge in the judge table; blank where it gives none.",
        "k": "Number of judges in the panel.",
        "n_splits": "Splits of the items into calibration and evaluation that are in the figures.",
        "seed": "Seed of the splits.",
        "nll": "Negative log-likelihood: mean -log p(true label) on new items, in nats.",
        "null_nll": "NLL of the base rate of the calibration labels, with no judge at all.",
        "constant_nll": "NLL of a constant score sent through the same calibrator.",
        "skill": "1 - NLL / null NLL: 0 is no better than the base rate, 1 is perfect.",
        "brier": "Brier score: mean squared distance of probability and label, 0 to 1.",
        "accuracy": "Share of right decisions on new items, 0 to 1.",
        "ece": "Expected calibration error: mean distance of stated confidence and share right.",
        "delta": _COMPARED,
        "margin": "Differences smaller than this, in nats, count as no loss.",
        "p": "Two-sided p-value of no difference.",
        "p_holm": "The p-value after Holm's correction for several tests.",
        "band_lo": "Lower end of the 95 % interval of the difference that covers all rows at once.",
        "band_hi": "Upper end of the 95 % interval of the difference that covers all rows at once.",
        "verdict": "What the interval of the difference says against the margin.",
        "chosen_share": "Share of the splits in which the choice on calibration rows took this.",
        "tied": "Whether nothing shows that this differs from the best.",
        "cost": "What the panel costs on one item; blank where costs are not known.",
        "unit": "Unit of the costs.",
        "labels": "Labels that the panel was fitted on, mean over splits.",
        "items": "Number of items.",
        "stage": "Before (raw) or after calibration.",
        "stability": "Agreement of the splits: 1 where all choose alike, 0 as if at random.",
        "size": "Number of judges chosen, mean over splits.",
        "seen": "NLL of the choice on the rows where it was made, in nats.",
        "optimism": "NLL on new items less that where the choice was made, in nats.",
        "gap": "Share right less the mean confidence stated.",
        "correct": "Labelled items on which the judge's vote is right.",
        "voted": "Labelled items on which the judge voted.",
        "coverage": "Share of all items with a vote of the judge, 0 to 1.",
        "constant": "Whether the judge gives one verdict on every item.",
        "ability": "Ability in a 2PL model, in standard deviations of item difficulty.",
        "discrimination": "How sharply the judge tells easy from hard items in a 2PL model.",
        "nearest": "The judge whose errors correlate with this judge's most.",
        "feature": "Item feature.",
    }
)

_FOUND_BY_CURATOR = {
    "size_lo": "Smallest number of judges in the central 95 % of the splits.",
    "size_hi": "Largest number of judges in the central 95 % of the splits.",
    "optimism_lo": "Lower end of the central 95 % of the optimism over splits.",
    "optimism_hi": "Upper end of the central 95 % of the optimism over splits.",
    "lo": "Lower end of the 95 % interval of delta.",
    "hi": "Upper end of the 95 % interval of delta.",
}

_DELTA_ENDS = {
    "lo": "Lower end of the 95 % interval of delta.",
    "hi": "Upper end of the 95 % interval of delta.",
}

OWN: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "recommend": {
            "panel": "Which judges the candidate takes.",
            "k": "Judges that the candidate takes on all labelled rows.",
            "lo": "Lower end of the 95 % interval of nll.",
            "hi": "Upper end of the 95 % interval of nll.",
            "delta": "NLL of the candidate less that of all judges under one-coin and beta, in "
            "nats; below 0 the candidate is better.",
            "inner_nll": "Cross-validated NLL on all labelled rows, which the choice saw.",
            "smoothed_nll": "The inner NLL by which candidates are compared; blank over budget.",
            "behind": "NLL of the candidate less that of the chosen one, out of sample, in nats.",
            "stands": "What the interval of behind says against the margin; curate: this "
            "candidate is better.",
            "allowed": "Whether the candidate keeps within the budget.",
        },
        "curators": {
            **_FOUND_BY_CURATOR,
            "curator": "The way of choosing judges.",
            "title": "The way of choosing in words.",
            "deployable": "Whether it could be used outside a study: an oracle could not.",
            "looked_best_share": "Share of the splits in which it had the lowest NLL where it "
            "chose.",
            "note": "What limits the comparison.",
            "refit": "How the votes of the chosen judges are summed.",
        },
        "what_if": {"panel": "The panel kept, or the one it is compared with."},
        "value": {
            "value": "NLL without the judge less that of all judges, in nats; above 0 it helps.",
            "lo": "Lower end of the 95 % interval of value.",
            "hi": "Upper end of the 95 % interval of value.",
            "p": "Two-sided p-value of a value of 0.",
            "shapley": "NLL that the judge saves on average over the orders of joining, in nats.",
            "gain": "Mean square of the change of the panel's logit without the judge.",
            "correlation": "Correlation of errors with the nearest judge.",
            "slice": "Part of the items where its value exceeds that elsewhere by most.",
            "slice_gap": "By how much its value is larger in that slice, in nats.",
            "slice_lo": "Lower end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_hi": "Upper end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_p": "One-sided p-value of slice_gap after Holm's correction.",
            "inner": "Value by inner folds of all labelled rows, in nats.",
            "rank": "Order in which judges would go, 1 the first.",
            "droppable": "Whether it is among the judges shown to cost nothing together.",
            "role": "Copy, specialist, complement or ordinary.",
            "nll_all": "NLL of all judges, in nats.",
        },
        "cost": {
            **_FOUND_BY_CURATOR,
            "budget": "Most that the panel may cost on one item.",
            "cost_lo": "Lowest cost in the central 95 % of the splits.",
            "cost_hi": "Highest cost in the central 95 % of the splits.",
            "share": "Cost as a share of what all judges cost.",
            "slowest": "Latency of the slowest judge of the panel, all asked at once.",
            "in_turn": "Latency of the panel's judges asked one after the other.",
            "judges": "Judges that all labelled rows choose, separated by semicolons.",
            "panel": "The point on the curve in words.",
            "panel_cost": "What those judges cost on one item.",
            "panel_slowest": "Latency of the slowest of those judges.",
            "panel_in_turn": "Latency of those judges asked one after the other.",
            "reading": "NLL of the best curve through all points that never rises, in nats.",
            "on_frontier": "Whether the point lies on that curve: seen in hindsight, not a choice.",
            "next_gain": "NLL that the next budget saves, in nats.",
            "next_lo": "Lower end of the 95 % interval of next_gain.",
            "next_hi": "Upper end of the 95 % interval of next_gain.",
            "next_extra": "What the panels of the next budget cost more on one item.",
            "next_price": "What 1 % of the NLL costs on the way to the next budget.",
        },
        "escalation": {
            **_DELTA_ENDS,
            "arm": "A threshold fixed in advance, or the recommended one.",
            "threshold": "Confidence from which on the cheap panel answers alone.",
            "escalated": "Share of the items that go on to all judges.",
            "latency": "The slowest cheap judge, then the slowest of the others where escalated.",
            "delta": "NLL less that of asking all judges on every item, in nats.",
            "promised": "Cross-fitted NLL on the calibration rows, in nats.",
            "full_cost": "What all judges cost on one item.",
        },
        "judges": {
            "accuracy": "Share of the judge's votes on labelled items that are right.",
            "leaning": "Share of votes for label 1 less the share of label 1 on the same items.",
            "set_aside": "Whether the judge is left out as constant.",
            "cluster": "Number of its cluster of judges that err together, 1 the largest.",
            "with_cluster": "Mean error correlation with the judges of its cluster.",
            "with_rest": "Mean error correlation with all other judges.",
            "stability": "Mean share of halves in which it shares a cluster with each of its "
            "cluster.",
            "nearest_correlation": "Correlation of errors with the nearest judge.",
        },
        "variance_decomposition": {
            "accuracy": "(correct + 1) / (voted + 2).",
        },
        "method_grid": {
            "delta": "NLL of the pair less that of the best pair, in nats.",
            "delta_lo": "Lower end of the 95 % band of delta over all pairs at once.",
            "delta_hi": "Upper end of the 95 % band of delta over all pairs at once.",
        },
        "pipeline_ablation": {
            "step": "Step of the pipeline.",
            "delta": "NLL of the step less that of the step it builds on; below 0 it helps.",
        },
        "calibrator_design": {"rho": "Spearman's correlation of raw and calibrated scores."},
        "label_budget": {
            "budget": "Labels asked for.",
            "delta": "NLL of the panel less that of all judges on the same labels, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta at all budgets together.",
            "band_hi": "Upper end of the 95 % interval of delta at all budgets together.",
            "joint_p": "p-value of no difference at any budget.",
            "paper_joint_t": "The paper's joint statistic, which is invalid and decides nothing.",
            "paper_joint_p": "The paper's joint p-value, which is invalid and decides nothing.",
            "next_100_gain": "What the next 100 labels take off the fitted NLL, in nats.",
            "next_extrapolated": "Whether that lies beyond the largest budget tried.",
        },
        "scope": {
            "check": "P0 to P3.",
            "outcome": "Outcome of the check.",
            "subject": "Judge, panel or aggregator that the figure is about.",
            "quantity": "What the figure is.",
            "value": "The figure, in the unit of its quantity.",
            "lo": "Lower end of its interval.",
            "hi": "Upper end of its interval.",
            "p": "p-value that goes with it.",
            "flag": "What it says, such as 'below chance'.",
        },
        "group_change": {
            "group": "The group of judges that is taken out.",
            "judges": "Number of judges in the group.",
            "nll_with": "NLL with the group, in nats.",
            "nll_without": "NLL without the group, in nats.",
            "delta": "NLL without the group less that with it, in nats; above 0 the group helps.",
        },
        "fraction_sweep": {
            "share": "Share of the items that calibrates.",
            "n_calibration": "Labels that calibrate, mean over splits.",
            "n_evaluation": "Items that are scored, mean over splits.",
            "against": "NLL less that at the largest share, on the items that all shares score.",
            "delta": "NLL of the panel less that of all judges at the same share, in nats.",
        },
        "claim": {
            "step": "Step from the paper's protocol to the honest one.",
            "after": "The step that it is compared with.",
            "measures": "What the figures of the step measure.",
            "coding": "How the labels are coded.",
            "input_clipped": "Whether scores are clipped before calibration.",
            "own_label": "Whether an item's own label is seen by its score.",
            "against_all": "NLL of the top k less that of all judges of the step, in nats.",
            "change": "NLL less that of the step before, in nats.",
            "falling": "Share of the splits whose fitted map falls.",
            "null_nll": "NLL of the base rate under the step's own labels.",
            "constant_nll": "NLL of a constant score through the step's calibrator.",
        },
        "reliability": {
            "bins": "The way of binning.",
            "from": "Lower edge of the bin of stated confidence.",
            "to": "Upper edge of the bin of stated confidence.",
            "items": "Items in the bin, mean over splits.",
            "confidence": "Mean confidence stated in the bin.",
            "accuracy": "Share of right decisions in the bin.",
        },
        "selective": {
            "by": "Whether the limit is a confidence or a share of the items.",
            "limit": "Least confidence at which an item is answered, or share answered.",
            "share": "Share of the items that is answered.",
            "right": "Share of the answers that is right.",
            "stated": "Mean confidence of the answers.",
            "items": "Items answered, mean over splits.",
        },
        "conformal": {
            "sets_within": "What thresholds were found within: all items, or groups of them.",
            "level": "Share of sets that is promised to hold the label.",
            "grouping": "How the items are grouped where coverage is looked at.",
            "group": "The group of items.",
            "promised": "Whether the level is promised for this group.",
            "n_slice": "Labels that thresholds rest on, mean over splits.",
            "coverage": "Share of the sets that hold the true label.",
            "size": "Labels in a set on average, 0 to 2.",
            "one_right": "Share right of the sets with one label.",
            "share_neither": "Share of sets that hold no label.",
            "share_only_0": "Share of sets that hold label 0 alone.",
            "share_only_1": "Share of sets that hold label 1 alone.",
            "share_both": "Share of sets that hold both labels.",
        },
        "items": {
            "item": "Id of the item.",
            "label": "Its label.",
            "p": "Mean probability of label 1 over the item's evaluations.",
            "p_lo": "Lower end of the central 95 % of these probabilities over evaluations.",
            "p_hi": "Upper end of the central 95 % of these probabilities over evaluations.",
            "nll": "Mean -log p(true label) of the item, in nats.",
            "right": "Share of the item's evaluations whose decision is right.",
            "evaluations": "Splits that held the item out.",
            "votes_for_1": "Votes for label 1.",
            "votes_for_0": "Votes for label 0.",
            "votes_against_label": "Votes against the item's label.",
            "disagreement": "How evenly the votes are divided: 0 all alike, 1 half against half.",
        },
        "difficulty_transfer": {
            "method": "How the panel is fitted for the other kind of items.",
            "source": "Items whose labels fit the panel.",
            "target": "Items that it is scored on.",
            "delta": "NLL from source to target less that of the target's own labels, in nats.",
            "gain": "NLL of the method less that of plain fitting, in nats; below 0 it helps.",
            "effective": "Effective number of labels under importance weights, as a share.",
            "null_nll": "NLL of the base rate of the source's labels on the target.",
        },
        "slice_transfer": {
            "slice": "Kind of items, by the feature.",
            "items": "Items of the slice.",
            "labels_from": "Where the labels that fit the panel come from.",
            "delta": "NLL with labels from elsewhere less that with the slice's own, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta in all slices together.",
            "band_hi": "Upper end of the 95 % interval of delta in all slices together.",
            "outcome": "Whether the panel is shown to lose on the slice.",
        },
        "permutation": {
            "permutation": "Number of the permutation; 0 holds the real labels.",
            "labels": "Real, or how they were permuted.",
        },
        "corruption": {
            "scenario": "What happens to the votes.",
            "level": "How much of it.",
            "changed": "Share of the evaluation votes that was flipped or removed.",
            "rise": "NLL less that of the same panel on clean votes, in nats.",
            "drop": "Accuracy lost against clean votes.",
            "gap": "Rise of the top k less that of all judges; above 0 all judges lose less.",
            "gap_lo": "Lower end of the 95 % interval of gap at all levels of the scenario.",
            "gap_hi": "Upper end of the 95 % interval of gap at all levels of the scenario.",
            "delta": "NLL of the top k less that of all judges under the condition, in nats.",
            "degrades_slower": "Which of the two is shown to lose less.",
        },
        "distortion": {
            "distortion": "What was done to the score.",
            "change": "NLL less that of the same calibrator on undistorted scores, in nats.",
            "margin": "2 % of the NLL on undistorted scores, in nats.",
            "p": "p-value of two one-sided tests that the change is within the margin.",
            "outcome": "Repaired, harmed, better or undecided.",
        },
        "reliability_weighting": {
            **_DELTA_ENDS,
            "signal": "What says how much a comparison counts.",
            "favours": "Whether high or low values of the signal count for more.",
            "feature": "Whether the signal is an item feature.",
            "strength": "How strongly the signal weighs.",
            "unweighted_nll": "NLL without weights, in nats.",
            "nll": "NLL with weights, in nats.",
            "delta": "NLL with weights less that without, in nats.",
            "lo_90": "Lower end of the 90 % interval of delta.",
            "hi_90": "Upper end of the 90 % interval of delta.",
            "tost_p": "p-value of two one-sided tests that delta is within the margin.",
            "tost": "What those tests say.",
            "relative_margin": "1 % of the unweighted NLL, in nats.",
            "relative_tost_p": "The same p-value for the relative margin.",
            "relative_tost": "What the tests say for the relative margin.",
            "plain_tost_p": "The same p-value by a paired test that takes the panels as given.",
        },
        "narrow_band": {
            **_DELTA_ENDS,
            "simulated": "Always true: the figures are of simulated panels.",
            "width": "Width of the band of the judges' accuracies.",
            "rho": "Latent correlation of the votes.",
            "error_rho": "Mean correlation of errors that came out.",
            "share": "Share of the panel that pruning keeps.",
            "n_replicates": "Simulated panels in the figures.",
            "nll": "NLL of all judges, in nats.",
            "accuracy": "Share of right decisions of all judges.",
            "delta": "NLL after pruning less that of all judges, in nats.",
            "loss": "Accuracy that pruning gives away.",
            "winner": "Which is shown to be better.",
            "seed": "Seed of the simulation.",
        },
        "jury": {
            "accuracy": "Share of votes that are right, mean over items.",
            "majority": "Share of wrong decisions by majority.",
            "one_coin": "Share of wrong decisions by the one-coin score.",
            "independent": "Share of wrong decisions of a majority of independent judges.",
            "gap": "Error of the majority less that of independent judges: what dependence costs.",
            "effective": "Independent judges that err as often as the majority does.",
            "jury_bound": "Upper bound of the error of independent judges, weighted at best.",
            "hoeffding_weighted": "Hoeffding's bound of the error under a weighted vote.",
            "hoeffding_majority": "Hoeffding's bound of the error under a majority.",
            "jury_exponent": "What stands in the exponent of jury_bound.",
            "weighted_exponent": "What stands in the exponent of hoeffding_weighted.",
            "majority_exponent": "What stands in the exponent of hoeffding_majority.",
            "null_error": "Share of wrong decisions without votes.",
        },
    }
)

_ENDS = {"_lo": "Lower", "_hi": "Upper"}
_STARTS = {
    "weight_": "What a vote of the judge weighs under {}.",
    "feat_": "Value of the item feature {}.",
}
_SETS = {
    "coverage": "Share of the sets at {level} % that hold the true label.",
    "size": "Labels in a set at {level} % on average, 0 to 2.",
    "share_neither": "Share of sets at {level} % that hold no label.",
    "share_only_0": "Share of sets at {level} % that hold label 0 alone.",
    "share_only_1": "Share of sets at {level} % that hold label 1 alone.",
    "share_both": "Share of sets at {level} % that hold both labels.",
}


def describe(study: str, column: str) -> str:
    """What a column of a study's frame holds.

    Raises
    ------
    KeyError
        The column is not described.
    """
    own = OWN.get(study, {})
    if column in own:
        return own[column]
    if column in COMMON:
        return COMMON[column]
    for end, word in _ENDS.items():
        figure = column.removesuffix(end)
        if figure != column:
            describe(study, figure)
            over = "central 95 % over splits" if figure == "ece" else "95 % interval"
            return f"{word} end of the {over} of {figure}."
    for start, words in _STARTS.items():
        if column.startswith(start):
            return words.format(column.removeprefix(start))
    text = _set_column(column)
    if text is None:
        raise KeyError(f"the column {column} of the study {study} is not described")
    return text


def described(study: str, columns: Iterable[str]) -> pd.DataFrame:
    """The data dictionary of a frame: one row per column, with its description."""
    names = [str(column) for column in columns]
    return pd.DataFrame({"column": names, "description": [describe(study, name) for name in names]})


def _set_column(column: str) -> str | None:
    """Figures of conformal sets carry their level in the name: ``share_80_both``."""
    parts = column.split("_")
    level = next((part for part in parts if part.isdigit() and len(part) == 2), None)
    if level is None:
        return None
    text = _SETS.get("_".join(part for part in parts if part != level))
    return None if text is None else text.format(level=level)
