"""What calibrators do to the same scores: their shapes and their NLL."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from judgepanel.figures.methods.calibrator_design import calibrator_shapes
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.studies.methods.calibrator_design import CalibratorDesign, CalibratorDesignSpec
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, interval
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATED, CALIBRATOR_NAMES, CODING


@dataclass(frozen=True, slots=True)
class CalibratorDesignView:
    """Which calibrators are drawn; None draws all."""

    calibrators: tuple[str, ...] | None = None


def design_sentence(result: CalibratorDesign) -> str:
    """Which calibrator is lowest on all judges, and how far the raw score is from it."""
    best = int(result.nll[:, -1].argmin())
    name = result.calibrators[best]
    where = f"On all {result.n_judges} judges with {AGGREGATOR_NAMES[result.aggregator]}"
    if name == "none":
        text = f"{where}, no calibrator improves on the raw score: NLL {_with_span(result, best)}"
    else:
        text = f"{where}, {CALIBRATED[name]} has the lowest NLL, {_with_span(result, best)}"
        if "none" in result.calibrators:
            text += f"; the raw score has {_with_span(result, result.calibrators.index('none'))}"
    text += f"; the base rate alone {fixed(result.null_nll, 3)}."
    return f"{text} {CODING}" if result.measures_coding else text


def _with_span(result: CalibratorDesign, row: int, panel: int = -1) -> str:
    """NLL of a calibrator on a panel, with its interval."""
    lo, hi = float(result.nll_lo[row, panel]), float(result.nll_hi[row, panel])
    return f"{fixed(float(result.nll[row, panel]), 3)} {interval(lo, hi, 3)}"


def design_table(result: CalibratorDesign) -> pd.DataFrame:
    """Every calibrator: figures on all judges, then the NLL of smaller panels.

    Columns in ``PERCENTS`` are shares.
    """
    last = len(result.k) - 1
    rows = range(len(result.calibrators))
    columns: dict[str, object] = {
        "calibrator": [CALIBRATOR_NAMES[name] for name in result.calibrators],
        f"NLL, all {result.k[last]}": [_with_span(result, c) for c in rows],
        "skill": 1.0 - result.nll[:, last] / result.null_nll,
        "constant score": result.constant_nll,
        "Spearman ρ": result.rho[:, last],
        "ECE": result.ece[:, last],
        "accuracy": result.accuracy[:, last],
    }
    for p in range(last - 1, -1, -1):
        columns[f"NLL, top-{result.k[p]}"] = [_with_span(result, c, p) for c in rows]
    return pd.DataFrame(columns)


def present(
    result: CalibratorDesign,
    spec: CalibratorDesignSpec,
    view: CalibratorDesignView = CalibratorDesignView(),
) -> list[Block]:
    """Every calibrator as a curve, and its figures on all judges and on smaller panels."""
    drawn = result.calibrators if view.calibrators is None else view.calibrators
    figure = calibrator_shapes(result, drawn, calibrator_names=CALIBRATOR_NAMES)
    return [
        Answer(design_sentence(result)),
        drawing(figure, "what each calibrator makes of a raw score"),
        Table(as_columns(design_table(result))),
        Method(
            "The lines are fitted to all labelled items, with scores that do not know their own "
            "label. The table is out of sample, as everywhere. Spearman ρ compares the order of "
            "the evaluation items before and after; it is 1 where a calibrator keeps the order. "
            "The column 'constant score' is what no judge at all gets through the same calibrator."
        ),
    ]
