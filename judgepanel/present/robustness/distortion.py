"""Which calibrators repair which distortions of the raw score."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from judgepanel.figures.robustness.distortion import distortion
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.studies.robustness.distortion import DistortionSpec
from judgepanel.studies.robustness.distortion_result import Distortion
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, interval, listed, percent
from judgepanel.words.sentences import CALIBRATOR_NAMES, CODING

DISTORTION_NAMES = {
    "undistorted": "as it is",
    "square": "squared",
    "square_root": "square root",
    "noise_weak": "weak noise",
    "noise_strong": "strong noise",
    "binary_noise": "turned around at random",
    "inversion": "turned around",
    "shuffle": "shuffled",
}


@dataclass(frozen=True, slots=True)
class DistortionView:
    """Which calibrators are drawn; None draws all."""

    calibrators: tuple[str, ...] | None = None


def distortion_sentence(result: Distortion) -> str:
    """What each calibrator repairs."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in result.calibrators:
        if name != "none":
            kinds.setdefault(result.repaired_by(name), []).append(CALIBRATOR_NAMES[name])
    parts = []
    for repaired, names in sorted(kinds.items(), key=lambda item: -len(item[0])):
        words = "none"
        if repaired:
            words = listed([f"'{DISTORTION_NAMES[kind]}'" for kind in repaired])
        verb = "repairs" if len(names) == 1 else "repair"
        parts.append(f"{listed(names)} {verb} {words}")
    if not parts:
        return "No calibrator was asked for."
    text = f"Of {len(result.distortions) - 1} distortions {'; '.join(parts)}."
    text += " Repaired means: shown to lie within 2 % of the NLL without distortion."
    return f"{text} {CODING}" if result.measures_coding else text


def distortion_table(result: Distortion) -> pd.DataFrame:
    """One row per distortion, NLL and outcome of every calibrator."""
    columns: dict[str, object] = {
        "raw score": [DISTORTION_NAMES[name] for name in result.distortions]
    }
    for c, name in enumerate(result.calibrators):
        columns[f"NLL, {CALIBRATOR_NAMES[name]}"] = [
            f"{fixed(float(result.nll[d, c]), 3)} "
            f"{interval(float(result.nll_lo[d, c]), float(result.nll_hi[d, c]), 3)}"
            for d in range(len(result.distortions))
        ]
        columns[CALIBRATOR_NAMES[name]] = [row[c] for row in result.outcomes]
    columns["base rate"] = result.null_nll
    return pd.DataFrame(columns)


def present(
    result: Distortion, spec: DistortionSpec, view: DistortionView = DistortionView()
) -> list[Block]:
    """NLL under each distortion, one mark a calibrator."""
    drawn = result.calibrators if view.calibrators is None else view.calibrators
    figure = distortion(result, drawn, names=DISTORTION_NAMES, calibrator_names=CALIBRATOR_NAMES)
    return [
        Answer(distortion_sentence(result)),
        drawing(figure, "NLL under each distortion of the raw score, one mark per calibrator"),
        Table(as_columns(distortion_table(result))),
        Method(
            f"The one-coin score of all {result.n_judges:,} judges, as a probability r, is "
            "distorted on calibration and evaluation items alike: r², √r, r plus normal noise "
            f"(standard deviations {spec.weak:g} and {spec.strong:g}), turned around in "
            f"{percent(spec.turned)} of the items, turned around everywhere, and shuffled. "
            "Calibrators are then fitted as everywhere else. The kinds are the paper's; it gives "
            "no levels of noise. Temperature, Platt, beta and isotonic may not turn a score round, "
            "so they end at the base rate where it is; the paper's clipped beta may."
        ),
    ]
