"""Backends on the command line, in Python and for the dashboard: the figures are the same."""

import json

import pandas as pd
import pytest

import judgepanel as jp
from judgepanel.service.basics import ServerProblem
from judgepanel.studies import runner as cluster
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.ui.server import close_workspaces, open_workspace
from tests.dask_cluster import dask_cluster
from tests.service.counting import finish


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    with dask_cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 120.0)


def test_a_scheduler_on_the_command_line_changes_no_figure(cli, clean, tmp_path, dask, monkeypatch):
    def table(name, *options):
        out = tmp_path / f"{name}.json"
        ran = cli("curve", clean, "--splits", 12, "--out", out, *options)
        assert ran.status == 0, ran.err
        return json.loads(out.read_text("utf-8"))["table"]

    here = table("here", "--jobs", 1)
    assert table("dask", "--scheduler", dask.address) == here
    monkeypatch.setenv(cluster.SCHEDULER, dask.address)
    assert table("variable", "--backend", "dask") == here
    assert table("loky", "--backend", "loky", "--jobs", 2) == here


def test_nor_does_it_in_python_or_in_the_dashboard(clean, tmp_path, dask, monkeypatch):
    votes = jp.load(clean)
    here = jp.curve(votes, splits=12, jobs=1).frame()
    there = jp.curve(votes, splits=12, backend=dask.address).frame()
    pd.testing.assert_frame_equal(there, here, check_exact=True)
    monkeypatch.setenv("JUDGEPANEL_BACKEND", "dask")
    monkeypatch.setenv(cluster.SCHEDULER, dask.address)
    spec = PanelCurveSpec(settings=Settings(splits=12))
    try:
        space = open_workspace(f"sqlite:///{tmp_path / 'dask.db'}", str(tmp_path))
        space.put_votes(votes.matrix)
        space.submit(PANEL_CURVE, votes.matrix, spec)
        assert finish(space, PANEL_CURVE, votes.matrix, spec).status == "done"
        shown = space.result(PANEL_CURVE, votes.matrix.sha256, spec).result.frame()
    finally:
        close_workspaces()
    pd.testing.assert_frame_equal(shown, here, check_exact=True)


def test_a_dashboard_without_the_address_of_its_scheduler_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGEPANEL_BACKEND", "dask")
    monkeypatch.delenv(cluster.SCHEDULER, raising=False)
    with pytest.raises(ServerProblem, match="needs the address of a scheduler; allowed: tcp://"):
        open_workspace(f"sqlite:///{tmp_path / 'own.db'}", str(tmp_path))


def test_a_scheduler_that_cannot_be_used_is_refused_in_one_line(refused, clean, monkeypatch):
    monkeypatch.delenv(cluster.SCHEDULER, raising=False)
    line = refused("curve", clean, "--splits", 2, "--backend", "dask")
    assert "the backend dask needs the address of a scheduler; allowed:" in line
