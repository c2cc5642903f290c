"""Whether judges or items vary more."""

from __future__ import annotations

import pandas as pd

from judgepanel.figures.judges.variance_decomposition import judge_abilities, share_bars
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.studies.judges.variance_decomposition import (
    VarianceDecomposition,
    VarianceDecompositionSpec,
)
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, interval, percent
from judgepanel.words.terminal import one_line


def variance_sentence(result: VarianceDecomposition) -> str:
    """Which varies more, with the share of judges and its interval."""
    share = (
        f"{_whole(result.judge_share)} of the variance is between judges "
        f"[{_whole(result.judge_share_lo)}, {_whole(result.judge_share_hi)}], "
        f"{_whole(result.item_share)} between items"
    )
    start = {
        "judges": "Judges vary more than items",
        "items": "Items vary more than judges",
        "undecided": "Whether judges or items vary more is undecided",
    }[result.verdict]
    if result.disagree:
        start = "Whether judges or items vary more depends on how it is counted"
        larger = "judges" if result.logit_judges > result.logit_items else "items"
        share += f", but in the fitted logits the {larger} vary more"
    return f"{start}: {share}."


def variance_words(result: VarianceDecomposition) -> str:
    """The parts of the fitted logits, and whether they say the same."""
    text = (
        f"Of the fitted logits of these very judges and items, {_whole(result.logit_judges)} is "
        f"the judges', {_whole(result.logit_items)} the items' and "
        f"{_whole(result.logit_interaction)} their interaction: judges who tell hard items "
        "from easy ones sharply, and judges who hardly do."
    )
    if result.disagree:
        text += " The two measures disagree; the shares above do not hold the interaction."
    return text


def ability_table(result: VarianceDecomposition) -> pd.DataFrame:
    """Every judge, most able first."""
    frame = result.frame()
    columns: dict[str, list[str]] = {"judge": [one_line(name, 40) for name in frame["judge"]]}
    for name in ("ability", "discrimination"):
        columns[name] = [fixed(value, 2) for value in frame[name]]
        columns[f"{name} 95 %"] = [
            interval(lo, hi)
            for lo, hi in zip(frame[f"{name}_lo"], frame[f"{name}_hi"], strict=True)
        ]
    columns["accuracy"] = [percent(share, 3) for share in frame["accuracy"]]
    columns["of"] = [f"{voted:,}" for voted in frame["voted"]]
    return pd.DataFrame(columns)


def _whole(share: float) -> str:
    """A share in whole per cent."""
    return f"{fixed(100.0 * share, 0)} %"


def present(result: VarianceDecomposition, spec: VarianceDecompositionSpec) -> list[Block]:
    """The shares of variance, and every judge's ability and discrimination."""
    return [
        Answer(variance_sentence(result)),
        drawing(share_bars(result), "shares of variance of judges and items"),
        Paragraph(variance_words(result)),
        drawing(judge_abilities(result), "every judge with its intervals"),
        Table(
            as_columns(ability_table(result)), "Every judge, most able first.", most=200, height=320
        ),
        Method(
            "A two-parameter logistic model: a judge is right on an item with probability "
            "σ(α (θ - β)), where θ is the ability and α the discrimination of the judge, and β "
            "the difficulty of the item. Missing votes are left out. Abilities are in standard "
            "deviations of difficulty; means and spreads of ability and log discrimination are "
            "estimated from the votes. The upper bar is Var(θ) : Var(β) for judges and items like "
            "these; the lower bar divides the variance of the fitted logits, interaction included."
        ),
    ]
