"""Panels: recommended, saved, loaded again, and used to score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.api.show import blocks_html, on_white
from judgepanel.api.studies import StudyResult, Workers, run_study, spec_from
from judgepanel.api.votes import AnyVotes, DataWarning, Source, Votes, as_votes, read_source
from judgepanel.decision import panel_file, recommend_result
from judgepanel.decision.panel_file import PanelFile, export_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.score import Scored
from judgepanel.decision.score import score as score_votes
from judgepanel.figures.judges import kept_judges
from judgepanel.present import blocks, study
from judgepanel.present.recommendation_report import recommendation_report
from judgepanel.render import html, text
from judgepanel.studies.runner import AUTO
from judgepanel.studies.understand.judge_table import JudgeTable, share_right
from judgepanel.votes import InputError, VoteMatrix, choices, formats
from judgepanel.votes.checks import item_checks
from judgepanel.words.outputs import check_output, write_whole
from judgepanel.words.sentences import panel_pipelines, recommend_command
from judgepanel.words.tables import as_columns
from judgepanel.words.text import counted, printable, with_interval

DOCUMENTS = (".html", ".md")
"""Endings of files that hold a report: with figures, or words only."""
_BESIDE = {"roles", "labels", "judge_table"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Panel:
    """A fitted panel that scores votes on new items.

    Attributes
    ----------
    file : the panel file: the model and its metadata.
    """

    file: PanelFile

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges of the panel, best first."""
        return self.file.model.judges

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures must know, in full sentences."""
        return tuple(self.file.content["warnings"])

    def frame(self) -> pd.DataFrame:
        """One row per judge in panel order: judge, share, weight, correct, voted.

        ``share`` is the weight of the pipelines that use the judge, ``weight`` the weight of its
        vote in the heaviest of them (NaN if that one does not use it; its mean over the bands of
        grades if that one reads grades).
        """
        model = self.file.model
        shares = {"judge": model.judges, "share": model.shares, "weight": model.main_weights}
        counts = {"correct": model.correct, "voted": model.voted}
        return pd.DataFrame({name: list(values) for name, values in (shares | counts).items()})

    def plot(self) -> go.Figure:
        """Accuracy of every judge in the panel on the labels it was fitted on, with intervals."""
        model = self.file.model
        correct, voted = np.array(model.correct), np.array(model.voted)
        accuracy, coverage = share_right(correct, voted), voted / max(model.n_fit, 1)
        constant = np.zeros(len(voted), dtype=bool)
        table = JudgeTable(model.judges, accuracy, correct, voted, coverage, constant)
        return on_white(kept_judges(table, model.judges, ()))

    def summary(self) -> dict[str, Any]:
        """The figures in the panel file, its judges, and the pipelines that are averaged."""
        content, model = self.file.content, self.file.model
        return {
            "judges": list(model.judges),
            "members": [
                {
                    "weight": member.weight,
                    "k": len(member.columns),
                    "aggregator": member.model.aggregator,
                    "calibrator": member.model.calibrator,
                }
                for member in model.members
            ],
            "task": content["task"],
            "orientation": content["orientation"],
            **content["figures"],
        }

    def score(self, votes: pd.DataFrame | AnyVotes | Source, **columns: Any) -> pd.DataFrame:
        """Probabilities of new items; labels are not needed.

        Parameters
        ----------
        votes : DataFrame, Votes, VoteMatrix, str or Path
            Votes of the panel's judges on new items, as :func:`from_frame` and :func:`load` take.
        **columns : optional
            What the columns of a frame or a file are, where scores are cut and what words mean, as
            in :func:`load`. The panel cuts the grades of its own judges where it cut them before.

        Returns
        -------
        DataFrame
            The columns of ``scored.csv``: ``item_id``, ``p`` (the probability of label 1),
            ``decision``, ``set_80``, ``set_90``, ``n_votes``, ``fallback``. Items seen before,
            absent judges and drift issue a :class:`DataWarning`.

        Raises
        ------
        InputError
            Votes that cannot be read, none of the panel's judges among them, or votes of a judge
            whose grades the panel reads.
        """
        notes: tuple[str, ...]
        if isinstance(votes, Votes | VoteMatrix):
            scored, notes = self.scored(as_votes(votes).matrix), ()
        else:
            unknown = columns.keys() - {option.name for option in choices.OPTIONS} - _BESIDE
            if unknown:
                raise TypeError(f"score() has no argument {min(unknown)!r}")
            loaded = read_source(votes, {**columns, "need_labels": False}, self.file.known)
            scored, notes = self.scored(loaded.votes), loaded.warnings
        for sentence in (*notes, *scored.warnings):
            warnings.warn(sentence, DataWarning, stacklevel=2)
        return scored.frame()

    def scored(self, votes: VoteMatrix) -> Scored:
        """Score new votes that have been read.

        Parameters
        ----------
        votes : VoteMatrix
            Votes of the panel's judges on new items.

        Returns
        -------
        Scored
            Probabilities, warnings about them, and their quality on any labels.
        """
        return score_votes(self.file, votes)

    def save(self, path: Source) -> Path:
        """Write the panel file (``panel.json``), which :func:`load_panel` reads.

        Parameters
        ----------
        path : str or Path
            Where to write; the name ends in ``.json``.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            A name that does not end in ``.json``, or a folder that does not exist.
        """
        target = Path(path)
        check_output(target, kinds=(".json",))
        write_whole(target, panel_json(self.file.content).encode())
        return target

    def __str__(self) -> str:
        return printable(self._answer() + "\n" + self.frame().to_string(index=False))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = blocks.Table(as_columns(self.frame()), "Judges, best first.")
        return blocks_html([blocks.Answer(self._answer()), table, *study.caveats(self.warnings)])

    def _answer(self) -> str:
        model, figures = self.file.model, self.file.content["figures"]
        expected = with_interval(figures["nll"], figures["nll_lo"], figures["nll_hi"], 3)
        pipeline = panel_pipelines(model)
        return f"{counted(len(model.judges), 'judge')} with {pipeline}; expected NLL {expected}."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecommendedPanel(StudyResult):
    """A recommendation: a result like any other, with the panel that it chose."""

    @property
    def panel(self) -> Panel:
        """The panel, fitted on all labelled items.

        Raises
        ------
        InputError
            The recommendation was interrupted.
        """
        return _panel_of(self)

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges of the panel, best first."""
        recommendation: recommend_result.Recommendation = self.result
        return recommendation.model.judges

    def score(self, votes: pd.DataFrame | AnyVotes | Source, **columns: Any) -> pd.DataFrame:
        """Probabilities of new items.

        Parameters
        ----------
        votes, **columns
            As in :meth:`Panel.score`.

        Returns
        -------
        DataFrame
            What :meth:`Panel.score` returns.
        """
        return self.panel.score(votes, **columns)

    def save(self, path: Source) -> Path:
        """Write the panel file (``panel.json``).

        Parameters
        ----------
        path : str or Path
            As in :meth:`Panel.save`.

        Returns
        -------
        Path
            The file.
        """
        return self.panel.save(path)

    def report(self, path: Source) -> Path:
        """Write the report of the recommendation.

        Parameters
        ----------
        path : str or Path
            Where to write: ``.html`` with figures, ``.md`` without.

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
        check_output(target, kinds=DOCUMENTS)
        spec: Any = self.spec
        votes, file = self.votes, self.votes.file
        command = recommend_command(file, spec, task=votes.matrix.task, columns=votes.columns)
        document = recommendation_report(file, votes.matrix, spec, self.result, command=command)
        write_document(document, target)
        return target


def recommend(
    votes: AnyVotes, *, jobs: int | None = None, backend: str = AUTO, **options: Any
) -> RecommendedPanel:
    """Choose judges and a pipeline, and measure the choice itself on items it has not seen.

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
        Those of :func:`study`, and ``candidates``, ``folds``, ``prefer``, ``budget``,
        ``candidate``, ``conformal``.

    Returns
    -------
    RecommendedPanel
        With :meth:`~RecommendedPanel.save` and :meth:`~RecommendedPanel.score`.

    Raises
    ------
    InputError
        An unknown option or invalid value, with those that are allowed.

    References
    ----------
    docs/recommendation.md: the candidates, the choice, and what its NLL promises.

    Examples
    --------
    >>> import judgepanel as jp
    >>> votes = jp.load("sample_data/clean_pairwise_votes.csv")
    >>> three = ["fam1-judge01", "fam5-judge11", "fam6-judge18"]
    >>> panel = jp.recommend(votes, judges=three, splits=2, folds=2, jobs=1)
    >>> set(panel.judges) <= set(three)
    True
    """
    read = as_votes(votes)
    spec, workers = spec_from(RECOMMEND, "recommend", options), Workers(jobs, backend)
    run = run_study(RECOMMEND, read.matrix, spec, workers=workers, keep_interrupted=True)
    return RecommendedPanel(RECOMMEND, spec, read, run)


def load_panel(path: Source) -> Panel:
    """Read a panel file.

    Parameters
    ----------
    path : str or Path
        A ``panel.json`` that :meth:`Panel.save`, the command line or the dashboard wrote.

    Returns
    -------
    Panel

    Raises
    ------
    InputError
        Not a panel file, or one of an unknown version, kind or key.

    References
    ----------
    docs/panel_file.md: every key of the file, and the rule by which it scores.
    """
    source = Path(path)
    return Panel(panel_file.load_panel(formats.text_of(source), name=source.name))


def write_document(document: blocks.Document, path: Path) -> None:
    """Write a report as HTML to a file that ends in ``.html``, else as Markdown."""
    form = html.html_text if path.name.lower().endswith(".html") else text.markdown_text
    write_whole(path, form(document).encode())


@lru_cache(maxsize=4)
def _panel_of(recommended: RecommendedPanel) -> Panel:
    """The panel as read back from the text of its file, so that it equals the saved one."""
    if recommended.partial:
        remedy = "run it again to its end"
        raise InputError("an interrupted recommendation makes no panel", remedy=remedy)
    spec = recommended.spec
    assert isinstance(spec, RecommendSpec)  # noqa: S101
    matrix = recommended.votes.matrix
    checks = item_checks(matrix, group_duplicates=spec.settings.group_duplicates)
    content = export_panel(recommended.result, matrix, spec, checks)
    return Panel(panel_file.load_panel(panel_json(content)))
