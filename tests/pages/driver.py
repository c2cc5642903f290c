"""Runs the real app without a browser and reads its pages."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path

import pandas as pd
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from judgepanel.studies.contract import Settings
from judgepanel.ui import session, work
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes, sample_judge_bytes

ROOT = Path(__file__).resolve().parents[2]
CURVE = "pages/panel_curve.py"
RECOMMENDED = "pages/recommended_panel.py"
JUDGES = "pages/judges.py"
BUDGET = "pages/label_budget.py"
CONFIDENCE = "pages/confidence.py"
PAGES = (None, CURVE, RECOMMENDED, JUDGES, BUDGET, CONFIDENCE)
DEADLINE = 60.0
_TAG = re.compile(r"<[^>]*>")


def open_app(page=None, **parameters):
    """A new visitor on a page of the app (None: Start), with these parameters in the URL."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=DEADLINE)
    for name, value in parameters.items():
        app.query_params[name] = value
    if page is not None:
        app.switch_page(page)
    return checked(app.run())


def checked(app):
    """The app, when no page has shown an exception."""
    assert not app.exception, [error.message for error in app.exception]
    return app


def turn_to(app, page):
    """Another page of the same visit."""
    return checked(app.switch_page(page).run())


def contents(app):
    """What a page shows at the moment, for the message of a test that waits for something else."""
    names = {
        "headers": [header.value for header in app.header],
        "downloads": len(app.get("download_button")),
        "errors": [error.value for error in app.error],
    }
    return ", ".join(f"{name}: {values}" for name, values in names.items())


def until(app, reached):
    """Run again and again, as the polling fragment does, until the page is so far.

    The longer it takes, the longer the pauses: whole pages drawn without one would take the time
    from the work that they wait for.
    """
    deadline, pause = time.monotonic() + DEADLINE, 0.02
    while not reached():
        assert time.monotonic() < deadline, f"this is not reached; {contents(app)}"
        time.sleep(pause)
        pause = min(1.5 * pause, work.POLL_SECONDS)
        checked(app.run())
    return app


def with_downloads(page, n_downloads, **parameters):
    """A page with these parameters, once so many of its own downloads are offered."""
    app = open_app(page, **parameters)
    return until(app, lambda: len(downloads_of(app)) == n_downloads)


def button(app, label):
    """The one button that says this."""
    (result,) = (button for button in app.button if button.label == label)
    return result


def until_done(app):
    """Run until no work is in progress."""
    return until(app, lambda: not app.get("progress"))


def htmls(app, marker=""):
    """Text of every piece of HTML that has the marker in its text or source; no style sheets."""
    bodies = [element.proto.body for element in app.get("html")]
    texts = [html.unescape(_TAG.sub("", body)) for body in bodies]
    return [
        text
        for body, text in zip(bodies, texts, strict=True)
        if marker in body + text and "<style>" not in body
    ]


def answer_of(app):
    """The one answer sentence of a page."""
    (answer,) = htmls(app, "jp-answer")
    return answer


def links(app):
    """Labels of the links outside the sidebar."""
    return [link.proto.label for link in app.main.get("page_link")]


def downloads_of(app):
    """Labels of the page's own download buttons: those of its report stand on every page."""
    labels = [button.proto.label for button in app.get("download_button")]
    return [label for label in labels if not label.startswith("Download report as ")]


def text_of(app):
    """All that a page says: text, banners, tables and code."""
    sentence = htmls(app)
    for kind in ("title", "header", "caption", "markdown", "error", "warning", "info", "code"):
        sentence += [element.value for element in app.get(kind)]
    sentence += [displayed(frame).to_csv(index=False) for frame in app.dataframe]
    return "\n".join(sentence)


def analysis_in(app):
    """The analysis in the URL."""
    value = app.query_params["analysis"]
    return value if isinstance(value, str) else value[0]


def prepared(name, splits=4):
    """The id of a new analysis of a sample with few splits."""
    return created(sample_bytes(name), splits, f"{name}_votes.csv")


def with_families(name, splits=4):
    """The id of a new analysis of a sample with its judge table."""
    table = sample_judge_bytes(name)
    return created(sample_bytes(name), splits, f"{name}_votes.csv", judge_table=table)


def created(data, splits=4, file="votes.csv", **options):
    """The id of a new analysis of a file of votes, named after the file."""
    loaded = load_votes(data, name=file, **options)
    name = file.partition(".")[0].removesuffix("_votes")
    return session.workspace().create(loaded, Settings(splits=splits), name).id


def displayed(table):
    """A table as people see it: texts where numbers are there only to sort by."""
    frame: pd.DataFrame = table.value.copy()
    visible = table.proto.arrow_data.styler.display_values
    if not visible:
        return frame
    texts = convert_arrow_bytes_to_pandas_df(visible)
    for i, name in enumerate(frame.columns):
        column = texts.iloc[:, i].astype(str)
        plain = pd.api.types.is_float_dtype(frame[name])
        if plain and list(column) != [f"{value:.6f}" for value in frame[name]]:
            frame[name] = column
    return frame
