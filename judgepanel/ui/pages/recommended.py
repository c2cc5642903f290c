"""Recommended panel: which judges, which pipeline; take it away; score new votes with it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from judgepanel.decision.panel_file import PanelFile, export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.score import score
from judgepanel.decision.snippet import script
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.report.commands import recommend_command, score_command
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    certainty_sentence,
    pipeline_name,
    recommendation_sentence,
)
from judgepanel.report.tables import candidate_table, csv_text
from judgepanel.ui.frame import Shown, answer, next_step, notes, problem
from judgepanel.ui.parts import how, table
from judgepanel.ui.session import judges_of
from judgepanel.ui.text import csv_name, plain
from judgepanel.ui.work import show_result
from judgepanel.votes import InputError, load_votes
from judgepanel.votes.checks import check_orientation

_PREVIEW = 200


def page(shown: Shown) -> None:
    """The recommendation as it grows, exports, scoring."""
    spec = RecommendSpec(settings=shown.analysis.settings)
    show_result(RECOMMEND, shown, spec, lambda found: _draw(shown, spec, found))
    next_step("pages/panel_curve.py", "the curve behind it", shown.analysis)


def _draw(shown: Shown, spec: RecommendSpec, found: Recommendation) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    answer(so_far + recommendation_sentence(found), _tone(found))
    st.html(f'<p class="jp-note">{certainty_sentence(found)}</p>')
    notes(found.warnings)
    st.html(
        '<p class="jp-note">Chosen among panels under majority and one-coin, the ones that can be '
        "exported yet. Another aggregator may be lower: see Methods.</p>"
    )
    st.plotly_chart(
        kept_judges(judges_of(shown.votes), found.model.judges, found.set_aside),
        key="kept",
        alt="Accuracy of every judge with its interval; kept and left out are told apart.",
        config={"displayModeBar": False},
    )
    runner = found.runner_up
    st.caption(
        f"Runner-up in the final choice: {runner.panel} with "
        f"{pipeline_name(runner.aggregator, runner.calibrator)}, cross-validated NLL "
        f"{fixed(runner.inner_nll, 3)} against {fixed(found.chosen.inner_nll, 3)}. A candidate's "
        "own figures do not allow for having been picked among many; the expected NLL above does."
    )
    if found.partial:
        st.caption("The panel can be exported when all splits are done.")
    else:
        panel = load_panel(_panel_text(shown, spec, found))
        _exports(shown, spec, found)
        _scoring(shown, panel)
    st.header("All candidates")
    candidates = candidate_table(found).replace(
        {"aggregator": AGGREGATOR_NAMES, "calibrator": CALIBRATOR_NAMES}
    )
    table(candidates, key="candidates")
    how(
        f"In each of {found.n_splits} splits (seed {found.seed}) every candidate is "
        f"cross-validated on the {found.n_calibration:,.0f} calibration items alone "
        f"({spec.folds} folds, ranking and calibration inside), the best is taken and scored "
        f"on the other {found.n_evaluation:,.0f}: that mean is the expected NLL above, selection "
        f"included. The panel in the file repeats the choice on all {found.n_items:,} labelled "
        "items. The reference is the paper's default: all judges, one-coin, beta.",
        recommend_command(
            shown.analysis.file, spec, task=shown.votes.task, columns=shown.analysis.columns
        ),
    )


def _tone(found: Recommendation) -> str:
    if len(found.model.judges) == found.n_judges:
        return "keep"
    return "open" if found.verdict == "undecided" else "curate"


def _panel_text(shown: Shown, spec: RecommendSpec, found: Recommendation) -> str:
    checks = (check_orientation(shown.votes),)
    return panel_json(export_panel(found, shown.votes, spec, checks))


def _exports(shown: Shown, spec: RecommendSpec, found: Recommendation) -> None:
    st.header("Take it away")
    left, middle, right, _ = st.columns([1, 1, 1, 1])
    left.download_button(
        "Panel (panel.json)",
        data=lambda: _panel_text(shown, spec, found),
        file_name="panel.json",
        mime="application/json",
        on_click="ignore",
        type="primary",
        width="stretch",
    )
    middle.download_button(
        "Plain Python that scores",
        data=script,
        file_name="score_panel.py",
        mime="text/x-python",
        on_click="ignore",
        width="stretch",
        help="Needs panel.json beside it and no package; agrees with the library to the last bit.",
    )
    right.download_button(
        "Judges and weights (CSV)",
        data=lambda: csv_text(_weights(found)),
        file_name=csv_name(shown.analysis.name, "panel-judges.csv"),
        mime="text/csv",
        on_click="ignore",
        width="stretch",
    )


def _weights(found: Recommendation) -> pd.DataFrame:
    model = found.model
    kept = pd.DataFrame(
        {
            "judge": list(model.judges),
            "status": "kept",
            "weight": list(model.weights),
            "correct": [str(count) for count in model.correct],
            "voted": [str(count) for count in model.voted],
        }
    )
    others = [(name, "left out") for name in found.left_out]
    others += [(name, "set aside") for name in found.set_aside]
    rest = pd.DataFrame(others, columns=["judge", "status"]).assign(correct="", voted="")
    return pd.concat([kept, rest], ignore_index=True)


def _scoring(shown: Shown, panel: PanelFile) -> None:
    st.header("Score new votes")
    upload: Any = st.file_uploader(
        "Votes of the same judges on new items; labels are not needed", key="new_votes"
    )
    if upload is None:
        st.code(score_command("new_votes.csv"), language=None, wrap_lines=True)
        return
    try:
        loaded = load_votes(
            upload.getvalue(), name=upload.name, task=shown.votes.task, need_labels=False
        )
        scored = score(panel, loaded.votes)
    except InputError as error:
        problem(str(error))
        return
    notes((*loaded.warnings, *scored.warnings))
    frame = scored.frame()
    preview = frame.head(_PREVIEW).copy()
    preview["item_id"] = [plain(name, 120) for name in preview["item_id"]]
    table(preview, key="scored", height=260)
    st.download_button(
        f"All {len(frame):,} scores (scored.csv)",
        data=lambda: csv_text(frame),
        file_name="scored.csv",
        mime="text/csv",
        on_click="ignore",
    )
