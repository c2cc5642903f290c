"""Start after an upload: every column has a role, and each role can be changed."""

from math import inf, nan

from streamlit.testing.v1 import AppTest

from judgepanel.ui.pages.start_columns import thresholds_of
from judgepanel.votes.grades import Thresholds
from tests.pages.driver import htmls


def columns_of_an_upload() -> None:
    import streamlit as st

    from judgepanel.ui.pages.start_columns import choose_columns, guessed_columns
    from judgepanel.votes import build_votes, read_table

    lines = [f"q{n},{n % 2},2024-05-0{n + 1},{n % 2},{n // 4},{n % 2}" for n in range(8)]
    data = "\n".join(["item_id,label,timestamp,ann,bob,odd", *lines])
    raw = read_table(data.encode(), "v.csv")
    loaded = build_votes(*choose_columns(raw, guessed_columns(raw), None)[:2])
    st.write("judges: " + ", ".join(loaded.votes.judges))
    st.write("features: " + ", ".join(loaded.mapping.feature_columns))


def columns_of_labels() -> None:
    import streamlit as st

    from judgepanel.ui.pages.start_columns import choose_columns, guessed_columns
    from judgepanel.votes import build_votes, read_table
    from judgepanel.words.commands import column_options

    lines = [f"q{n},{n % 2},{n // 4}" for n in range(8)]
    votes = read_table("\n".join(["item_id,ann,bob", *lines]).encode(), "v.csv")
    lines = [f"q{n},{n % 2},{n // 4}" for n in range(8)]
    labels = read_table("\n".join(["item_id,gold,second", *lines]).encode(), "gold.csv")
    loaded = build_votes(*choose_columns(votes, guessed_columns(votes), labels)[:2])
    st.write("labels: " + "".join(map(str, loaded.votes.labels)))
    st.write("options: " + " ".join(column_options(loaded)))


def scores_of_an_upload() -> None:
    import streamlit as st

    from judgepanel.ui.pages.start_columns import (
        choose_columns,
        choose_thresholds,
        guessed_columns,
    )
    from judgepanel.votes import InputError, build_votes, read_table
    from judgepanel.votes.grades import graded_judges

    lines = [f"q{n},{n % 2},{n}" for n in range(8)]
    raw = read_table("\n".join(["item_id,label,ann", *lines]).encode(), "v.csv")
    table, mapping, _ = choose_columns(raw, guessed_columns(raw), None)
    thresholds = choose_thresholds(graded_judges(table, mapping, "pairwise"))
    try:
        votes = build_votes(table, mapping, thresholds=thresholds).votes
        st.write("votes: " + "".join(map(str, votes.votes[:, 0])))
    except InputError as error:
        st.write(str(error))


def records_of_an_upload() -> None:
    import json

    import streamlit as st

    from judgepanel.ui.pages.start_columns import choose_records
    from judgepanel.votes import InputError

    rows = [{"item_id": f"q{n}", "label": n % 2, "ann": 1} for n in range(8)]
    document = {"run": {"steps": [{"x": 1}]}, "results": {"items": rows}}
    try:
        table = choose_records(json.dumps(document).encode(), "v.json")
        st.write(f"{table.n_rows} rows of {table.records}")
    except InputError as error:
        st.write(str(error))


def task_of_an_upload() -> None:
    import streamlit as st

    from judgepanel.ui.pages.start_columns import choose_columns, choose_task, guessed_columns
    from judgepanel.votes import read_table
    from judgepanel.votes.forms import implied_task

    words = {"good": ("no", "yes"), "better": ("B", "A")}[
        st.text_input("words", "good", key="words")
    ]
    lines = [f"q{n},{words[n % 2]},{words[n // 4]}" for n in range(8)]
    raw = read_table("\n".join(["item_id,label,ann", *lines]).encode(), "v.csv")
    place = st.container()
    table, mapping, _ = choose_columns(raw, guessed_columns(raw), None)
    st.write("task: " + choose_task(place, implied_task(table, mapping)))


