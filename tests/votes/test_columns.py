import pytest

from judgepanel.votes import InputError, choices, formats, load_votes
from judgepanel.votes.columns import says_failure
from judgepanel.votes.roles import Roles, guess_roles


def guess(text, *, need_label=True, **given):
    table = formats.read_table(text.encode(), "v.csv")
    return guess_roles(table, choices.Choices.of(**given), need_label=need_label)


def test_every_other_column_of_a_wide_file_is_a_judge():
    roles = guess("j1,Item_ID,feat_len,Gold,j2\n1,a,3,0,0\n")
    assert roles == Roles(
        *("wide", ("Item_ID",), "Gold", None, ("j1", "j2")), feature_columns=("feat_len",)
    )


def test_without_an_id_column_there_is_none():
    assert guess("label,j1\n1,0\n").id_column == ()


@pytest.mark.parametrize(
    "name", ["Question ID", "question_id", "QuestionId", "item id", "Sample-ID", " Item_Id"]
)
def test_names_are_compared_without_case_blanks_underscores_and_hyphens(name):
    roles = guess(f"{name},Gold Label,Group-ID,j1\nq7,1,g1,0\nq9,0,g2,1\n")
    columns = (roles.id_column, roles.label_column, roles.group_column)
    assert columns == ((name.strip(),), "Gold Label", "Group-ID")
    assert roles.judge_columns == ("j1",)


def test_a_name_as_it_is_written_here_comes_before_one_that_is_alike():
    roles = guess("Item ID,Question_ID,label,j1\na,b,1,0\nc,d,0,1\n")
    assert roles.id_column == ("Question_ID",)
    roles = guess("Question ID,Item ID,label,j1\na,b,1,0\nc,d,0,1\n")
    assert roles.id_column == ("Item ID",)


def test_a_column_named_like_an_id_whose_values_repeat_is_no_id():
    rows = "".join(f"q{n // 2},{n % 2},{n % 3 % 2}\n" for n in range(40))
    loaded = load_votes(f"Question ID,label,j1\n{rows}".encode(), name="v.csv")
    assert (loaded.roles.id_column, loaded.roles.judge_columns) == ((), ("j1",))
    assert any("share 20 values of 'Question ID'" in note for note in loaded.warnings)


def test_two_labels_that_are_named_alike_and_differ_are_refused():
    with pytest.raises(InputError, match="this may be the label"):
        guess("id,Gold Label,True Label,j1\na,1,0,1\nb,0,0,1\n")


def test_a_group_column_is_guessed_unless_it_could_be_a_judge():
    assert guess("id,label,group,j1\na,1,g7,0\n").group_column == "group"
    roles = guess("id,label,group,j1\na,1,1,0\n")
    assert (roles.group_column, roles.judge_columns) == (None, ("group", "j1"))


def test_columns_can_be_given():
    roles = guess("id,j2,who,j1\na,1,1,0\n", id_column="who", label_column="j1", group_column="id")
    assert roles == Roles("wide", ("who",), "j1", "id", ("j2",))


TWO = "id,label,gold,j1,j2\na,1,{},0,1\nb,0,0,1,0\n"


@pytest.mark.parametrize(("text", "given"), [(TWO.format(1), None), (TWO.format(0), "label")])
def test_a_second_label_is_no_judge(text, given):
    roles = guess(text, label_column=given)
    assert (roles.label_column, roles.judge_columns) == ("label", ("j1", "j2"))
    (role,) = (role for role in roles.columns if role.column == "gold")
    assert (role.role, role.reason) == ("ignore", "named as a label, beside 'label'")


def test_which_of_two_labels_that_differ_is_not_guessed():
    with pytest.raises(InputError, match="'gold': this may be the label, and so may 'label'"):
        guess(TWO.format(0))
    assert guess(TWO.format(0), label_column="gold").judge_columns == ("j1", "j2")


def test_labels_in_names_of_models_are_compared_by_the_names():
    head = "id,model_a,model_b,label,gold,j1,j2\n"
    rows = "a,gpt,llama,gpt,{},gpt,llama\nb,llama,gpt,gpt,gpt,llama,gpt\n"
    assert guess(head + rows.format("gpt")).label_column == "label"
    with pytest.raises(InputError, match="'gold': this may be the label"):
        guess(head + rows.format("llama"))


def test_short_names_of_labels_are_judges_beside_a_label():
    assert guess("id,label,x,y,z\na,1,0,1,1\n").judge_columns == ("x", "y", "z")


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("item,judge,verdict,label", ("item", "judge", "verdict", "label")),
        ("question,rater,answer,truth", ("question", "rater", "answer", "truth")),
        ("task,worker,label,gold", ("task", "worker", "label", "gold")),
        ("Example,Model,Vote,Label", ("Example", "Model", "Vote", "Label")),
        ("Item ID,Judge Name,Verdict,Label", ("Item ID", "Judge Name", "Verdict", "Label")),
    ],
)
def test_a_long_file_is_known_by_its_names(header, named):
    roles = guess(f"{header}\na,m1,1,0\na,m2,0,0\n")
    assert roles.layout == "long"
    columns = (*roles.id_column, *roles.judge_column, roles.verdict_column, roles.label_column)
    assert columns == named


