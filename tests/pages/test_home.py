"""Home: the user's analyses are listed, renamed, deleted and compared in pairs."""

import pytest

from judgepanel.service import basics, database
from judgepanel.service.workspace import default_home
from judgepanel.studies.contract import Settings
from judgepanel.ui import server as spaces
from judgepanel.ui.frame import BRAND
from judgepanel.ui.pages.home import FIRST_ROWS
from judgepanel.ui.session import workspace
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from tests.pages.driver import (
    answer_of,
    button,
    checked,
    created,
    displayed,
    htmls,
    links,
    open_app,
    text_of,
    until,
    until_done,
)

NAMES = (
    "<script>alert(1)</script>",
    "**bold** [x](https://evil.example) :smile: $x$",
    "\N{ROBOT FACE} judges \N{SPARKLES}",
)
ESCAPED = "&#60;script&#62;alert&#40;1&#41;&#60;&#47;script&#62;"


@pytest.fixture(autouse=True)
def own_database(monkeypatch, tmp_path):
    """Every test has a list of its own."""
    monkeypatch.setenv(database.VARIABLE, f"sqlite:///{tmp_path / 'own.db'}")
    yield
    spaces.close_workspaces()


def analysis(name, settings=None, sample="clean_pairwise"):
    loaded = load_votes(sample_bytes(sample), name=f"{sample}_votes.csv")
    return workspace().create(loaded, settings or Settings(splits=2), name).id


def judges(n, *, splits=2, seed=0):
    names = load_votes(sample_bytes("clean_pairwise"), name="x.csv").votes.judges
    return Settings(splits=splits, seed=seed, judges=tuple(names[:n]))


def opened(app, kind, key):
    """A popover that somebody opens."""
    app.session_state[f"{kind}-{key}"] = True
    return checked(app.run())


def renamed(app, key, name):
    opened(app, "rename", key)
    app.text_input(key=f"name-{key}").set_value(name)
    return checked(button(app, "Rename").click().run())


def deleted(app, key):
    opened(app, "delete", key)
    return checked(app.button(key=f"gone-{key}").click().run())


def rows(app):
    """Names in the list."""
    return [label for label in links(app) if label != "Close the comparison"]


def compared(entry, other):
    app = until_done(open_app(analysis=entry, compare=other))
    return until_done(checked(app.run()))


WELCOME = "Keep all judges, or the best few?"


def test_newcomers_see_what_the_pages_answer_in_place_of_a_list():
    app = open_app()
    assert app.main.get("header")[0].value == "Your votes"
    assert WELCOME in "".join(htmls(app))
    analysis("the first")
    assert WELCOME not in "".join(htmls(open_app()))


def test_the_newest_comes_first_with_file_size_time_and_what_is_not_the_default():
    analysis("older", Settings())
    analysis("newer", judges(5, splits=10, seed=7))
    app = open_app()
    assert rows(app) == ["older", "newer"][::-1]
    details = htmls(app, "clean_pairwise_votes.csv")
    assert "300 items x 24 judges" in details[0]
    assert details[0].endswith("UTC5 chosen judges, 10 splits, seed 7")
    assert details[1].endswith("UTC")


def test_many_are_shown_a_few_at_first():
    loaded = load_votes(sample_bytes("clean_pairwise"), name="v.csv")
    for number in range(FIRST_ROWS + 3):
        workspace().create(loaded, Settings(), f"number {number}")
    app = open_app()
    assert rows(app) == [f"number {7 - n}" for n in range(FIRST_ROWS)]
    checked(app.button(key="home-more").click().run())
    assert len(rows(app)) == FIRST_ROWS + 3
    assert not [button for button in app.button if button.key == "home-more"]


