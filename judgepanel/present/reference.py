"""Generator of the pages that list every study's options and columns.

``./run reference`` writes them to ``docs/``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judgepanel.present.pages import PAGES
from judgepanel.present.registry import STUDIES, entries_of
from judgepanel.studies.columns import COMMON, own_columns
from judgepanel.studies.contract import Study
from judgepanel.studies.options import SpecOption, spec_options_of

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
from judgepanel.studies.settings import Settings
from judgepanel.votes.samples import sample_votes

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
from judgepanel.studies.columns import describe
from judgepanel.studies.panel.panel_curve import PANEL_CURVE

assert describe(PANEL_CURVE, "skill").startswith("1 - NLL / null NLL")
assert describe(PANEL_CURVE, "nll_lo") == "Lower end of the 95 % interval of nll."
```

## In every study
"""


def columns_reference() -> str:
    """Return Markdown with the columns common to all studies, then those specific to each."""
    parts = [_COLUMNS_HEAD, *_column_table(COMMON)]
    for study in STUDIES.values():
        own = own_columns(study)
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
        for page in PAGES
        for entry in entries_of(page)
    ]
    table = ["| study | question | page of the dashboard |", "|---|---|---|", *rows, ""]
    return "\n".join([_HEAD, *table, *(_section(study) for study in STUDIES.values())])


def _section(study: Study[Any, Any, Any]) -> str:
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
