"""The page that lists every study and its options; run this module to print it."""

from __future__ import annotations

import sys
from typing import Any

from judgepanel.present.registry import STUDIES
from judgepanel.studies.contract import Study
from judgepanel.studies.knobs import Knob, knobs_of

_HEAD = """# Studies and their options

`./run cli study NAME VOTES` runs a study. All take `--splits`, `--seed`, `--orientation`,
`--protocol`, `--judges`, `--out` and the options for reading a file, see the README. The options
below are a study's own; one that it does not take is refused. Lists have commas between their
parts. This page is printed by `python -m judgepanel.present.reference`.

In Python a study is its spec, and one function runs it:

```python
from judgepanel.present.registry import study_named
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from judgepanel.votes.samples import sample_votes

study = study_named("panel_curve")
spec = study.spec(settings=Settings(splits=4), ks=(3,), compare=(3,))
found = run(study, sample_votes("clean_pairwise"), spec, jobs=1)
assert set(found.frame()["k"]) >= {3}
```
"""


def reference() -> str:
    """Markdown with a section a study."""
    return "\n".join([_HEAD, *(_section(study) for study in STUDIES.values())])


def _section(study: Study[Any, Any, Any]) -> str:
    lines = [f"## {study.title}", "", f"`study {study.name}`: {study.question}", ""]
    knobs = knobs_of(study.spec)
    if knobs:
        lines += ["| option | what | default |", "|---|---|---|", *map(_row, knobs), ""]
    return "\n".join(lines)


def _row(knob: Knob) -> str:
    usual = f"`{knob.shown()}`" if knob.shown() else ""
    words = [f"`{choice}`" for choice in knob.choices]
    text = f"{knob.help}: {', '.join(words)}" if words else knob.help
    return f"| `{knob.option}` | {text} | {usual} |".replace("  |", " |")


if __name__ == "__main__":
    sys.stdout.write(reference())
