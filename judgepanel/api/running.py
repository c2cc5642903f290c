"""Running a study: its spec from options, progress, and what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgepanel.api.progress import ProgressLine
from judgepanel.studies.cluster import DASK, backend_of, is_address
from judgepanel.studies.contract import Result, Spec, Study
from judgepanel.studies.options import read_spec, spec_options_of, unknown_option
from judgepanel.studies.panel.panel_curve import PANEL_CURVE
from judgepanel.studies.results import SplitResult
from judgepanel.studies.runner import AUTO, BACKENDS, Progress, default_jobs, steps
from judgepanel.studies.settings import Settings
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.build import check_labels

AnyStudy = Study[Any, Any, Any]


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
    return Settings(
        **{
            option.field: option.value(options[option.field])
            for option in spec_options_of(Settings)
            if option.field in options
        }
    )


def spec_from(study: AnyStudy, command: str, options: Mapping[str, Any]) -> Any:
    """The spec of a study from the options of a call: shared settings, and options of its own.

    Raises
    ------
    InputError
        An unknown option, with those that the study has, or an invalid value.
    """
    shared = {spec_option.field: spec_option.flag for spec_option in spec_options_of(Settings)}
    fields = {
        _keyword(spec_option.flag): spec_option.field for spec_option in spec_options_of(study.spec)
    }
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
        if is_address(self.backend):
            backend_of(DASK, self.backend, BACKENDS)
        else:
            backend_of(self.backend, None, BACKENDS)


_HERE = Workers()


def run_study(
    study: AnyStudy,
    votes: VoteMatrix,
    spec: Spec,
    *,
    workers: Workers = _HERE,
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
    jobs = min(workers.jobs or default_jobs(), len(study.plan(spec)))
    latest: Progress[Any, Any, Any] | None = None
    with ProgressLine() as line:
        try:
            for latest in steps(study, votes, spec, jobs=jobs, backend=workers.backend):
                line.show(title + _progress_text(latest), latest.done / latest.total)
        except KeyboardInterrupt:
            if not keep_interrupted or latest is None:
                raise
    assert latest is not None  # noqa: S101 - every plan has a chunk
    result = latest.result()
    return StudyRun(result, _notes(spec, result, latest), latest.done < latest.total)


def _progress_text(progress: Progress[Any, Any, Any]) -> str:
    return f"{progress.done}/{progress.total} parts, about {progress.remaining:.0f} s left"


def _notes(spec: Spec, result: Result, latest: Progress[Any, Any, Any]) -> tuple[str, ...]:
    notes = []
    most = latest.study.rounds(spec)
    n_splits = getattr(result, "n_splits", most)
    if latest.study.is_open(spec) and latest.over and n_splits < most:
        notes.append(f"{n_splits} splits: more are unlikely to change the verdict.")
    elif isinstance(result, SplitResult) and most < spec.settings.most_splits:
        notes.append(f"This study uses {most} of the {spec.settings.most_splits} splits.")
    if latest.done < latest.total:
        notes.append(
            f"Interrupted: this rests on {latest.done} of {latest.total} parts of the work."
        )
    return tuple(notes)


def _keyword(option: str) -> str:
    """The argument name of a command-line option."""
    return option.removeprefix("--").replace("-", "_")
