"""Studies: one call runs a study, and its result displays itself.

Running a study: its spec from options, progress, and what an interrupt leaves.

A line of progress that is overwritten and disappears at the end.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from judgepanel.api.show import blocks_html, first_figure
from judgepanel.api.votes import AnyVotes, Source, Votes, as_votes
from judgepanel.present.blocks import Block
from judgepanel.present.registry import PRESENTATIONS, study_named
from judgepanel.present.study import caveats, study_blocks
from judgepanel.render.text import terminal_text
from judgepanel.studies import codec, results, runner
from judgepanel.studies.contract import AnyStudy, Result, Settings, Spec
from judgepanel.studies.decide.estimate import ESTIMATE
from judgepanel.studies.decide.panel_curve import PANEL_CURVE
from judgepanel.studies.options import read_spec, spec_options_of, unknown_option
from judgepanel.studies.runner import AUTO, Progress, steps
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.load import check_labels
from judgepanel.words import outputs, tables


class ProgressLine:
    """Progress on a terminal's stderr or below a notebook's cell; nothing elsewhere."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._widest = 0
        self._in_notebook = None if self._on_terminal else _notebook_handle()
        self._handle: Any = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._write("\r" + " " * self._widest + "\r")
        if self._handle is not None:
            self._handle.update(_cell(""), raw=True)

    def show(self, text: str, share: float = 0.0) -> None:
        """Write ``text`` over the current line; a notebook also draws ``share``, in [0, 1]."""
        self._write("\r" + text.ljust(self._widest))
        self._widest = max(self._widest, len(text))
        if self._in_notebook is not None:
            cell = _cell(text, share)
            if self._handle is None:
                # Stored before it is shown, since the stop button can be pressed in between.
                self._handle = self._in_notebook()
                self._handle.display(cell, raw=True)
            else:
                self._handle.update(cell, raw=True)

    def _write(self, text: str) -> None:
        if self._on_terminal:
            print(text, end="", file=sys.stderr, flush=True)  # noqa: T201


def _cell(text: str, share: float = 0.0) -> dict[str, str]:
    bar = f'<progress value="{share:.3f}"></progress> {html.escape(text)}' if text else ""
    return {"text/plain": text, "text/html": bar}


def _notebook_handle() -> Any:
    """IPython's display handle inside a notebook's kernel, else None; never imports IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    return getattr(sys.modules.get("IPython.display"), "DisplayHandle", None)


@dataclass(frozen=True, slots=True, eq=False)
class StudyRun:
    """A result, notes about the run, and whether an interrupt left parts of it missing."""

    result: Result
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the result, then notes about the run."""
        return (*self.result.warnings, *self.notes)


def settings_from(options: Mapping[str, Any]) -> Settings:
    """The settings that all studies share, from the options of a call.

    Raises
    ------
    InputError
        A setting has an invalid value.
    """
    given = [option for option in spec_options_of(Settings) if option.field in options]
    return Settings(**{option.field: option.value(options[option.field]) for option in given})


def spec_from(study: AnyStudy, command: str, options: Mapping[str, Any]) -> Any:
    """The spec of a study from the options of a call: shared settings, and options of its own.

    Raises
    ------
    InputError
        An unknown option, with those that the study has, or an invalid value.
    """
    shared = {spec_option.field: spec_option.flag for spec_option in spec_options_of(Settings)}
    own = spec_options_of(study.spec)
    # The argument is called as the option of the command line is.
    fields = {option.flag.removeprefix("--").replace("-", "_"): option.field for option in own}
    given = {}
    for name, value in options.items():
        if name not in shared and name not in fields:
            option = "--" + name.replace("_", "-")
            raise unknown_option(command, study, option, value, shared.values())
        if name in fields:
            given[fields[name]] = value
    return study_spec(study, settings_from(options), given)


