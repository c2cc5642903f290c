"""The registry of studies: the page of each, and the module that presents it.

The command line, menu, pages, reports, the list of studies and the job queue read it. A study that
is not registered is not shown. A module is imported when its study is first used, so that nobody
waits for the imports of all.

Generator of the pages that list every study's options and columns.

``./run reference`` writes them to ``docs/``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present import pages
from judgepanel.present.study import Presentation
from judgepanel.studies import contract, results
from judgepanel.studies.options import SpecOption, spec_options_of
from judgepanel.votes import InputError, VoteMatrix

Value = TypeVar("Value")

_PRESENTED: Mapping[pages.Page, tuple[str, ...]] = MappingProxyType(
    {
        pages.CURVE_PAGE: ("decide.panel_curve",),
        pages.RECOMMENDED_PAGE: (
            "decide.recommend",
            "decide.value:value",
            "decide.cost:cost",
            "decide.cost:escalation",
            "decide.cost:curators",
            "decide.value:what_if",
        ),
        pages.ESTIMATE_PAGE: ("decide.estimate:estimate", "decide.estimate:panel_worth"),
        pages.CONFIDENCE_PAGE: (
            "trust.reliability",
            "trust.certainty:selective",
            "trust.certainty:conformal",
            "trust.certainty:items",
        ),
        pages.BUDGET_PAGE: ("trust.label_budget",),
        pages.SCOPE_PAGE: ("trust.scope", "trust.group_change"),
        pages.ROBUSTNESS_PAGE: (
            "trust.transfer:difficulty_transfer",
            "trust.transfer:slice_transfer",
            "trust.corruption",
        ),
        pages.JUDGES_PAGE: ("understand.judges:judges", "understand.judges:agreement"),
        pages.METHODS_PAGE: ("understand.method_grid",),
        pages.PAPER_PAGE: (
            "paper.claim",
            "paper.pipeline:pipeline_ablation",
            "paper.pipeline:calibrator_design",
            "paper.pipeline:reliability_weighting",
            "paper.theory:jury",
            "paper.pipeline:distortion",
            "paper.theory:narrow_band",
            "paper.fraction_sweep",
            "paper.theory:variance_decomposition",
            "paper.theory:permutation",
        ),
    }
)
"""Modules below ``judgepanel.present``, by page and in the order of its sections: named after the
study that they present, or followed by it where they present several."""


def _name(place: str) -> str:
    return place.replace(":", ".").rpartition(".")[2]


_MODULES: Mapping[str, str] = MappingProxyType(
    {
        _name(place): f"judgepanel.present.{place.partition(':')[0]}"
        for place in chain.from_iterable(_PRESENTED.values())
    }
)


class _ByName(Mapping[str, Value]):
    """What the registry holds of each study, by name; made of its entry when it is first used."""

    def __init__(self, of: Callable[[Presentation], Value]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> Value:
        presented = vars(import_module(_MODULES[name]))
        entries = presented.get("PRESENTATIONS") or (presented["PRESENTATION"],)
        return self._of(next(entry for entry in entries if entry.name == name))

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


PRESENTATIONS: Mapping[str, Presentation] = _ByName(lambda entry: entry)
"""Studies by name, in the order of the pages and of their sections."""
STUDIES: Mapping[str, contract.Study[Any, Any, Any]] = _ByName(lambda entry: entry.study)


def entries_of(page: pages.Page) -> tuple[Presentation, ...]:
    """Return the studies of a page, in order."""
    return tuple(PRESENTATIONS[_name(place)] for place in _PRESENTED.get(page, ()))


def default_specs(
    votes: VoteMatrix, settings: contract.Settings, recommendation: Recommendation | None = None
) -> dict[str, tuple[contract.Spec, ...]]:
    """Return the specs to look for by study, those under the recommended pipeline first."""
    specs = {
        name: entry.specs(votes, settings, recommendation) for name, entry in PRESENTATIONS.items()
    }
    return {name: some for name, some in specs.items() if some}


def study_named(name: str) -> contract.Study[Any, Any, Any]:
    """Return the study of this name; InputError lists the known ones."""
    if name not in _MODULES:
        raise InputError("unknown study", value=name, allowed=", ".join(STUDIES))
    return STUDIES[name]


_HEAD = """# Studies and their options

