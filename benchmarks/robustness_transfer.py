"""Guarantees of the permutation test and of transfer, by simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from scipy.special import expit

from benchmarks.report import Table, cores
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.permutation import PERMUTATION, PermutationSpec
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.trust.difficulty_transfer import (
    DIFFICULTY_TRANSFER,
    DifficultyTransferSpec,
)
from judgepanel.studies.trust.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from judgepanel.votes import VoteMatrix

N_SETS = 100
LEVEL = 0.05


def tables() -> list[Table]:
    """Size of the permutation test, size of both transfers, and what weighting repairs."""
    return [permutation_size(), transfer_size(), weighting()]


def coin_votes(seed: int, n_items: int, n_judges: int, accuracy: float) -> VoteMatrix:
    """Votes of equally good judges, right with this probability on every item."""
    rng = np.random.default_rng((seed, 77))
    labels = (rng.random(n_items) < 0.5).astype(np.int8)
    right = rng.random((n_items, n_judges)) < accuracy
    return VoteMatrix(
        votes=np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8),
        labels=labels,
        item_ids=tuple(f"item{i}" for i in range(n_items)),
        judges=tuple(f"judge{j}" for j in range(n_judges)),
    )


def permutation_size() -> Table:
    """P-values when votes are coin flips; they should be uniform on 1/20 .. 1."""
    rows = []
    for orientation in ("as_given", "symmetric"):
        for groups in (0, 30):
            ps = _several(_permutation_p, N_SETS, orientation, groups)
            ranks = np.round(20 * np.array(ps))
            count = np.bincount(ranks.astype(int), minlength=21)[1:]
            fit = stats.chisquare(count.reshape(5, 4).sum(axis=1))
            rows.append(
                (
                    orientation,
                    "single items" if not groups else f"{groups} groups of two",
                    f"{np.mean(np.array(ps) <= LEVEL):.3f}",
                    f"{np.mean(np.array(ps) <= 0.5):.3f}",
                    f"{fit.pvalue:.2f}",
                )
            )
    return Table(
        "Permuted labels: votes that know nothing",
        ("orientation", "items", "p at most .05", "p at most .5", "chi-square of uniformity, p"),
        rows,
        f"{N_SETS} data sets a row, 60 items, 6 judges, 4 splits, 19 permutations, raw one-coin.",
    )


def _permutation_p(seed: int, orientation: Any, groups: int) -> float:
    votes = coin_votes(seed, 60, 6, 0.5)
    if groups:
        votes = replace(votes, groups=tuple(f"g{i // 2}" for i in range(60)))
    settings = Settings(splits=4, seed=seed, orientation=orientation)
    spec = PermutationSpec(settings, calibrator="none", permutations=19, splits_each=4)
    return run_study(PERMUTATION, votes, spec, jobs=1).p


def transfer_size() -> Table:
    """How often a loss is reported when the kinds of items do not differ."""
    result = np.array(_several(_null_ps, N_SETS))
    names = ("easy to hard", "hard to easy", "either, Holm", "any of 3 slices, Holm")
    rows = [
        (name, f"{np.mean(result[:, i] < LEVEL):.3f}", f"{np.median(result[:, i]):.2f}")
        for i, name in enumerate(names)
    ]
    return Table(
        "Transfer where nothing differs",
        ("test", f"share below {LEVEL:g}", "median p"),
        rows,
        f"{N_SETS} data sets, 240 items, 8 judges right in 70 %, 20 splits, beta; difficulty and "
        "slices are coins.",
    )


def _null_ps(seed: int) -> tuple[float, float, float, float]:
    votes = coin_votes(seed, 240, 8, 0.7)
    rng = np.random.default_rng((seed, 78))
    kind = rng.choice(np.array(["a", "b", "c"], dtype=object), 240)
    votes = replace(votes, features=pd.DataFrame({"effort": rng.random(240), "kind": kind}))
    settings = Settings(splits=20, seed=seed)
    moved = run_study(
        DIFFICULTY_TRANSFER,
        votes,
        DifficultyTransferSpec(settings, calibrators=("beta",), by="effort"),
        jobs=1,
    )
    left_out = run_study(SLICE_TRANSFER, votes, SliceTransferSpec(settings), jobs=1)
    abroad = moved.p[0, 0, [0, 1], [1, 0]]
    holm = np.nanmin(moved.p_holm[0, 0])
    return float(abroad[0]), float(abroad[1]), float(holm), float(left_out.p_holm[:, 1].min())


def weighting() -> Table:
    """A shift that weights can repair, and one that they cannot."""
    rows = []
    for name, overlap in (("kinds overlap in disagreement", True), ("cut by disagreement", False)):
        result = np.array(_several(_weighted, N_SETS // 4, overlap))
        rows.append((name, *(f"{value:+.4f}" for value in result.mean(axis=0))))
    return Table(
        "What importance weights take back, from easy to hard",
        ("kinds of item", "loss, plain", "weighted - plain", "standard error", "effective labels"),
        rows,
        f"{N_SETS // 4} data sets, 900 items; on contested items 12 copies vote together, so that "
        "no one slope fits clear and contested items alike. Platt scaling; NLL in nats.",
    )


def shared_error(seed: int, n_items: int) -> VoteMatrix:
    """Twelve judges whose votes share one error more often the harder an item is.

    The feature ``effort`` is the difficulty with noise.
    """
    rng = np.random.default_rng((seed, 79))
    labels = (rng.random(n_items) < 0.5).astype(np.int8)
    difficulty = rng.standard_normal(n_items)
    own = rng.random((n_items, 12)) < expit(1.6 - difficulty)[:, None]
    shared = rng.random(n_items) < expit(0.8 - difficulty)
    follows = rng.random((n_items, 12)) < 0.5
    right = np.where(follows, shared[:, None], own)
    votes = np.where(right, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    plain = coin_votes(seed, n_items, 12, 0.7)
    effort = difficulty + rng.standard_normal(n_items)
    return replace(plain, votes=votes, labels=labels, features=pd.DataFrame({"effort": effort}))


def _weighted(seed: int, overlap: bool) -> tuple[float, float, float, float]:
    spec = DifficultyTransferSpec(
        Settings(splits=10, seed=seed),
        calibrators=("platt",),
        by="effort" if overlap else None,
    )
    study = run_study(DIFFICULTY_TRANSFER, shared_error(seed, 900), spec, jobs=1)
    cell = study.cell("platt", "weighted", "easy", "hard")
    plain = study.cell("platt", "plain", "easy", "hard")
    width = (cell.gain.hi - cell.gain.lo) / 4.0
    return plain.delta.value, cell.gain.value, width, cell.effective


def _several(task: Any, n: int, *arguments: Any) -> list[Any]:
    return list(Parallel(n_jobs=cores())(delayed(task)(seed, *arguments) for seed in range(n)))


if __name__ == "__main__":
    print(json.dumps([table.markdown() for table in tables()]))
