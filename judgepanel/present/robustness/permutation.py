"""What permuted labels show: whether labels leak, and whether the real ones are predicted."""

from __future__ import annotations

import math

from judgepanel.figures.robustness.permuted import permuted_labels
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, drawing
from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.robustness.permutation import PermutationSpec
from judgepanel.studies.robustness.permutation_result import Permutation
from judgepanel.words.numbers import fixed, interval, p_value
from judgepanel.words.sentences import CODING

ALPHA = 0.05


def permutation_sentence(result: Permutation) -> str:
    """Whether permuted labels fall back to their base rate, and real ones do not."""
    if result.identical:
        return (
            "Every label is the same and taken as given, so permuting labels changes nothing: this "
            f"check is empty here. {CODING}"
        )
    if not math.isfinite(result.p) or not math.isfinite(result.excess[1]):
        return "Not enough permutations yet to say."
    mean = fixed(float(result.permuted_nll.mean()), 3)
    null = fixed(float(result.permuted_null.mean()), 3)
    spread = f"{mean} {interval(*result.spread, 3)}"
    if result.leaks:
        text = (
            f"Permuted labels are predicted better than their base rate: NLL {spread} against "
            f"{null}. Labels leak into the fit."
        )
    elif result.excess[1] > MARGIN * float(result.permuted_null.mean()):
        text = (
            "Nothing leaks: permuted labels are predicted worse than their base rate. NLL "
            f"{spread} against {null}: the probabilities are too sure, for lack of a calibrator. "
        )
        text += _real(result)
    else:
        text = f"With permuted labels it falls back to the base rate: NLL {spread}, null {null}. "
        text += _real(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _real(result: Permutation) -> str:
    level = f"{fixed(result.nll, 3)} {interval(result.nll_lo, result.nll_hi, 3)}"
    real = f"NLL {level}, {p_value(result.p)}"
    if result.p < ALPHA:
        return f"With the real labels it is otherwise: {real}."
    return f"The real labels are not told from permuted ones: {real}."


def present(result: Permutation, spec: PermutationSpec) -> list[Block]:
    """The NLLs of permuted labels beside their base rate and the real labels."""
    return [
        Answer(permutation_sentence(result)),
        drawing(
            permuted_labels(result),
            "NLLs of permuted labels, their base rate and the NLL of the real labels",
        ),
        Paragraph(
            f"All of it on the same {result.n_splits} splits, since every permutation is refitted; "
            f"other studies use more, and their NLL differs a little.",
            quiet=True,
        ),
        Method(
            f"{len(result.permuted_nll)} of {result.planned} permutations (seed {result.seed}): "
            f"{result.action}. Each permutation moves the labels of all items; then everything is "
            f"fitted and scored on the same {result.n_splits} splits. The p-value is the share of "
            "permutations, the real labels among them, whose NLL is at or below the real one. It "
            "needs no assumption about the judges."
        ),
    ]
