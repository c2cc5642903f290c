"""How many labels are needed, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.numbers import (
    counted,
    fixed,
    interval,
    level,
    p_value,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING, pipeline_name
from judgepanel.report.tables import printed
from judgepanel.studies.budget.label_budget_result import (
    NEXT,
    PAPER_NOTE,
    LabelBudget,
    LabelsNeeded,
)

ALPHA = 0.05


def budget_sentence(found: LabelBudget, calibrator: str) -> str:
    """How many labels bring all judges near what the most labels give."""
    text = _needed_answer(found, calibrator)
    return f"{text} {CODING}" if found.measures_coding else text


def beats_null(found: LabelBudget, calibrator: str) -> bool:
    """Whether all judges on all calibration labels are shown to beat the base rate."""
    return bool(found.nll_hi[found.row(calibrator), -1, -1] < found.null_nll[-1])


def _needed_answer(found: LabelBudget, calibrator: str) -> str:
    one = found.needed_for(calibrator, found.arms[-1])
    if one is None:
        return "Not enough splits yet to say."
    c, most = found.row(calibrator), counted(round(float(found.labels[-1])), "label")
    level = f"NLL {_level(found, c, -1)}, base rate {fixed(float(found.null_nll[-1]), 3)}"
    if not beats_null(found, calibrator):
        return (
            f"At {most}, {found.arms[-1]} {_are(found)} not shown to beat the base rate ({level}), "
            "so nothing says how many are needed."
        )
    if len(found.labels) == 1:
        return f"There is one budget only, {most} ({level}): too few labels for a curve."
    near = f"within {_share(found)} of what {most} give ({level})"
    falls = _still_falls(found, c)
    average = "on average over panels" if falls else "On average over panels"
    return f"{falls}{average}, {_enough(found, one)} reach {near}; you have {found.have:,}."


def _enough(found: LabelBudget, one: LabelsNeeded) -> str:
    """How many labels are enough: the estimate, or the upper end while splits are few."""
    if one.at_start and one.n_hi == one.n:
        return f"{_count(one.n)} or fewer"
    if not found.settled:
        return f"{_count(one.n_hi)}, the upper end of {_span(one)} after {_splits(found)},"
    if one.at_start:
        return f"{_count(one.n)}, perhaps up to {round(one.n_hi):,},"
    return f"{_count(one.n)} {_span(one)}"


def _splits(found: LabelBudget) -> str:
    return counted(found.n_splits, "split")


def _still_falls(found: LabelBudget, c: int) -> str:
    """That there is no plateau yet: the next labels are shown to buy something, by far enough."""
    gain, lo, hi = (float(part[c, -1, -1]) for part in (found.gain, found.gain_lo, found.gain_hi))
    if not (lo > 0 and gain > found.within * float(found.nll[c, -1, -1])):
        return ""
    buy = f"the next {NEXT} labels buy about {with_interval(gain, lo, hi)} NLL"
    return f"No plateau yet: {buy}. Until then "


def target_sentence(found: LabelBudget, calibrator: str) -> str:
    """How many labels bring all judges to the target; empty without one."""
    one = found.needed_for(calibrator, found.arms[-1], "target")
    if one is None:
        return ""
    goal = f"NLL {one.goal:g}"
    if not math.isfinite(one.n):
        pipeline = pipeline_name(found.aggregator, calibrator)
        never = f"The fitted curve of {found.arms[-1]} with {pipeline} never falls to {goal}"
        if not math.isfinite(one.n_lo):
            return f"{never}."
        return f"{never}, but that is not sure: the 95 % interval starts at {_count(one.n_lo)}."
    how = ", by extrapolating the fitted curve," if one.extrapolated else ""
    arm = found.arms[-1]
    if not math.isfinite(found.quoted(one)):
        return (
            f"How many labels bring {arm} to {goal} on average over panels is not shown after "
            f"{_splits(found)}: {_count(one.n)} {_span(one)}{how.rstrip(',')}."
        )
    enough = _enough(found, one).rstrip("," * bool(how))
    return f"On average over panels, {enough}{how} bring {arm} to {goal}."


def next_sentence(found: LabelBudget, calibrator: str) -> str:
    """What the next 100 labels buy beyond those that the reader has; empty without a curve."""
    c = found.row(calibrator)
    if not math.isfinite(found.curve_a[c, -1]):
        return ""
    have = f"You have {counted(found.have, 'label')}"
    gain, lo, hi = (float(part[c, -1, -1]) for part in (found.gain, found.gain_lo, found.gain_hi))
    if not math.isfinite(gain):
        return (
            f"{have}, fewer than the smallest budget here ({round(float(found.labels[0])):,}): "
            "what more would buy is not known."
        )
    text = f"{have}: the next {NEXT} buy you about {with_interval(gain, lo, hi)} NLL."
    if not found.curve_b[c, -1] > 0:
        text = (
            f"{have}: the curve does not fall, so the next {NEXT} are not shown to buy you "
            f"anything (at most {fixed(hi, 3)} NLL)."
        )
    if found.extrapolates:
        text += (
            f" That is extrapolated: the fitted curve ends at {round(float(found.labels[-1])):,}."
        )
    return text


def versus(found: LabelBudget, panel: str) -> str:
    """A panel and what it is held against: ``top-5 against all 65``."""
    reference = found.arms[-1]
    if found.aggregator_of(found.arms.index(panel)) != found.aggregator:
        reference += f" by {found.aggregator.replace('_', '-')}"
    return f"{panel} against {reference}"


def joint_sentence(found: LabelBudget, calibrator: str, panel: str) -> str:
    """Whether a panel differs from all judges at any budget, and where."""
    c, p = found.row(calibrator), found.arms.index(panel)
    joint = float(found.joint_p[c, p])
    if not math.isfinite(joint):
        return "Not enough splits yet to compare panels."
    start = versus(found, panel)
    if joint >= ALPHA:
        return f"{start}: no difference is shown at any budget (joint {p_value(joint)})."
    worse, better = (
        [round(float(n)) for n, shown in zip(found.labels, where, strict=True) if shown]
        for where in (found.band_lo[c, p] > 0, found.band_hi[c, p] < 0)
    )
    parts = [
        f"{word} at {_budgets(where)}"
        for word, where in (("costs NLL", worse), ("saves NLL", better))
        if where
    ]
    if not parts:
        parts = ["they differ at some budget"]
    return f"{start}: it {' and '.join(parts)} (joint {p_value(joint)})."


def joint_table(found: LabelBudget, calibrator: str) -> pd.DataFrame:
    """The joint tests of every panel: ours, and the paper's, which is invalid."""
    c, rows = found.row(calibrator), range(len(found.panels) - 1)
    return pd.DataFrame(
        {
            "panel": [versus(found, found.arms[p]) for p in rows],
            "joint p": [_p(found.joint_p[c, p]) for p in rows],
            "paper's joint p (invalid)": [_p(found.paper_p[c, p]) for p in rows],
            "paper's largest t (invalid)": [fixed(float(found.paper_t[c, p]), 2) for p in rows],
            "paper's 95 % limit (invalid)": [
                fixed(float(found.paper_critical[c, p]), 2) for p in rows
            ],
        }
    )


