"""panel.json: a fitted panel as a versioned file that can be checked, read and scored anywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator

from judgepanel import ENGINE, __version__
from judgepanel.decision.recommend import Recommendation, RecommendSpec
from judgepanel.models.panel import PanelModel
from judgepanel.studies.codec import to_plain
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.checks import Check

FORMAT = "judgepanel/panel"
VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class PanelFile:
    """A panel read from a file: the model that scores, and all the file says (``content``)."""

    model: PanelModel
    content: dict[str, Any]


def export_panel(
    recommendation: Recommendation,
    votes: VoteMatrix,
    spec: RecommendSpec,
    checks: tuple[Check, ...],
) -> dict[str, Any]:
    """The content of panel.json for a recommendation; it satisfies the JSON Schema."""
    model = recommendation.model
    content = {
        "format": FORMAT,
        "version": VERSION,
        "judgepanel": __version__,
        "engine": ENGINE,
        "task": votes.task,
        "orientation": recommendation.orientation,
        "votes": {
            "sha256": votes.sha256,
            "n_items": votes.n_items,
            "n_judges": votes.n_judges,
            "n_labelled": int(votes.labelled.sum()),
        },
        "judges": list(model.judges),
        "aggregator": _aggregator(model),
        "calibrator": _calibrator(model),
        "prior": model.prior,
        "n_fit": model.n_fit,
        "conformal": None,
        "figures": {
            "nll": recommendation.nll,
            "nll_lo": recommendation.lo,
            "nll_hi": recommendation.hi,
            "null_nll": recommendation.null_nll,
            "skill": 1.0 - recommendation.nll / recommendation.null_nll,
            "brier": recommendation.brier,
            "accuracy": recommendation.accuracy,
            "ece": recommendation.ece,
            "n_cal": recommendation.n_calibration,
            "n_eval": recommendation.n_evaluation,
            "n_splits": recommendation.n_splits,
            "seed": recommendation.seed,
            "note": (
                f"Measured on panels chosen and fitted on {recommendation.n_calibration:.0f} "
                f"labels; this panel was refitted on all {model.n_fit}."
            ),
        },
        "checks": [to_plain(check) for check in checks],
        "left_out": list(recommendation.left_out),
        "set_aside": list(recommendation.set_aside),
        "warnings": list(recommendation.warnings),
        "spec": to_plain(spec),
    }
    _validate(content, None)
    return content


def panel_json(content: dict[str, Any]) -> str:
    """Canonical text of a panel file; floats round-trip exactly."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_panel(text: str | bytes, *, name: str | None = None) -> PanelFile:
    """Read and check a panel file.

    Raises
    ------
    InputError
        Not JSON, not a panel, an unknown version, kind or key, or numbers that do not fit.
    """
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not a panel file: it cannot be read as JSON ({error})",
            file=name,
            allowed="a panel.json written by judgepanel",
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            "not a panel file", file=name, allowed="a panel.json written by judgepanel"
        )
    if content.get("version") != VERSION:
        raise InputError(
            "panel file of an unknown version",
            file=name,
            value=content.get("version"),
            allowed=f"version {VERSION}",
        )
    _validate(content, name)
    return PanelFile(_model(content, name), content)


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of panel.json."""
    text = resources.files("judgepanel.decision").joinpath("panel.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _aggregator(model: PanelModel) -> dict[str, Any]:
    described: dict[str, Any] = {
        "kind": model.aggregator,
        "correct": list(model.correct),
        "voted": list(model.voted),
    }
    if model.aggregator == "one_coin":
        described["weights"] = list(model.weights)
    return described


def _calibrator(model: PanelModel) -> dict[str, Any]:
    parameters: dict[str, dict[str, float]] = {
        "none": {},
        "temperature": {"slope": model.a},
        "platt": {"slope": model.a, "intercept": model.c},
        "beta": {"a": model.a, "b": model.b, "c": model.c},
    }
    kind = "temperature" if model.replaced else model.calibrator
    return {"kind": kind, **parameters[kind]}


def _model(content: dict[str, Any], name: str | None) -> PanelModel:
    judges, aggregator, found = content["judges"], content["aggregator"], content["calibrator"]
    for key in ("correct", "voted", "weights"):
        if key in aggregator and len(aggregator[key]) != len(judges):
            raise InputError(
                f"aggregator.{key} has {len(aggregator[key])} entries for {len(judges)} judges",
                file=name,
            )
    kind = found["kind"]
    slope = float(found.get("slope", 1.0))
    a, b, c = slope, -slope, float(found.get("intercept", 0.0))
    if kind == "beta":
        a, b, c = float(found["a"]), float(found["b"]), float(found["c"])
    return PanelModel(
        judges=tuple(judges),
        aggregator=aggregator["kind"],
        weights=tuple(float(w) for w in aggregator.get("weights", [1.0] * len(judges))),
        correct=tuple(aggregator["correct"]),
        voted=tuple(aggregator["voted"]),
        calibrator=kind,
        a=a,
        b=b,
        c=c,
        replaced=False,
        prior=float(content["prior"]),
        n_fit=content["n_fit"],
    )


def _validate(content: dict[str, Any], name: str | None) -> None:
    errors = sorted(Draft202012Validator(schema()).iter_errors(content), key=lambda e: e.json_path)
    if errors:
        worst = errors[0]
        raise InputError(
            f"panel file does not fit its schema at {worst.json_path}: {worst.message[:160]}",
            file=name,
        )


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")
