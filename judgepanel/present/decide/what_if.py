"""A panel picked by hand, in words and a table for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.figures.what_if import what_if
from judgepanel.present.blocks import Answer, Block, Caveat, Method, Paragraph, Table, drawing
from judgepanel.studies.panel.what_if import WhatIfSpec
from judgepanel.studies.panel.what_if_result import PanelFigures, WhatIf
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import counted, fixed, interval, percent, sig, with_interval
from judgepanel.words.sentences import CODING

BY_HAND = (
    "No interval here knows how the judges were picked. Where labels had a say in it (accuracy, "
    "worth, the recommendation, trying until it looks best) they look better here than they are "
    "on new items; only what `recommend` expects allows for choosing."
)
_FLATTERS = "if labels had a say in who they are, that flatters them."


def what_if_sentence(result: WhatIf) -> str:
    """How the panel that is kept compares."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: WhatIf) -> str:
    these, other = (counted(len(panel.judges), "judge") for panel in (result.kept, result.against))
    change = with_interval(result.delta, result.delta_lo, result.delta_hi, sign=True)
    fewer = with_interval(-result.delta, -result.delta_hi, -result.delta_lo)
    return {
        "keep all": f"These {these} are worse than the {other} compared with: NLL {change}.",
        "curate": f"With these {these}, NLL is lower by {fewer} than with the {other} compared "
        f"with; {_FLATTERS}",
        "no loss from keeping": f"The {other} compared with are shown to lose at most 2 % against "
        f"these {these}, and nothing more: NLL {change} with these.",
        "no loss from curating": f"These {these} are shown to lose at most 2 % against the {other} "
        f"compared with: NLL {change}; "
        f"{_FLATTERS}",
        "undecided": f"Undecided: with these {these}, NLL changes by {change}.",
        "tie": f"The same {these} on both sides.",
    }[result.verdict]


def what_if_table(result: WhatIf) -> pd.DataFrame:
    """Both panels, the one that is kept first."""
    both = (result.kept, result.against)
    columns: dict[str, list[str]] = {
        "panel": ["these judges", "compared with"],
        "judges": [f"{len(panel.judges):,}" for panel in both],
        "NLL": [_level(panel) for panel in both],
        "skill": [percent(1.0 - panel.nll / result.null_nll) for panel in both],
        "Brier": [fixed(panel.brier, 3) for panel in both],
        "accuracy": [percent(panel.accuracy, 3) for panel in both],
        "ECE": [fixed(panel.ece, 3) for panel in both],
    }
    if all(panel.cost is not None for panel in both):
        columns["cost"] = [sig(panel.cost) for panel in both if panel.cost is not None]
    return pd.DataFrame(columns)


def _level(panel: PanelFigures) -> str:
    return f"{fixed(panel.nll, 3)} {interval(panel.lo, panel.hi, 3)}"


def present(result: WhatIf, spec: WhatIfSpec) -> list[Block]:
    """A panel picked by hand beside the one that it is compared with."""
    few = (
        f"From {result.planned_splits:,} splits, so that an answer is quick; what is computed from "
        f"{spec.settings.splits:,} differs a little."
    )
    return [
        Answer(what_if_sentence(result)),
        Caveat(BY_HAND),
        drawing(what_if(result), "NLL of both panels, with intervals"),
        Table(as_columns(what_if_table(result))),
        *([Paragraph(few, quiet=True)] if result.planned_splits < spec.settings.splits else []),
        Method(
            f"Both panels are fitted on the same {result.n_calibration:,.0f} labels of every split "
            f"and scored on the same {result.n_evaluation:,.0f} items. A constant score through "
            f"the same calibrator gives NLL {fixed(result.constant_nll, 3)}."
        ),
    ]
