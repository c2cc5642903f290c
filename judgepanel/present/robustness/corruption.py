"""What damaged votes and absent judges cost all judges, and panels of the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.figures.robustness.corruption import corruption
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.studies.robustness.corruption import DRAWS, CorruptionSpec
from judgepanel.studies.robustness.corruption_result import Corruption
from judgepanel.studies.robustness.vote_damage import ABSENT, CLEAN
from judgepanel.words.numbers import capital, fixed, level, percent, with_interval
from judgepanel.words.sentences import CODING

Floats = NDArray[np.float64]

SCENARIO_NAMES = {
    "random_evaluation": "votes at random, when scoring",
    "random_both": "votes at random, all along",
    "concentrated_evaluation": "votes of some judges, when scoring",
    "concentrated_both": "votes of some judges, all along",
    ABSENT: "judges absent when scoring",
}
_DAMAGE = {
    "random_evaluation": "of the votes flipped at scoring time",
    "random_both": "of the votes flipped, also where panels are fitted",
    "concentrated_evaluation": "of the votes flipped at scoring time, all by {share} of the judges",
    "concentrated_both": "of the votes flipped by {share} of the judges, also where panels are "
    "fitted",
    ABSENT: "of the judges absent at scoring time",
}


@dataclass(frozen=True, slots=True)
class CorruptionView:
    """What goes wrong; None shows every scenario."""

    scenario: str | None = None


def hit_words(scenario: str) -> str:
    """What a level of a scenario is the share of."""
    return "judges that are absent" if scenario == ABSENT else "votes that are flipped"


def corruption_sentence(result: Corruption, scenario: str, panel: int = 0) -> str:
    """What the worst damage of a scenario costs all judges and one panel."""
    place = int(result.of(scenario)[-1])
    damage = _DAMAGE[scenario].format(share=percent(result.concentrated))
    start = f"With {percent(float(result.levels[place]))} {damage}, {result.arms[-1]} go"
    text = f"{start} from NLL {_nll(result, -1, 0)} to {_level(result, -1, place)}"
    null = f"base rate {fixed(result.null_nll, 3)}"
    if len(result.panels) == 1:
        text = f"{text} ({null})."
    else:
        arm = result.arms[panel]
        text += f", {arm} from {_nll(result, panel, 0)} to {_level(result, panel, place)} ({null})."
        text += f" {_slower(result, panel, place)}"
    return f"{text} {CODING}" if result.measures_coding else text


def _slower(result: Corruption, panel: int, place: int) -> str:
    gap, lo, hi = (float(part[panel, place]) for part in (result.gap, result.gap_lo, result.gap_hi))
    arm, everyone = result.arms[panel], result.arms[-1]
    slower = result.slower(panel, place)
    if slower == "all judges":
        return f"{capital(arm)} loses {with_interval(gap, lo, hi)} more than {everyone}."
    if slower == "the top k":
        return f"{capital(everyone)} lose {with_interval(-gap, -hi, -lo)} more than {arm}."
    between = with_interval(gap, lo, hi, sign=True)
    return f"Who loses more is not shown ({arm} - {everyone}: {between})."


def degrades_sentence(result: Corruption, panel: int = 0) -> str:
    """In how many conditions all judges degrade slower than a panel; empty without one."""
    if len(result.panels) == 1:
        return ""
    places = [i for i, name in enumerate(result.scenarios) if name != CLEAN]
    outcomes = [result.slower(panel, place) for place in places]
    arm, everyone = result.arms[panel], result.arms[-1]
    ahead = sum(bool(result.delta[panel, i] > 0) for i in places)
    return (
        f"Of {len(places)} conditions, {everyone} degrade slower than {arm} in "
        f"{outcomes.count('all judges')}, faster in {outcomes.count('the top k')}, and "
        f"{outcomes.count('not told apart')} are not told apart. Whoever starts better has more to "
        f"lose: the NLL of {everyone} is the lower one in {ahead} of them."
    )


def corruption_table(result: Corruption, scenario: str) -> pd.DataFrame:
    """All judges and every panel at every level of a scenario."""
    places = result.of(scenario)
    columns: dict[str, object] = {
        "damage": [f"{100.0 * result.levels[i]:g} %" for i in places],
        "votes changed": [percent(float(result.changed[i])) for i in places],
    }
    drop, drop_lo, drop_hi = (
        100.0 * part for part in (result.drop, result.drop_lo, result.drop_hi)
    )
    order = [len(result.panels) - 1, *range(len(result.panels) - 1)]
    for p in order:
        columns[f"NLL, {result.arms[p]}"] = [_level(result, p, i) for i in places]
        columns[f"rise, {result.arms[p]}"] = [
            _difference(result.rise, result.rise_lo, result.rise_hi, p, i) for i in places
        ]
        columns[f"accuracy, {result.arms[p]}"] = [_accuracy(result, p, i) for i in places]
        columns[f"points of it lost, {result.arms[p]}"] = [
            _difference(drop, drop_lo, drop_hi, p, i) for i in places
        ]
    for p in order[1:]:
        columns[f"{result.arms[p]} loses more"] = [
            _difference(result.gap, result.gap_lo, result.gap_hi, p, i) for i in places
        ]
        columns[f"slower than {result.arms[p]}"] = [
            "" if result.scenarios[i] == CLEAN else result.slower(p, i) for i in places
        ]
        columns[f"{result.arms[p]} - {result.arms[-1]}"] = [
            _difference(result.delta, result.delta_lo, result.delta_hi, p, i) for i in places
        ]
    columns["base rate"] = result.null_nll
    return pd.DataFrame(columns)


def _nll(result: Corruption, p: int, i: int) -> str:
    return fixed(float(result.nll[p, i]), 3)


def _level(result: Corruption, p: int, i: int) -> str:
    lo, hi = float(result.nll_lo[p, i]), float(result.nll_hi[p, i])
    return level(float(result.nll[p, i]), lo, hi)


def _accuracy(result: Corruption, p: int, i: int) -> str:
    lo, hi = (percent(float(end[p, i]), 3) for end in (result.accuracy_lo, result.accuracy_hi))
    return f"{percent(float(result.accuracy[p, i]), 3)} [{lo}, {hi}]"


def _difference(value: Floats, lo: Floats, hi: Floats, p: int, i: int) -> str:
    if value[p, i] == lo[p, i] == hi[p, i] == 0.0:
        return ""
    return with_interval(float(value[p, i]), float(lo[p, i]), float(hi[p, i]), sign=True)


def present(
    result: Corruption, spec: CorruptionSpec, view: CorruptionView = CorruptionView()
) -> list[Block]:
    """One scenario, or all of them one after the other."""
    scenarios = [name for name in SCENARIO_NAMES if name in result.scenarios]
    if view.scenario in scenarios:
        return [*_scenario(result, view.scenario), _method(result)]
    blocks = _scenario(result, scenarios[0])
    for name in scenarios[1:]:
        blocks += [Heading(capital(SCENARIO_NAMES[name]), 3), *_scenario(result, name)]
    return [*blocks, _method(result)]


def _scenario(result: Corruption, scenario: str) -> list[Block]:
    damaged = hit_words(scenario)
    counts = [degrades_sentence(result, panel) for panel in range(len(result.panels) - 1)]
    return [
        Answer(corruption_sentence(result, scenario)),
        drawing(corruption(result, scenario, x=damaged), f"NLL against the share of {damaged}"),
        *(Paragraph(text, quiet=True) for text in counts[:1]),
        Table(corruption_table(result, scenario), f"{capital(SCENARIO_NAMES[scenario])}."),
        *paragraphs(*counts[1:]),
    ]


def _method(result: Corruption) -> Method:
    return Method(
        f"In each of {result.n_splits} splits (seed {result.seed}) the damage is drawn {DRAWS} "
        "times, the same for all panels; a higher level hits the same votes and more. Labels are "
        "never touched. Where flips are concentrated, "
        f"{percent(result.concentrated)} of the judges, drawn at random, carry them all. 'Loses "
        "more' is the rise of the NLL of top-k less that of all judges; its interval holds at all "
        "levels of the damage together. A panel cannot fall much below the base rate, so one that "
        "starts better has more to lose: read the last difference, too."
    )