def refused_upload() -> None:
    from judgepanel.ui.frame import notes, problem
    from judgepanel.votes import InputError, load_votes

    try:
        load_votes(b"item_id,ann,bob\nq1,1,1\nq2,0,0\n", name="v.csv")
    except InputError as error:
        problem(str(error))
    lines = [f"q{n},{n % 2},{n // 4},{n % 2}" for n in range(8)]
    table = "\n".join(["item_id,label,ann,difficulty", *lines]).encode()
    notes(load_votes(table, name="v.csv").warnings)


def shown(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.markdown)


def test_labels_of_another_file_are_joined_and_their_column_can_be_changed() -> None:
    app = AppTest.from_function(columns_of_labels, default_timeout=60).run()
    assert "labels: 01010101" in shown(app)
    app.selectbox(key="column-of-labels").set_value("second").run()
    assert "labels: 00001111" in shown(app)
    assert "--labels gold.csv --label-column second" in shown(app)


def test_words_of_good_and_bad_start_as_single_responses_and_the_task_can_be_changed() -> None:
    app = AppTest.from_function(task_of_an_upload, default_timeout=60).run()
    assert "task: pointwise" in shown(app)
    app.radio(key="task-pointwise").set_value("pairwise").run()
    assert "task: pairwise" in shown(app)
    app.text_input(key="words").set_value("better").run()
    assert "task: pairwise" in shown(app)


def test_roles_are_guessed_and_can_be_changed() -> None:
    app = AppTest.from_function(columns_of_an_upload, default_timeout=60).run()
    assert "judges: ann, bob, odd" in shown(app)
    app.multiselect(key="columns-ignore").set_value(["odd"])
    app.multiselect(key="columns-feature").set_value(["bob"])
    app.run()
    assert "judges: ann" in shown(app).splitlines()
    assert "features: bob" in shown(app)
    app.multiselect(key="columns-feature").set_value([])
    app.multiselect(key="columns-judge").set_value(["bob"])
    app.run()
    assert "judges: bob" in shown(app).splitlines()


def test_scores_are_refused_until_a_threshold_says_where_they_are_cut() -> None:
    app = AppTest.from_function(scores_of_an_upload, default_timeout=60).run()
    assert "not a verdict" in shown(app)
    app.number_input(key="threshold").set_value(3.5).run()
    assert "votes: 00001111" in shown(app)


def test_a_blank_threshold_is_none_and_one_for_all_stands_beside_those_of_judges() -> None:
    assert thresholds_of(None, {"ann": nan, "bob": None}) == Thresholds()
    assert thresholds_of(3.0, {"ann": nan}) == Thresholds(3.0)
    assert thresholds_of(3.0, {"ann": nan, "bob": 0.0}) == Thresholds(3.0, {"bob": 0.0})
    # Refused when the votes are read.
    assert thresholds_of(None, {"bob": inf}) == Thresholds(by_judge={"bob": inf})


def test_of_several_lists_in_a_document_one_is_chosen() -> None:
    app = AppTest.from_function(records_of_an_upload, default_timeout=60).run()
    assert "several lists of records" in shown(app)
    assert app.selectbox(key="records").options == ["run.steps", "results.items"]
    app.selectbox(key="records").set_value("results.items").run()
    assert "8 rows of results.items" in shown(app)


def test_errors_and_notes_name_the_place_on_the_page_and_no_option() -> None:
    app = AppTest.from_function(refused_upload, default_timeout=60).run()
    (sentence,) = htmls(app, "jp-problem")
    assert "name the label column on Start under Columns; give labels in another file" in sentence
    shown_notes = " ".join(htmls(app, "jp-note"))
    assert "'difficulty'. Leave one out on Start under Columns." in shown_notes
    assert "--" not in sentence + shown_notes
