"""Start, with votes: what was read of a file, its columns, the checks and the settings.

Start, after an upload: the file as it is read, and controls for all that is guessed about it.

Every column has its role above its first cells. What a visitor changes is kept beside the upload,
and the file is read again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan
from operator import setitem
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.figures.judges import coverage_strip, level_bars
from judgepanel.intake.answer import ColumnPreview, Preview, Refusal
from judgepanel.present import blocks, pages
from judgepanel.studies.contract import AUTO_SPLITS, MOST_SPLITS, Settings
from judgepanel.ui import frame, render, session
from judgepanel.ui.pages.home import choose_two, manage, outcome
from judgepanel.ui.pages.start import JUDGES, LABELS, VOTES
from judgepanel.ui.render import table as draw_table
from judgepanel.ui.uploads import Upload, forget_uploads, keep_source, read_uploads
from judgepanel.votes import TASKS, InputError, Loaded, VoteMatrix, checks, grades, matrix
from judgepanel.votes.choices import ROLES_FILE, Choices, Thresholds
from judgepanel.votes.errors import quote_value
from judgepanel.votes.roles import UNUSED
from judgepanel.words.outputs import coverage_sentence, coverage_table
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.text import counted, in_html, percent, plain

TASK_NAMES = {
    "pairwise": "Pairwise: which of two responses is better",
    "pointwise": "Pointwise: is this one response good",
}
ROLES = {
    "id": "item id",
    "label": "label",
    "judge": "judge",
    "judge name": "name of the judge",
    "verdict": "verdict",
    "group": "keep together",
    "feature": "item feature",
    "system": "system",
    "order": "order shown",
    "run": "repeated run",
    "ignore": "left out",
    "text": "text, left out",
    "beside": "about a verdict",
}
"""Names of roles on the page; the last two are never chosen, only guessed."""
_SINGLE = {role: f"{role}_column" for role in ("label", "group", "verdict", "order", "run")}
_SEVERAL = {
    "id": "id_column",
    "judge": "judge_columns",
    "judge name": "judge_column",
    "system": "system_column",
    "feature": "features",
    "ignore": "ignore",
}
_ONE_AT_A_TIME = (*_SINGLE, "id", "judge name")
_MEANINGS = {"": "not known", "=1": "1", "=0": "0", "=tie": "a tie", "=": "no verdict"}
_FIRST, _FEW, _COLUMN = 7, 4, 134
"""Columns that are shown first, those of them that are no judges, and their width in pixels."""
_IN_A_ROW, _AT_ONCE = 4, 24
_MOST_ROWS, _NAME_WIDTH = 10, 180
_ONE_SCALE = 2.0
"""Judges share a scale if all grades together span at most this many times the fewest's."""
_LABEL_LENGTH = 40
_STATE = "file-choices"


@dataclass
class FileChoices:
    """What a visitor has chosen about an upload: roles and meanings by column and word."""

    file: object = None
    label_file: object = None
    roles: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def choices(self) -> Choices:
        """Return the choices for the reader."""
        given: dict[str, Any] = dict(self.options)
        for role, choice in (_SINGLE | _SEVERAL).items():
            names = tuple(name for name, own in self.roles.items() if own == role)
            if names:
                given[choice] = names[-1] if role in _SINGLE else names
        given["words"] = {word: code[1:] for word, code in self.words.items() if code}
        return Choices.of(**given)

    def set_role(self, name: str, role: str, preview: Preview) -> None:
        """Give a column a role; another column of this role gives it up if it was guessed."""
        others = {column.name: column.role for column in preview.columns if column.name != name}
        same = [other for other, own in others.items() if own == role]
        if role in _ONE_AT_A_TIME:
            self.roles |= dict.fromkeys((n for n in same if n not in self.roles), "ignore")
            if role in _SINGLE:
                self.roles |= {n: "ignore" for n, own in self.roles.items() if own == role}
        elif role == "judge" and preview.n_columns > len(preview.columns):
            raise InputError(
                f"only {len(preview.columns)} of {preview.n_columns:,} columns are shown",
                remedy="name the judges on the command line, with --judge-columns",
            )
        elif role == "judge":
            self.roles |= dict.fromkeys(same, "judge")
        self.roles[name] = role


