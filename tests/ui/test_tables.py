"""Tables of pages: drawing one changes no other, blanks are blank, headings explain."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.delta_generator import DeltaGenerator

from judgepanel.present.blocks import Table
from judgepanel.scoring.interval import Interval
from judgepanel.ui import render as widgets
from judgepanel.words.tables import levels, numbers, text

LONG = 30


@pytest.mark.parametrize("rows", [[1, 2], [2, 1], [1, 200]])
def test_a_table_does_not_set_the_limit_of_another(monkeypatch, rows):
    inside, first_left = Barrier(2), Barrier(2)
    limits = []

    def drawn(cells, **_):
        size = len(cells.data if hasattr(cells, "data") else cells)
        inside.wait(LONG)
        limits.append(pd.get_option("styler.render.max_elements"))
        if size == rows[1]:
            first_left.wait(LONG)

    def draw(number):
        estimates = Interval(*(np.full(number, end) for end in (0.331, 0.215, 0.448)))
        widgets.table(Table({"estimate": levels(estimates)}), key=f"rows {number}")
        if number == rows[0]:
            first_left.wait(LONG)

    before = pd.get_option("styler.render.max_elements")
    monkeypatch.setattr(DeltaGenerator, "dataframe", lambda _, cells, **options: drawn(cells))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, rows))
    assert limits == [before, before]
    assert pd.get_option("styler.render.max_elements") == before


def drawn(monkeypatch, table, *, agent="", every=False):
    """The options with which a table is drawn, and what stands below it."""
    options, below, offered = [], [], []

    def dataframe(cells, **given):
        options.append({"cells": cells, **given})

    place = SimpleNamespace(dataframe=dataframe, html=below.append)
    monkeypatch.setattr(widgets.st, "container", lambda: place)
    monkeypatch.setattr(widgets.st, "context", SimpleNamespace(headers={"User-Agent": agent}))
    monkeypatch.setattr(widgets.st, "toggle", lambda label, **_: offered.append(label) or every)
    widgets.table(table, key="wide")
    return options[0], "".join(below + offered)


def test_a_number_that_is_not_known_is_a_blank_cell_and_comes_first(monkeypatch):
    options, _ = drawn(monkeypatch, Table({"share": numbers([0.5, float("nan")], "share")}))
    cells = options["cells"].data["share"]
    assert [cell.text for cell in cells] == ["50.0 %", ""]
    assert sorted(cells)[0].text == ""


def test_a_heading_says_what_its_column_holds(monkeypatch):
    columns = {"judge": text(["a"]), "skill": numbers([0.5], "share"), "rest": text([""])}
    abouts = {"judge": "Name of the judge.", "skill": "1 - NLL / null NLL."}
    options, _ = drawn(monkeypatch, Table(columns, help=abouts))
    config = options["column_config"]
    assert {name: config[name]["help"] for name in columns} == {**abouts, "rest": None}


def test_a_wide_table_says_that_it_goes_on_to_the_right(monkeypatch):
    names = text(["a judge with a long name"])
    wide = Table({f"column {n}": names for n in range(9)})
    _, below = drawn(monkeypatch, wide, every=True)
    assert "scroll it sideways" in below
    assert "--table: 1" in below  # More than a thousand pixels.
    _, below = drawn(monkeypatch, Table({"judge": names}))
    assert below == ""


def test_a_long_text_does_not_push_other_columns_out_of_sight(monkeypatch):
    options, _ = drawn(monkeypatch, Table({"judge": text(["x" * 119]), "k": numbers([1], "whole")}))
    assert options["column_config"]["judge"]["width"] < 300


def test_columns_for_which_there_is_no_room_are_shown_on_request(monkeypatch):
    names = text(["a judge with a long name"])
    wide = Table({f"column {n}": names for n in range(9)})
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148"
    for agent, fewest, most in (("", 3, 7), (phone, 1, 2)):
        options, below = drawn(monkeypatch, wide, agent=agent)
        shown = [name for name, column in options["column_config"].items() if column is not None]
        assert fewest <= len(shown) <= most
        assert shown == list(wide.columns)[: len(shown)]
        assert "All 9 columns" in below
        options, _ = drawn(monkeypatch, wide, agent=agent, every=True)
        assert None not in options["column_config"].values()


def test_hidden_columns_are_shown_on_request(monkeypatch):
    columns = {name: text(["a judge with a long name"]) for name in ("judge", "nearest", "more")}
    options, below = drawn(monkeypatch, Table(columns, hidden=("more", "absent")))
    assert options["column_config"]["more"] is None
    assert "absent" not in options["column_config"]
    assert "All 3 columns" in below
