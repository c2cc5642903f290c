"""Descriptions of every column of every study's frame, for docs, tooltips and data dictionaries.

``COMMON`` describes names that mean the same in all studies; ``COLUMNS`` of a study's result
describes those specific to it. Ends of intervals (``nll_lo``, ``nll_hi``) are described from the
figure that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from judgepanel.studies.contract import Study
from judgepanel.studies.results import frame_columns

_COMPARED = "NLL of this panel minus that of all judges, in nats; above 0 keeping all is better."

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "aggregator": "How the votes are summed.",
        "calibrator": "How the sum becomes a probability.",
        "panel": "Which judges: all, or the top k.",
        "judge": "Name of the judge.",
        "judges": "Number of judges.",
        "family": "Family of the judge in the judge table; blank if it gives none.",
        "k": "Number of judges in the panel.",
        "n_splits": "Number of splits into calibration and evaluation items behind the figures.",
        "seed": "Seed of the splits.",
        "nll": "Negative log-likelihood: mean -log p(true label) on new items, in nats.",
        "null_nll": "NLL of the base rate of the calibration labels, without any judge.",
        "constant_nll": "NLL of a constant score calibrated by the same calibrator.",
        "skill": "1 - NLL / null NLL: 0 is no better than the base rate, 1 is perfect.",
        "brier": "Brier score: mean squared difference of probability and label, 0 to 1.",
        "accuracy": "Share of right decisions on new items, 0 to 1.",
        "ece": (
            "Expected calibration error: mean absolute difference of stated confidence "
            "and accuracy."
        ),
        "delta": _COMPARED,
        "margin": "Differences smaller than this, in nats, count as no loss.",
        "p": "Two-sided p-value of no difference.",
        "p_holm": "The p-value after Holm's correction for several tests.",
        "band_lo": "Lower end of the 95 % interval of the difference that covers all rows at once.",
        "band_hi": "Upper end of the 95 % interval of the difference that covers all rows at once.",
        "verdict": "What the interval of the difference decides against the margin.",
        "chosen_share": (
            "Share of the splits in which the choice on calibration rows selected this."
        ),
        "tied": "Whether it cannot be distinguished from the best.",
        "cost": "Cost of the panel per item; blank if costs are unknown.",
        "unit": "Unit of the costs.",
        "labels": "Number of labels on which the panel was fitted, mean over splits.",
        "items": "Number of items.",
        "stage": "Before (raw) or after calibration.",
        "stability": (
            "Agreement of the splits: 1 if all choose alike, 0 if the choice is effectively random."
        ),
        "size": "Number of judges chosen, mean over splits.",
        "seen": "NLL on the rows on which the choice was made, in nats.",
        "optimism": "NLL on new items minus the NLL on which the choice was made, in nats.",
        "gap": "Accuracy minus mean stated confidence.",
        "correct": "Number of labelled items on which the judge's vote is right.",
        "voted": "Number of labelled items on which the judge voted.",
        "coverage": "Share of all items on which the judge voted, 0 to 1.",
        "constant": "Whether the judge gives the same verdict on every item.",
        "ability": "Ability in a 2PL model, in standard deviations of item difficulty.",
        "discrimination": "How sharply the judge separates easy from hard items in a 2PL model.",
        "nearest": "The judge whose errors correlate with this judge's most.",
        "feature": "Item feature.",
    }
)


_ENDS = {"_lo": "Lower", "_hi": "Upper"}
_STARTS = {
    "weight_": "Weight of the judge's vote under {}.",
    "feat_": "Value of the item feature {}.",
}
_SETS = {
    "coverage": "Share of sets at {level} % that hold the true label.",
    "size": "Mean number of labels in a set at {level} %, 0 to 2.",
    "share_neither": "Share of sets at {level} % without a label.",
    "share_only_0": "Share of sets at {level} % with label 0 only.",
    "share_only_1": "Share of sets at {level} % with label 1 only.",
    "share_both": "Share of sets at {level} % with both labels.",
}


def own_columns(study: Study[Any, Any, Any]) -> Mapping[str, str]:
    """Return the column descriptions specific to this study."""
    own = {}
    for column in frame_columns(study.result).values():
        if column.text:
            own[column.name] = column.text
        for end, word in _ENDS.items() if column.ends else ():
            text = f"{word} end of the 95 % interval of {column.name}{column.ends}."
            own[column.name + end] = text
    return own | dict(getattr(study.result, "COLUMNS", {}))


def describe(study: Study[Any, Any, Any], column: str) -> str:
    """Return the description of a column of a study's frame.

    Raises
    ------
    KeyError
        The column is not described.
    """
    text = description(study, column)
    if not text:
        raise KeyError(f"the column {column} of the study {study.name} is not described")
    return text


def description(study: Study[Any, Any, Any], column: str) -> str:
    """Return the description of a column of a study's frame; empty if it is not described."""
    own = own_columns(study)
    if column in own or column in COMMON:
        return own.get(column) or COMMON[column]
    for end, word in _ENDS.items():
        figure = column.removesuffix(end)
        if figure != column and description(study, figure):
            over = "central 95 % over splits" if figure == "ece" else "95 % interval"
            return f"{word} end of the {over} of {figure}."
    for start, words in _STARTS.items():
        if column.startswith(start):
            return words.format(column.removeprefix(start))
    return _set_column(column)


def described(study: Study[Any, Any, Any], columns: Iterable[str]) -> pd.DataFrame:
    """Return the data dictionary of a frame: one row per column, with its description."""
    names = [str(column) for column in columns]
    return pd.DataFrame({"column": names, "description": [describe(study, name) for name in names]})


def _set_column(column: str) -> str:
    """Describe figures of conformal sets, whose names contain their level: ``share_80_both``."""
    parts = column.split("_")
    level = next((part for part in parts if part.isdigit() and len(part) == 2), None)
    text = _SETS.get("_".join(part for part in parts if part != level), "")
    return "" if level is None else text.format(level=level)
