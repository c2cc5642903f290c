"""Figures of transfer, slices and permuted labels draw the result."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from judgepanel.figures.style import CURATE_FILL
from judgepanel.present.paper.permutation import permutation_figure
from judgepanel.present.robustness.difficulty_transfer import transfer_figure
from judgepanel.present.robustness.slice_transfer import slice_figure
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.permutation import PERMUTATION, PermutationSpec
from judgepanel.studies.robustness.difficulty_transfer import (
    DIFFICULTY_TRANSFER,
    DifficultyTransferSpec,
)
from judgepanel.studies.robustness.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

SETTINGS = Settings(splits=3)
NAMES = np.array(["usual", "<b>odd</b>", "x" * 200], dtype=object)


@cache
def votes():
    plain = make_votes(1, 180, 7)
    return replace(plain, features=pd.DataFrame({"kind": np.repeat(NAMES, 60)}))


@cache
def transfer():
    spec = DifficultyTransferSpec(SETTINGS, calibrators=("beta",))
    return run(DIFFICULTY_TRANSFER, votes(), spec, jobs=1)


@cache
def slices():
    return run(SLICE_TRANSFER, votes(), SliceTransferSpec(SETTINGS), jobs=1)


@cache
def permutation():
    return run(PERMUTATION, votes(), PermutationSpec(SETTINGS, permutations=9), jobs=1)


def test_every_cell_has_its_nll_its_loss_and_its_base_rate():
    figure = transfer_figure(transfer(), "beta", "stratified")
    texts = {(note.y, note.x): note.text for note in figure.layout.annotations}
    assert len(texts) == 6
    cell = transfer().cell("beta", "stratified", "easy", "hard")
    assert f"<b>{cell.nll.value:.3f}</b>" in texts[0, 1]
    assert f"{cell.delta.value:+.2f}" in texts[0, 1]
    assert f"base rate {cell.null_nll:.3f}" in texts[0, 1]
    assert "+0.00" not in texts[0, 0]


def test_narrow_intervals_get_decimals_enough_to_be_seen():
    result = transfer()
    nll = result.nll.value
    narrow = replace(result, nll=Interval(nll, nll - 0.004, nll + 0.004))
    text = transfer_figure(narrow, "beta", "plain").layout.annotations[0].text
    cell = narrow.cell("beta", "plain", "easy", "easy")
    assert f"[{cell.nll.lo:.3f}, {cell.nll.hi:.3f}]" in text


def test_a_cell_worse_than_its_base_rate_is_orange():
    result = transfer()
    nll = np.where(np.eye(3, 2) > 0, 1.5, 0.5) * result.null_nll
    ends = np.broadcast_to(nll, result.nll.shape)
    bad = replace(result, nll=Interval(ends, ends, ends))
    fills = [shape.fillcolor for shape in transfer_figure(bad, "beta", "plain").layout.shapes]
    assert [fill == CURATE_FILL for fill in fills] == [True, False, False, True, False, False]


def test_slices_come_by_loss_and_their_names_are_inert():
    figure = slice_figure(slices())
    names = figure.layout.yaxis.ticktext
    assert "&lt;b&gt;odd&lt;/b&gt;" in names
    assert max(len(name) for name in names) < 60
    drawn, rows = (np.concatenate([trace[axis] for trace in figure.data]) for axis in "xy")
    assert (np.diff(drawn[np.argsort(rows)]) <= 0).all()
    np.testing.assert_allclose(np.sort(drawn), np.sort(slices().delta.value[:, 1]))
    assert all("<b>odd" not in text for trace in figure.data for text in trace.text)


def test_permutations_are_counted_and_the_real_nll_stands_beside_them():
    figure = permutation_figure(permutation())
    bars = figure.data[0]
    assert sum(bars.y) == 9
    apart = abs(np.array(bars.x) - permutation().permuted_nll[:, None]).min(axis=1)
    assert apart.max() <= bars.width
    assert figure.data[-1].x[0] == permutation().nll.value
    names = [trace.name for trace in figure.data]
    assert names == ["permuted labels", "base rate of permuted labels", "real labels, 95 %"]


def test_before_the_real_labels_are_in_only_permutations_are_drawn():
    early = replace(permutation(), nll=Interval.full((), np.nan))
    assert len(permutation_figure(early).data) == 2
    blank = replace(
        early, permuted_nll=np.zeros(0), permuted_null=np.zeros(0), permuted_accuracy=np.zeros(0)
    )
    assert len(permutation_figure(blank).data) == 1
