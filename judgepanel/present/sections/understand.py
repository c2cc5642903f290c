"""Judges, methods and the paper's claim."""

from __future__ import annotations

from judgepanel.figures.claim import fitted_maps, protocol
from judgepanel.figures.judges.redundancy import correlation_map
from judgepanel.figures.judges.variance_decomposition import judge_abilities, share_bars
from judgepanel.figures.methods.calibrator_design import calibrator_shapes
from judgepanel.figures.methods.method_grid import method_grid
from judgepanel.figures.methods.pipeline_ablation import pipeline_ablation
from judgepanel.present.blocks import Answer, Block, Box, Table, drawing, paragraphs
from judgepanel.report.ablation import ablation_sentence, ablation_table
from judgepanel.report.claim import (
    MEASURES_CODING,
    claim_sentence,
    constant_sentence,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    reversal_sentences,
    step_sentences,
)
from judgepanel.report.claim_tables import step_table
from judgepanel.report.judges import (
    cluster_table,
    families_sentence,
    judges_sentence,
    redundancy_table,
    worth_sentences,
)
from judgepanel.report.methods import (
    design_sentence,
    design_table,
    grid_choice_sentence,
    grid_sentence,
    grid_table,
    ties_sentence,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES
from judgepanel.report.variance import ability_table, variance_sentence, variance_words
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.judges.judges_result import Judges
from judgepanel.studies.judges.variance_decomposition import (
    VarianceDecomposition,
)
from judgepanel.studies.methods.ablation_result import PipelineAblation
from judgepanel.studies.methods.calibrator_design import CalibratorDesign
from judgepanel.studies.methods.method_grid import MethodGrid


def judges(found: Judges) -> list[Block]:
    blocks: list[Block] = [Answer(judges_sentence(found))]
    if len(found.order) >= 2:
        blocks.append(drawing(correlation_map(found), "error correlations of pairs of judges"))
    blocks += paragraphs(worth_sentences(found), families_sentence(found))
    blocks.append(Table(redundancy_table(found), "All judges.", most=200))
    return [*blocks, *([Table(cluster_table(found), "Clusters.")] if found.n_clusters else [])]


def variance(found: VarianceDecomposition) -> list[Block]:
    return [
        Answer(variance_sentence(found)),
        drawing(share_bars(found), "shares of variance"),
        *paragraphs(variance_words(found)),
        drawing(judge_abilities(found), "every judge with its intervals"),
        Table(ability_table(found), most=200),
    ]


def grid(found: MethodGrid) -> list[Block]:
    figure = method_grid(
        found, aggregator_names=AGGREGATOR_NAMES, calibrator_names=CALIBRATOR_NAMES
    )
    return [
        Answer(grid_sentence(found)),
        drawing(figure, "NLL of every aggregator with every calibrator"),
        *paragraphs(ties_sentence(found), grid_choice_sentence(found)),
        Table(grid_table(found), "Every cell."),
    ]


def ablation(found: PipelineAblation) -> list[Block]:
    return [
        Answer(ablation_sentence(found)),
        drawing(pipeline_ablation(found), "each step of the pipeline"),
        Table(ablation_table(found)),
    ]


def design(found: CalibratorDesign) -> list[Block]:
    figure = calibrator_shapes(found, found.calibrators, calibrator_names=CALIBRATOR_NAMES)
    return [
        Answer(design_sentence(found)),
        drawing(figure, "calibrated probability of a raw score"),
        Table(design_table(found)),
    ]


def claim(found: Claim) -> list[Block]:
    words = f"One-class coding: everything in this box {MEASURES_CODING}."
    return [
        Answer(claim_sentence(found)),
        Box(
            words,
            (
                drawing(protocol(found, "one_class"), "the paper's protocol"),
                *paragraphs(*reversal_sentences(found, "one_class"), constant_sentence(found)),
                drawing(fitted_maps(found), "the fitted maps"),
                *paragraphs(map_sentence(found)),
                *_steps(found, "one_class"),
            ),
            coding=True,
        ),
        Box(
            "Honest labels.",
            (
                drawing(protocol(found, "honest"), "honest labels"),
                *paragraphs(*reversal_sentences(found, "honest"), honest_constant_sentence(found)),
                *_steps(found, "honest"),
            ),
        ),
        *_together(found),
    ]


def _steps(found: Claim, coding: str) -> list[Block]:
    sentences = (f"{name}: {said_of}" for name, said_of in step_sentences(found, coding))
    return [Table(step_table(found, coding)), *paragraphs(*sentences)]


def _together(found: Claim) -> list[Block]:
    sentence = joint_sentence(found)
    if not sentence:
        return []
    return [*paragraphs(sentence), drawing(protocol(found, "together"), "joint beside one-coin")]
