"""What would break it: other items, permuted labels, damaged votes, distorted scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judgepanel.figures.robustness.corruption import corruption
from judgepanel.figures.robustness.distortion import distortion
from judgepanel.figures.robustness.jury import jury
from judgepanel.figures.robustness.narrow_band import narrow_band
from judgepanel.figures.robustness.permuted import permuted_labels
from judgepanel.figures.robustness.slice_losses import slice_losses
from judgepanel.figures.robustness.transfer_matrix import transfer_matrix
from judgepanel.figures.robustness.weighting import weighting
from judgepanel.report.document import Block
from judgepanel.report.numbers import capital
from judgepanel.report.permuted import permutation_sentence
from judgepanel.report.robustness import (
    difficulty_sentence,
    remedy_sentence,
    slice_sentence,
    slice_table,
    transfer_sentence,
    transfer_table,
)
from judgepanel.report.robustness_scores import (
    DISTORTION_NAMES,
    band_sentence,
    band_table,
    distortion_sentence,
    distortion_table,
    placed_sentence,
    signal_name,
    weighting_sentence,
    weighting_table,
)
from judgepanel.report.robustness_votes import (
    SCENARIO_NAMES,
    bound_sentence,
    corruption_sentence,
    corruption_table,
    degrades_sentence,
    hit_words,
    jury_sentence,
    jury_table,
)
from judgepanel.report.sections.blocks import answer, drawing, rows, said, shown_calibrator
from judgepanel.report.sentences import CALIBRATOR_NAMES
from judgepanel.studies.robustness.corruption import CORRUPTION
from judgepanel.studies.robustness.corruption_result import Corruption
from judgepanel.studies.robustness.difficulty_transfer import DIFFICULTY_TRANSFER
from judgepanel.studies.robustness.difficulty_transfer_result import DifficultyTransfer
from judgepanel.studies.robustness.distortion import DISTORTION
from judgepanel.studies.robustness.distortion_result import Distortion
from judgepanel.studies.robustness.jury import JURY
from judgepanel.studies.robustness.jury_result import Jury
from judgepanel.studies.robustness.narrow_band import NARROW_BAND
from judgepanel.studies.robustness.narrow_band_result import NarrowBand
from judgepanel.studies.robustness.permutation import PERMUTATION
from judgepanel.studies.robustness.permutation_result import Permutation
from judgepanel.studies.robustness.reliability_weighting import RELIABILITY_WEIGHTING
from judgepanel.studies.robustness.slice_transfer import SLICE_TRANSFER
from judgepanel.studies.robustness.slice_transfer_result import SliceTransfer
from judgepanel.studies.robustness.vote_damage import ABSENT
from judgepanel.studies.robustness.weighting_result import ReliabilityWeighting


def _transfer(found: DifficultyTransfer) -> list[Block]:
    calibrator = shown_calibrator(found)
    return [
        answer(found, transfer_sentence(found, calibrator)),
        drawing(transfer_matrix(found, calibrator, "plain"), "NLL of labels carried over"),
        *said(difficulty_sentence(found, calibrator), remedy_sentence(found, calibrator)),
        rows(transfer_table(found, calibrator)),
    ]


def _slices(found: SliceTransfer) -> list[Block]:
    if not found.slices:
        return [answer(found, slice_sentence(found))]
    return [
        answer(found, slice_sentence(found)),
        drawing(slice_losses(found), "what labels from elsewhere cost on every slice"),
        rows(slice_table(found)),
    ]


def _permutation(found: Permutation) -> list[Block]:
    return [
        answer(found, permutation_sentence(found)),
        drawing(permuted_labels(found), "permuted labels, their base rate and the real labels"),
    ]


def _corruption(found: Corruption) -> list[Block]:
    first, *others = (name for name in SCENARIO_NAMES if name in found.scenarios)
    blocks: list[Block] = [
        answer(found, corruption_sentence(found, first)),
        *said(degrades_sentence(found)),
    ]
    for name in (first, *others):
        if name != first:
            blocks += said(corruption_sentence(found, name))
        if name in (first, ABSENT):
            figure = corruption(found, name, x=hit_words(name))
            blocks.append(drawing(figure, SCENARIO_NAMES[name]))
    return [*blocks, rows(corruption_table(found, first), f"{capital(SCENARIO_NAMES[first])}.")]


def _distortion(found: Distortion) -> list[Block]:
    figure = distortion(
        found, found.calibrators, names=DISTORTION_NAMES, calibrator_names=CALIBRATOR_NAMES
    )
    return [
        answer(found, distortion_sentence(found)),
        drawing(figure, "every distortion of the raw score"),
        rows(distortion_table(found)),
    ]


def _weighting(found: ReliabilityWeighting) -> list[Block]:
    names = tuple(signal_name(found, i) for i in range(len(found.signals)))
    return [
        answer(found, weighting_sentence(found)),
        drawing(weighting(found, names), "every weighting of the comparisons"),
        rows(weighting_table(found)),
    ]


def _jury(found: Jury) -> list[Block]:
    return [
        answer(found, jury_sentence(found)),
        drawing(jury(found), "measured and as independent judges would err"),
        *said(bound_sentence(found)),
        rows(jury_table(found)),
    ]


def _band(found: NarrowBand) -> list[Block]:
    return [
        answer(found, band_sentence(found)),
        drawing(narrow_band(found, len(found.sizes) - 1, 0), "what pruning costs, simulated"),
        *said(placed_sentence(found)),
        rows(band_table(found)),
    ]


ROBUSTNESS: Mapping[str, Callable[[Any], list[Block]]] = {
    DIFFICULTY_TRANSFER.name: _transfer,
    SLICE_TRANSFER.name: _slices,
    PERMUTATION.name: _permutation,
    CORRUPTION.name: _corruption,
    DISTORTION.name: _distortion,
    RELIABILITY_WEIGHTING.name: _weighting,
    JURY.name: _jury,
    NARROW_BAND.name: _band,
}
