"""Rare pairwise labels that nobody could know: how often is an unconditional claim made?

Judges vote at the rate of the labels, labels are permuted, and every item is used with its swap. A
judge that mostly votes for the common label is then right on nearly every item, so the panel beats
a coin by far. It proves nothing, since the base rate of the file as given does as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.report import Report, Table, say
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.decide.recommend import beats_null, explained_by_position
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run as run_study
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate

PREVALENCES = (0.02, 0.05, 0.10)
N_ITEMS, N_JUDGES, N_SPLITS = 200, 5, 4
TITLE = "Permuted labels, every item used with its swap, all candidates of the default list"
SEEDS = range(50_000, 50_090)


def permuted(prevalence: float, seed: int) -> VoteMatrix:
    """A panel with shuffled labels: votes keep their rate but carry no information."""
    votes = simulate(
        SimulationSpec(n_items=N_ITEMS, n_judges=N_JUDGES, base_rate=prevalence, seed=seed)
    )
    rng = np.random.default_rng(seed)
    rate = (rng.random(votes.votes.shape) < prevalence).astype(np.int8)
    return replace(votes, votes=rate, labels=rng.permutation(votes.labels))


def run() -> Report:
    """Run the benchmark."""
    counts = [_of_prevalence(prevalence) for prevalence in PREVALENCES]
    claims = sum(row[3] + row[4] for row in counts)
    cases = sum(row[0] for row in counts)
    rows = [
        (f"{prevalence:.0%}", *map(str, row))
        for prevalence, row in zip(PREVALENCES, counts, strict=True)
    ]
    headers = ("prevalence", "cases", "panel beats ln 2", "of them held against the constant")
    headers += ("recommendations without a condition", "curves without a condition")
    table = Table(TITLE, headers, rows)
    verdict = f"{claims} unconditional claims in {cases} cases (target 0)."
    return Report(
        title="Rare pairwise labels",
        question="Is a constant position taken for a good panel?",
        tables=(table,),
        verdicts=(verdict,),
    )


def _of_prevalence(prevalence: float) -> tuple[int, ...]:
    beats = held = recommended = curves = n = 0
    for seed in SEEDS:
        votes = permuted(prevalence, seed)
        ones = int(votes.labels.sum())
        if ones < 2:
            continue
        n += 1
        settings = Settings(orientation="symmetric", splits=N_SPLITS, seed=seed)
        study = run_study(RECOMMEND, votes, RecommendSpec(settings=settings, folds=2), jobs=1)
        curve = run_study(
            PANEL_CURVE, votes, PanelCurveSpec(settings, calibrators=("temperature",)), jobs=1
        )
        position = curve.position("temperature")
        beats += beats_null(study)
        held += beats_null(study) and explained_by_position(study)
        recommended += beats_null(study) and not explained_by_position(study)
        curves += position is None or not position.explains
    say(f"prevalence {prevalence:.0%}: {n} cases, {recommended} + {curves} unconditional")
    return n, beats, held, recommended, curves
