"""Robustness: what would break it? Other items, left-out slices, permuted labels, damaged votes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from judgepanel.figures.robustness.permuted import permuted_labels
from judgepanel.figures.robustness.slice_losses import slice_losses
from judgepanel.figures.robustness.transfer_matrix import transfer_matrix
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.transfer import METHODS
from judgepanel.report.methods import in_words
from judgepanel.report.numbers import fixed
from judgepanel.report.permuted import permutation_sentence
from judgepanel.report.robustness import (
    METHOD_NAMES,
    SHARES,
    difficulty_sentence,
    remedy_sentence,
    slice_sentence,
    slice_table,
    transfer_sentence,
    transfer_table,
)
from judgepanel.report.robustness_worst import worst_finding
from judgepanel.report.text import plain
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.robustness.difficulty_transfer import (
    DIFFICULTY_TRANSFER,
    DifficultyTransferSpec,
)
from judgepanel.studies.robustness.difficulty_transfer_result import DifficultyTransfer
from judgepanel.studies.robustness.permutation import PERMUTATION, PermutationSpec
from judgepanel.studies.robustness.permutation_result import Permutation
from judgepanel.studies.robustness.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from judgepanel.studies.robustness.slice_transfer_result import SliceTransfer
from judgepanel.ui.controls import calibrator_control
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.pages import robustness_votes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.session import workspace
from judgepanel.ui.usual import first_feature
from judgepanel.ui.work import show_result

_CALIBRATORS: tuple[Calibrator, ...] = ("beta", "platt")
_FEATURE = "slices"


def page(shown: Shown) -> None:
    """The transfer matrix first; the other studies start one after the other."""
    calibrator, method = _controls()
    settings = shown.analysis.settings
    spec = DifficultyTransferSpec(settings=settings)
    known: set[str] = set()
    pipeline_note(shown, spec.aggregator, calibrator, offered=None)

    def draw(found: DifficultyTransfer) -> None:
        known.add(_banner(shown, found, calibrator))
        _draw_transfer(shown, spec, found, calibrator, method, known)

    if show_result(DIFFICULTY_TRANSFER, shown, spec, draw):
        if _stored(shown, DIFFICULTY_TRANSFER, spec) is None:
            _banner(shown, None, calibrator)
        if _slices(shown, known) and _permutation(shown, known):
            robustness_votes.sections(shown, known)
    next_step("pages/label_budget.py", "how many labels do we need?", shown.analysis)


def _controls() -> tuple[Calibrator, str]:
    left, right = st.columns(2)
    calibrator = calibrator_control(left, _CALIBRATORS)
    method = right.segmented_control(
        "Carried over",
        METHODS,
        default=METHODS[0],
        required=True,
        key="method",
        bind="query-params",
        format_func=METHOD_NAMES.__getitem__,
        help="Plain: one calibrator for all. Stratified: one for clear and one for contested "
        "items. Importance-weighted: labels count by how much they look like the items to score.",
    )
    return calibrator, method


def _stored(shown: Shown, study: Study[Any, Any, Any], spec: Spec) -> Any:
    """A finished result, or None."""
    found = workspace().result(study, shown.votes.sha256, spec)
    return None if found is None else found.result


def _banner(shown: Shown, transfer: DifficultyTransfer | None, calibrator: Calibrator) -> str:
    """The worst of what is known: the matrix drawn below, and what has been stored of the rest.

    Returns the sentence, which the matrix need not repeat right under it.
    """
    slices: SliceTransfer | None = _stored(shown, SLICE_TRANSFER, _slice_spec(shown))
    permutation: Permutation | None = _stored(shown, PERMUTATION, _permutation_spec(shown))
    finding = worst_finding(transfer, calibrator, slices, permutation)
    so_far = ""
    if transfer is not None and transfer.partial:
        so_far = f"So far, {transfer.n_splits} of {transfer.planned_splits} splits: "
    answer(so_far + finding.sentence, finding.tone)
    return finding.sentence


def _draw_transfer(
    shown: Shown,
    spec: DifficultyTransferSpec,
    found: DifficultyTransfer,
    calibrator: Calibrator,
    method: str,
    known: set[str],
) -> None:
    _notes(found.warnings, known)
    st.header("Easy and hard items")
    sentence = transfer_sentence(found, calibrator, method)
    if sentence not in known:
        said(sentence)
    for sentence in (difficulty_sentence(found, calibrator), remedy_sentence(found, calibrator)):
        if sentence:
            said(sentence)
    st.plotly_chart(
        transfer_matrix(found, calibrator, method),
        key="transfer",
        alt="NLL from the labels of easy, hard and all items to easy and to hard items. "
        + transfer_sentence(found, calibrator, method),
        config={"displayModeBar": False},
    )
    st.caption(_reading(found))
    table(transfer_table(found, calibrator), key="transfers", percents=SHARES, height=320)
    if not found.partial:
        downloads(shown, DIFFICULTY_TRANSFER, spec, found)
    how_study(shown, DIFFICULTY_TRANSFER, spec, _transfer_words(found))


def _reading(found: DifficultyTransfer) -> str:
    measure = "disagreement of the votes" if found.by == "disagreement" else plain(found.by, 60)
    return (
        f"Easy: the {found.n_target[0]:,} items with {measure} up to {fixed(found.easy_to, 2)}; "
        f"hard: the {found.n_target[1]:,} from {fixed(found.hard_from, 2)} on. Every panel is "
        f"fitted on {found.n_labels:,.0f} labels. In a cell: its NLL, what it loses against as "
        "many labels of the items it is scored on, and the base rate of its labels. Deep blue is "
        "good, orange is worse than the base rate."
    )


def _slice_spec(shown: Shown) -> SliceTransferSpec:
    chosen = st.session_state.get(_FEATURE, st.query_params.get(_FEATURE))
    if chosen not in _features(shown):
        chosen = first_feature(shown.votes, shown.analysis.settings)
    return SliceTransferSpec(settings=shown.analysis.settings, feature=chosen)


def _features(shown: Shown) -> list[str]:
    return [] if shown.votes.features is None else [str(name) for name in shown.votes.features]


def _slices(shown: Shown, known: set[str]) -> bool:
    st.header("Slices left out")
    names = _features(shown)
    first = first_feature(shown.votes, shown.analysis.settings)
    if len(names) > 1 and first is not None:
        st.selectbox(
            "Slices by",
            names,
            index=names.index(first),
            key=_FEATURE,
            bind="query-params",
            format_func=lambda name: plain(str(name), 60),
            help="The item feature whose slices are left out, one after the other.",
        )
    spec = _slice_spec(shown)
    return show_result(
        SLICE_TRANSFER, shown, spec, lambda found: _draw_slices(shown, spec, found, known)
    )


def _draw_slices(
    shown: Shown, spec: SliceTransferSpec, found: SliceTransfer, known: set[str]
) -> None:
    said(slice_sentence(found))
    if not found.slices:
        _notes(found.warnings[:-1], known)
        return
    _notes(found.warnings, known)
    st.plotly_chart(
        slice_losses(found),
        key="slices-figure",
        alt="What labels from elsewhere cost on every slice, with intervals. "
        + slice_sentence(found),
        config={"displayModeBar": False},
    )
    st.caption("Intervals hold in all slices together. Right of 0 a slice needs labels of its own.")
    table(slice_table(found), key="slice-rows")
    if not found.partial:
        downloads(shown, SLICE_TRANSFER, spec, found)
    how_study(shown, SLICE_TRANSFER, spec, _slice_words(found))


def _permutation_spec(shown: Shown) -> PermutationSpec:
    return PermutationSpec(settings=shown.analysis.settings)


def _permutation(shown: Shown, known: set[str]) -> bool:
    st.header("Permuted labels")
    spec = _permutation_spec(shown)
    return show_result(
        PERMUTATION, shown, spec, lambda found: _draw_permutation(shown, spec, found, known)
    )


def _draw_permutation(
    shown: Shown, spec: PermutationSpec, found: Permutation, known: set[str]
) -> None:
    said(permutation_sentence(found))
    _notes(found.warnings, known)
    st.plotly_chart(
        permuted_labels(found),
        key="permuted",
        alt="NLLs of permuted labels, their base rate and the NLL of the real labels. "
        + permutation_sentence(found),
        config={"displayModeBar": False},
    )
    st.caption(
        f"All of it on the same {found.n_splits} splits, since every permutation is fitted anew; "
        "other pages use more, and their NLL differs a little."
    )
    if not found.partial:
        downloads(shown, PERMUTATION, spec, found)
    how_study(shown, PERMUTATION, spec, _permutation_words(found))


def _notes(warnings: tuple[str, ...], known: set[str]) -> None:
    """Warnings that no section above has given."""
    notes(in_words(tuple(sentence for sentence in warnings if sentence not in known)))
    known.update(warnings)


def _transfer_words(found: DifficultyTransfer) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}). No label decides which items are "
        "easy. On one side of a split, judges are weighted and calibrators fitted on equally many "
        "labels of easy, of hard, or of all items; those of the other side are scored. The "
        "loss compares both panels on the same items; its p-values are Holm's over both ways. "
        "Importance weights come from a classifier that tells the two kinds of item apart by their "
        "votes; they are cut back at 10 times their mean, and the effective number of labels says "
        "how many are left."
    )


def _slice_words(found: SliceTransfer) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}). Part of a slice is scored by panels "
        "fitted on its other items, on as many labels of the other slices, and on the calibration "
        "share of all other slices. Groups with a scored item give no labels. A slice fails where "
        "the loss is shown after Holm's correction over the slices, and holds where it stays below "
        "2 % of the NLL of its own labels."
    )


def _permutation_words(found: Permutation) -> str:
    return (
        f"{found.planned} permutations (seed {found.seed}): {found.action}. Each permutation moves "
        f"the labels of all items; then everything is fitted and scored on the same "
        f"{found.n_splits} splits. The p-value is the share of permutations, the real labels among "
        "them, whose NLL is at or below the real one. It needs no assumption about the judges."
    )