def paper_note() -> str:
    """What the reader must know beside the paper's test."""
    return (
        f"The paper's joint test is {PAPER_NOTE}. Splits share their items, so its t grows with "
        "the number of splits whatever the votes say: in simulations it finds equal panels "
        "different more often than not. It is shown for comparison, and nothing rests on it."
    )


def budget_table(found: LabelBudget, calibrator: str, panel: str | None) -> pd.DataFrame:
    """All judges and one panel at every budget, differences, and the price of more labels."""
    c, everyone = found.row(calibrator), len(found.panels) - 1
    rows = range(len(found.labels))
    columns: dict[str, object] = {
        "labels": [round(float(n)) for n in found.labels],
        f"NLL, {found.arms[-1]}": [_level(found, c, b) for b in rows],
        "base rate": found.null_nll,
        "skill": 1.0 - found.nll[c, everyone] / found.null_nll,
        "constant score": found.constant_nll[c],
    }
    if panel is not None:
        p = found.arms.index(panel)
        columns[f"NLL, {panel}"] = [_level(found, c, b, p) for b in rows]
        columns["difference"] = [
            with_interval(
                float(found.delta[c, p, b]),
                float(found.delta_lo[c, p, b]),
                float(found.delta_hi[c, p, b]),
                sign=True,
            )
            for b in rows
        ]
        columns["all rows together"] = [
            interval(float(found.band_lo[c, p, b]), float(found.band_hi[c, p, b]), sign=True)
            for b in rows
        ]
        columns["verdict"] = [found.decided(c, p, b) for b in rows]
    columns[f"next {NEXT} buy"] = [_price(found, c, b) for b in rows]
    return pd.DataFrame(columns)


