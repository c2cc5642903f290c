"""What the checks say: the answer, the filter, tables, and nothing of a name that acts."""

from dataclasses import replace

import pytest

from judgepanel.report.group_change import group_sentence, group_table, group_text
from judgepanel.report.scope import (
    checks_table,
    curve_table,
    filter_sentence,
    parse_table,
    safe,
    scope_sentence,
    scope_text,
    switch_table,
)
from judgepanel.scoring.inference import verdict
from judgepanel.studies.runner import run
from judgepanel.studies.scope.group_change_result import GroupArm, GroupChange
from judgepanel.studies.scope.scope import SCOPE, ScopeSpec
from judgepanel.studies.settings import Settings
from judgepanel.votes.samples import sample_votes
from tests.helpers import make_votes

FEW = ScopeSpec(Settings(splits=4), others=("majority",))


@pytest.fixture(scope="module")
def hard():
    return run(SCOPE, sample_votes("hard_panel"), FEW, jobs=1)


def outcomes(found, **wanted):
    """The result with other outcomes."""
    checks = [
        replace(one, outcome=wanted[one.code]) if one.code in wanted else one
        for one in found.checks
    ]
    return replace(found, checks=tuple(checks))


def test_the_answer_counts_and_names_the_worst(hard):
    assert scope_sentence(hard).endswith(
        "; judge 'fam4-judge14' gives a verdict on 51 % of the items."
    )
    assert not safe(hard)


def test_one_check_passes_in_the_singular(hard):
    said = scope_sentence(outcomes(hard, P0="pass", P1="fail", P2="review", P3="review"))
    assert said.startswith("1 of 4 checks passes; ")


def test_when_all_pass_the_answer_claims_no_more_than_was_looked_at(hard):
    fine = outcomes(hard, P0="pass", P1="pass", P2="pass", P3="pass")
    course = hard.saturation
    texts = {}
    for outcome in ("inconclusive", "equivalent"):
        held = tuple(outcome if i == course.last else one for i, one in enumerate(course.outcome))
        texts[outcome] = scope_sentence(replace(fine, saturation=replace(course, outcome=held)))
    said = "All 4 checks pass: nothing they look at speaks against the default here."
    assert texts["equivalent"] == said
    assert texts["inconclusive"].startswith(said)
    assert "matter is undecided" in texts["inconclusive"]
    assert safe(fine)


def test_a_check_that_does_not_apply_is_not_a_failure(hard):
    fine = outcomes(hard, P0="pass", P1="not applicable", P2="pass", P3="pass")
    assert scope_sentence(fine) == "3 of 4 checks pass, 1 does not apply."
    assert safe(fine)


def test_figures_that_measure_the_coding_say_so(hard):
    assert scope_sentence(replace(hard, measures_coding=True)).endswith("not the judges.")


def test_the_filter_says_whom_and_why(hard):
    assert filter_sentence(hard) == (
        "The filter drops 2 judges: 'fam4-judge14' (a verdict on 51 % of the items), "
        "'fam5-judge30' (one verdict on nearly every item)."
    )
    assert "drops nobody" in filter_sentence(replace(hard, suggested=()))


def test_tables_have_their_null_and_every_row(hard):
    assert len(checks_table(hard)) == 4
    assert parse_table(hard)["judge"][0] == "fam4-judge14"
    assert curve_table(hard)["judges kept"].tolist() == [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]
    assert (switch_table(hard)["base rate"] > 0.69).all()


def test_the_terminal_gets_every_check_and_no_nan(hard):
    text = scope_text(hard)
    for word in ("P0 Item order: review", "P1 ", "P2 ", "P3 ", "Judges kept", "The filter drops"):
        assert word in text
    assert "nan" not in text.lower()


def test_a_name_with_escape_sequences_stays_harmless():
    votes = make_votes(1, 60, 6)
    bad = replace(votes, judges=("a\x1b[31m\nb", *votes.judges[1:]))
    text = scope_text(run(SCOPE, bad, FEW, jobs=1))
    assert "\x1b" not in text


def changed(lo, hi, **more):
    value = (lo + hi) / 2
    decided = verdict(lo, hi, 0.006, identical=lo == hi == 0)
    arm = GroupArm("joint", 0.3, 0.2, 0.4, 0.3 + value, 0.2, 0.4, value, lo, hi, 0.5, decided)
    fields = {
        "by": "judges", "name": "the judges named", "members": ("a", "b"), "added": False,
        "arms": (arm,), "calibrator": "beta", "null_nll": 0.693, "constant_nll": 0.693,
        "n_judges": 9, "n_calibration": 50.0, "orientation": "as_given", "protocol": "honest",
        "one_class": False, "measures_coding": False, "n_items": 100, "n_evaluation": 50.0,
        "n_splits": 4, "planned_splits": 4, "seed": 0, "warnings": (),
    }  # fmt: skip
    return GroupChange(**{**fields, **more})


@pytest.mark.parametrize(
    ("lo", "hi", "says"),
    [
        (0.01, 0.03, "Keep the judges named (2 judges): leaving it out costs +0.020"),
        (-0.03, -0.01, "Leave out the judges named (2 judges): leaving it out saves 0.020"),
        (-0.004, 0.03, "At most 2 % is lost with the judges named"),
        (-0.03, 0.004, "At most 2 % is lost with the other 7 judges alone"),
        (-0.03, 0.03, "Undecided for the judges named"),
        (0.0, 0.0, "the same probabilities"),
    ],
)
def test_every_verdict_on_a_group_has_its_sentence(lo, hi, says):
    assert says in group_sentence(changed(lo, hi), "joint")


def test_an_added_group_is_added_or_not():
    assert group_sentence(changed(0.01, 0.03, added=True), "joint").startswith("Add ")
    assert group_sentence(changed(-0.03, -0.01, added=True), "joint").startswith("Do not add ")


def test_a_group_of_nobody_changes_nothing():
    assert "nobody in the group" in group_sentence(changed(0.0, 0.0, members=()), "joint")


def test_the_group_table_and_text_have_the_null():
    assert group_table(changed(0.01, 0.03))["base rate"].tolist() == [0.693]
    assert "null NLL 0.6930" in group_text(changed(0.01, 0.03))


def test_a_family_with_escape_sequences_stays_harmless_on_a_terminal():
    text = group_text(changed(0.01, 0.03, name="family a\x1b[31mb", members=("x\x1by",)))
    assert "\x1b" not in text
