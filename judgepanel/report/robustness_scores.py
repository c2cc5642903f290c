"""Distorted scores, weighted comparisons and narrow bands, in words and tables for people."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgepanel.report.numbers import (
    capital,
    counted,
    fixed,
    interval,
    listed,
    p_value,
    percent,
    sig,
    with_interval,
)
from judgepanel.report.sentences import CALIBRATED, CALIBRATOR_NAMES, CODING
from judgepanel.report.tables import printed
from judgepanel.report.terminal import one_line
from judgepanel.studies.robustness.distortion_result import Distortion
from judgepanel.studies.robustness.narrow_band_result import NarrowBand
from judgepanel.studies.robustness.signals import AGREEMENT, COVERAGE, RANDOM
from judgepanel.studies.robustness.weighting_result import ReliabilityWeighting

DISTORTION_NAMES = {
    "undistorted": "as it is",
    "square": "squared",
    "square_root": "square root",
    "noise_weak": "weak noise",
    "noise_strong": "strong noise",
    "binary_noise": "turned round at random",
    "inversion": "turned round",
    "shuffle": "shuffled",
}
_SIGNAL_NAMES = {
    (AGREEMENT, "high"): "items judges agree on",
    (AGREEMENT, "low"): "items judges disagree on",
    (COVERAGE, "high"): "items with many votes",
    (COVERAGE, "low"): "items with few votes",
    (RANDOM, "high"): "random items (a placebo)",
}


def distortion_sentence(found: Distortion) -> str:
    """What each calibrator repairs."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in found.calibrators:
        if name != "none":
            kinds.setdefault(found.repaired_by(name), []).append(CALIBRATOR_NAMES[name])
    parts = []
    for repaired, names in sorted(kinds.items(), key=lambda kind: -len(kind[0])):
        words = "none"
        if repaired:
            words = listed([f"'{DISTORTION_NAMES[one]}'" for one in repaired])
        verb = "repairs" if len(names) == 1 else "repair"
        parts.append(f"{listed(names)} {verb} {words}")
    if not parts:
        return "No calibrator was asked for."
    text = f"Of {len(found.distortions) - 1} distortions {'; '.join(parts)}."
    text += " Repaired means: shown to lie within 2 % of the NLL without distortion."
    return f"{text} {CODING}" if found.measures_coding else text


def distortion_table(found: Distortion) -> pd.DataFrame:
    """One row a distortion, NLL and outcome of every calibrator."""
    columns: dict[str, object] = {
        "raw score": [DISTORTION_NAMES[name] for name in found.distortions]
    }
    for c, name in enumerate(found.calibrators):
        columns[f"NLL, {CALIBRATOR_NAMES[name]}"] = [
            f"{fixed(float(found.nll[d, c]), 3)} "
            f"{interval(float(found.nll_lo[d, c]), float(found.nll_hi[d, c]), 3)}"
            for d in range(len(found.distortions))
        ]
        columns[CALIBRATOR_NAMES[name]] = [row[c] for row in found.outcomes]
    columns["base rate"] = found.null_nll
    return pd.DataFrame(columns)


def distortion_text(found: Distortion) -> str:
    """The answer and the table, for a terminal."""
    head = (
        f"{found.n_splits} splits, {found.n_evaluation:.0f} items evaluate, all "
        f"{found.n_judges:,} judges, orientation {found.orientation}, protocol {found.protocol}, "
        f"seed {found.seed}."
    )
    return "\n".join([head, distortion_sentence(found), printed(distortion_table(found))])


def signal_name(found: ReliabilityWeighting, i: int) -> str:
    """Which comparisons a signal lets count for more; features are the user's text."""
    name, favours = found.signals[i], found.favours[i]
    if found.features[i]:
        return f"{favours} {one_line(name)}"
    return _SIGNAL_NAMES[name, favours]


def weighting_sentence(found: ReliabilityWeighting) -> str:
    """What weighting comparisons does to the NLL."""
    n = len(found.signals)
    same = found.absolute.count("equivalent")
    base = f"{fixed(found.base_nll, 3)} {interval(found.base_lo, found.base_hi, 3)}"
    text = (
        f"{same} of {counted(n, 'weighting')} of the comparisons {'is' if same == 1 else 'are'} "
        f"shown to make no difference (below {found.margin:g} NLL; unweighted {base}, base rate "
        f"{fixed(found.null_nll, 3)})."
    )
    helps = [i for i in range(n) if found.band_hi[i] < 0]
    hurts = [i for i in range(n) if found.band_lo[i] > 0]
    for word, places in (("lowers", helps), ("raises", hurts)):
        if places:
            best = max(places, key=lambda i: abs(float(found.delta[i])))
            near, far = sorted(abs(float(end[best])) for end in (found.band_lo, found.band_hi))
            size = with_interval(abs(float(found.delta[best])), near, far)
            text += f" To let {signal_name(found, best)} count for more {word} it by {size}"
            text += f", the largest of {len(places)} such effects." if len(places) > 1 else "."
    if not helps and not hurts:
        text += " None is shown to change it at all."
    return f"{text} {CODING}" if found.measures_coding else text


