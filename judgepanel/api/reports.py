"""The report of votes: every study under its default options, in one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgepanel.api.panels import DOCUMENTS, write_document
from judgepanel.api.studies import Workers, run_study, settings_from
from judgepanel.api.votes import AnyVotes, Source, Votes, as_votes
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.present.analysis_report import AnalysisReport, Finding, analysis_document
from judgepanel.present.registry import PRESENTATIONS, STUDIES, default_specs, study_named
from judgepanel.studies import contract, runner
from judgepanel.studies.options import similar_option, spec_options_of
from judgepanel.votes import InputError
from judgepanel.votes.load import check_labels
from judgepanel.words.outputs import check_output


def reported() -> tuple[str, ...]:
    """Names of a report's studies: all except those that need judges picked by hand."""
    return tuple(name for name, entry in PRESENTATIONS.items() if not entry.by_hand)


def report(
    votes: AnyVotes,
    path: Source,
    *,
    studies: Sequence[str] | str | None = None,
    jobs: int | None = None,
    backend: str = runner.AUTO,
    **options: Any,
) -> Path:
    """Compute studies under their default options, and write their results to one file.

    An interrupt (Ctrl-C) keeps what is complete, and the report is written with that.

    Parameters
    ----------
    votes : Votes or VoteMatrix
        What :func:`load` or :func:`from_frame` returned.
    path : str or Path
        ``.html`` for one file with figures that needs no network, ``.md`` for words and tables
        only.
    studies : sequence of str, optional
        Names of studies, by default all. Those that use the recommended pipeline (``value``,
        ``cost``, ``escalation``) include ``recommend``.
    jobs : int, optional
        Number of workers, by default one per core; it does not affect the result.
    backend : str, optional
        Where to compute: ``auto`` (the default), ``threading``, ``loky``, or the address of a Dask
        scheduler such as ``tcp://host:8786``; it does not affect the result.
    **options
        ``splits``, ``seed``, ``fraction``, ``orientation``, ``protocol``, ``judges`` and
        ``group_duplicates``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        An unknown study or option, with those that are known; votes without labels; a study asked
        for by name that refuses these votes; a file type other than ``.html`` or ``.md``.

    Examples
    --------
    >>> import judgepanel as jp
    >>> votes = jp.load("sample_data/clean_pairwise_votes.csv")
    >>> file = jp.report(votes, "report.md", studies=["reliability"], splits=2, jobs=1)
    >>> "What it rests on" in file.read_text()
    True
    """
    target = Path(path)
    check_output(target, kinds=DOCUMENTS)
    read = as_votes(votes)
    known = {option.field: option.flag for option in spec_options_of(contract.Settings)}
    for name, value in options.items():
        if name not in known:
            option = "--" + name.replace("_", "-")
            allowed, remedy = ", ".join(known.values()), similar_option(option, known.values())
            raise InputError(f"report takes no {option}", allowed, remedy, value=value)
    settings, workers = settings_from(options), Workers(jobs, backend)
    write_report(read, target, studies, settings, workers, keep_interrupted=True)
    return target


def write_report(
    votes: Votes,
    path: Path,
    studies: Sequence[str] | str | None,
    settings: contract.Settings,
    workers: Workers,
    *,
    keep_interrupted: bool,
    announce: Callable[[str], object] | None = None,
) -> tuple[str, ...]:
    """Compute and write a report; return what is missing from it, and why.

    ``announce`` is called with the title and number of each study before it is computed.
    """
    matrix = votes.matrix
    check_labels(matrix.labels, matrix.task, None)
    names = report_studies(studies)
    findings: dict[str, Finding] = {}
    missing: list[str] = []
    try:
        specs = default_specs(matrix, settings)
        for number, name in enumerate(names, start=1):
            study = STUDIES[name]
            if name not in specs:  # The recommendation was refused.
                continue
            title = f"{study.title} ({number} of {len(names)})"
            if announce is not None:
                announce(title)
            spec: contract.Spec = specs[name][0]
            heading = f"{title}: "
            try:
                run = run_study(
                    study, matrix, spec, workers, keep_interrupted=keep_interrupted, title=heading
                )
            except InputError as error:
                if studies is not None:
                    raise
                missing.append(f"{study.title} is not in this report: {error}")
                continue
            findings[name] = Finding(study, spec, run.result)
            if run.interrupted:
                missing.append(f"{study.title}: {run.warnings[-1]}")
                break
            if name == RECOMMEND.name:
                recommendation: Any = run.result
                specs = default_specs(matrix, settings, recommendation)
    except KeyboardInterrupt:
        if not keep_interrupted or not findings:
            raise
    document = analysis_document(
        AnalysisReport(
            name=Path(votes.file).stem,
            file=votes.file,
            columns=votes.columns,
            notes=(*votes.warnings, *missing),
            votes=matrix,
            settings=settings,
            reading="" if votes.reading is None else votes.reading.sentence,
            findings=tuple(findings[name] for name in STUDIES if name in findings),
            outdated=(),
            missing=tuple(name for name in names if name not in findings),
            decisions=(),
            written=datetime.now(UTC).isoformat(),
            coverage=votes.coverage,
        )
    )
    write_document(document, path)
    return tuple(missing)


def report_studies(names: Sequence[str] | str | None) -> tuple[str, ...]:
    """Names of the studies in the order in which they run; InputError for an unknown name."""
    known = reported()
    if names is None:
        wanted = set(known)
    else:
        parts = names.split(",") if isinstance(names, str) else names
        wanted = {study_named(str(part).strip()).name for part in parts}
    if by_hand := wanted.difference(known):
        value = ", ".join(sorted(by_hand))
        raise InputError("a report cannot pick judges by hand", ", ".join(known), value=value)
    if not wanted:
        raise InputError("a report needs one study or more", allowed=", ".join(known))
    if any(PRESENTATIONS[name].after for name in wanted):
        wanted.add(RECOMMEND.name)
    # The recommendation comes first, since other studies use its pipeline.
    ordered = [name for name in known if name in wanted]
    return tuple(sorted(ordered, key=lambda name: name != RECOMMEND.name))
