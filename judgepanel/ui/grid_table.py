"""The method grid for a narrow screen: the same cells as an HTML table that scrolls by itself."""

from __future__ import annotations

from judgepanel.figures.methods.method_grid import GridCells
from judgepanel.figures.style import text_on
from judgepanel.words.text import in_html


def grid_table_html(cells: GridCells, *, label: str) -> str:
    """Row heads stay in sight; the frame can be scrolled from the keyboard."""
    heads = "".join(f'<th scope="col">{in_html(name)}</th>' for name in cells.columns)
    rows = "".join(
        f'<tr><th scope="row">{in_html(name)}</th>'
        + "".join(_cell(cells, i, j) for j in range(len(cells.columns)))
        + "</tr>"
        for i, name in enumerate(cells.rows)
    )
    return (
        f'<div class="jp-scroll" role="region" tabindex="0" aria-label="{in_html(label)}">'
        f'<table class="jp-grid"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="jp-note">Bold, thick frame: lowest NLL. Thin frame: not told apart from it.</p>'
    )


def _cell(cells: GridCells, i: int, j: int) -> str:
    kind = "best" if (i, j) == cells.best else "tied" if cells.tied[i, j] else "apart"
    colour = cells.colour(i, j)
    return (
        f'<td class="jp-{kind}" style="background:{colour};color:{text_on(colour)}">'
        f"{cells.text(i, j)}</td>"
    )