def weighting_table(found: ReliabilityWeighting) -> pd.DataFrame:
    """One row a signal: effect, both equivalence tests and the plain paired one."""
    rows = range(len(found.signals))
    return pd.DataFrame(
        {
            "what counts for more": [signal_name(found, i) for i in rows],
            "NLL": found.nll,
            "difference": [
                with_interval(
                    float(found.delta[i]), float(found.lo[i]), float(found.hi[i]), sign=True
                )
                for i in rows
            ],
            "all rows together": [
                interval(float(found.band_lo[i]), float(found.band_hi[i]), sign=True) for i in rows
            ],
            "p of no effect": [_p(value) for value in found.p],
            f"within {found.margin:g}": list(found.absolute),
            "TOST p": [_p(value) for value in found.p_absolute],
            f"within {sig(found.relative_margin, 2)}": list(found.relative),
            "its TOST p": [_p(value) for value in found.p_relative],
            "paired TOST p, panels as given": [_p(value) for value in found.p_plain],
            "base rate": found.null_nll,
        }
    )


def weighting_text(found: ReliabilityWeighting) -> str:
    """The answer and the table, for a terminal."""
    head = (
        f"{found.n_splits} splits, {found.n_evaluation:.0f} items evaluate, one-coin with "
        f"{CALIBRATED[found.calibrator]}, orientation {found.orientation}, protocol "
        f"{found.protocol}, seed {found.seed}."
    )
    return "\n".join([head, weighting_sentence(found), printed(weighting_table(found))])


def _p(value: float) -> str:
    return p_value(float(value)).removeprefix("p ").removeprefix("= ")


def band_sentence(found: NarrowBand) -> str:
    """Who wins in how many simulated cells."""
    won = found.winners()
    cells = sum(won.values())
    near = found.winner((0, 0, -1, 0))
    words = {
        "all": "keeping all wins",
        "pruned": "pruning wins",
        "undecided": "neither is shown to win",
    }
    narrow = f"{found.widths[0]:g} wide"
    latent = "independent" if found.rhos[0] == 0 else f"correlated ({found.rhos[0]:g})"
    return (
        f"Simulated, not measured: keeping all has the lower NLL in {won['all']} of {cells} cells, "
        f"pruning in {won['pruned']}, and {won['undecided']} are undecided. Where "
        f"{int(found.sizes[-1]):,} {latent} judges lie in a band {narrow}, {words[near]}."
    )


def placed_sentence(found: NarrowBand) -> str:
    """Where the panel at hand lies among the simulated ones."""
    parts = [f"mean accuracy {percent(found.mean_accuracy, 3)}"]
    if math.isfinite(found.own_width):
        parts.append(f"accuracies as spread as in a band {sig(found.own_width, 2)} wide")
    if math.isfinite(found.own_rho):
        parts.append(f"errors correlated {sig(found.own_rho, 2)} on average")
    simulated = listed([fixed(float(part), 2) for part in found.error_rho.mean(axis=0)])
    return (
        f"This panel: {', '.join(parts)}. The simulated errors are correlated {simulated} on "
        "average. Real judges also differ in which items they find hard; no simulation of this "
        "kind knows that."
    )


def band_table(found: NarrowBand) -> pd.DataFrame:
    """One row a cell."""
    cells = list(np.ndindex(found.delta.shape))
    return pd.DataFrame(
        {
            "band": [float(found.widths[w]) for w, *_ in cells],
            "latent correlation": [float(found.rhos[r]) for _, r, *_ in cells],
            "of errors": [float(found.error_rho[w, r]) for w, r, *_ in cells],
            "judges": [int(found.sizes[s]) for *_, s, _ in cells],
            "kept": [percent(float(found.shares[share])) for *_, share in cells],
            "NLL, all": [float(found.nll[cell]) for cell in cells],
            "pruned - all": [
                with_interval(
                    float(found.delta[cell]),
                    float(found.lo[cell]),
                    float(found.hi[cell]),
                    sign=True,
                )
                for cell in cells
            ],
            "all cells together": [
                interval(float(found.band_lo[cell]), float(found.band_hi[cell]), sign=True)
                for cell in cells
            ],
            "wins": [found.winner(cell) for cell in cells],
            "accuracy, all": [float(found.accuracy[cell]) for cell in cells],
            "accuracy lost by pruning": [
                with_interval(
                    float(found.loss[cell]),
                    float(found.loss_lo[cell]),
                    float(found.loss_hi[cell]),
                    sign=True,
                )
                for cell in cells
            ],
            "base rate": found.null_nll,
        }
    )


def band_text(found: NarrowBand) -> str:
    """The answer and the table, for a terminal."""
    head = (
        f"A simulation: {found.n_replicates} replicates a cell, {found.n_calibration:,} labels "
        f"calibrate and {found.n_evaluation:,} new items evaluate, seed {found.seed}."
    )
    said = [head, capital(band_sentence(found)), placed_sentence(found)]
    return "\n".join([*said, printed(band_table(found))])
