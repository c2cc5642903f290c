"""The label budget in sentences: labels to reach the plateau or a target, and more labels."""

from __future__ import annotations

import math

from judgepanel.studies.budget.label_budget_result import (
    NEXT,
    PAPER_NOTE,
    LabelBudget,
    LabelsNeeded,
)
from judgepanel.studies.contest.compared import COMPARED, by_aggregator
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.words.numbers import (
    counted,
    fixed,
    level,
    p_value,
    with_interval,
)
from judgepanel.words.sentences import (
    CODING,
    pipeline_name,
)

ALPHA = 0.05


def budget_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return how many labels bring all judges near their NLL with the most labels."""
    text = _needed_answer(result, calibrator)
    return f"{text} {CODING}" if result.measures_coding else text


def beats_null(result: LabelBudget, calibrator: str) -> bool:
    """Whether all judges on all calibration labels are shown to beat the base rate."""
    nll = result.nll[result.row(calibrator), -1, -1]
    return bool(nll.below(result.null_nll[-1]))


def _needed_answer(result: LabelBudget, calibrator: str) -> str:
    needed = result.needed_for(calibrator, result.arms[-1])
    if needed is None:
        return "Not enough splits yet to say."
    c, most = result.row(calibrator), counted(round(float(result.labels[-1])), "label")
    null = fixed(float(result.null_nll[-1]), 3)
    reached = f"NLL {level(*result.nll[c, -1, -1])}, base rate {null}"
    if not beats_null(result, calibrator):
        return (
            f"At {most}, {result.arms[-1]} {_are(result)} not shown to beat the base rate "
            f"({reached}), so nothing says how many are needed."
        )
    if len(result.labels) == 1:
        return f"There is one budget only, {most} ({reached}): too few labels for a curve."
    enough = f"{_still_falls(result, c)}{_enough(result, needed)}"
    near = f"bring {result.arms[-1]} within {tolerance(result)} of what {most} give"
    return f"{enough} {near}; you have {result.have:,}."


def _enough(result: LabelBudget, needed: LabelsNeeded) -> str:
    """Return how many labels are enough: the estimate, or the upper end with few splits."""
    n, _, hi = needed.n
    if needed.at_start and hi == n:
        return f"{_count(n)} or fewer"
    if not result.settled:
        return f"{_count(hi)}, the upper end of {span(needed)},"
    if needed.at_start:
        return f"{_count(n)}, perhaps up to {round(hi):,},"
    return f"{_count(n)} {span(needed)}"


def _splits(result: LabelBudget) -> str:
    return counted(result.n_splits, "split")


def _still_falls(result: LabelBudget, c: int) -> str:
    """Say that there is no plateau yet if the next labels are clearly shown to reduce NLL."""
    gain = result.gain[c, -1, -1]
    if not (gain.above() and gain.value > result.within * result.nll.value[c, -1, -1]):
        return ""
    buy = f"the next {NEXT} labels lower NLL by about {with_interval(*gain)}"
    return f"No plateau yet: {buy}. So far, "


def target_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return how many labels bring all judges to the target; empty without a target."""
    needed = result.needed_for(calibrator, result.arms[-1], "target")
    if needed is None:
        return ""
    goal = f"NLL {needed.goal:g}"
    n, lo, _ = needed.n
    if not math.isfinite(n):
        never = f"The fitted curve of {_with_pipeline(result, calibrator)} never falls to {goal}"
        if not math.isfinite(lo):
            return f"{never}."
        return f"{never}, but that is not sure: the 95 % interval starts at {_count(lo)}."
    how = ", by extrapolating the fitted curve," if needed.extrapolated else ""
    arm = result.arms[-1]
    if not math.isfinite(result.quoted(needed)):
        return (
            f"How many labels bring {arm} to {goal} on average over panels is not shown after "
            f"{_splits(result)}: {_count(n)} {span(needed)}{how.rstrip(',')}."
        )
    enough = _enough(result, needed).rstrip("," * bool(how))
    return f"{enough}{how} bring {arm} to {goal}, on average over panels."


def _with_pipeline(result: LabelBudget, calibrator: str) -> str:
    everyone = result.arms[-1]
    if result.aggregator == AVERAGE:
        return everyone
    return f"{everyone} with {pipeline_name(result.aggregator, calibrator)}"


