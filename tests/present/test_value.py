"""Values of judges in words."""

from dataclasses import replace
from functools import cache

from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present.blocks import Table
from judgepanel.present.decide import value
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.value import VALUE, ValueSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@cache
def result():
    spec = ValueSpec(
        Settings(splits=3), aggregator="one_coin", calibrator="temperature", permutations=8
    )
    return run(VALUE, make_votes(2, 80, 6), spec, jobs=1)


def panel(lo):
    """NLL of all judges, at least ``lo``."""
    return Interval.single(lo + 0.1, lo, lo + 0.2)


def judges(*changes):
    """The judges, the first ones changed."""
    rest = result().judges[len(changes) :]
    made = tuple(replace(judge, **c) for judge, c in zip(result().judges, changes, strict=False))
    return made + rest


def removed(*rows):
    made = tuple(replace(result().removal[0], **row) for row in rows)
    free = max((row.m for row in made if row.free), default=0)
    return replace(result(), removal=made, droppable=free, margin=0.01)


def test_the_answer_counts_who_is_missed_and_who_helps():
    low, high = Interval.single(0.0, -1.0, 1.0), Interval.single(0.02, 0.01, 0.03)
    all_blank = [{"value": low, "shapley": low}] * 6
    all_blank[0] = {"value": high, "shapley": low}
    all_blank[1] = {"value": low, "shapley": high}
    outcome = replace(result(), judges=judges(*all_blank), nll_all=panel(0.1), null_nll=0.69)
    sentence = value.value_sentence(outcome)
    assert sentence.startswith("Of 6 judges under one-coin, 1 is shown to be missed")
    assert "2 are shown to help then" in sentence
    assert "do not beat the base rate" in value.value_sentence(replace(outcome, nll_all=panel(0.7)))


def test_removal_says_how_many_can_go_and_where_it_hurts():
    free = {"m": 1, "delta": Interval.single(0.001, -0.004, 0.006), "free": True}
    worse = {"m": 5, "band": Interval.single(0.1, 0.05, 0.15), "free": False}
    sentence = value.removal_sentence(removed(free, worse))
    assert sentence == (
        "Leaving out the judge worth least shows no loss above 2.0 % of NLL: +0.0010 [-0.0040, "
        "+0.0060]. Leaving out 5 makes NLL worse: +0.10 [+0.05, +0.15]."
    )
    sentence = value.removal_sentence(removed({**free, "free": False}))
    assert sentence == (
        "No judge is shown to be dispensable: leaving out the one worth least may cost more than "
        "2.0 % of NLL."
    )
    many = removed(free, {**free, "m": 3})
    assert value.removal_sentence(many).startswith("Leaving out the 3 judges worth least")
    assert value.droppable_sentence(replace(many, droppable_judges=("a", "b", "c"))).endswith(
        "'a', 'b', 'c'."
    )
    assert value.droppable_sentence(replace(many, droppable_judges=())) == ""


def test_shapley_says_what_stands_in():
    assert "too slow" not in value.shapley_sentence(result())
    sentence = value.shapley_sentence(replace(result(), aggregator="joint", calibrator="none"))
    assert "compared under one-coin + temperature" in sentence
    assert "refitting joint thousands of times would be too slow" in sentence


def test_copies_count_twice_or_hardly_matter():
    copies = replace(result().copies[0], judge="a", delta=Interval.single(0.05, 0.03, 0.07))
    outcome = replace(result(), copies=(copies,), margin=0.01)
    sentence = value.copies_sentence(outcome)
    assert sentence.startswith("Copies are counted again under one-coin + temperature: 4 more")
    assert "of a (most accurate) change NLL by +0.050 [+0.030, +0.070]." in sentence
    small = replace(copies, delta=Interval.single(0.001, -0.002, 0.004))
    assert value.copies_sentence(replace(outcome, copies=(small,))).startswith("Copies hardly move")
    open_ = replace(copies, delta=Interval.single(0.001, -0.02, 0.04))
    assert "is undecided" in value.copies_sentence(replace(outcome, copies=(open_,)))
    assert value.copies_sentence(replace(outcome, copies=())) == ""


def test_roles_are_counted():
    rows = judges(*[{"role": role} for role in ("copy", "copy", "specialist")])
    rest = tuple(replace(row, role="ordinary") for row in rows[3:])
    outcome = replace(result(), judges=rows[:3] + rest)
    assert value.roles_sentence(outcome) == "Roles: 2 copies of others, 1 specialist."
    plain = tuple(replace(row, role="ordinary") for row in rows)
    assert value.roles_sentence(replace(outcome, judges=plain)) == "No judge has a role of its own."


def test_tables_have_a_row_each():
    assert Table(value.status_table(result())).n_rows == 6
    why = "It fails the checks: always 1."
    given = [JudgeStatus(judge.judge, "helps", "why", None) for judge in result().judges]
    given.append(JudgeStatus("gone", "fails a check", why, None))
    last = [column.texts()[-1] for column in value.status_table(result(), tuple(given)).values()]
    assert last == ["gone", "fails a check", "", "", "", why]
    without = value.removal_table(result())["without"].numbers.tolist()
    assert without == [row.m for row in result().removal]
    assert Table(value.group_table(result())).n_rows == len(result().groups)


def test_the_terminal_gets_all_of_it():
    text = terminal_text(value.present(result(), ValueSpec()))
    words = (value.value_sentence, value.shapley_sentence)
    for sentence in (*words, value.copies_sentence, value.roles_sentence):
        assert sentence(result()) in text
    assert "Statuses here leave out the scope checks of item order (P0) and parse rate (P1)" in text


def test_how_many_can_go_is_told_once_and_statuses_with_checks_need_no_reservation():
    statuses = tuple(JudgeStatus(row.judge, "helps", "why", None) for row in result().judges)
    text = terminal_text(value.present(result(), ValueSpec(), value.ValueView(statuses)))
    assert text.count(value.removal_sentence(result())) == 1
    assert "leave out the scope checks" not in text
    weak = replace(result(), nll_all=panel(0.9))
    assert value.removal_sentence(weak) not in value.value_sentence(weak)
    assert terminal_text(value.present(weak, ValueSpec())).count(value.removal_sentence(weak)) == 1
