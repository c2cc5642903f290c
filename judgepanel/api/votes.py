"""Votes from a file or a frame, and what they hold.

Plotly and the HTML renderer are imported only where they are used, so that `inspect` can print text
without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judgepanel.kernels.ballots import signs_of
from judgepanel.scoring.descriptive import WithLabels, with_labels
from judgepanel.studies import codec, results
from judgepanel.studies.understand.judge_table import JudgeTable, judge_table
from judgepanel.votes import InputError, Loaded, Task, VoteMatrix, load_votes
from judgepanel.votes.checks import Check, item_checks
from judgepanel.votes.choices import OPTIONS, GivenThresholds, with_roles
from judgepanel.votes.delimited import read_frame
from judgepanel.votes.errors import in_terminal
from judgepanel.votes.load import check_labels
from judgepanel.votes.matrix import Oriented, Policy, orient
from judgepanel.votes.reading import Reading
from judgepanel.votes.table import Coverage
from judgepanel.words import outputs, sentences, tables, text

if TYPE_CHECKING:
    import plotly.graph_objects as go

Source = str | Path
Names = str | Iterable[str] | None
"""One name of a column, or several."""
MOST_VOTES = 2_000_000
"""Votes on labelled items of which `inspect` counts agreement; of more, items are drawn."""
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
    reading : how the file was read; None for votes that did not come from a file.
    """

    matrix: VoteMatrix
    warnings: tuple[str, ...] = ()
    file: str = VOTES_FILE
    columns: tuple[str, ...] = ()
    coverage: Coverage | None = None
    forms: str = "0/1"
    reading: Reading | None = None

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
        return cls(
            loaded.votes,
            loaded.warnings,
            file=loaded.file,
            columns=sentences.column_options(loaded),
            coverage=loaded.coverage,
            forms=loaded.forms,
            reading=loaded.reading,
        )

    def __str__(self) -> str:
        return text.printable("\n".join([sentences.votes_sentence(self.matrix), *self.warnings]))

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
    item_id: Names = None,
    groups: str | None = None,
    judges: Names = (),
    judge: Names = None,
    verdict: str | None = None,
    order: str | None = None,
    run: str | None = None,
    system: Names = None,
    features: Names = (),
    ignore: Names = (),
    transpose: bool = False,
    turn: bool = False,
    thresholds: GivenThresholds = None,
    label_threshold: float | None = None,
    words: str | Mapping[str, str | int | None] | None = None,
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
        The file, or a folder of files. Files of other tools (Inspect AI, promptfoo, ...) are
        recognised.
    task : {"pairwise", "pointwise"}, optional
        Kind of item; pairwise unless the file says otherwise or has verdicts such as yes and no.
    label, item_id, groups : str, optional
        Columns with the labels, the items' ids and their groups (on the command line
        ``--label-column``, ``--id-column`` and ``--group-column``), where the guess is wrong. An id
        may be made of several columns.
    judges, features, ignore : sequence of str
        Columns of the judges (then no other column is a judge), columns that describe the items,
        and columns to leave out (``--judge-columns``, ``--feature-column`` and ``--ignore``).
    judge, verdict : str, optional
        With one row per vote, the column (or columns) that names the judge and the one with the
        verdict (``--judge-column`` and ``--verdict-column``).
    order, run, system : str, optional
        Columns with the response that was shown first, with repeated runs of a judge, and with the
        system whose output was judged (``--order-column``, ``--run-column``, ``--system-column``).
    transpose, turn : bool
        Whether rows are judges and columns items, and whether to turn all votes around
        (``--transpose`` and ``--turn-votes``).
    thresholds : float, mapping of str to float, or Thresholds, optional
        Where scores are cut into votes, for all judges that give scores, by judge, or both
        (:class:`Thresholds`); higher scores are for label 1 (``--threshold``). Probabilities, and
        differences of ratings, need none.
    label_threshold : float, optional
        Where labels on a scale are cut (``--label-threshold``).
    words : str or mapping, optional
        Meanings of words in labels and votes: 1, 0, ``tie`` or nothing, such as
        ``"good=1,bad=0,partial="`` (``--words``).
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
        Each oddity issues a :class:`DataWarning` and is kept in ``warnings``; ``reading`` says how
        the file was read.

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
    return _warned(read_source(path, locals(), {}))