def test_an_analysis_is_renamed_and_stays_where_it_was():
    key = analysis("old name")
    app = renamed(open_app(), key, "  new\tname ")
    assert rows(app) == ["new name"]
    assert workspace().open(key).name == "new name"
    assert app.session_state[f"rename-{key}"] is False


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "A name needs at least one visible character."),
        (" \u200b\n", "A name needs at least one visible character."),
        ("n" * 5000, "A name has at most 80 characters; this one has 5,000."),
    ],
)
def test_a_name_that_does_not_fit_is_refused_in_a_sentence(name, sentence):
    key = analysis("old name")
    assert htmls(renamed(open_app(), key, name), "jp-problem") == [sentence]
    assert workspace().open(key).name == "old name"


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_stay_text(name):
    key, other = (analysis(text, judges(2)) for text in ("old name", "n" * 5000))
    app = renamed(open_app(), key, name)
    assert workspace().open(key).name == name
    assert len(rows(app)[0]) == 80
    if "<" in name:
        assert rows(app)[1] == ESCAPED
    opened(app, "delete", key)
    app = compared(key, other)
    pieces = [element.proto for element in app.get("html")]
    assert {piece.body for piece in pieces if piece.unsafe_allow_javascript} == {BRAND.strip()}
    bodies = [piece.body for piece in pieces if not piece.unsafe_allow_javascript]
    assert not [body for body in bodies if "<script" in body or "n" * 100 in body]
    assert not [text.value for text in app.markdown if "https://evil" in text.value]
    assert name in text_of(app)


def test_a_deleted_analysis_is_gone_and_its_link_says_so():
    remaining, key = analysis("kept"), analysis("to go")
    app = opened(open_app(), "delete", key)
    assert any("share links and decisions" in text for text in htmls(app, "to go"))
    assert workspace().open(key)
    app = deleted(app, key)
    assert rows(app) == ["kept"]
    assert htmls(app, 'role="status"') == ["Deleted: to go"]
    with pytest.raises(basics.NotFound):
        workspace().open(key)
    assert open_app(analysis=key).error[0].value.startswith("There is no analysis behind")
    assert not open_app(analysis=remaining).error


def test_the_analysis_that_is_shown_can_be_renamed_and_deleted_on_its_page():
    key = analysis("old name")
    app = renamed(open_app(analysis=key), key, "new name")
    assert any("new name" in text for text in htmls(app, "jp-strip"))
    app = deleted(app, key)
    assert "analysis" not in app.query_params
    assert not htmls(app, "jp-answer")
    assert htmls(app, 'role="status"') == ["Deleted: new name"]


@pytest.mark.parametrize("label", ["Delete permanently", "Rename"])
def test_what_was_deleted_in_another_window_is_told_in_a_sentence(label):
    remaining, key = analysis("kept"), analysis("to go")
    app = opened(opened(open_app(), "delete", key), "rename", key)
    app.text_input(key=f"name-{key}").set_value("new")
    wanted = button(app, label)
    workspace().delete(key)
    checked(wanted.click().run())
    (sentence,) = htmls(app, "jp-problem")
    assert sentence == "This analysis was already deleted, perhaps in another window."
    assert rows(app) == ["kept"]
    assert workspace().open(remaining)


def test_two_are_chosen_and_go_into_the_url():
    first, other = analysis("one"), analysis("other")
    app = checked(open_app().button(key="home-compare").click().run())
    assert app.query_params["analysis"] in (first, [first])
    assert app.query_params["compare"] in (other, [other])
    app = open_app()
    app.selectbox[0].set_value(other)
    checked(app.button(key="home-compare").click().run())
    assert htmls(app, "jp-problem") == ["Choose two different analyses."]
    assert "compare" not in app.query_params


def test_names_that_read_alike_can_be_told_apart_in_the_lists():
    for _ in range(3):
        analysis("same")
    assert len(set(open_app().selectbox[0].options)) == 3


