"""A small result of every study, computed once per session."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.studies.contract import Settings, Spec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

JUDGES = make_votes(4, 80, 6).judges[:2]
SETTINGS = Settings(splits=2)
QUICK: dict[str, dict[str, Any]] = {
    "recommend": {"folds": 3},
    "curators": {"curators": ("accuracy",)},
    "group_change": {"by": "judges", "group": JUDGES},
    "permutation": {"permutations": 9},
    "narrow_band": {"replicates": 2, "widths": (0.1, 0.3), "rhos": (0.0,)},
    "method_grid": {"aggregators": ("one_coin", "majority"), "calibrators": ("none", "beta")},
}
"""Options with which a study takes less than a second."""


@cache
def votes(*, one_class=False):
    """80 items of two kinds, 6 judges."""
    plain = make_votes(4, 80, 6, low=0.55, high=0.75, one_class=one_class)
    return replace(plain, features=pd.DataFrame({"kind": ["chat", "code"] * 40}))


def spec_of(name):
    """A quick spec of a study."""
    spec: Spec = PRESENTATIONS[name].study.spec(settings=SETTINGS, **QUICK.get(name, {}))
    return spec


@cache
def recommended():
    """What is recommended for 80 items and 6 judges: an average."""
    votes = make_votes(3, 80, 6)
    return run(RECOMMEND, votes, RecommendSpec(Settings(splits=3), folds=3), jobs=1)


@cache
def result_of(name, *, one_class=False):
    """The result of a study under its quick spec."""
    return run(PRESENTATIONS[name].study, votes(one_class=one_class), spec_of(name), jobs=1)
