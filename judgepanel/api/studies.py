"""Studies: one call runs a study, and its result displays itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from judgepanel.api.running import AnyStudy, StudyRun, Workers, run_study, spec_from
from judgepanel.api.show import blocks_html, first_figure
from judgepanel.api.votes import AnyVotes, Source, Votes, as_votes
from judgepanel.present.blocks import Block
from judgepanel.present.registry import ENTRIES, study_named
from judgepanel.present.study import caveats, study_blocks
from judgepanel.render.terminal import terminal_text
from judgepanel.studies.columns import described
from judgepanel.studies.contract import Spec
from judgepanel.studies.panel.panel_curve import PANEL_CURVE
from judgepanel.studies.result_file import result_content, result_json
from judgepanel.studies.runner import AUTO
from judgepanel.words.output import check_output, write_whole
from judgepanel.words.tables import csv_text

TABLES = (".csv", ".json")
"""Endings of files that hold a result: its table, or all of it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StudyResult:
    """The result of a study, and what it rests on.

    Attributes
    ----------
    study, spec : the study and its spec.
    votes : the votes it was given.
    run : the frozen result, the warnings, and whether the run was interrupted.
    """

    study: AnyStudy
    spec: Spec
    votes: Votes
    run: StudyRun

    @property
    def result(self) -> Any:
        """The study's own frozen result, with every array and interval."""
        return self.run.result

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures must know, in full sentences."""
        return self.run.warnings

    @property
    def partial(self) -> bool:
        """Whether an interrupt ended the run, so that the result rests on fewer parts."""
        return self.run.interrupted

    def frame(self) -> pd.DataFrame:
        """The tidy table, one row per figure; :meth:`columns` describes its columns."""
        return self.run.result.frame()

    def columns(self) -> pd.DataFrame:
        """The data dictionary of :meth:`frame`: one row per column, with its description."""
        return described(self.study, self.frame().columns)

    def summary(self) -> dict[str, Any]:
        """Decisions, intervals and the size of the run as JSON values."""
        return self.run.result.summary()

    def plot(self) -> go.Figure:
        """The study's figure.

        Raises
        ------
        InputError
            There is nothing to draw on these votes.
        """
        return first_figure(self.blocks(), self.study.name)

    def blocks(self) -> list[Block]:
        """The result as blocks: answer, caveats, figures, tables and method."""
        entry = ENTRIES[self.study.name]
        view = None if entry.view is None else entry.view(self.votes.matrix, self.spec)
        blocks = study_blocks(entry, self.result, self.spec, view)
        return [*blocks, *caveats(self.run.notes)]

    def save(self, path: Source) -> Path:
        """Write the table to a ``.csv`` file, or everything to a ``.json`` file.

        Parameters
        ----------
        path : str or Path
            Where to write.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            Another file type, or a folder that does not exist.
        """
        target = Path(path)
        check_output(target, kinds=TABLES)
        write_whole(target, self.text(target).encode())
        return target

    def text(self, path: Path) -> str:
        """Return what :meth:`save` writes.

        Parameters
        ----------
        path : Path
            A file's name, of which the ending matters.

        Returns
        -------
        str
            The table if the name ends in ``.csv``, else everything as JSON.
        """
        if path.name.lower().endswith(".csv"):
            return csv_text(self.frame())
        content = result_content(self.study, self.votes.matrix, self.spec, self.result)
        return result_json({**content, "warnings": list(self.warnings)})

    def __str__(self) -> str:
        """Answer, caveats and tables as the command line prints them."""
        return terminal_text(self.blocks())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return blocks_html(self.blocks())


def study(
    name: str, votes: AnyVotes, *, jobs: int | None = None, backend: str = AUTO, **options: Any
) -> StudyResult:
    """Run one study by name.

    Progress is shown on a terminal and in a notebook. An interrupt (Ctrl-C, or a notebook's stop
    button) keeps what is complete: the result is then marked ``partial``.

    Parameters
    ----------
    name : str
        A study of docs/studies.md, such as ``"label_budget"``.
    votes : Votes or VoteMatrix
        What :func:`load` or :func:`from_frame` returned.
    jobs : int, optional
        Number of workers, by default one per core; it does not affect the result.
    backend : str, optional
        Where to compute: ``auto`` (the default), ``threading``, ``loky``, or the address of a Dask
        scheduler such as ``tcp://host:8786``; it does not affect the result.
    **options
        ``splits``, ``seed``, ``fraction``, ``orientation``, ``protocol``, ``judges`` and
        ``group_duplicates``, which all studies share, and the study's own options, named as on the
        command line without leading dashes and with ``_`` for ``-``.

    Returns
    -------
    StudyResult

    Raises
    ------
    InputError
        An unknown study or option, with those that are known; invalid values or votes.

    Examples
    --------
    >>> import judgepanel as jp
    >>> votes = jp.load("sample_data/clean_pairwise_votes.csv")
    >>> budget = jp.study("label_budget", votes, budgets=[40, 80], splits=2, seed=1, jobs=1)
    >>> sorted(set(budget.frame()["budget"].tolist()))
    [40, 80, 150]
    >>> jp.study("curve", votes)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    judgepanel.votes.errors.InputError: unknown study (found 'curve'); allowed: panel_curve, ...
    """
    chosen = study_named(name)
    return StudyResult(
        *_run(chosen, f"the study {chosen.name}", votes, Workers(jobs, backend), options)
    )


def curve(
    votes: AnyVotes, *, jobs: int | None = None, backend: str = AUTO, **options: Any
) -> StudyResult:
    """Keep all judges, or the top k? NLL against the number of judges kept.

    Parameters
    ----------
    votes : Votes or VoteMatrix
        What :func:`load` or :func:`from_frame` returned.
    jobs : int, optional
        Number of workers, by default one per core; it does not affect the result.
    backend : str, optional
        Where to compute: ``auto`` (the default), ``threading``, ``loky``, or the address of a Dask
        scheduler such as ``tcp://host:8786``; it does not affect the result.
    **options
        Those of :func:`study`, and ``aggregator``, ``calibrators``, ``ranking``, ``k``, ``top``.

    Returns
    -------
    StudyResult
        The result of the study ``panel_curve``.

    Raises
    ------
    InputError
        An unknown option or invalid value, with those that are allowed.

    References
    ----------
    docs/inference.md: the interval, the verdict, and what they promise.

    Examples
    --------
    >>> import judgepanel as jp
    >>> votes = jp.load("sample_data/clean_pairwise_votes.csv")
    >>> curve = jp.curve(votes, calibrators="beta", splits=20, jobs=1)
    >>> curve.summary()["comparisons"][1]["verdict"]
    'keep all'
    """
    return StudyResult(
        *_run(PANEL_CURVE, f"the study {PANEL_CURVE.name}", votes, Workers(jobs, backend), options)
    )


def _run(
    chosen: AnyStudy, command: str, votes: AnyVotes, workers: Workers, options: dict[str, Any]
) -> tuple[AnyStudy, Spec, Votes, StudyRun]:
    read = as_votes(votes)
    spec = spec_from(chosen, command, options)
    run = run_study(chosen, read.matrix, spec, workers=workers, keep_interrupted=True)
    return chosen, spec, read, run
