"""Reads a page or a report as a visitor does, and finds figures too good to be the judges'.

A flattering figure states a whole panel's quality on items it was not fitted to, at a level that no
panel reaches here and that one-class coding produces:

- an NLL below ``NLL`` = .05. With one-class coding and the paper's recipe, panels of the file that
  is read here get .006 to .012 and a constant score .025; honest ones get .08 to .3.
- an accuracy above ``ACCURACY`` = 99 %; the coding gives 100 %.
- a skill above ``SKILL`` = 93 %, the skill of an NLL of .05 against even odds.

It reads sentences ('NLL 0.21', 'accuracy 97 %', 'skill 60 %'), table columns with such headings,
and values that figures draw on an axis of that name. Differences (signed, or under a heading that
says so), ends of intervals, and figures about items chosen for being easy or sure (``PARTS``) do
not state a panel's quality.

A figure is marked if its own sentence, or the box around it, says that it 'measures the coding'. A
box is an element whose class begins with ``st-key-coding_``, in a report ``.coding``.
"""

import re
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

NLL, ACCURACY, SKILL = 0.05, 0.99, 0.93
MARK = "measures the coding"
PARTS = re.compile(
    r"\b(easy|easiest|hard|hardest|tercile|stratum|slice|confiden\w*|when it says|abstain\w*|"
    r"coverage|covered|kept at|retained)\b",
    re.I,
)
_NUMBER = r"(\d[\d,]*\.?\d*|\.\d+)"
_IN_TEXT = {
    "nll": re.compile(rf"\bNLLs?(?: of| is| =|:)? {_NUMBER}(?!\d| %)"),
    "accuracy": re.compile(rf"\baccura(?:cy|te)\b\D{{0,12}}?{_NUMBER} %", re.I),
    "skill": re.compile(rf"\bskill\b\D{{0,12}}?{_NUMBER} %", re.I),
}
_HEADS = {
    "nll": re.compile(r"^(?:\w+ )?NLL\b(?!.*(?:95|differ|change|less|saved|gain))"),
    "accuracy": re.compile(r"^(?:\w+ )?accuracy\b(?!.*95)", re.I),
    "skill": re.compile(r"^skill\b", re.I),
}
_CHANGE = re.compile(r"differ|change|less|worth|value|gain|saved|Δ|NLL.*NLL", re.I | re.S)
_READ = """() => {
  const main = document.querySelector('[data-testid=stMain]') || document.querySelector('main');
  const mark = 'measures the coding';
  const box = e => e.closest('[class*="st-key-coding_"], .coding');
  const marked = e => (e.innerText || '').includes(mark)
    || (box(e) !== null && box(e).innerText.includes(mark));
  const cells = rows => [...rows].map(r => [...r.children].map(c => c.textContent));
  const seen = e => e.getClientRects().length > 0;
  const texts = [...main.querySelectorAll('p, li, dd, td, h1, h2, h3, [data-testid=stMetric]')]
    .filter(seen).map(e => ({text: e.innerText, marked: marked(e)}));
  const tables = [...main.querySelectorAll('[data-testid=stDataFrame]')].filter(seen).map(e => ({
    marked: marked(e),
    rows: cells(e.querySelectorAll('table[role=grid] tr')),
  })).concat([...main.querySelectorAll('.wide table')].map(e => ({
    marked: marked(e),
    rows: cells(e.querySelectorAll('tr')),
  })));
  const list = v => v === undefined || v === null ? [] : Array.from(v);
  const title = a => a && a.title && a.title.text || '';
  const figures = [...main.querySelectorAll('.js-plotly-plot')].filter(seen).map(e => ({
    marked: marked(e),
    traces: e._fullData.filter(t => t.visible === true && t.hoverinfo !== 'skip').map(t => ({
      x: list(t.x), y: list(t.y), z: list(t.z).flatMap(list),
      xtitle: title(e._fullLayout[(t.xaxis || 'x').replace('x', 'xaxis')]),
      ytitle: title(e._fullLayout[(t.yaxis || 'y').replace('y', 'yaxis')]),
      ztitle: title(t.colorbar) || title((e._fullLayout.coloraxis || {}).colorbar),
    })),
  }));
  return {texts, tables, figures};
}"""