def test_judges_called_judge_and_vote_leave_a_file_wide():
    assert guess("item,label,judge,vote\na,1,1,0\nb,0,0,\n").layout == "wide"


def test_judges_called_a_and_b_leave_a_file_long():
    assert guess("item,judge,vote,label\nx,A,1,0\nx,B,0,0\n").layout == "long"


def test_a_column_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(
        InputError, match=r"v.csv, row 1, column 'z9'.*allowed: id, label, j1; name the id column"
    ):
        guess("id,label,j1\na,1,1\n", id_column="z9")


def test_a_column_with_two_roles_is_refused():
    refusal = "column 'id': this column has two roles.*; name a different column for each role with"
    with pytest.raises(InputError, match=refusal):
        guess("id,label,j1\na,1,1\n", id_column="id", label_column="id")


def test_one_row_per_vote_needs_three_columns():
    with pytest.raises(InputError, match=r"there is no verdict column.*--verdict-column"):
        guess("item,judge,truth\na,m,1\n", judge_column="judge")


def test_a_missing_label_column_matters_only_where_labels_are_needed():
    with pytest.raises(InputError, match="there is no label column"):
        guess("id,j1\na,1\n")
    assert guess("id,j1\na,1\n", need_label=False).judge_columns == ("j1",)


@pytest.mark.parametrize("word", ["annotator", "Model", "worker_id", "reviewer", "response"])
def test_a_word_of_the_long_form_beside_the_label_leaves_a_file_wide(word):
    text = f"item_id,{word},label,ja,jb\nq1,ann,1,1,0\nq2,bob,0,0,\nq3,ann,1,1,1\n"
    for given in ({}, {"label_column": "label"}):
        assert guess(text, **given) == Roles("wide", ("item_id",), "label", None, ("ja", "jb"))


def test_who_answered_and_what_beside_the_label_leave_a_file_wide():
    text = "id,model,output,label,ja,jb\nq1,m1,a text,1,1,0\nq2,m2,another,0,0,1\n"
    loaded = load_votes(text.encode(), name="v.csv", need_labels=False)
    assert loaded.votes.judges == ("ja", "jb")
    assert "Columns that are not used: 'model', 'output'." in loaded.warnings


def test_a_slip_in_a_column_of_verdicts_is_not_taken_for_a_name():
    text = "item_id,label,ja,rater\nq1,1,1,1\nq2,0,0,0\nq3,1,1,oops\n"
    assert guess(text).judge_columns == ("ja", "rater")


def test_a_long_file_with_one_vote_an_item_is_still_long():
    roles = guess("item,worker,label,gold\na,m1,1,0\nb,m2,0,0\n")
    assert (roles.layout, roles.label_column) == ("long", "gold")
    roles = guess("item,judge,verdict,label,flagged\na,m1,1,0,1\nb,m2,0,0,0\n")
    assert (roles.layout, roles.verdict_column) == ("long", "verdict")


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        *((text, True) for text in (
            "Grade not found in model output: maybe", "Failed to parse judge output", "No verdict",
            "Request timed out after 60s", "Error: rate limit exceeded", "Error code: 429 - {",
            "HTTP 503", "JSONDecodeError: Expecting value", "Traceback (most recent call last)",
            "API error: overloaded", "could not be parsed",
            "Error calling model x-1", "invalid JSON",
        )),
        *((text, False) for text in (
            "Error: the date is wrong.", "Error in step 2 of the derivation.",
            "404 is the wrong code",
            "Timeout handling is missing.", "No answer was given to part b.", "468",
            "Rate limiting is absent",
            "Could not parse the table correctly.", "API error codes are explained correctly.",
            "Parse failure in the code.", "No verdict possible on style; facts are right.",
        )),
    ],
)  # fmt: skip
def test_an_explanation_that_speaks_of_errors_is_no_failure(text, fails):
    assert says_failure(text) is fails


def test_a_column_that_recurs_is_no_id_of_a_file_with_one_row_per_item():
    rows = [f"q{i},s{i // 3},{'lr'[i % 2]},{'lr'[i // 2 % 2]}" for i in range(12)]
    text = "\n".join(["qid,query,judge_a,judge_b", *rows]).replace(",l", ",left")
    loaded = load_votes(text.replace(",r", ",right").encode(), name="v.csv", need_labels=False)
    assert loaded.roles.id_column == ("qid",)
    assert [role.role for role in loaded.roles.columns] == ["id", "ignore", "judge", "judge"]
    assert not any("guessed to be the id" in guess for guess in loaded.reading.guesses)