def choices_for(votes: Upload, labels: Upload | None) -> FileChoices:
    """Return what was chosen about these votes: nothing yet of new ones, nor of new labels."""
    file, label_file = _identity(votes), _identity(labels)
    chosen: FileChoices | None = st.session_state.get(_STATE)
    if chosen is None or chosen.file != file:
        chosen = st.session_state[_STATE] = FileChoices(file, label_file)
    if chosen.label_file != label_file:
        chosen.label_file = label_file
        for option, widget in (("label_column", "label_column"), ("label_threshold", "label-cut")):
            chosen.options.pop(option, None)
            st.session_state.pop(widget, None)
    return chosen


def _identity(upload: Upload | None) -> object:
    return None if upload is None else (id(upload), upload.name, len(upload.data))


def _take(choices: dict[str, Any], name: str, key: str) -> None:
    """Keep what the control with this key was changed to."""
    choices[name] = st.session_state[key]


def _selected(
    title: str, option: str, options: tuple[str, ...], chosen: FileChoices, placeholder: str
) -> None:
    st.selectbox(
        title,
        options,
        index=None,
        key=option,
        placeholder=placeholder,
        format_func=lambda text: plain(text, 60),
        on_change=_take,
        args=(chosen.options, option, option),
    )


def choose_task(preview: Preview, chosen: FileChoices) -> None:
    """Ask what an item is; nothing is chosen where the file does not say it."""
    key = f"task-{preview.task}-{preview.sure}"
    st.radio(
        "What is an item?",
        TASKS,
        index=TASKS.index(preview.task) if preview.sure and preview.task else None,
        format_func=lambda name: TASK_NAMES[name],
        key=key,
        horizontal=True,
        on_change=_take,
        args=(chosen.options, "task", key),
        help="The order of the two responses of a pair is arbitrary. The file does not always say "
        "whether there are two.",
    )


def choose_roles(preview: Preview, chosen: FileChoices, refusal: Refusal | None = None) -> None:
    """Show the first rows of the file, each column below its role, which can be changed.

    Columns beyond the first few fold away. The cell that was refused is marked.
    """
    # Those with a role, and some of the judges.
    judges = [column for column in preview.columns if column.role == "judge"]
    others = sorted(
        (column for column in preview.columns if column.role != "judge"),
        key=lambda column: column.role in UNUSED,
    )
    first = [*others[: max(_FEW, _FIRST - len(judges))], *judges][:_FIRST]
    with st.container(horizontal=True, gap="small", key="file-table"):
        for column in first:
            with st.container(width=_COLUMN, gap="small"):
                _role_of(column, preview, chosen, refusal)
    if columns := [column for column in preview.columns if column not in first]:
        with st.expander(f"The other {counted(preview.n_columns - len(first), 'column')}"):
            _other_columns(columns, preview, chosen, refusal)
    left, right = st.columns(2)
    _switch(left, "Rows are judges", "transpose", chosen, "Turn the table: its columns are items.")
    _switch(
        right, "Turn all votes around", "turn", chosen, "1 becomes 0 in the votes, not in labels."
    )


