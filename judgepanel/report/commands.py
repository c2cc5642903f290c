"""The exact command that reproduces a result."""

from __future__ import annotations

import shlex

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.studies.panel_curve import PanelCurveSpec
from judgepanel.studies.settings import Settings


def curve_command(file: str, spec: PanelCurveSpec, *, task: str, columns: tuple[str, ...]) -> str:
    """The ``curve`` command of a spec; ``columns`` are extra options for reading the file."""
    parts = ["curve", file, *_shared(spec.settings, task), *columns]
    parts += ["--aggregator", spec.aggregator, "--calibrators", ",".join(spec.calibrators)]
    if spec.ranking != "accuracy":
        parts += ["--ranking", spec.ranking]
    if spec.ks is not None:
        parts += ["--k", ",".join(str(k) for k in spec.ks) or "every"]
    parts += ["--top", ",".join(str(k) for k in spec.compare), "--out", "curve.json"]
    return _shell(parts)


def recommend_command(
    file: str, spec: RecommendSpec, *, task: str, columns: tuple[str, ...]
) -> str:
    """The ``recommend`` command of a spec."""
    parts = ["recommend", file, *_shared(spec.settings, task), *columns, "--out", "panel.json"]
    return _shell(parts)


def score_command(file: str) -> str:
    """How new votes are scored with an exported panel."""
    return _shell(["score", "panel.json", file, "--out", "scored.csv"])


def inspect_command(file: str, *, task: str, columns: tuple[str, ...]) -> str:
    """How a file's checks are printed."""
    return _shell(["inspect", file, "--task", task, *columns])


def _shared(settings: Settings, task: str) -> list[str]:
    parts = ["--task", task, "--orientation", settings.orientation]
    if settings.protocol != "honest":
        parts += ["--protocol", settings.protocol]
    if settings.judges is not None:
        parts += ["--judges", "judges.txt"]
    return [*parts, "--splits", str(settings.splits), "--seed", str(settings.seed)]


def _shell(parts: list[str]) -> str:
    words = [f"./{part}" if part.startswith("-") and "." in part else part for part in parts]
    return "./run cli " + " ".join(shlex.quote(" ".join(word.split("\n"))) for word in words)
