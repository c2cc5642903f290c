"""Votes from a file or a frame, and what they hold.

Plotly and the HTML renderer are imported only where they are used, so that `inspect` can print text
without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from judgepanel.studies.codec import to_plain
from judgepanel.studies.judges.judge_table import JudgeTable, judge_table
from judgepanel.votes import InputError, Loaded, Task, VoteMatrix, load_votes
from judgepanel.votes.build import check_labels
from judgepanel.votes.checks import Check, item_checks
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.from_frame import read_frame
from judgepanel.votes.grades import GivenThresholds
from judgepanel.votes.orientation import Oriented, Policy, orient
from judgepanel.votes.remedies import in_terminal
from judgepanel.votes.role_file import with_roles
from judgepanel.votes.transcripts import transcribed
from judgepanel.words.commands import column_options
from judgepanel.words.outputs import coverage_sentence
from judgepanel.words.sentences import CHECK_MARKS, votes_sentence
from judgepanel.words.tables import accuracy_table, texts_of
from judgepanel.words.text import printable

if TYPE_CHECKING:
    import plotly.graph_objects as go

Source = str | Path
VOTES_FILE = "votes.csv"
"""The file name that commands print for votes that did not come from a file."""


class DataWarning(UserWarning):
    """The votes have an oddity that is no reason to refuse them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Votes:
    """Votes that have been read, and the warnings about them.

    Attributes
    ----------
    matrix : the vote matrix that studies take.
    warnings : what is odd about them, in full sentences.
    file : the name of the file.
    columns : options that make the command line read that file in the same way.
    coverage : what was read from judges' outputs; None if the file had votes.
    forms : how verdicts are written in the file (``0/1``, ``A/B``, ``yes/no``, ...).
    """

    matrix: VoteMatrix
    warnings: tuple[str, ...] = ()
    file: str = VOTES_FILE
    columns: tuple[str, ...] = ()
    coverage: Coverage | None = None
    forms: str = "0/1"

    @classmethod
    def of(cls, loaded: Loaded) -> Votes:
        """Return votes as the readers return them.

        Parameters
        ----------
        loaded : Loaded
            The matrix, warnings about it, and how the file was read.

        Returns
        -------
        Votes
            The same, with the options that make the command line read the file in this way.
        """
        columns = column_options(loaded)
        return cls(
            loaded.votes, loaded.warnings, loaded.file, columns, loaded.coverage, loaded.forms
        )

    def __str__(self) -> str:
        return printable("\n".join([votes_sentence(self.matrix), *self.warnings]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from judgepanel.api.show import votes_html  # noqa: PLC0415

        return votes_html(self)


AnyVotes = Votes | VoteMatrix
"""Types that studies accept as votes."""


def load(  # noqa: PLR0913 - each is a column, or what a file cannot say
    path: Source,
    *,
    task: Task | None = None,
    label: str | None = None,
    item_id: str | None = None,
    groups: str | None = None,
    judges: Sequence[str] = (),
    features: Sequence[str] = (),
    ignore: Sequence[str] = (),
    thresholds: GivenThresholds = None,
    records: str | None = None,
    roles: Source | None = None,
    labels: Source | pd.DataFrame | None = None,
    judge_table: Source | pd.DataFrame | None = None,
    need_labels: bool = True,
) -> Votes:
    """Read votes from a file: CSV, ``.csv.gz``, Excel, Parquet, Arrow, JSON or JSON Lines.

    Parameters
    ----------
    path : str or Path
        The file, or the folder of a dataset that ``save_to_disk`` of Hugging Face's datasets has
        written. Files of other tools (Inspect AI, promptfoo, ...) are recognised.
    task : {"pairwise", "pointwise"}, optional
        Kind of item; pairwise unless the file says otherwise or has verdicts such as yes and no.
    label, item_id, groups : str, optional
        Columns with the labels, the items' ids and their groups (on the command line
        ``--label-column``, ``--id-column`` and ``--group-column``), where the guess is wrong.
    judges, features, ignore : sequence of str
        Columns of the judges (then no other column is a judge), columns that describe the items,
        and columns to leave out (``--judge-columns``, ``--feature-column`` and ``--ignore``).
    thresholds : float, mapping of str to float, or Thresholds, optional
        Where scores are cut into votes, for all judges that give scores, by judge, or both
        (:class:`Thresholds`); higher scores are for label 1 (``--threshold``). Probabilities, and
        differences of ratings, need none.
    records : str, optional
        The keys, joined by dots, that lead to the list of votes in a JSON document with several
        lists, such as ``results.items`` (``--records``).
    roles : str or Path, optional
        A TOML file with any of the above but ``path``, by the same names (``--roles``). Arguments
        given here take precedence.
    labels : str, Path or DataFrame, optional
        Labels that are not with the votes: one row per item with its id and its label
        (``--labels``). ``label`` then names one of its columns.
    judge_table : str, Path or DataFrame, optional
        One row per judge: a column ``judge`` and others such as ``family`` and ``cost``.
    need_labels : bool
        Whether to refuse votes with too few labels to be studied.

    Returns
    -------
    Votes
        Each oddity issues a :class:`DataWarning` and is kept in ``warnings``.

    Raises
    ------
    InputError
        One sentence with file, row, column, value and what is allowed.

    Examples
    --------
    >>> import judgepanel as jp
    >>> jp.load("sample_data/clean_pairwise_votes.csv")
    300 items, 24 judges, all labelled, balanced: ready.
    """
    given = {
        "task": task,
        "id_column": item_id,
        "label_column": label,
        "group_column": groups,
        "judge_columns": judges,
        "features": features,
        "ignore": ignore,
        "thresholds": thresholds,
        "records": records,
    }
    return _warned(
        load_votes(
            path,
            **with_roles(roles, given),
            labels=_table_source(labels, "the label table"),
            judge_table=_table_source(judge_table, "the judge table"),
            need_labels=need_labels,
        )
    )


def from_frame(  # noqa: PLR0913 - as of a file
    frame: pd.DataFrame,
    *,
    label: str | None = None,
    item_id: str | None = None,
    features: Sequence[str] = (),
    groups: str | None = None,
    judges: Sequence[str] = (),
    ignore: Sequence[str] = (),
    thresholds: GivenThresholds = None,
    task: Task | None = None,
    labels: Source | pd.DataFrame | None = None,
    judge_table: Source | pd.DataFrame | None = None,
    need_labels: bool = True,
) -> Votes:
    """Take votes from a DataFrame, wide (one column per judge) or long (one row per vote).

    Parameters
    ----------
    frame : DataFrame
        The columns of a file of votes. The index is ignored.
    label, item_id, groups : str, optional
        Columns with the labels, the items' ids and their groups; guessed by name where not given.
    features : sequence of str
        Columns that describe the items. Other columns are guessed to be judges or not by name and
        content, as in a file.
    judges, ignore : sequence of str
        Columns of the judges (then no other column is a judge), and columns to leave out.
    thresholds : float, mapping of str to float, or Thresholds, optional
        Where scores are cut into votes, for all judges that give scores, by judge, or both.
    task : {"pairwise", "pointwise"}, optional
        Kind of item; pairwise by default.
    labels : str, Path or DataFrame, optional
        Labels that are not with the votes: one row per item with its id and its label
        (``--labels``). ``label`` then names one of its columns.
    judge_table : str, Path or DataFrame, optional
        One row per judge: a column ``judge`` and others such as ``family`` and ``cost``.
    need_labels : bool
        Whether to refuse votes with too few labels to be studied.

    Returns
    -------
    Votes
        The same votes, with the same SHA-256, as from a file with these columns.

    Raises
    ------
    InputError
        No labels, an invalid label or verdict, or a column given twice.

    Examples
    --------
    >>> import pandas as pd, judgepanel as jp
    >>> frame = pd.DataFrame({"truth": [1, 0] * 20, "ann": [1, 1, 1, 0] * 10, "bob": [1, 0] * 20})
    >>> jp.from_frame(frame, label="truth").matrix.judges
    ('ann', 'bob')
    """
    return _warned(
        load_votes(
            transcribed(read_frame(frame, features=features)),
            task=task,
            id_column=item_id,
            label_column=label,
            group_column=groups,
            judge_columns=judges,
            ignore=ignore,
            thresholds=thresholds,
            labels=_table_source(labels, "the label table"),
            judge_table=_table_source(judge_table, "the judge table"),
            need_labels=need_labels,
        )
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inspection:
    """The checks of the items, and each judge compared with the labels.

    Attributes
    ----------
    votes : what was inspected.
    oriented : how the order of the responses is used.
    checks : checks of the items, P0 first.
    judges : accuracy and coverage of every judge.
    """

    votes: Votes
    group_duplicates: bool
    oriented: Oriented
    checks: tuple[Check, ...]
    judges: JudgeTable

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the votes, and notices about their orientation."""
        return (*self.votes.warnings, *self.oriented.notices)

    def frame(self) -> pd.DataFrame:
        """One row per judge, most accurate first (columns of :class:`JudgeTable`)."""
        return self.judges.frame()

    def plot(self) -> go.Figure:
        """Share of items with a correct, an incorrect or a missing verdict, per judge."""
        from judgepanel.api.show import inspection_figure  # noqa: PLC0415

        return inspection_figure(self)

    def summary(self) -> dict[str, Any]:
        """Size, SHA-256, orientation and checks as JSON values."""
        matrix = self.votes.matrix
        return {
            "n_items": matrix.n_items,
            "n_judges": matrix.n_judges,
            "n_labelled": int(matrix.labelled.sum()),
            "sha256": matrix.sha256,
            "orientation": self.oriented.policy,
            "checks": [to_plain(check) for check in self.checks],
        }

    def __str__(self) -> str:
        """Everything as the command line prints it."""
        head = [self.size()]
        if self.votes.coverage is not None:
            head.append(printable(coverage_sentence(self.votes.coverage)))
        elif self.votes.forms != "0/1":
            head.append(printable(f"Verdicts are written {self.votes.forms}."))
        lines = (
            *head,
            *(printable(in_terminal(line)) for lines in self.check_lines() for line in lines),
            f"Items are used {self.oriented.policy}.",
            f"\nSHA-256 {self.votes.matrix.sha256}\n",
            texts_of(accuracy_table(self.judges)).to_string(index=False),
        )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from judgepanel.api.show import inspection_html  # noqa: PLC0415

        return inspection_html(self)

    def check_lines(self) -> list[tuple[str, str]]:
        """The outcome of each check with its reason, and its advice."""
        return [
            (f"\n{check.title}: {CHECK_MARKS[check.outcome]}. {check.why}", check.advice)
            for check in self.checks
        ]

    def size(self) -> str:
        """Items, judges and labels in a sentence."""
        return votes_sentence(self.votes.matrix, group_duplicates=self.group_duplicates)


def inspect(
    votes: AnyVotes, *, orientation: Policy = "auto", group_duplicates: bool = False
) -> Inspection:
    """Check the items of votes, and compare every judge with the labels.

    Parameters
    ----------
    votes : Votes or VoteMatrix
        What :func:`load` or :func:`from_frame` returned.
    orientation : {"auto", "as_given", "randomized", "symmetric"}
        How the order of the two responses is used.
    group_duplicates : bool
        Whether to put copies of an item into one group.

    Returns
    -------
    Inspection

    Raises
    ------
    InputError
        Votes without labels; an unknown orientation.

    Examples
    --------
    >>> import judgepanel as jp
    >>> inspection = jp.inspect(jp.load("sample_data/clean_pairwise_votes.csv"))
    >>> inspection.frame().loc[0, "judge"]
    'fam5-judge11'
    """
    read = as_votes(votes)
    check_labels(read.matrix.labels, read.matrix.task, None)
    return Inspection(
        read,
        group_duplicates,
        orient(read.matrix, orientation),
        item_checks(read.matrix, group_duplicates=group_duplicates),
        judge_table(read.matrix),
    )


def as_votes(votes: AnyVotes) -> Votes:
    """Votes as :class:`Votes`; InputError for any other type."""
    if isinstance(votes, Votes):
        return votes
    if isinstance(votes, VoteMatrix):
        return Votes(votes)
    raise InputError(
        "these are not votes",
        value=type(votes).__name__,
        allowed="what jp.load(path) or jp.from_frame(frame) returns",
    )


def _warned(loaded: Loaded) -> Votes:
    for sentence in loaded.warnings:
        warnings.warn(sentence, DataWarning, stacklevel=3)
    return Votes.of(loaded)


def _table_source(table: Source | pd.DataFrame | None, name: str) -> Any:
    return read_frame(table, name=name) if isinstance(table, pd.DataFrame) else table
