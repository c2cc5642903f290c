"""Settings: copies of items are grouped once per run, and warned about where they are not."""

from dataclasses import replace

import numpy as np

from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes.checks import group_copies
from judgepanel.votes.simulate import SimulationSpec, simulate

ONCE = simulate(SimulationSpec(n_items=60, n_judges=12, seed=4))
TWICE = replace(
    ONCE,
    votes=np.tile(ONCE.votes, (2, 1)),
    labels=np.tile(ONCE.labels, 2),
    item_ids=tuple(f"item {i}" for i in range(2 * ONCE.n_items)),
    groups=None,
    features=None,
    ties=None,
)


def curve(votes, *, group_duplicates):
    settings = Settings(splits=2, group_duplicates=group_duplicates)
    return run(PANEL_CURVE, votes, PanelCurveSpec(settings, calibrators=("none",)), jobs=1)


def test_a_run_groups_copies_of_items_where_the_settings_ask_for_it():
    grouped, by_hand = (
        curve(TWICE, group_duplicates=True),
        curve(group_copies(TWICE), group_duplicates=False),
    )
    for left, right in zip(grouped.nll, by_hand.nll, strict=True):
        assert left.tobytes() == right.tobytes()
    assert grouped.warnings == by_hand.warnings


def test_copies_that_are_counted_apart_are_a_warning_of_every_result():
    warned = [
        any(
            "Items repeat" in warning
            for warning in curve(TWICE, group_duplicates=together).warnings
        )
        for together in (False, True)
    ]
    assert warned == [True, False]
