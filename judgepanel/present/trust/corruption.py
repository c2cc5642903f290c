"""Presentation of the cost of damaged votes and absent judges for all judges and top panels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures import style
from judgepanel.present import blocks, study
from judgepanel.studies.panel.recommended import AVERAGE, COMPARED
from judgepanel.studies.trust import corruption
from judgepanel.words.sentences import pipeline_name, with_coding
from judgepanel.words.tables import Column, differences, levels, numbers, text
from judgepanel.words.text import capital, fixed, level, percent, with_interval

SCENARIO_NAMES = {
    "random_evaluation": "votes at random, when scoring",
    "random_both": "votes at random, throughout",
    "concentrated_evaluation": "votes of some judges, when scoring",
    "concentrated_both": "votes of some judges, throughout",
    corruption.ABSENT: "judges absent when scoring",
}
_DAMAGE = {
    "random_evaluation": "of the votes flipped at scoring time",
    "random_both": "of the votes flipped, also where panels are fitted",
    "concentrated_evaluation": "of the votes flipped at scoring time, all by {share} of the judges",
    "concentrated_both": "of the votes flipped by {share} of the judges, also where panels are "
    "fitted",
    corruption.ABSENT: "of the judges absent at scoring time",
}


@dataclass(frozen=True, slots=True)
class CorruptionView:
    """The scenario to show; None shows all."""

    scenario: str | None = None


def hit_words(scenario: str) -> str:
    """Return what the level of a scenario is a share of."""
    return "judges that are absent" if scenario == corruption.ABSENT else "votes that are flipped"


def corruption_sentence(result: corruption.Corruption, scenario: str, panel: int = 0) -> str:
    """Return the cost of a scenario's worst damage to all judges and one panel."""
    place = int(result.of(scenario)[-1])
    damage = _DAMAGE[scenario].format(share=percent(result.concentrated))
    start = f"The worst case: {percent(float(result.levels[place]))} {damage}. "
    start += capital(_all_judges(result, "go"))
    text = f"{start} from NLL {_nll(result, -1, 0)} to {level(*result.nll[-1, place])}"
    null = f"The base rate alone has NLL {fixed(result.null_nll, 3)}."
    if len(result.panels) == 1:
        text = f"{text}. {null}"
    else:
        own = f"{_nll(result, panel, 0)} to {level(*result.nll[panel, place])}"
        text += f". {capital(result.arms[panel])} goes from {own}. {null}"
        text += f" {_slower(result, panel, place)}"
    return with_coding(text, result.measures_coding)


def _slower(result: corruption.Corruption, panel: int, place: int) -> str:
    gap = result.gap[panel, place]
    arm, whole = result.arms[panel], result.arms[-1]
    if gap.above():
        return f"{capital(arm)} loses {with_interval(*gap)} more than {whole}."
    if gap.below():
        return f"{capital(_all_judges(result, 'lose'))} {with_interval(*-gap)} more than {arm}."
    between = with_interval(*gap, sign=True)
    return f"Which of the two loses more is not shown ({arm} - {whole}: {between})."


def _all_judges(result: corruption.Corruption, verb: str) -> str:
    """Return ``all 65 go`` or ``the recommended panel goes``."""
    singular = "goes" if verb == "go" else f"{verb}s"
    return f"{result.arms[-1]} {singular if result.aggregator == AVERAGE else verb}"


def degrades_sentence(result: corruption.Corruption, panel: int = 0) -> str:
    """Say in how many conditions all judges degrade more slowly than a panel; empty without one."""
    if len(result.panels) == 1:
        return ""
    places = [i for i, name in enumerate(result.scenarios) if name != corruption.CLEAN]
    gap = result.gap[panel, places]
    slower, faster = int(gap.above().sum()), int(gap.below().sum())
    arm, whole = result.arms[panel], result.arms[-1]
    ahead = int(np.count_nonzero(result.delta.value[panel, places] > 0))
    return (
        f"{capital(_all_judges(result, 'degrade'))} slower than {arm} in {slower} of the "
        f"conditions and faster in {faster}. "
        f"Undecided: {len(places) - slower - faster} of {len(places)}. "
        f"The panel that starts better has more to lose: the NLL of {whole} is the lower one in "
        f"{ahead} of them."
    )