def _other_columns(
    columns: list[ColumnPreview], preview: Preview, chosen: FileChoices, refusal: Refusal | None
) -> None:
    if len(columns) > _AT_ONCE:
        n_pages = -(-len(columns) // _AT_ONCE)
        page = st.number_input(
            f"Columns {_AT_ONCE} at a time: part", 1, n_pages, key="columns-part"
        )
        columns = columns[(page - 1) * _AT_ONCE : page * _AT_ONCE]
    for start in range(0, len(columns), _IN_A_ROW):
        row = columns[start : start + _IN_A_ROW]
        for place, column in zip(st.columns(_IN_A_ROW), row, strict=False):
            with place.container(border=True):
                _role_of(column, preview, chosen, refusal)


def _role_of(
    column: ColumnPreview, preview: Preview, chosen: FileChoices, refusal: Refusal | None
) -> None:
    key = f"role-{column.name}"

    def changed() -> None:
        try:
            chosen.set_role(column.name, st.session_state[key], preview)
        except InputError as error:
            st.toast(error.problem)

    st.session_state[key] = column.role
    whole = in_html(plain(column.name, 200), 300)
    st.html(
        f'<p class="jp-cells jp-as jp-as-{column.role.replace(" ", "-")}" title="{whole}">'
        f"<b>{in_html(column.name, 40)}</b></p>"
    )
    st.selectbox(
        _label(column.name),
        [role for role in ROLES if role not in ("text", "beside") or role == column.role],
        key=key,
        format_func=lambda role: ROLES[role],
        on_change=changed,
        label_visibility="collapsed",
    )
    reason = in_html(column.reason, 200)
    st.html(
        f'<p class="jp-cells" title="{reason}">{reason}</p>'
        f'<p class="jp-cells jp-rows">{"<br>".join(_cells(column, refusal))}</p>'
    )


def _cells(column: ColumnPreview, refusal: Refusal | None) -> Iterator[str]:
    """Yield the cells as HTML, and the refused one with its row if it is in this column."""
    here = refusal is not None and refusal.column == column.name
    value, row = (refusal.value, refusal.row) if refusal is not None and here else (None, None)
    for cell in column.cells:
        text = in_html(cell, 40) or "&nbsp;"
        yield f"<mark>{text}</mark>" if cell == value else text
    if value is not None and row is not None and value not in column.cells:
        yield f"row {row:,}: <mark>{in_html(value, 40)}</mark>"


def _label(name: str) -> str:
    """Return the hidden label of a control: letters and digits, of which Markdown makes nothing."""
    return " ".join(re.findall(r"[^\W_]+", name))[:_LABEL_LENGTH] or "unnamed"


def _switch(where: Any, title: str, option: str, chosen: FileChoices, about: str) -> None:
    key, options = f"switch-{option}", chosen.options
    given, args = options.get(option, False), (options, option, key)
    where.checkbox(title, given, key=key, on_change=_take, args=args, help=about)


def choose_words(preview: Preview, chosen: FileChoices) -> None:
    """Ask what words mean that are no known verdicts, in labels and votes alike."""
    if not preview.words:
        return
    with st.expander("Words", expanded=True):
        frame.caption(
            "The meaning of these words is not known. Say it, for votes and labels alike."
        )
        for start in range(0, len(preview.words), _IN_A_ROW):
            row = preview.words[start : start + _IN_A_ROW]
            for place, (word, count) in zip(st.columns(_IN_A_ROW), row, strict=False):
                _meaning_of(place, word, count, chosen)


def _meaning_of(where: Any, word: str, count: int, chosen: FileChoices) -> None:
    key = f"word-{word}"
    cells = counted(count, "cell") if count else "chosen before"
    # As HTML: a label is Markdown, which would make links of a word.
    meaning = in_html(f"{plain(word, 200)}: {cells}", 300)
    where.html(f'<p class="jp-cells" title="{meaning}"><b>{in_html(word, 40)}</b> {cells}</p>')
    where.selectbox(
        _label(word),
        list(_MEANINGS),
        index=list(_MEANINGS).index(chosen.words.get(word, "")),
        key=key,
        format_func=lambda code: _MEANINGS[code],
        on_change=_take,
        args=(chosen.words, word, key),
        label_visibility="collapsed",
    )


def choose_cuts(preview: Preview, chosen: FileChoices) -> None:
    """Where labels on a scale and the judges' grades are cut."""
    if not preview.levels and not preview.graded:
        return
    needed = bool(preview.levels) or any(judge.scale is None for judge in preview.graded)
    with st.expander("Grades", expanded=needed):
        if preview.levels:
            _label_cut(preview.levels, chosen)
        if preview.graded:
            _thresholds(preview.graded, chosen)


def _label_cut(levels: tuple[tuple[float, int], ...], chosen: FileChoices) -> None:
    total = sum(count for _, count in levels)
    names: dict[float | None, str] = {None: "not cut yet"}
    for place in range(1, len(levels)):
        cut = levels[place - 1][0] / 2.0 + levels[place][0] / 2.0
        share = sum(count for _, count in levels[place:]) / total
        names[cut] = f"{levels[place][0]:g} and more ({100 * share:.0f} %)"
    st.select_slider(
        "Labels that count as 1",
        list(names),
        value=chosen.options.get("label_threshold"),
        key="label-cut",
        format_func=lambda cut: names.get(cut, ""),
        on_change=_take,
        args=(chosen.options, "label_threshold", "label-cut"),
        help="Labels: " + ", ".join(f"{value:g} ({count:,})" for value, count in levels),
    )

    def use(cut: float) -> None:
        chosen.options["label_threshold"] = st.session_state["label-cut"] = cut

    _proposal("label", levels, chosen.options.get("label_threshold"), use)


def _proposal(
    what: str,
    levels: tuple[tuple[float, int], ...],
    current: float | None,
    use: Callable[[float], None],
) -> None:
    """Draw how often each grade occurs; while there is no threshold, propose a likely one."""
    cuts = grades.likely_cuts(levels)
    if not cuts:
        return
    cut, share = cuts[0]
    render.chart(
        level_bars(levels, cut if current is None else current),
        key=f"levels-{what}",
        alt=f"How often each grade of a {what} occurs, and which count as 1.",
    )
    if current is None:
        st.button(
            f"Use {cut:g} as the threshold: {percent(share)} count as 1",
            key=f"propose-{what}",
            on_click=use,
            args=(cut,),
        )


def _pooled(graded: tuple[grades.GradedJudge, ...]) -> tuple[tuple[float, int], ...]:
    """Return the grades of all judges with their counts, if they share a scale; else nothing."""
    lowest, highest = [judge.lowest for judge in graded], [judge.highest for judge in graded]
    widths = [high - low for low, high in zip(lowest, highest, strict=True)]
    if max(highest) - min(lowest) > _ONE_SCALE * min(widths):
        return ()
    counts: Counter[float] = Counter()
    for judge in graded:
        counts.update(dict(judge.values))
    return tuple(sorted(counts.items()))


def _thresholds(graded: tuple[grades.GradedJudge, ...], chosen: FileChoices) -> None:
    """Ask where grades are cut into votes: for all judges, and for each that differs.

    The table has a threshold to type, the one without it, and the range of the judge's grades.
    """
    of_all: float | None = st.number_input(
        "Threshold of all grades",
        value=None,
        key="threshold",
        placeholder="needed" if any(judge.scale is None for judge in graded) else "guessed",
        help="Where grades are cut into votes; higher grades are for label 1.",
    )
    _proposal("judge", _pooled(graded), of_all, partial(setitem, st.session_state, "threshold"))
    names = tuple(judge.judge for judge in graded)
    rows = {
        "judge": [plain(name, 60) for name in names],
        "threshold": np.full(len(graded), np.nan),
        "if blank": [_if_blank(judge, of_all) for judge in graded],
        "grades": [f"{judge.lowest:.3g} to {judge.highest:.3g}" for judge in graded],
    }
    edited = st.data_editor(
        pd.DataFrame(rows),
        key=f"thresholds-{hash(names)}",
        hide_index=True,
        height=render.ROW * (1 + min(len(graded), _MOST_ROWS)) + 3,
        disabled=["judge", "grades", "if blank"],
        placeholder="–",
        column_config={
            "judge": st.column_config.Column(width=_NAME_WIDTH),
            "threshold": st.column_config.NumberColumn(
                help="For this judge only: double-click to type a number."
            ),
            "if blank": st.column_config.Column(help="The threshold used if you type none."),
            "grades": st.column_config.Column(help="The judge's lowest and highest grade."),
        },
    )
    thresholds = thresholds_of(of_all, dict(zip(names, edited["threshold"].tolist(), strict=True)))
    if thresholds != chosen.options.get("thresholds", Thresholds()):
        chosen.options["thresholds"] = thresholds
        st.rerun()


def thresholds_of(of_all: float | None, of_judges: Mapping[str, float | None]) -> Thresholds:
    """Return the thresholds that were typed."""
    typed = {judge: cut for judge, cut in of_judges.items() if cut is not None and not isnan(cut)}
    return Thresholds(of_all, typed)


def _if_blank(judge: grades.GradedJudge, of_all: float | None) -> str:
    """How a judge's numbers are read without a threshold of its own."""
    if of_all is not None and judge.has_grades:
        return f"{of_all:g}"
    if of_all is None and judge.scale is not None:
        return f"{judge.scale.threshold:g}"
    return "needed" if judge.has_grades or (of_all is not None and judge.lowest < 0.0) else "votes"


_SPLITS_HELP = (
    f"How often the items are split at random. Empty: as many as the verdict needs, at most "
    f"{MOST_SPLITS}."
)
_ORIENTATION_HELP = (
    "auto uses the items as given when labels are balanced, and each item together with its swap "
    "when they are not, so that no calibrator learns how the file was coded."
)


@frame.show_errors()
def existing(context: frame.PageContext) -> None:
    """Draw the page of an analysis: its votes, the checks and the settings."""
    votes = context.votes
    outcome()
    settings = context.analysis.settings
    sentence = votes_sentence(votes, group_duplicates=settings.group_duplicates)
    frame.answer(sentence, "keep" if votes.minority_share > 0 else "open")
    if context.analysis.coverage is not None:
        render.section_answer(coverage_sentence(context.analysis.coverage))
        frame.link_to(context, pages.COVERAGE_PAGE, "See what was read from the outputs")
    order, repeats = checks.item_checks(votes, group_duplicates=settings.group_duplicates)
    frame.notes((*context.analysis.notes, *_notices(votes, settings)))
    left, right = st.columns(2)
    with left:
        render.check_card(order)
    with right:
        render.check_card(repeats, lambda: render.offer_grouping(context))
    _strip(votes)
    if not session.is_reader():
        with st.expander("Settings of this analysis"):
            changed = _settings_form(votes, settings)
            if changed is not None and changed != settings:
                session.open_with(context.analysis, changed)
        analyses = session.workspace().list()
        if others := [other.id for other in analyses if other.id != context.analysis.id]:
            with st.expander("Compare with another analysis"):
                choose_two(analyses, context.analysis.id, others[0])
        with st.container(horizontal=True, key="manage"):
            manage(context.analysis)
    render.how(
        "Votes and labels are validated once and stored under the hash of their content. Accuracy "
        "is the share of correct verdicts on labelled items, with a Wilson 95 % interval.",
        render.inspection_of(context),
    )
    frame.next_question(context.analysis)


def _notices(votes: VoteMatrix, settings: Settings) -> tuple[str, ...]:
    """What reading these votes set aside; votes that no study can use keep their settings."""
    policy, protocol = settings.orientation, settings.protocol
    try:
        return matrix.orient(votes, policy, protocol=protocol, seed=settings.seed).notices
    except InputError as error:
        frame.problem(str(error))
        return ()


def uploaded(
    upload: Upload, labels: Upload | None, judges: Upload | None, beside: DeltaGenerator
) -> None:
    """Read an upload; what was read, or why nothing was, is one sentence ``beside`` the files."""
    chosen = choices_for(upload, labels)
    with beside:
        st.header("What was read")
        try:
            read = read_uploads(upload, labels, judges, chosen.choices())
        except InputError as error:
            frame.problem(str(error))
            return
        preview, loaded = read.preview, read.loaded
        if loaded is not None:
            render.section_answer(loaded.reading.sentence)
        refusal = read.refusal
        if refusal is not None:
            frame.problem(str(refusal.error()))
            if preview is None and refusal.choices:  # Lists of which one has to be chosen.
                about = "the list with the votes"
                _selected("List of records", "records", refusal.choices, chosen, about)
    if preview is None:
        return
    if loaded is None and preview.coverage is not None:
        render.section_answer(coverage_sentence(preview.coverage))
        outputs = coverage_table(preview.coverage)
        draw_table(blocks.Table(outputs, "Outputs by judge", height=380), key="outputs")
    group = "" if loaded is None else loaded.group
    if group and any(group == column.name for column in preview.columns):
        render.section_answer(f"Judges err alike on items with the same {quote_value(group)}.")
        st.button(
            "Keep these items together",
            key="group-by",
            type="primary",
            on_click=chosen.set_role,
            args=(group, "group", preview),
        )
    choose_task(preview, chosen)
    choose_words(preview, chosen)
    choose_cuts(preview, chosen)
    st.header("Columns")
    if preview.label_file:
        _selected("Column of the labels", "label_column", preview.label_file, chosen, "as guessed")
    choose_roles(preview, chosen, refusal)
    if loaded is not None:
        st.download_button(
            f"Download these columns ({ROLES_FILE})",
            read.roles_file,
            ROLES_FILE,
            "application/toml",
            key="roles-file",
            on_click="ignore",
            help=f"For the command line (--roles={ROLES_FILE}) and judgepanel.load.",
        )
        _order, repeats = read.checks
        _analyse(loaded, upload, labels, repeats, ready=preview.sure)
        for place, check in zip(st.columns(2), read.checks, strict=True):
            with place:
                render.check_card(check)
        _strip(loaded.votes)


def _analyse(
    loaded: Loaded, upload: Upload, labels: Upload | None, repeats: checks.Check, *, ready: bool
) -> None:
    """Say what was read, and offer to analyse it once it is known what an item is."""
    sentence = votes_sentence(loaded.votes, repeats=repeats)
    frame.answer(sentence, "keep" if loaded.votes.minority_share > 0 else "open")
    if loaded.coverage is not None:
        render.section_answer(coverage_sentence(loaded.coverage))
    elif loaded.forms != "0/1":
        frame.caption(f"Verdicts are written as {loaded.forms}.")
    frame.notes(loaded.warnings)
    if not ready:
        frame.caption("Say above whether an item is a pair of responses or a single one.")
    if st.button("Analyse", type="primary", key="analyse", width="stretch", disabled=not ready):
        stem = plain(upload.name.split(".", maxsplit=1)[0] or upload.name, 60)
        analysis = session.workspace().create(loaded, Settings(), stem)
        forget_uploads(VOTES, LABELS, JUDGES)
        if not loaded.votes.labelled.all():
            keep_source(analysis.votes_sha256, upload, labels, loaded.choices)
        st.switch_page(pages.OVERVIEW_PAGE.file, query_params={session.PARAMETER: analysis.id})


def _settings_form(votes: VoteMatrix, settings: Settings) -> Settings | None:
    """New settings if the form was sent; if they do not fit, an error beside the form."""
    with st.form("settings", border=False):
        first, second, third = st.columns(3)
        place = matrix.POLICIES.index(settings.orientation)
        orientation = first.selectbox("Orientation", matrix.POLICIES, place, help=_ORIENTATION_HELP)
        splits = second.number_input(
            "Splits",
            min(10, settings.most_splits),
            max(1000, settings.most_splits),
            settings.splits,
            step=10,
            placeholder=AUTO_SPLITS,
            help=_SPLITS_HELP,
        )
        seed = third.number_input("Seed", 0, 2**31 - 1, settings.seed)
        chosen = st.multiselect(
            "Judges that take part",
            votes.judges,
            default=settings.judges or (),
            format_func=lambda name: plain(name, 60),
            placeholder="all judges",
        )
        grouped = st.checkbox(
            "Group duplicates",
            settings.group_duplicates,
            help="Items with the same votes and label, beyond what chance allows, are kept in one "
            "group: on one side of every split, and counted once in variances.",
        )
        sent = st.form_submit_button("Apply as a new analysis")
    if not sent:
        return None
    try:
        changed = replace(
            settings,
            orientation=orientation,
            judges=tuple(chosen) or None,
            splits=None if splits is None else int(splits),
            seed=int(seed),
            group_duplicates=grouped,
        )
        picked = votes.with_judges(chosen) if chosen else votes
        matrix.orient(picked, changed.orientation, protocol=changed.protocol, seed=changed.seed)
    except InputError as error:
        frame.problem(str(error))
        return None
    return changed


def _strip(votes: VoteMatrix) -> None:
    st.header("Votes by judge")
    judges = session.judges_of(votes)
    alt = "Share of items with a correct, incorrect or missing verdict, one bar per judge."
    render.chart(coverage_strip(judges), key="coverage", alt=alt)
    with st.expander("Table of the judges"):
        draw_table(blocks.Table(render.judge_rows(judges)), key="judges")