def test_more_judges_on_the_same_items_get_a_difference_with_its_interval():
    before, after = analysis("three", judges(3)), analysis("six", judges(6))
    app = compared(before, after)
    answer = answer_of(app)
    assert "with what is recommended from all 6 judges after in place of 3 before." in answer
    text = text_of(app)
    assert "Both rest on the same 300 labelled items and labels, and on the same splits" in text
    (frame,) = (displayed(dataframe) for dataframe in app.dataframe)
    assert frame["analysis"].tolist() == ["before", "before", "after", "after"]
    assert frame["judges"].tolist()[::2] == ["3", "6"]
    assert len([text for text in htmls(app, "jp-text") if text.startswith("Panel curve: ")]) == 2
    assert any(" study what_if " in code.value for code in app.code)
    assert links(app) == ["Next: the panel curve of the second analysis", "Close the comparison"]


def test_a_recommendation_that_fails_does_not_hold_up_the_next():
    lines = ["item_id,label,ann,bob", *(f"q{i},{i % 2},{i // 2 % 2},{i % 2}" for i in range(40))]
    costs = b"judge,cost\nann,free\nbob,1\n"
    bad = created("\n".join(lines).encode(), 2, judge_table=costs)
    app = open_app(analysis=bad, compare=analysis("good", judges(3)))
    until(app, lambda: "Panel in use (Best): " in text_of(app))
    assert "cost" in "".join(htmls(app, "jp-problem"))


def test_other_items_get_no_test():
    app = compared(analysis("one", judges(3)), analysis("other", sample="one_class"))
    assert answer_of(app).startswith("They rest on different data (")
    assert "is not a test of the difference" in answer_of(app)
    assert "study what_if" not in text_of(app)
    assert "Better" not in text_of(app)


def test_the_same_twice_is_told_and_computes_nothing():
    key = analysis("one")
    app = open_app(analysis=key, compare=key)
    assert htmls(app, "jp-problem") == ["Both are the same analysis. Choose another one above."]
    assert not app.get("progress")
    assert not app.dataframe


@pytest.mark.parametrize("forged", ["A" * 22, "short", "../../etc/passwd", "<b>x</b>", ""])
def test_one_that_is_not_there_or_was_deleted_is_told_in_a_sentence(forged):
    app = open_app(analysis=analysis("one"), compare=forged)
    (html,) = htmls(app, "jp-problem")
    assert html.startswith("There is no analysis to compare with behind this link")
    assert not app.dataframe


def test_another_owners_analysis_is_not_there():
    loaded = load_votes(sample_bytes("clean_pairwise"), name="v.csv")
    home = default_home()
    space = spaces.open_workspace(database.default_url(home), str(home)).owned_by("somebody")
    theirs = space.create(loaded, Settings(), "x")
    app = open_app(analysis=analysis("one"), compare=theirs.id)
    assert htmls(app, "jp-problem")[0].startswith("There is no analysis to compare with")
    assert rows(open_app()) == ["one"]


def test_a_reader_sees_nothing_of_it():
    first, other = analysis("one"), analysis("not for readers")
    app = open_app(share=workspace().share(first), compare=other)
    assert answer_of(app).startswith("300 items")
    assert not app.selectbox
    assert not [button for button in app.button if button.label in ("Rename", "Delete", "Compare")]
    assert "not for readers" not in text_of(app)
    assert not htmls(app, "jp-problem")


def test_the_link_for_others_leaves_the_second_analysis_out():
    first, other = analysis("one"), analysis("other")
    app = open_app(analysis=first, compare=other)
    checked(app.button(key="share-make").click().run())
    (link,) = (code.value for code in app.code if "?" in code.value)
    assert other not in link


def test_a_link_that_reaches_only_this_machine_is_said_to_and_one_of_a_public_name_is_not(
    monkeypatch,
):
    one_analysis = analysis("one")
    app = open_app(analysis=one_analysis)
    (warning,) = [box.value for box in app.warning]
    assert "reaches only this machine" in warning
    assert "JUDGEPANEL_PUBLIC_URL" in warning
    monkeypatch.setenv("JUDGEPANEL_PUBLIC_URL", "https://judges.example.org")
    app = open_app(analysis=one_analysis)
    checked(app.button(key="share-make").click().run())
    assert not app.warning
    (link,) = (code.value for code in app.code if "?" in code.value)
    assert link.startswith("https://judges.example.org/?share=")
