"""A panel picked by hand, in words and a table for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.report.numbers import counted, fixed, interval, percent, sig, with_interval
from judgepanel.report.sentences import CODING, pipeline_name
from judgepanel.report.terminal import printable
from judgepanel.studies.panel.what_if_result import PanelFigures, WhatIf

BY_HAND = (
    "No interval here knows how the judges were picked. Where labels had a say in it (accuracy, "
    "worth, the recommendation, trying until it looks best) they look better here than they are "
    "on new items; only what `recommend` expects allows for choosing."
)
_FLATTERS = "if labels had a say in who they are, that flatters them."


def what_if_sentence(found: WhatIf) -> str:
    """How the panel that is kept compares."""
    text = _answer(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: WhatIf) -> str:
    kept, other = (counted(len(one.judges), "judge") for one in (found.kept, found.against))
    change = with_interval(found.delta, found.delta_lo, found.delta_hi, sign=True)
    fewer = with_interval(-found.delta, -found.delta_hi, -found.delta_lo)
    return {
        "keep all": f"These {kept} are worse than the {other} compared with: NLL {change}.",
        "curate": f"With these {kept}, NLL is lower by {fewer} than with the {other} compared "
        f"with; {_FLATTERS}",
        "no loss from keeping": f"The {other} compared with are shown to lose at most 2 % against "
        f"these {kept}, and nothing more: NLL {change} with these.",
        "no loss from curating": f"These {kept} are shown to lose at most 2 % against the {other} "
        f"compared with: NLL {change}; "
        f"{_FLATTERS}",
        "undecided": f"Undecided: with these {kept}, NLL changes by {change}.",
        "tie": f"The same {kept} on both sides.",
    }[found.verdict]


def what_if_table(found: WhatIf) -> pd.DataFrame:
    """Both panels, the one that is kept first."""
    both = (found.kept, found.against)
    columns: dict[str, list[str]] = {
        "panel": ["these judges", "compared with"],
        "judges": [f"{len(one.judges):,}" for one in both],
        "NLL": [_level(one) for one in both],
        "skill": [percent(1.0 - one.nll / found.null_nll) for one in both],
        "Brier": [fixed(one.brier, 3) for one in both],
        "accuracy": [percent(one.accuracy, 3) for one in both],
        "ECE": [fixed(one.ece, 3) for one in both],
    }
    if all(one.cost is not None for one in both):
        columns["cost"] = [sig(one.cost) for one in both if one.cost is not None]
    return pd.DataFrame(columns)


def what_if_text(found: WhatIf) -> str:
    """The answer and both panels, for a terminal."""
    lines = [
        what_if_sentence(found),
        f"{found.n_splits} splits, {pipeline_name(found.aggregator, found.calibrator)}, "
        f"orientation {found.orientation}, protocol {found.protocol}, seed {found.seed}; null NLL "
        f"{fixed(found.null_nll, 4)}.",
        BY_HAND,
        what_if_table(found).to_string(index=False),
    ]
    return printable("\n".join(lines))


def _level(one: PanelFigures) -> str:
    return f"{fixed(one.nll, 3)} {interval(one.lo, one.hi, 3)}"
