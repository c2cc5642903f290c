"""Whether a cheap panel can answer first, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.figures.cost import escalation
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, paragraphs
from judgepanel.present.decide.cost import amount
from judgepanel.studies.cost.escalation import EscalationSpec
from judgepanel.studies.cost.escalation_result import Escalation, EscalationFigures
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    fixed,
    interval,
    listed,
    percent,
    sig,
    signed,
    with_interval,
)
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

_NAMED = 6
_OUTCOMES = {
    "keep all": "that is shown to be worse than asking all judges",
    "curate": "that is shown to be better than asking all judges",
    "no loss from keeping": "asking all judges loses nothing against it",
    "no loss from curating": "at most 2 % is lost",
    "undecided": "whether that loses NLL is undecided",
    "tie": "the same probabilities as asking all judges",
}
_VERDICTS = {
    "keep all": "ask all judges",
    "curate": "escalate",
    "no loss from keeping": "no loss from asking all judges",
    "no loss from curating": "no loss from escalating",
    "undecided": "undecided",
    "tie": "tie",
}


def escalation_sentence(result: Escalation) -> str:
    """What the recommended threshold costs and loses."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: Escalation) -> str:
    if result.n_judges == 1:
        return "There is one judge only, so there is nobody to escalate to."
    if len(result.cheap) == result.n_judges:
        return "The cheap panel is all judges, so there is nothing to escalate to."
    row = result.recommended
    if not math.isfinite(row.nll_lo):
        return "Not enough splits yet to say."
    if min(row.nll_lo, result.full.nll_lo) >= result.null_nll:
        return (
            f"Neither all judges nor escalation beat the base rate (NLL "
            f"{fixed(result.null_nll, 3)}), so there is nothing to save."
        )
    if row.threshold == 1.0:
        return (
            f"Ask all {result.n_judges} judges about every item: no threshold below 1 kept "
            f"within {percent(result.tolerance)} of their NLL on calibration rows in most splits. "
            f"Choosing the threshold there costs {_cost(result, row)} an item and changes NLL by "
            f"{_change(row)}; {_OUTCOMES[row.verdict]}."
        )
    cheap = (
        f"{sig(result.cheap_size, 2)} {'judge' if result.cheap_size == 1.0 else 'judges'} "
        f"({amount(result.cheap_cost, result.unit)})"
    )
    return (
        f"Ask {cheap} first, and all {result.n_judges} ({amount(result.full_cost, result.unit)}) "
        f"where the confidence is below {sig(row.threshold)}: {percent(row.escalated)} of the "
        f"items go to all, an item costs {_cost(result, row)}, and NLL changes by {_change(row)}; "
        f"{_OUTCOMES[row.verdict]}."
    )


def _cost(result: Escalation, row: EscalationFigures) -> str:
    share = row.cost / result.full_cost if result.full_cost > 0.0 else 1.0
    return f"{amount(row.cost, result.unit)} ({percent(share)})"


def _change(row: EscalationFigures) -> str:
    return with_interval(row.delta, row.lo, row.hi, sign=True)


def promise_sentence(result: Escalation) -> str:
    """What the threshold promised where it was chosen, and what it kept; empty without splits."""
    row = result.recommended
    if not math.isfinite(row.nll_lo) or len(result.cheap) == result.n_judges:
        return ""
    return (
        f"The threshold was chosen on calibration rows in every split (mostly "
        f"{sig(result.threshold_lo)} to {sig(result.threshold_hi)}): there it lost "
        f"{signed(row.delta - result.optimism)} NLL against all judges, on new items "
        f"{signed(row.delta)}, an optimism of {signed(result.optimism)}."
    )


def cheap_sentence(result: Escalation) -> str:
    """Who is in the cheap panel, as all labelled items choose it."""
    names = [one_line(name) for name in result.cheap[:_NAMED]]
    if len(result.cheap) > _NAMED:
        names.append(f"{len(result.cheap) - _NAMED} more")
    stable = (
        f" Stability over splits {fixed(result.stability, 2)}."
        if math.isfinite(result.stability)
        else ""
    )
    return f"The cheap panel is {result.cheap_how}: {listed(names)}.{stable}"


def escalation_table(result: Escalation) -> pd.DataFrame:
    """Every threshold, ascending, then the recommended one."""
    rows = (*result.rows, result.recommended)
    last = len(result.rows) - 1
    names = [sig(row.threshold) for row in result.rows]
    names[0], names[last] = "never (0.5)", "always (1)"
    table = {
        "ask all below": [*names, "chosen"],
        "asked": [
            f"{percent(row.escalated)} [{percent(row.escalated_lo)}, {percent(row.escalated_hi)}]"
            for row in rows
        ],
        "cost": [_cost(result, row) for row in rows],
        "accuracy": [
            f"{percent(row.accuracy, 3)} [{percent(row.accuracy_lo, 3)}, "
            f"{percent(row.accuracy_hi, 3)}]"
            for row in rows
        ],
        "NLL": [f"{fixed(row.nll, 3)} {interval(row.nll_lo, row.nll_hi, 3)}" for row in rows],
        "skill": [percent(1.0 - row.nll / result.null_nll) for row in rows],
        "against all judges": [
            "reference" if place == last else _change(row) for place, row in enumerate(rows)
        ],
        "verdict": [
            "reference" if place == last else _VERDICTS[row.verdict]
            for place, row in enumerate(rows)
        ],
        "chosen in": [*(percent(row.chosen_share) for row in result.rows), ""],
    }
    if any(math.isfinite(row.latency) for row in rows):
        table["latency"] = [amount(row.latency, result.latency_unit) for row in rows]
    return pd.DataFrame(table)


def present(result: Escalation, spec: EscalationSpec) -> list[Block]:
    """Every threshold of confidence, and who is asked first."""
    return [
        Answer(escalation_sentence(result)),
        *paragraphs(promise_sentence(result), cheap_sentence(result)),
        drawing(escalation(result), "NLL for every threshold of confidence"),
        Table(as_columns(escalation_table(result))),
        Method(
            "Thresholds were fixed in advance; in every split the recommended one is chosen on the "
            "calibration items."
        ),
    ]