def from_frame(  # noqa: PLR0913 - as of a file
    frame: pd.DataFrame,
    *,
    task: Task | None = None,
    label: str | None = None,
    item_id: Names = None,
    groups: str | None = None,
    judges: Names = (),
    judge: Names = None,
    verdict: str | None = None,
    order: str | None = None,
    run: str | None = None,
    system: Names = None,
    features: Names = (),
    ignore: Names = (),
    transpose: bool = False,
    turn: bool = False,
    thresholds: GivenThresholds = None,
    label_threshold: float | None = None,
    words: str | Mapping[str, str | int | None] | None = None,
    labels: Source | pd.DataFrame | None = None,
    judge_table: Source | pd.DataFrame | None = None,
    need_labels: bool = True,
) -> Votes:
    """Take votes from a DataFrame, wide (one column per judge) or long (one row per vote).

    Parameters
    ----------
    frame : DataFrame
        The columns of a file of votes. The index is ignored.
    task : {"pairwise", "pointwise"}, optional
        Kind of item; pairwise unless the words of verdicts say otherwise.
    label, item_id, groups : str, optional
        Columns with the labels, the items' ids and their groups; guessed by name where not given.
    judges, features, ignore : sequence of str
        Columns of the judges (then no other column is a judge), columns that describe the items,
        and columns to leave out. Other columns are guessed to be judges or not, as in a file.
    judge, verdict, order, run, system : str, optional
        Columns of a frame with one row per vote, as in :func:`load`.
    transpose, turn : bool
        Whether rows are judges and columns items, and whether to turn all votes around.
    thresholds : float, mapping of str to float, or Thresholds, optional
        Where scores are cut into votes, for all judges that give scores, by judge, or both.
    label_threshold : float, optional
        Where labels on a scale are cut.
    words : str or mapping, optional
        Meanings of words in labels and votes, as in :func:`load`.
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
    >>> ann, bob = [1, 1, 1, 0] * 10, [1, 0, 0] * 13 + [1]
    >>> frame = pd.DataFrame({"truth": [1, 0] * 20, "ann": ann, "bob": bob})
    >>> jp.from_frame(frame, label="truth").matrix.judges
    ('ann', 'bob')
    """
    return _warned(read_source(frame, locals(), {}))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inspection:
    """The checks of the items, and each judge compared with the labels.

    Attributes
    ----------
    votes : what was inspected.
    oriented : how the order of the responses is used.
    checks : checks of the items, P0 first.
    judges : accuracy and coverage of every judge.
    agreement : kappa and AC1 of the judges of ``oriented`` with the labels, and their alpha.
    """

    votes: Votes
    group_duplicates: bool
    oriented: Oriented
    checks: tuple[Check, ...]
    judges: JudgeTable
    agreement: WithLabels

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the votes, and notices about their orientation."""
        return (*self.votes.warnings, *self.oriented.notices)

    def frame(self) -> pd.DataFrame:
        """One row per judge, most accurate first, with kappa and AC1 and their intervals.

        The other columns are those of :class:`JudgeTable`. Both are blank for a judge that is set
        aside.
        """
        judges = np.array(self.oriented.votes.judges, dtype=object)
        columns = {"judge": judges, "kappa": self.agreement.kappa, "ac1": self.agreement.ac1}
        return self.judges.frame().merge(results.long_frame(columns), on="judge", how="left")

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
            "checks": [codec.to_plain(check) for check in self.checks],
            **results.json_values({"alpha": self.agreement.alpha}),
            "agreement_items": self.agreement.n_items,
            "judges": codec.to_plain(self.frame().to_dict("records")),
        }

    def __str__(self) -> str:
        """Everything as the command line prints it."""
        reading = self.votes.reading
        head = [] if reading is None else [text.printable(in_terminal(reading.sentence))]
        head.append(self.size())
        if self.votes.coverage is not None:
            head.append(text.printable(outputs.coverage_sentence(self.votes.coverage)))
        elif self.votes.forms != "0/1":
            head.append(text.printable(f"Verdicts are written as {self.votes.forms}."))
        lines = (
            *head,
            *(text.printable(in_terminal(line)) for lines in self.check_lines() for line in lines),
            f"Items are used {self.oriented.policy}.",
            f"\nSHA-256 {self.votes.matrix.sha256}\n",
            tables.texts_of(tables.accuracy_table(self.frame())).to_string(index=False),
            f"\n{self.agreement_line()}",
        )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from judgepanel.api.show import inspection_html  # noqa: PLC0415

        return inspection_html(self)

    def check_lines(self) -> list[tuple[str, str]]:
        """The outcome of each check with its reason, and its advice."""
        return [
            (f"\n{check.title}: {sentences.CHECK_MARKS[check.outcome]}. {check.why}", check.advice)
            for check in self.checks
        ]

    def agreement_line(self) -> str:
        """Krippendorff's alpha of the judges, and on how many items all agreement is counted."""
        return sentences.alpha_sentence(self.agreement, int(self.votes.matrix.labelled.sum()))

    def size(self) -> str:
        """Items, judges and labels in a sentence."""
        return sentences.votes_sentence(self.votes.matrix, group_duplicates=self.group_duplicates)


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
    oriented = orient(read.matrix, orientation)
    checks = item_checks(read.matrix, group_duplicates=group_duplicates)
    judges, labelled, symmetric = judge_table(read.matrix), oriented.votes, oriented.symmetric
    signs = signs_of(labelled.votes), signs_of(labelled.labels)
    agreement = with_labels(*signs, labelled.units, symmetric=symmetric, most_votes=MOST_VOTES)
    return Inspection(read, group_duplicates, oriented, checks, judges, agreement)


def as_votes(votes: AnyVotes) -> Votes:
    """Votes as :class:`Votes`; InputError for any other type."""
    if isinstance(votes, Votes):
        return votes
    if isinstance(votes, VoteMatrix):
        return Votes(votes)
    allowed = "what jp.load(path) or jp.from_frame(frame) returns"
    raise InputError("these are not votes", allowed, value=type(votes).__name__)


def read_source(
    source: Source | pd.DataFrame, arguments: Mapping[str, Any], known: Mapping[str, float]
) -> Loaded:
    """Read votes with arguments of :func:`load`, by name; others are ignored.

    ``known`` are judges of the panel that is to score the votes (:class:`Choices`).
    """
    named = (option for option in OPTIONS if option.name in arguments)
    given = {option.choice: arguments[option.name] for option in named}
    given = with_roles(arguments.get("roles"), given)
    table: Any = source
    if isinstance(source, pd.DataFrame):
        # The columns that describe the items are named as such in this table.
        table = read_frame(source, features=given.pop("features", ()))
    for name, title in (("labels", "the label table"), ("judge_table", "the judge table")):
        given[name] = arguments.get(name)
        if isinstance(given[name], pd.DataFrame):
            given[name] = read_frame(given[name], name=title)
    given["need_labels"] = arguments.get("need_labels", True)
    return load_votes(table, **given, known=known)


def _warned(loaded: Loaded) -> Votes:
    for sentence in loaded.warnings:
        warnings.warn(sentence, DataWarning, stacklevel=3)
    return Votes.of(loaded)
