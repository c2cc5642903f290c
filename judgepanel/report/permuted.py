"""What permuted labels show, in words."""

from __future__ import annotations

import math

from judgepanel.report.numbers import fixed, interval, p_value
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.robustness.permutation_result import Permutation

ALPHA = 0.05


def permutation_sentence(found: Permutation) -> str:
    """Whether permuted labels fall back to their base rate, and real ones do not."""
    if found.identical:
        return (
            "Every label is the same and taken as given, so permuting labels changes nothing: this "
            f"check is empty here. {CODING}"
        )
    if not math.isfinite(found.p) or not math.isfinite(found.excess[1]):
        return "Not enough permutations yet to say."
    mean = fixed(float(found.permuted_nll.mean()), 3)
    null = fixed(float(found.permuted_null.mean()), 3)
    spread = f"{mean} {interval(*found.spread, 3)}"
    if found.leaks:
        text = (
            f"Permuted labels are predicted better than their base rate: NLL {spread} against "
            f"{null}. Labels leak into the fit."
        )
    elif found.excess[1] > MARGIN * float(found.permuted_null.mean()):
        text = (
            "Nothing leaks: permuted labels are predicted worse than their base rate. NLL "
            f"{spread} against {null}: the probabilities are too sure, for lack of a calibrator. "
        )
        text += _real(found)
    else:
        text = f"With permuted labels it falls back to the base rate: NLL {spread}, null {null}. "
        text += _real(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _real(found: Permutation) -> str:
    level = f"{fixed(found.nll, 3)} {interval(found.nll_lo, found.nll_hi, 3)}"
    real = f"NLL {level}, {p_value(found.p)}"
    if found.p < ALPHA:
        return f"With the real labels it is otherwise: {real}."
    return f"The real labels are not told from permuted ones: {real}."


def permutation_text(found: Permutation) -> str:
    """The answer, for a terminal."""
    return (
        f"{len(found.permuted_nll)} permutations ({found.action}) on {found.n_splits} splits each, "
        f"{AGGREGATOR_NAMES[found.aggregator]}, {CALIBRATED[found.calibrator]}, orientation "
        f"{found.orientation}, seed {found.seed}.\n{permutation_sentence(found)}"
    )