@dataclass(frozen=True, slots=True)
class QualityFigure:
    """A figure of a panel's quality: ``nll``, ``accuracy`` or ``skill``, and where it stands."""

    kind: str
    value: float
    where: str
    marked: bool

    @property
    def flatters(self) -> bool:
        """Whether it is too good to be the judges'."""
        if self.kind == "nll":
            return self.value < NLL
        return self.value > (ACCURACY if self.kind == "accuracy" else SKILL)


def figures_of(page: Page) -> list[QualityFigure]:
    """Every figure of a panel's quality that the page shows now."""
    seen = page.evaluate(_READ)
    outcomes = []
    for text in seen["texts"]:
        outcomes += in_sentence(text["text"], text["marked"])
    for table in seen["tables"]:
        outcomes += in_table(table["rows"], table["marked"])
    for figure in seen["figures"]:
        for trace in figure["traces"]:
            outcomes += in_trace(trace, figure["marked"])
    return outcomes


def flattering(outcomes: list[QualityFigure]) -> list[QualityFigure]:
    """Those that flatter and do not say what they measure."""
    return [outcome for outcome in outcomes if outcome.flatters and not outcome.marked]


def in_sentence(text: str, marked: bool = False) -> list[QualityFigure]:
    """Figures of a sentence; one about a part of the items has none."""
    outcomes = []
    for sentence in re.split(r"(?<=[.;:!?]) (?=[A-Z])", text):
        if not PARTS.search(sentence):
            for kind, pattern in _IN_TEXT.items():
                for value in pattern.findall(sentence):
                    scale = 1.0 if kind == "nll" else 100.0
                    outcomes.append(QualityFigure(kind, _number(value) / scale, sentence, marked))
    return outcomes


def in_table(rows: list[list[str]], marked: bool = False) -> list[QualityFigure]:
    """Figures of a table's cells; the first row holds the heads."""
    if not rows or any(PARTS.search(head) for head in rows[0]):
        return []
    outcomes = []
    for row in rows[1:]:
        if PARTS.search(" ".join(row)):
            continue
        for head, cell in zip(rows[0], row, strict=False):
            kind = next((kind for kind, pattern in _HEADS.items() if pattern.search(head)), None)
            value = re.match(_NUMBER, cell.strip())
            if kind is not None and value:
                own = marked or MARK in " ".join(row)
                outcomes.append(
                    QualityFigure(kind, _share(kind, value[1], cell), f"{head}: {row}", own)
                )
    return outcomes


def in_trace(trace: dict[str, Any], marked: bool = False) -> list[QualityFigure]:
    """Figures that a trace draws on an axis of NLL or accuracy."""
    outcomes = []
    axes = [(trace[f"{axis}title"], trace[axis]) for axis in ("x", "y", "z")]
    if any(PARTS.search(title) for title, _ in axes):
        return []
    for title, values in axes:
        kind = "nll" if "NLL" in title else "accuracy" if "accuracy" in title.lower() else None
        if kind is None or _CHANGE.search(title):
            continue
        numbers = [value for value in values if isinstance(value, int | float)]
        outcomes += [
            QualityFigure(kind, float(value), f"figure, {title}", marked) for value in numbers
        ]
    return outcomes


def _share(kind: str, text: str, cell: str) -> float:
    """An NLL as it stands; shares may be given in per cent, with or without the sign."""
    value = _number(text)
    return value / 100.0 if kind != "nll" and ("%" in cell or value > 1.0) else value


def _number(text: str) -> float:
    return float(text.replace(",", ""))
