"""Presentation of the claim: the paper's protocol and the honest one, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgepanel.figures.claim import fitted_maps, protocol
from judgepanel.present.blocks import (
    Answer,
    Block,
    Box,
    Heading,
    Method,
    Paragraph,
    Row,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.entry import Entry
from judgepanel.present.pipeline import Pipeline
from judgepanel.present.understand.claim_sentences import (
    MEASURES_CODING,
    STEP_NAMES,
    claim_sentence,
    constant_sentence,
    headline_size,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    published_sentence,
    reversal_sentences,
    step_sentences,
)
from judgepanel.present.understand.published import PAPER, DataSet, looks_like, published_of
from judgepanel.studies.claim.claim import CLAIM, ClaimSpec
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.claim.steps import Step
from judgepanel.studies.compare import arm_name
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix
from judgepanel.votes.installed import documentation
from judgepanel.words.numbers import interval, percent, sig
from judgepanel.words.tables import Column, numbers, text

JOINT_TITLE = "Votes seen jointly"
_CLAIM = (
    f"The paper ({PAPER}) says that calibration reverses the usual advice: before it, a few "
    "accurate judges beat all judges; after it, all judges beat the few. Its NLLs of 0.006 to "
    "0.02 are what comes out when "
    "every item is written as 'label 1, vote = the judge was right', which can be done to any "
    "labelled votes. Below are the same votes, judges and splits under that coding, which "
    f"{MEASURES_CODING}, and under honest labels; each step changes one thing."
)
_SOURCES = (
    f"The paper: 'Calibrate, don't curate', {PAPER}. Its protocol: sections 2 and 4.1; the claim: "
    "section 4.2.",
    "Its benchmarks: JudgeBench, arXiv 2410.12784; RewardBench, arXiv 2403.13787; RewardBench 2, "
    "arXiv 2506.01937; LLMBar, arXiv 2310.07641.",
    "Beta calibration: Kull, Silva Filho and Flach 2017, doi:10.1214/17-EJS1338SI, who keep the "
    "map monotone (a ≥ 0, b ≤ 0 in the paper's signs).",
    f"Codings, steps, intervals and what was measured on public votes: {documentation('claim')}.",
)
_HONEST = {
    "raw_one_class": "raw_honest",
    "paper": "honest_clipped",
    "paper_temperature": "honest_temperature",
}
_RECIPES = {
    "raw_one_class": "raw",
    "paper": "beta (clipped)",
    "paper_temperature": "temperature",
}


@dataclass(frozen=True, slots=True)
class ClaimView:
    """The part to show, and the benchmark whose published figures are compared with ours.

    ``joint`` is the part that compares one-coin with joint, ``steps`` everything before it. Without
    ``data`` it is the benchmark with the same number of items, if any.
    """

    part: Literal["whole", "steps", "joint"] = "whole"
    data: DataSet | None = None


def step_table(result: Claim, steps: tuple[Step, ...]) -> dict[str, Column]:
    """Return panels under these steps, their null NLLs, and the change with each step."""
    rows = np.array([result.row(step.name) for step in steps])
    nll, null = result.nll[rows], result.null_nll[rows]
    columns = {"step": text([STEP_NAMES[step.name] for step in steps])}
    for column in result.columns():
        panel = arm_name(int(result.sizes[column])) if column < len(result.sizes) else "all"
        columns[f"NLL, {panel}"] = numbers(nll.value[:, column], "significant", of="nll")
    _, lo, hi = nll[:, -1]
    columns |= {
        "all, 95 %": text([interval(*ends) for ends in zip(lo, hi, strict=True)]),
        "base rate": numbers(null, "significant", of="null_nll"),
        "skill, all": text([_skill(skill) for skill in 1.0 - nll.value[:, -1] / null], of="skill"),
        "constant score": numbers(result.constant_nll[rows], "significant", of="constant_nll"),
    }
    k = headline_size(result)
    if k is not None:
        at = result.columns()[result.panels.tolist().index(k)]
        columns |= {
            f"top-{k} less all": Column(result.against_all[rows, at], "compared", of="against_all"),
            "verdict": text([result.verdict(step.name, at) for step in steps]),
        }
    return columns | {
        "all, less the step before": Column(result.change[rows, -1], "compared", of="change"),
        "measures": text(["measures " + step.measures for step in steps]),
    }


def _skill(value: float) -> str:
    return percent(value) if value > -1.0 else "far below 0"


def published_table(result: Claim, data: DataSet) -> dict[str, Column]:
    """Return the paper's figures of a benchmark, and ours under one-class and honest labels."""
    figures = tuple(published_of(data.name))
    honest = [_cell(result, _HONEST[figure.step], figure.panel) for figure in figures]
    return {
        "recipe": text([_RECIPES[figure.step] for figure in figures]),
        "panel": text([figure.panel for figure in figures]),
        f"the paper, {data.n_judges} judges": numbers([figure.nll for figure in figures]),
        "ours, one-class coding": text(
            [_cell(result, figure.step, figure.panel) for figure in figures]
        ),
        "ours, honest labels": text(honest),
        "one-class columns": text([MEASURES_CODING] * len(figures)),
        "source": text([figure.source for figure in figures]),
    }


def _cell(result: Claim, step: str, panel: str) -> str:
    """Return the NLL and interval of a panel, blank if it was not tried."""
    column = -1
    if panel != "all":
        k = int(panel.removeprefix("top-"))
        if k not in result.sizes:
            return ""
        column = result.sizes.tolist().index(k)
    value, lo, hi = result.nll[result.row(step), column]
    return f"{sig(value)} {interval(lo, hi)}"


