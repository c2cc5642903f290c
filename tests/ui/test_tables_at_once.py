"""Tables that are drawn for several visitors at once: what one page does changes no other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Table
from judgepanel.scoring.interval import Interval
from judgepanel.ui import widgets
from judgepanel.words.cells import levels

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
    monkeypatch.setattr(widgets.st, "dataframe", drawn)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, rows))
    assert limits == [before, before]
    assert pd.get_option("styler.render.max_elements") == before
