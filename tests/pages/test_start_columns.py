"""Start after an upload: each column has a role above its cells, and guesses can be changed."""

import json
from math import inf, nan

import pytest

from judgepanel.ui.pages.start_votes import FileChoices, thresholds_of
from judgepanel.ui.uploads import Upload
from judgepanel.votes.choices import Thresholds
from tests.pages.driver import checked, htmls, open_app, text_of

N = 24
LABELS = [n % 2 for n in range(N)]


def uploaded(votes, name="v.csv", labels=None):
    app = open_app()
    app.session_state["votes_file-kept"] = Upload(name, votes)
    if labels is not None:
        app.session_state["labels_file-kept"] = Upload("gold.csv", labels)
    return checked(app.run())


def csv(**columns):
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]).encode()


def votes(*judges, label=True):
    flips = {name: [(v + (n % (k + 3) == 0)) % 2 for n, v in enumerate(LABELS)]
             for k, name in enumerate(judges)}  # fmt: skip
    ids = {"item_id": [f"q{n}" for n in range(N)]}
    return {**ids, **({"label": list(LABELS)} if label else {}), **flips}


def head(app):
    """The sentence above the columns: how the file was read."""
    return htmls(app, "jp-result")[0]


def role(app, column):
    return app.selectbox(key=f"role-{column}").value


def give(app, column, role):
    return checked(app.selectbox(key=f"role-{column}").set_value(role).run())


def test_the_head_says_what_was_read_and_every_column_has_its_role_and_cells():
    app = uploaded(csv(**votes("ann", "bob"), timestamp=[f"2024-05-{n + 1:02}" for n in range(N)]))
    assert "I read 24 items and 2 judges" in head(app)
    roles = ("item_id", "label", "ann", "bob", "timestamp")
    assert [role(app, name) for name in roles] == ["id", "label", "judge", "judge", "ignore"]
    assert any("q0q1q2q3" in cells for cells in htmls(app, "jp-cells"))


def test_a_column_that_is_given_another_role_is_read_so():
    app = uploaded(csv(**votes("ann", "bob", "cy")))
    give(app, "bob", "feature")
    assert "2 judges" in head(app)
    assert role(app, "bob") == "feature"
    give(app, "bob", "judge")
    assert "3 judges" in head(app)


def test_a_column_left_out_as_the_label_is_a_judge_once_the_visitor_says_so():
    app = uploaded(csv(**votes("ann", "bob"), oracle=list(LABELS)))
    assert "left out as no judges: 'oracle' (equal to the label" in head(app)
    give(app, "oracle", "judge")
    assert "24 items and 3 judges" in head(app)


def test_another_label_takes_the_place_of_the_one_that_was_guessed():
    app = uploaded(csv(**votes("ann", "bob"), second=[n % 3 % 2 for n in range(N)]))
    give(app, "second", "label")
    assert "labels from 'second'" in head(app)
    assert role(app, "label") == "ignore"


def test_labels_of_another_file_are_joined_and_their_column_can_be_changed():
    data = csv(**votes("ann", "bob", label=False))
    ids = [f"q{n}" for n in range(N)]
    labels = csv(item_id=ids, gold=LABELS, second=[n % 3 % 2 for n in range(N)])
    app = uploaded(data, labels=labels)
    assert "labels from 'gold' of 'gold.csv'" in head(app)
    checked(app.selectbox(key="label_column").set_value("second").run())
    assert "labels from 'second' of 'gold.csv'" in head(app)


@pytest.mark.parametrize(
    ("bad", "good", "task"), [("no", "yes", "pointwise"), ("B", "A", "pairwise")]
)
def test_words_tell_what_an_item_is_and_it_can_be_changed(bad, good, task):
    cells = {n: [good if v == 1 else bad if v == 0 else v for v in own]
             for n, own in votes("ann", "bob").items()}  # fmt: skip
    app = uploaded(csv(**cells))
    assert app.radio[0].value == task
    assert not app.button(key="analyse").disabled
    other = "pairwise" if task == "pointwise" else "pointwise"
    checked(app.radio[0].set_value(other).run())
    assert app.radio[0].value == other


def test_zeros_and_ones_do_not_tell_what_an_item_is_so_it_is_asked():
    app = uploaded(csv(**votes("ann", "bob")))
    assert app.radio[0].value is None
    assert app.button(key="analyse").disabled
    checked(app.radio[0].set_value("pointwise").run())
    assert not app.button(key="analyse").disabled


def test_words_that_are_not_known_are_listed_and_can_be_given_a_meaning():
    cells = votes("ann", "bob")
    cells["ann"][:3] = ["dunno", "dunno", "meh"]
    app = uploaded(csv(**cells))
    assert "unknown: 'dunno' (2), 'meh' (1)" in htmls(app, "jp-problem")[0]
    checked(app.selectbox(key="word-dunno").set_value("=").run())
    checked(app.selectbox(key="word-meh").set_value("=1").run())
    assert "I read 24 items" in head(app)


def test_labels_on_a_scale_are_cut_where_the_visitor_says():
    cells = votes("ann", "bob") | {"label": [n % 5 + 1 for n in range(N)]}
    app = uploaded(csv(**cells))
    assert "labels on a scale: 1 (5), 2 (5), 3 (5), 4 (5), 5 (4)" in htmls(app, "jp-problem")[0]
    checked(app.select_slider(key="label-cut").set_value(3.5).run())
    assert "1 means label above 3.5" in head(app)


def test_scores_are_refused_until_a_threshold_says_where_they_are_cut():
    app = uploaded(csv(**votes(), ann=list(range(N)), bob=[n * 7 % N for n in range(N)]))
    assert "not a verdict" in htmls(app, "jp-problem")[0]
    checked(app.number_input(key="threshold").set_value(11.5).run())
    assert "I read 24 items and 2 judges" in head(app)


