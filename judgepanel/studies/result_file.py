"""Result files: everything needed to check and reproduce a figure."""

from __future__ import annotations

import json
from typing import Any

from judgepanel import ENGINE, __version__
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Result, Spec, Study
from judgepanel.votes import VoteMatrix


def result_content(
    study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec, result: Result
) -> dict[str, Any]:
    """Return the content of a result file: study, spec, votes, engine, table, summary, warnings."""
    summary = result.summary()
    return {
        "study": study.name,
        "judgepanel": __version__,
        "engine": ENGINE,
        "spec": to_plain(spec),
        "votes": {
            "n_items": votes.n_items,
            "n_judges": votes.n_judges,
            "n_labelled": int(votes.labelled.sum()),
            "sha256": votes.sha256,
            "orientation": summary.get("orientation"),
        },
        "table": to_plain(result.frame().to_dict(orient="records")),
        "summary": to_plain(summary),
        "warnings": list(result.warnings),
    }


def result_json(content: dict[str, Any]) -> str:
    """Return the text of a result file."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