def study_spec(study: AnyStudy, settings: Settings, given: Mapping[str, Any]) -> Any:
    """The spec of a study from values by field; under ``paper`` with the paper's calibrators."""
    if study is PANEL_CURVE and settings.protocol == "paper":
        given = {"calibrators": "none,beta_clipped", **given}
    return read_spec(study, settings, given)


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers compute (None: one per core), and on which backend.

    ``backend`` is ``auto``, ``threading``, ``loky``, or the address of a Dask scheduler, all of
    whose workers are used.

    Raises
    ------
    InputError
        Fewer than one worker, or an unknown backend.
    """

    jobs: int | None = None
    backend: str = AUTO

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise InputError("--jobs must be at least 1", value=self.jobs, allowed="1 or more")
        if runner.is_address(self.backend):
            runner.backend_of(runner.DASK, self.backend, runner.BACKENDS)
        else:
            runner.backend_of(self.backend, None, runner.BACKENDS)


_HERE = Workers()


def run_study(
    study: AnyStudy,
    votes: VoteMatrix,
    spec: Spec,
    workers: Workers = _HERE,
    *,
    keep_interrupted: bool = False,
    title: str = "",
) -> StudyRun:
    """Run a study to its end, with a line of progress.

    With ``keep_interrupted`` an interrupt (Ctrl-C) ends the run with the result of the complete
    parts. It is raised if there are none, and without ``keep_interrupted``.

    Raises
    ------
    InputError
        Votes without labels, a scheduler that cannot be used, and whatever the study refuses.
    """
    check_labels(votes.labels, votes.task, None)
    jobs = min(workers.jobs or runner.default_jobs(), len(study.plan(spec)))
    latest: Progress[Any, Any, Any] | None = None
    with ProgressLine() as line:
        try:
            for latest in steps(study, votes, spec, jobs=jobs, backend=workers.backend):
                parts = f"{latest.done}/{latest.total} parts"
                text = f"{title}{parts}, about {latest.remaining:.0f} s left"
                line.show(text, latest.done / latest.total)
        except KeyboardInterrupt:
            if not keep_interrupted or latest is None:
                raise
    assert latest is not None  # noqa: S101 - every plan has a chunk
    result, notes = latest.result(), list[str]()
    most = study.rounds(spec)
    n_splits = getattr(result, "n_splits", most)
    if study.is_open(spec) and latest.over and n_splits < most:
        notes.append(f"{n_splits} splits: more are unlikely to change the verdict.")
    elif isinstance(result, results.SplitResult) and most < spec.settings.most_splits:
        notes.append(f"This study uses {most} of the {spec.settings.most_splits} splits.")
    interrupted = latest.done < latest.total
    if interrupted:
        parts = f"{latest.done} of {latest.total} parts of the work"
        notes.append(f"Interrupted: this rests on {parts}.")
    return StudyRun(result, tuple(notes), interrupted)


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
        return results.described(self.study, self.frame().columns)

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
        entry = PRESENTATIONS[self.study.name]
        view = None if entry.view is None else entry.view(self.votes.matrix, self.spec)
        return [*study_blocks(entry, self.result, self.spec, view), *caveats(self.run.notes)]

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
        outputs.check_output(target, kinds=TABLES)
        outputs.write_whole(target, self.text(target).encode())
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
            return tables.csv_text(self.frame())
        content = codec.result_content(self.study, self.votes.matrix, self.spec, self.result)
        return codec.result_json({**content, "warnings": list(self.warnings)})

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
    return _run(study_named(name), votes, Workers(jobs, backend), options)


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
    return _run(PANEL_CURVE, votes, Workers(jobs, backend), options)


def estimate(votes: AnyVotes, by: str | None = None, **options: Any) -> StudyResult:
    """How good are the systems? Rates of all items and of groups, from all votes and few labels.

    Parameters
    ----------
    votes : Votes or VoteMatrix
        What :func:`load` or :func:`from_frame` returned; most items may lack a label.
    by : str, optional
        A feature whose values are the groups, such as ``"language"``; ``"system"`` stands for the
        column with the system, or for the two with the systems of a pair.
    **options
        ``about`` (``"auto"``, ``"file"`` for the items of the file, ``"population"`` for items like
        these), ``weights``, a feature with sampling weights of labelled items, ``strata``, a
        feature within whose values they were drawn at random, and ``seed`` and ``judges``.

    Returns
    -------
    StudyResult
        The result of the study ``estimate``: one row per group, all items first.

    Raises
    ------
    InputError
        An unknown feature or option, or a feature of too many values.

    References
    ----------
    docs/estimate.md: the estimate, its interval, and what was measured.

    Examples
    --------
    >>> import judgepanel as jp
    >>> votes = jp.load("sample_data/llmbar_votes.csv")
    >>> rates = jp.estimate(votes, by="subset").frame()
    >>> rates[["group", "n_labels"]].head(2).to_dict("records")
    [{'group': 'all items', 'n_labels': 419}, {'group': 'GPTInst', 'n_labels': 92}]
    """
    given = options if by is None else {"by": by, **options}
    return _run(ESTIMATE, votes, Workers(1), given)


def items_to_label(
    estimates: StudyResult, n: int, seed: int = 0, texts: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Draw the items to label next: at random, where they narrow differences of groups most.

    Parameters
    ----------
    estimates : StudyResult
        What :func:`estimate` returned.
    n : int
        How many items, at most as many as have no label.
    seed : int
        Of the draw.
    texts : DataFrame, optional
        What those who label are to read, such as the columns ``prompt`` and ``answer`` of the file,
        with the ids of items as its index.

    Returns
    -------
    DataFrame
        One row per item: ``id``, its texts and features and an empty ``label``. Filled in and
        saved, it is read by :func:`load` as ``labels`` and joined to the labels there are.

    Raises
    ------
    InputError
        More items than have no label, fewer than 1, or texts of none of them.

    References
    ----------
    docs/estimate.md: why items are drawn at random.
    """
    from judgepanel.studies.decide.estimate import items_to_label, with_texts  # noqa: PLC0415
    from judgepanel.votes.texts import ID  # noqa: PLC0415

    spec: Any = estimates.spec
    drawn = items_to_label(estimates.votes.matrix, spec, estimates.result, n, seed=seed)
    if texts is not None:
        texts = texts.set_axis(texts.index.map(str)).rename_axis(ID).astype(object)
        if not texts.index.isin(drawn[ID]).any():
            raise InputError("no item is in the index of `texts`", remedy="make its ids the index")
        texts = texts[~texts.index.duplicated()].reset_index()
    return with_texts(drawn, texts)


def _run(study: AnyStudy, votes: AnyVotes, workers: Workers, options: Any) -> StudyResult:
    read = as_votes(votes)
    spec = spec_from(study, f"the study {study.name}", options)
    run = run_study(study, read.matrix, spec, workers=workers, keep_interrupted=True)
    return StudyResult(study, spec, read, run)