def test_a_blank_threshold_is_none_and_one_for_all_stands_beside_those_of_judges():
    assert thresholds_of(None, {"ann": nan, "bob": None}) == Thresholds()
    assert thresholds_of(3.0, {"ann": nan}) == Thresholds(3.0)
    assert thresholds_of(3.0, {"ann": nan, "bob": 0.0}) == Thresholds(3.0, {"bob": 0.0})
    # Refused when the votes are read.
    assert thresholds_of(None, {"bob": inf}) == Thresholds(by_judge={"bob": inf})


def test_all_votes_can_be_turned_around():
    app = uploaded(csv(**votes("ann", "bob")))
    checked(app.checkbox(key="switch-turn").set_value(True).run())
    assert any("turned around, as asked" in note for note in htmls(app, "jp-note"))


def test_of_several_lists_in_a_document_one_is_chosen():
    rows = [dict(zip(votes("ann", "bob"), row, strict=True))
            for row in zip(*votes("ann", "bob").values(), strict=True)]  # fmt: skip
    document = {"run": {"steps": [{"passed": n % 2} for n in range(9)]}, "results": {"items": rows}}
    app = uploaded(json.dumps(document).encode(), "v.json")
    assert "several lists of records" in htmls(app, "jp-problem")[0]
    assert app.selectbox(key="records").options == ["run.steps", "results.items"]
    checked(app.selectbox(key="records").set_value("results.items").run())
    assert "I read 24 items and 2 judges" in head(app)


def test_a_column_whose_items_belong_together_is_offered_as_a_button():
    cells = votes("ann", "bob") | {"prompt_text": [f"what is {n // 3}?" for n in range(N)]}
    cells["question"] = cells.pop("prompt_text")
    app = uploaded(csv(**cells))
    assert "'question'" in " ".join(htmls(app, "jp-note"))
    checked(app.button(key="group-by").click().run())
    assert role(app, "question") == "group"


def test_what_was_said_is_forgotten_with_the_file():
    app = uploaded(csv(**votes("ann", "bob")))
    give(app, "bob", "ignore")
    app.session_state["votes_file-kept"] = Upload("w.csv", csv(**votes("ann", "bob")))
    checked(app.run())
    assert "2 judges" in head(app)


def test_what_was_said_about_the_votes_stays_when_labels_are_added():
    people = {"person": ["ann", "bob"], **{f"Q{n}": [(v + (n % 7 == 0)) % 2, (v + (n % 5 == 0)) % 2]
              for n, v in enumerate(LABELS)}}  # fmt: skip
    app = uploaded(csv(**people))
    assert "turn the table with 'Rows are judges'" in htmls(app, "jp-problem")[0]
    checked(app.checkbox(key="switch-transpose").set_value(True).run())
    gold = csv(item=[f"Q{n}" for n in range(N)], gold=LABELS)
    app.session_state["labels_file-kept"] = Upload("gold.csv", gold)
    checked(app.run())
    assert "I read 24 items and 2 judges" in head(app)
    assert "labels from 'gold' of 'gold.csv'" in head(app)


def test_errors_and_notes_name_the_place_on_the_page_and_no_option():
    app = uploaded(csv(**votes("ann", "bob", label=False)))
    (sentence,) = htmls(app, "jp-problem")
    assert "name the label column on Start under Columns; give labels in another file" in sentence
    app = uploaded(csv(**votes("ann", "bob"), difficulty=[n % 2 for n in range(N)]))
    assert "'difficulty'. Leave one out on Start under Columns." in " ".join(htmls(app, "jp-note"))
    assert "--" not in sentence + text_of(app)


def test_one_role_is_taken_over_and_all_judges_are_named_once_one_is():
    from judgepanel.intake.answer import ColumnPreview, Preview

    roles = {"a": "judge", "b": "judge", "y": "label", "z": "ignore"}
    columns = tuple(ColumnPreview(name, role, "", ()) for name, role in roles.items())
    chosen = FileChoices()
    chosen.set_role("z", "judge", Preview(columns, 4, 9))
    assert chosen.choices().judge_columns == ("a", "b", "z")
    chosen.set_role("z", "label", Preview(columns, 4, 9))
    choices = chosen.choices()
    assert (choices.label_column, choices.ignore) == ("z", ("y",))


def test_outputs_without_labels_show_what_was_read_of_them():
    rows = [
        {"item": f"q{n}", "judge": judge, "order": "AB", "text": text}
        for n in range(N)
        for judge, text in (("ann", "[[A]]"), ("bob", "I cannot help." if n % 2 else "[[B]]"))
    ]
    app = uploaded("\n".join(map(json.dumps, rows)).encode(), "said.jsonl")
    assert "75.0 % of 48 outputs are read as a verdict; bob the least" in htmls(app, "jp-result")[0]
    assert "there is no label column" in text_of(app)


def test_numbers_that_are_codes_of_verdicts_are_given_a_meaning_as_the_refusal_says():
    table = votes("ann", "bob")
    for name in ("ann", "bob"):
        table[name] = [1 if n % 7 == 0 else (2, 0)[vote] for n, vote in enumerate(table[name])]
    app = uploaded(csv(**table))
    assert "on Start under Words" in htmls(app, "jp-problem")[0]
    for word, code in (("0", "=1"), ("1", "=tie"), ("2", "=0")):
        app.selectbox(key=f"word-{word}").set_value(code)
        checked(app.run())
    assert "2 judges" in head(app)
    assert "Grades" not in [expander.label for expander in app.expander]
