"""Panel curves as the tests compute them."""

import json

from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run

ALL = ("none", "temperature", "platt", "beta", "beta_clipped")
"""Calibrators."""


def spec_of(splits=10, calibrators=("none", "temperature", "beta"), compare=(3,), **shared):
    return PanelCurveSpec(
        settings=Settings(splits=splits, **shared), calibrators=calibrators, compare=compare
    )


def curve(votes, spec=None, jobs=1, **options):
    return run(PANEL_CURVE, votes, spec or spec_of(), jobs=jobs, **options)


def bits(result, *, without=()):
    """The whole result as JSON text; NaN and every last digit included."""
    plain = {name: value for name, value in to_plain(result).items() if name not in without}
    return json.dumps(plain, sort_keys=True)
