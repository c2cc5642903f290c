"""Figures on another machine are the same except for the last digits, which depend on its BLAS."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

FIGURES = """
import json
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.studies.contract import Settings
from judgepanel.votes.simulate import sample_votes

settings = Settings(splits=2)
figures = []
for aggregator in ("one_coin", "joint"):
    spec = PanelCurveSpec(settings, aggregator, ("none", "temperature", "beta"), ks=(3, 10))
    result = run(PANEL_CURVE, sample_votes("clean_pairwise"), spec, jobs=1)
    figures += [result.nll.value.ravel().tolist(), result.nll.hi.ravel().tolist()]
print(json.dumps(figures))
"""


def figures(**environment):
    ran = subprocess.run(
        [sys.executable, "-c", FIGURES],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(ran.stdout), dtype=np.float64)


@pytest.fixture(scope="module")
def here():
    return figures(OPENBLAS_NUM_THREADS="1")


def test_another_blas_kernel_moves_no_figure_beyond_its_last_digits(here):
    """Prescott is the plainest kernel of OpenBLAS, which every x86-64 runs; others ignore it."""
    other = figures(OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Prescott")
    np.testing.assert_allclose(other, here, rtol=1e-9)


def test_a_second_run_on_this_machine_gives_the_same_bits(here):
    np.testing.assert_array_equal(figures(OPENBLAS_NUM_THREADS="1"), here)