def corruption_table(result: corruption.Corruption, scenario: str) -> dict[str, Column]:
    """Return all judges and every panel at every level of a scenario."""
    places = result.of(scenario)
    damaged = np.array(result.scenarios)[places] != corruption.CLEAN
    whole = len(result.panels) - 1
    columns = {
        "damage": numbers(result.levels[places], "share", of="level"),
        "votes changed": numbers(result.changed[places], "share", of="changed"),
    }
    for p in (whole, *range(whole)):
        arm = result.arms[p]
        rise, drop = (figure[p, places].where(damaged) for figure in (result.rise, result.drop))
        columns |= {
            f"NLL, {arm}": levels(result.nll[p, places], of="nll"),
            f"rise, {arm}": differences(rise, of="rise"),
            f"accuracy, {arm}": levels(result.accuracy[p, places], of="accuracy"),
            f"accuracy points lost, {arm}": differences(drop.scaled(100.0, "points"), of="drop"),
        }
    for p in range(whole):
        arm, gap = result.arms[p], result.gap[p, places].where(damaged)
        columns |= {
            f"{arm} loses more": differences(gap, of="gap"),
            f"slower than {arm}": text(result.outcomes[p, places].tolist(), of="degrades_slower"),
            f"{arm} - {result.arms[-1]}": differences(result.delta[p, places], of="delta"),
        }
    return columns | {"base rate": numbers(np.full(len(places), result.null_nll), of="null_nll")}


def _nll(result: corruption.Corruption, p: int, i: int) -> str:
    return fixed(float(result.nll.value[p, i]), 3)


def corruption_figure(result: corruption.Corruption, scenario: str) -> go.Figure:
    """Draw NLL against the share of flipped votes, or of absent judges."""
    places = result.of(scenario)
    share = 100.0 * result.levels[places]
    width = float(np.diff(share).min()) if len(share) > 1 else 0.0
    figure = go.Figure()
    for p, name in enumerate(result.arms):
        whole = p == len(result.arms) - 1
        look = style.ALL_JUDGES if whole else style.CHOSEN
        # Offset slightly, so that error bars do not overlap.
        x = share + 0.06 * width * (1 if whole else -1)
        hover = f"{name}, %{{customdata:.0f}} %: %{{y:.3f}}"
        style.add_series(figure, x, result.nll[p, places], look, name, hover, customdata=share)
    ends = [share.min() - 0.06 * width, share.max() + 0.06 * width]
    style.add_base_rate(figure, ends, [result.null_nll, result.null_nll])
    style.laid_out(figure, x=hit_words(scenario), y="NLL (nats per item)")
    figure.update_xaxes(ticksuffix=" %")
    return figure


def present(
    result: corruption.Corruption,
    spec: corruption.CorruptionSpec,
    view: CorruptionView = CorruptionView(),
) -> list[blocks.Block]:
    """Present one scenario, or all of them in turn."""
    scenarios = [name for name in SCENARIO_NAMES if name in result.scenarios]
    if view.scenario in scenarios:
        return [*_scenario(result, view.scenario), _method(result)]
    content = _scenario(result, scenarios[0])
    for name in scenarios[1:]:
        content += [blocks.Heading(capital(SCENARIO_NAMES[name]), 3), *_scenario(result, name)]
    return [*content, _method(result)]


def _scenario(result: corruption.Corruption, scenario: str) -> list[blocks.Block]:
    damaged = hit_words(scenario)
    counts = [degrades_sentence(result, panel) for panel in range(len(result.panels) - 1)]
    return [
        blocks.Answer(corruption_sentence(result, scenario)),
        blocks.drawing(f"NLL against the share of {damaged}", corruption_figure, result, scenario),
        *(blocks.note(text) for text in counts[:1]),
        blocks.Table(corruption_table(result, scenario), f"{capital(SCENARIO_NAMES[scenario])}."),
        *blocks.paragraphs(*counts[1:]),
    ]


def _method(result: corruption.Corruption) -> blocks.Method:
    again = ""
    if result.aggregator == AVERAGE:
        again = (
            " The recommended panel is chosen again in every split, from damaged votes where "
            "they are damaged throughout, and reads votes only, not grades. The top k beside it "
            f"are under {pipeline_name(*COMPARED)}."
        )
    return blocks.Method(
        f"In each of {result.n_splits} splits (seed {result.seed}) the damage is drawn "
        f"{corruption.DRAWS} times, the same for all panels; a higher level hits the same votes "
        "and more. Labels are never touched. Where flips are concentrated, "
        f"{percent(result.concentrated)} of the judges, drawn at random, carry them all. 'Loses "
        "more' is the rise of the NLL of top-k less that of all judges; its interval holds at all "
        "levels of the damage together. A panel cannot fall much below the base rate, so one that "
        f"starts better has more to lose: read the last difference, too.{again}"
    )


_SPECS = study.under_pipeline(corruption.CorruptionSpec)
PRESENTATION = study.Presentation(corruption.CORRUPTION, present, _SPECS)