`./run cli study NAME VOTES` runs a study. All take `--splits`, `--seed`, `--orientation`,
`--protocol`, `--judges`, `--out` and the options for reading a file
([command_line](command_line.md#commands-and-options)). The options below are a study's own; one
that it does not take is refused. Lists have commas between their parts. This page is printed by
`./run reference`.

In Python it is `jp.study(NAME, votes, ...)` with the same options ([python](python.md)). Below
that, a study is its spec, and one function runs it:

```python
from judgepanel.present.registry import study_named
from judgepanel.studies.runner import run
from judgepanel.studies.contract import Settings
from judgepanel.votes.simulate import sample_votes

study = study_named("panel_curve")
spec = study.spec(settings=Settings(splits=4), ks=(3,), compare=(3,))
result = run(study, sample_votes("clean_pairwise"), spec, jobs=1)
assert set(result.frame()["k"]) >= {3}
```
"""


_COLUMNS_HEAD = """# Columns of the tables

What `.frame()` returns in Python, `--out FILE.csv` writes and the dashboard offers as CSV has the
columns below. NLLs are in nats per item, shares from 0 to 1. `X_lo` and `X_hi` are the ends of the
95 % interval of `X` for new items, where nothing else is said; those of `ece` are the central 95 %
over splits. `weight_X` is what a vote of a judge weighs under the aggregator `X`, `feat_X` the
value of an item feature, and a number such as `_80` in a name is the level of conformal sets in per
cent. `--dictionary FILE` writes the columns of one table with their descriptions. This page is
written by `./run reference`.

```python
from judgepanel.studies.results import describe
from judgepanel.studies.decide.panel_curve import PANEL_CURVE

assert describe(PANEL_CURVE, "skill").startswith("1 - NLL / null NLL")
assert describe(PANEL_CURVE, "nll_lo") == "Lower end of the 95 % interval of nll."
```

## In every study
"""


def columns_reference() -> str:
    """Return Markdown with the columns common to all studies, then those specific to each."""
    parts = [_COLUMNS_HEAD, *_column_table(results.COMMON)]
    for study in STUDIES.values():
        own = results.own_columns(study)
        if own:
            parts += [f"## {study.title}: `{study.name}`", "", *_column_table(own)]
    return "\n".join(parts)


def _column_table(columns: Mapping[str, str]) -> list[str]:
    rows = [f"| `{name}` | {text} |" for name, text in columns.items()]
    return ["| column | what |", "|---|---|", *rows, ""]


def reference() -> str:
    """Return Markdown with a table of all studies, then a section per study."""
    rows = [
        f"| `{entry.name}` | {entry.study.question} | {page.title} |"
        for page in pages.PAGES
        for entry in entries_of(page)
    ]
    table = ["| study | question | page of the dashboard |", "|---|---|---|", *rows, ""]
    return "\n".join([_HEAD, *table, *(_section(study) for study in STUDIES.values())])


def _section(study: contract.Study[Any, Any, Any]) -> str:
    lines = [f"## {study.title}", "", f"`study {study.name}`: {study.question}", ""]
    options = spec_options_of(study.spec)
    if options:
        lines += ["| option | what | default |", "|---|---|---|", *map(_row, options), ""]
    return "\n".join(lines)


def _row(option: SpecOption) -> str:
    default = f"`{option.default_text()}`" if option.default_text() else ""
    words = [f"`{choice}`" for choice in option.choices]
    text = f"{option.help}: {', '.join(words)}" if words else option.help
    return f"| `{option.flag}` | {text} | {default} |".replace("  |", " |")


GENERATED = {"studies.md": reference, "columns.md": columns_reference}
"""What writes each page, by its name in ``docs/``."""


if __name__ == "__main__":
    for name, text in GENERATED.items():
        Path(sys.argv[1], name).write_text(text(), encoding="utf-8")
