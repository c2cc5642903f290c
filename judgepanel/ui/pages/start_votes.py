"""Start, with votes: what was read of a file, its columns, the checks and the settings."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.figures.judges import coverage_strip
from judgepanel.intake.answer import Preview
from judgepanel.present.blocks import Table
from judgepanel.present.pages import COVERAGE_PAGE, CURVE_PAGE
from judgepanel.service import Analysis
from judgepanel.studies.settings import AUTO_SPLITS, MOST_SPLITS, Settings
from judgepanel.ui.frame import (
    PageContext,
    answer,
    caption,
    next_question,
    notes,
    problem,
    show_errors,
)
from judgepanel.ui.pages.home import choose_two, manage, outcome
from judgepanel.ui.pages.start import JUDGES, LABELS, VOTES
from judgepanel.ui.pages.start_columns import (
    FileChoices,
    choices_for,
    choose_cuts,
    choose_label_column,
    choose_records,
    choose_roles,
    choose_task,
    choose_words,
)
from judgepanel.ui.session import (
    PARAMETER,
    is_reader,
    judges_of,
    link_parameters,
    open_with,
    workspace,
)
from judgepanel.ui.uploads import (
    Upload,
    forget_uploads,
    read_uploads,
)
from judgepanel.ui.widgets import (
    chart,
    check_card,
    how,
    judge_rows,
    offer_grouping,
    section_answer,
)
from judgepanel.ui.widgets import table as draw_table
from judgepanel.votes import InputError, Loaded, VoteMatrix
from judgepanel.votes.checks import Check, item_checks
from judgepanel.votes.choices import ROLES_FILE
from judgepanel.votes.errors import quote_value
from judgepanel.votes.orientation import POLICIES, orient
from judgepanel.words.commands import inspect_command
from judgepanel.words.outputs import coverage_sentence, coverage_table
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.text import plain

_SPLITS_HELP = (
    f"How often the items are split at random. Empty: as many as the verdict needs, at most "
    f"{MOST_SPLITS}."
)
_ORIENTATION_HELP = (
    "auto uses the items as given when labels are balanced, and each item together with its swap "
    "when they are not, so that no calibrator learns how the file was coded."
)


@show_errors()
def existing(context: PageContext) -> None:
    """Draw the page of an analysis: its votes, the checks and the settings."""
    votes = context.votes
    outcome()
    grouped = context.analysis.settings.group_duplicates
    sentence = votes_sentence(votes, group_duplicates=grouped)
    answer(sentence, "keep" if votes.minority_share > 0 else "open")
    if context.analysis.coverage is not None:
        section_answer(coverage_sentence(context.analysis.coverage))
        st.page_link(
            COVERAGE_PAGE.file,
            label="See what was read from the outputs",
            query_params=link_parameters(context.analysis),
        )
    settings = context.analysis.settings
    order, repeats = item_checks(votes, group_duplicates=settings.group_duplicates)
    notes((*context.analysis.notes, *_notices(votes, settings)))
    check_card(order)
    check_card(repeats, lambda: offer_grouping(context))
    _strip(votes)
    if not is_reader():
        with st.expander("Settings of this analysis"):
            changed = _settings_form(votes, settings)
            if changed is not None and changed != settings:
                open_with(context.analysis, changed)
        _compare(context.analysis)
        with st.container(horizontal=True, key="manage"):
            manage(context.analysis)
    how(
        "Votes and labels are validated once and stored under the hash of their content. Accuracy "
        "is the share of correct verdicts on labelled items, with a Wilson 95 % interval.",
        inspect_command(
            context.analysis.file, settings, task=votes.task, columns=context.analysis.columns
        ),
    )
    next_question(context.analysis)


def _notices(votes: VoteMatrix, settings: Settings) -> tuple[str, ...]:
    """What reading these votes set aside; votes that no study can use keep their settings."""
    try:
        return orient(
            votes, settings.orientation, protocol=settings.protocol, seed=settings.seed
        ).notices
    except InputError as error:
        problem(str(error))
        return ()


def _compare(analysis: Analysis) -> None:
    """Offer a comparison with the newest of the other analyses, if there is one."""
    analyses = workspace().list()
    others = [other.id for other in analyses if other.id != analysis.id]
    if others:
        with st.expander("Compare with another analysis"):
            choose_two(analyses, analysis.id, others[0])


def uploaded(
    upload: Upload,
    labels: Upload | None,
    judges: Upload | None,
    beside: DeltaGenerator,
) -> None:
    """Read an upload; what was read, or why nothing was, is one sentence ``beside`` the files."""
    chosen = choices_for(upload, labels)
    with beside:
        st.header("What was read")
        try:
            read = read_uploads(upload, labels, judges, chosen.choices())
        except InputError as error:
            problem(str(error))
            return
        preview, loaded = read.preview, read.loaded
        if loaded is not None:
            section_answer(loaded.reading.sentence)
        if read.refusal is not None:
            problem(str(read.refusal.error()))
        choose_records(read, chosen)
    if preview is None:
        return
    if loaded is None and preview.coverage is not None:
        section_answer(coverage_sentence(preview.coverage))
        outputs = coverage_table(preview.coverage)
        draw_table(Table(outputs, "Outputs by judge", height=380), key="outputs")
    if loaded is not None:
        _offer_group(loaded.group, preview, chosen)
    choose_task(preview, chosen)
    choose_words(preview, chosen)
    choose_cuts(preview, chosen)
    with st.expander("Columns", expanded=read.refusal is not None):
        choose_label_column(preview, chosen)
        choose_roles(preview, chosen)
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
    if loaded is not None:
        _order, repeats = read.checks
        _analyse(loaded, upload, repeats, ready=preview.sure)
        for check in read.checks:
            check_card(check)
        _strip(loaded.votes)


def _analyse(loaded: Loaded, upload: Upload, repeats: Check, *, ready: bool) -> None:
    """Say what was read, and offer to analyse it once it is known what an item is."""
    sentence = votes_sentence(loaded.votes, repeats=repeats)
    answer(sentence, "keep" if loaded.votes.minority_share > 0 else "open")
    if loaded.coverage is not None:
        section_answer(coverage_sentence(loaded.coverage))
    elif loaded.forms != "0/1":
        caption(f"Verdicts are written as {loaded.forms}.")
    notes(loaded.warnings)
    if not ready:
        caption("Say above whether an item is a pair of responses or a single one.")
    if st.button("Analyse", type="primary", key="analyse", width="stretch", disabled=not ready):
        stem = plain(upload.name.split(".", maxsplit=1)[0] or upload.name, 60)
        analysis = workspace().create(loaded, Settings(), stem)
        forget_uploads(VOTES, LABELS, JUDGES)
        st.switch_page(CURVE_PAGE.file, query_params={PARAMETER: analysis.id})


def _offer_group(column: str, preview: Preview, chosen: FileChoices) -> None:
    """Offer to keep items together that share a value of a column."""
    if column and any(column == shown.name for shown in preview.columns):
        section_answer(f"Judges err alike on items with the same {quote_value(column)}.")
        st.button(
            "Keep these items together",
            key="group-by",
            type="primary",
            on_click=chosen.set_role,
            args=(column, "group", preview),
        )


def _settings_form(votes: VoteMatrix, settings: Settings) -> Settings | None:
    """New settings if the form was sent; if they do not fit, an error beside the form."""
    with st.form("settings", border=False):
        first, second, third = st.columns(3)
        orientation = first.selectbox(
            "Orientation",
            POLICIES,
            index=POLICIES.index(settings.orientation),
            help=_ORIENTATION_HELP,
        )
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
        orient(picked, changed.orientation, protocol=changed.protocol, seed=changed.seed)
    except InputError as error:
        problem(str(error))
        return None
    return changed


def _strip(votes: VoteMatrix) -> None:
    st.header("Votes by judge")
    judges = judges_of(votes)
    chart(
        coverage_strip(judges),
        key="coverage",
        alt="Share of items with a correct, incorrect or missing verdict, one bar per judge.",
    )
    draw_table(Table(judge_rows(judges)), key="judges")