def present(result: Claim, spec: ClaimSpec, view: ClaimView = ClaimView()) -> list[Block]:
    """Present both protocols side by side, each step, the paper's tables, and joint at the end."""
    if view.part == "joint":
        return [*_joint_alone(result), _method()]
    blocks: list[Block] = [
        Answer(claim_sentence(result)),
        Paragraph(_CLAIM, quiet=True),
        Row(
            (
                _coded("One-class coding.", _protocol(result, "one_class")),
                Box("Honest labels.", tuple(_protocol(result, "honest"))),
            )
        ),
        Heading("No judge at all", 3),
        _coded("A constant score, and the fitted map.", _constant(result)),
        *paragraphs(honest_constant_sentence(result)),
        Heading("Step by step", 3),
        _coded("One-class coding.", _steps(result, "one_class")),
        Box("Honest labels.", tuple(_steps(result, "honest"))),
        *_published(result, view.data or looks_like(result.n_items)),
    ]
    if view.part == "whole":
        blocks += [*_joint(result), *sources()]
    return [*blocks, _method()]


def sources() -> list[Block]:
    """Return the sources of the claim, its benchmarks and its calibrator."""
    return [Heading("Sources", 3), *paragraphs(*_SOURCES)]


def _coded(title: str, blocks: list[Block]) -> Box:
    """Return a box for figures of one-class coding, headed by what they measure."""
    words = f"{title} Everything in this box {MEASURES_CODING}."
    return Box(words, tuple(blocks), coding=True)


def _protocol(result: Claim, coding: str) -> list[Block]:
    """Return one of the two figures, and what it shows about the reversal."""
    shows = f"NLL against the number of judges, {coding.replace('_', ' ')} labels"
    sentences = reversal_sentences(result, coding)
    return [drawing(shows, protocol, result, coding), *paragraphs(*sentences)]


def _constant(result: Claim) -> list[Block]:
    shows = "what the paper's map makes of raw probabilities, one-class coding and honest labels"
    return [
        Paragraph(constant_sentence(result)),
        drawing(shows, fitted_maps, result),
        Paragraph(map_sentence(result)),
    ]


def _steps(result: Claim, coding: str) -> list[Block]:
    sentences = (f"{name}: {sentence}" for name, sentence in step_sentences(result, coding))
    table = step_table(result, result.steps_for(coding))
    return [Table(table), *paragraphs(*sentences)]


def _published(result: Claim, data: DataSet | None) -> list[Block]:
    """Return the paper's figures next to ours; empty without a benchmark to compare with."""
    if data is None:
        return []
    size = (
        f"The paper's panel has {data.n_judges} judges on {data.n_items:,} pairs; these votes "
        f"have {int(result.n_judges.max()):,} on {result.n_items:,}. Where panels differ, so do "
        "raw figures."
    )
    blocks: list[Block] = [
        Table(published_table(result, data)),
        Paragraph(published_sentence(result)),
        Paragraph(size, quiet=True),
    ]
    title = f"{data.name}: the paper's figures beside ours."
    return [Heading("The paper's tables", 3), _coded(title, blocks)]


def _joint(result: Claim) -> list[Block]:
    sentence = joint_sentence(result)
    if not sentence:
        return []
    return [Heading(JOINT_TITLE, 3), Paragraph(sentence), *_together(result)]


def _joint_alone(result: Claim) -> list[Block]:
    """Return the last step as a separate section; without panels to compare there is no answer."""
    sentence = joint_sentence(result)
    files = f"Both files hold rows of one-class coding; each says that it {MEASURES_CODING}."
    return [
        *([Answer(sentence)] if sentence else []),
        *_together(result),
        Table(step_table(result, result.steps_for("honest")[-2:])),
        Paragraph(files, quiet=True),
    ]


def _together(result: Claim) -> list[Block]:
    shows = "NLL against the number of judges with honest labels, joint beside one-coin"
    return [drawing(shows, protocol, result, "together")]


def _method() -> Method:
    return Method(
        "The random splits are the same for every step: on the calibration items judges are "
        "ranked, weighted and calibrated, and all figures are scores of the others. One-class "
        "coding turns vote V (+1 or -1) into V s and label s into 1. The paper's recipe: one-coin "
        "weights log((c+1)/(n-c+1)) that know the item's label, raw probabilities clipped to "
        "0.001 and 0.999, and the beta map σ(a log p + b log(1-p) + c) with a penalty of 0.01 and "
        "free signs. Honest labels are those of the file where they are balanced; otherwise each "
        "pair is used with its swap. Intervals are for new items: the variance of the items' mean "
        "differences, plus what drawing other calibration items would add. The reversal is shown "
        "where the interval of "
        "NLL(top-k) - NLL(all) lies below 0 before calibration and above 0 after it; it is absent "
        "where one of the two lies on the other side. The maps are drawn from a fit to all "
        "labelled items."
    )


def default_specs(
    votes: VoteMatrix, settings: Settings, pipeline: Pipeline
) -> tuple[ClaimSpec, ...]:
    """Return the spec with joint, then the one without it, if only that has been computed."""
    return ClaimSpec(settings=settings), ClaimSpec(settings=settings, joint=False)


ENTRY = Entry(CLAIM, present, default_specs)