def next_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return the effect of 100 labels beyond those of the user; empty without a curve."""
    c = result.row(calibrator)
    if not math.isfinite(result.curve_a[c, -1]):
        return ""
    have = f"You have {counted(result.have, 'label')}"
    gain = result.gain[c, -1, -1]
    if not math.isfinite(gain.value):
        return (
            f"{have}, fewer than the smallest budget here ({round(float(result.labels[0])):,}): "
            "what more would buy is not known."
        )
    text = f"{have}: the next {NEXT} would lower NLL by about {with_interval(*gain)}."
    if not result.curve_b[c, -1] > 0:
        text = (
            f"{have}: the curve does not fall, so the next {NEXT} are not shown to help (at most "
            f"{fixed(float(gain.hi), 3)} NLL)."
        )
    if result.extrapolates:
        text += (
            f" That is extrapolated: the fitted curve ends at {round(float(result.labels[-1])):,}."
        )
    return text


def versus(result: LabelBudget, panel: str) -> str:
    """Name a panel and its reference: ``top-5 against all 65``."""
    reference = result.arms[-1]
    apart = result.aggregator_of(result.arms.index(panel)) != result.aggregator
    if apart and result.aggregator != AVERAGE:
        reference = by_aggregator(reference, result.aggregator)
    return f"{panel} against {reference}"


def joint_sentence(result: LabelBudget, calibrator: str, panel: str) -> str:
    """Say whether a panel differs from all judges at any budget, and at which."""
    c, p = result.row(calibrator), result.arms.index(panel)
    joint = float(result.joint_p[c, p])
    if not math.isfinite(joint):
        return "Not enough splits yet to compare panels."
    start = versus(result, panel)
    if joint >= ALPHA:
        return f"{start}: no difference is shown at any budget (joint {p_value(joint)})."
    worse, better = (
        [round(float(n)) for n, differs in zip(result.labels, where, strict=True) if differs]
        for where in (result.band[c, p].above(), result.band[c, p].below())
    )
    parts = [
        f"{word} at {_budgets(where)}"
        for word, where in (("costs NLL", worse), ("saves NLL", better))
        if where
    ]
    if not parts:
        parts = ["they differ at some budget"]
    return f"{start}: it {' and '.join(parts)} (joint {p_value(joint)})."


def tolerance(result: LabelBudget) -> str:
    """Return how near the plateau is near enough, as a share of its NLL."""
    return f"{100.0 * result.within:g} %"


def span(needed: LabelsNeeded) -> str:
    """Return the interval of the labels needed."""
    _, lo, hi = needed.n
    if not math.isfinite(lo):
        return "[no limit]"
    return f"[{round(lo):,}, {f'{round(hi):,}' if math.isfinite(hi) else 'no limit'}]"


def _count(n: float) -> str:
    return counted(round(n), "label")


def _budgets(budgets: list[int]) -> str:
    if len(budgets) == 1:
        return f"{budgets[0]:,} labels"
    return ", ".join(f"{n:,}" for n in budgets[:-1]) + f" and {budgets[-1]:,} labels"


def _are(result: LabelBudget) -> str:
    return "is" if result.n_judges == 1 or result.aggregator == AVERAGE else "are"


def reading_sentence(result: LabelBudget, calibrator: str) -> str:
    """Say how the curve is read, with its last NLL and the base rate."""
    null = float(result.null_nll[-1])
    constant = float(result.constant_nll[result.row(calibrator), -1])
    nll = result.nll[result.row(calibrator), -1, -1]
    text = (
        f"NLL of {result.arms[-1]} with {result.labels[-1]:,.0f} labels, on average over panels: "
        f"{level(*nll)}. Base rate alone: {fixed(null, 3)}; with {result.labels[0]:,.0f} labels "
        f"{fixed(float(result.null_nll[0]), 3)}."
    )
    if abs(constant - null) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(constant, 3)}."
    text += " Dotted lines on grey, right of the last marker, are extrapolated."
    if result.needed_for(calibrator, result.arms[-1]) is not None:
        low = f": the estimate itself is too low after {_splits(result)}"
        end = "" if result.settled else f", the upper end of their interval{low}"
        text += f" Dashed vertical line: the labels that come near the plateau{end}."
    return text


def paper_note() -> str:
    """Return the note that must accompany the paper's test."""
    return (
        f"The paper's joint test is {PAPER_NOTE}. Splits share their items, so its t grows with "
        "the number of splits whatever the votes say: in simulations it finds equal panels "
        "different more often than not. It is shown for comparison, and nothing rests on it."
    )


def again_sentence(unit: str) -> str:
    """Say how the recommended panel is made again, by budget or by share, and its comparison."""
    return (
        f"The recommended panel is chosen again on the labels of every {unit}: candidates are "
        "fitted and compared, and the weights of their average learned, on those alone. The best "
        f"few beside it are under {pipeline_name(*COMPARED)}."
    )
