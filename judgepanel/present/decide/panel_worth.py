"""Presentation of what panels of the best judges are worth in labels."""

from __future__ import annotations

import numpy as np

from judgepanel.present.blocks import Answer, Block, Method, Table
from judgepanel.present.decide.estimate import LITTLE, default_specs
from judgepanel.present.study import Entry
from judgepanel.studies.decide.estimate import EstimateSpec
from judgepanel.studies.decide.panel_worth import PANEL_WORTH, PanelWorth
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import result_table
from judgepanel.words.text import counted


def panel_worth_sentence(result: PanelWorth) -> str:
    """Return the size that answers narrowest beside that of lowest NLL."""
    sentence = _sentence(result)
    return f"{sentence} {CODING}" if result.measures_coding else sentence


def _sentence(result: PanelWorth) -> str:
    place = result.narrowest
    if not np.isfinite(result.worth[place]):
        return "No item has a label, so there is no rate."
    if result.all_labelled:
        return "Every item has a label, so the votes add nothing to the labels."
    if result.worth[place] < LITTLE:
        return "No panel helps: labels alone give as narrow an interval."
    labels = counted(result.n_labels, "label")
    most = (
        f"{labels} are worth most with {_panel(result, place)}, {result.worth_labels[place]:,.0f}"
    )
    if result.lowest < 0:
        return f"{most}."
    if result.lowest == place:
        return f"{most}, and the NLL is lowest there, too."
    return f"{most}; the NLL is lowest with {_panel(result, result.lowest)}."


def _panel(result: PanelWorth, place: int) -> str:
    k, n = int(result.k[place]), int(result.k[-1])
    if k == n:
        return f"all {n:,} judges"
    return "the best judge" if k == 1 else f"the best {k:,} judges"


def present(result: PanelWorth, spec: EstimateSpec) -> list[Block]:
    """Present worth and NLL by panel size."""
    return [
        Answer(panel_worth_sentence(result)),
        Table(
            result_table(result),
            "Panels of the best judges. Differences of a few per cent are chance.",
        ),
        Method(
            "The best judges are those whose votes correlate most with the labels. They are chosen "
            "and fitted on nine tenths of the labels and predict the others, as all judges do in "
            "the estimate. 'Labels' is how many labels alone would give an interval as narrow. "
            "NLL is that of the same proxies on labelled items. The size is chosen in hindsight: "
            "the estimate uses all judges, whose weights are chosen out of fold."
        ),
    ]


ENTRY = Entry(PANEL_WORTH, present, default_specs)