def needed_table(found: LabelBudget) -> pd.DataFrame:
    """Labels needed by every calibrator and panel, to the plateau and to the target."""
    return pd.DataFrame(
        {
            "calibrator": [one.calibrator for one in found.needed],
            "panel": [one.panel for one in found.needed],
            "to reach": [
                f"NLL {one.goal:.3f}"
                + (f", {_share(found)} from the plateau" if one.kind == "plateau" else "")
                for one in found.needed
            ],
            "labels": [_words(found, one) for one in found.needed],
            "95 %": [_span(one) for one in found.needed],
        }
    )


def budget_text(found: LabelBudget) -> str:
    """Every calibrator's answer and tables, for a terminal."""
    lines = [
        f"{found.n_splits} splits, up to {found.labels[-1]:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, {AGGREGATOR_NAMES[found.aggregator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}."
    ]
    for calibrator in found.calibrators:
        lines.append(f"\n{CALIBRATED[calibrator]}: {budget_sentence(found, calibrator)}")
        said = [target_sentence(found, calibrator), next_sentence(found, calibrator)]
        said += [joint_sentence(found, calibrator, panel) for panel in found.arms[:-1]]
        lines += [sentence for sentence in said if sentence]
        for panel in found.arms[:-1] or (None,):
            lines.append(printed(budget_table(found, calibrator, panel)))
        if len(found.panels) > 1:
            lines += [f"\n{paper_note()}", joint_table(found, calibrator).to_string(index=False)]
    if found.needed:
        lines += ["\nLabels needed", needed_table(found).to_string(index=False)]
    return "\n".join(lines)


def _share(found: LabelBudget) -> str:
    return f"{100.0 * found.within:g} %"


def _level(found: LabelBudget, c: int, b: int, p: int = -1) -> str:
    lo, hi = float(found.nll_lo[c, p, b]), float(found.nll_hi[c, p, b])
    return level(float(found.nll[c, p, b]), lo, hi)


def _price(found: LabelBudget, c: int, b: int) -> str:
    gain, lo, hi = (float(part[c, -1, b]) for part in (found.gain, found.gain_lo, found.gain_hi))
    text = with_interval(gain, lo, hi)
    beyond = found.labels[b] + NEXT > found.labels[-1]
    return f"{text} (extrapolated)" if beyond and math.isfinite(gain) else text


def _words(found: LabelBudget, one: LabelsNeeded) -> str:
    if not math.isfinite(one.n):
        return "never, by the curve"
    if not math.isfinite(found.quoted(one)):
        return "no limit shown"
    words = f"{round(found.quoted(one)):,}"
    if one.at_start and found.quoted(one) == one.n:
        return f"{words} or fewer"
    words = words if found.settled else f"up to {words}"
    return f"{words} (extrapolated)" if one.extrapolated else words


def _span(one: LabelsNeeded) -> str:
    if not math.isfinite(one.n_lo):
        return "[no limit]"
    hi = f"{round(one.n_hi):,}" if math.isfinite(one.n_hi) else "no limit"
    return f"[{round(one.n_lo):,}, {hi}]"


def _p(value: float) -> str:
    return p_value(float(value)).removeprefix("p ").removeprefix("= ")


def _count(n: float) -> str:
    return counted(round(n), "label")


def _budgets(found: list[int]) -> str:
    if len(found) == 1:
        return f"{found[0]:,} labels"
    return ", ".join(f"{n:,}" for n in found[:-1]) + f" and {found[-1]:,} labels"


def _are(found: LabelBudget) -> str:
    return "is" if found.n_judges == 1 else "are"
