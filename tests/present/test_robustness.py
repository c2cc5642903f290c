"""Transfer and slices in words: what fails, what holds, what comes first."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from judgepanel.decision.absence import GroupAbsence
from judgepanel.figures.style import CURATE_FILL
from judgepanel.present.blocks import Answer
from judgepanel.present.paper.theory import permutation_figure, permutation_sentence
from judgepanel.present.trust import transfer as words
from judgepanel.present.trust.transfer import present_slices as slices_present
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.permutation import PERMUTATION, PermutationSpec
from judgepanel.studies.runner import run
from judgepanel.studies.slices import NO_FEATURES
from judgepanel.studies.trust.difficulty_transfer import DIFFICULTY_TRANSFER, DifficultyTransferSpec
from judgepanel.studies.trust.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from tests.helpers import make_votes
from tests.present.results import recommended

SETTINGS = Settings(splits=3)


@cache
def votes():
    plain = make_votes(1, 180, 7)
    kind = np.repeat(np.array(["chat", "code"], dtype=object), 90)
    return replace(plain, features=pd.DataFrame({"kind": kind}))


@cache
def transfer():
    spec = DifficultyTransferSpec(SETTINGS, calibrators=("beta",))
    return run(DIFFICULTY_TRANSFER, votes(), spec, jobs=1)


@cache
def slices():
    return run(SLICE_TRANSFER, votes(), SliceTransferSpec(SETTINGS), jobs=1)


@cache
def permutation():
    return run(PERMUTATION, votes(), PermutationSpec(SETTINGS, permutations=39), jobs=1)


def put(values, at, value):
    changed = values.copy()
    changed[at] = value
    return changed


def put_interval(values, at, value, reach):
    ends = zip(values, (value, value - reach, value + reach), strict=True)
    return Interval(*(put(end, at, number) for end, number in ends))


def failing(delta=0.5, nll=0.61, null=0.693):
    """The transfer with easy to hard shown to lose."""
    result = transfer()
    here = (0, 0, 0, 1)
    return replace(
        result,
        nll=put_interval(result.nll, here, nll, 0.05),
        null_nll=put(result.null_nll, (0, 1), null),
        delta=put_interval(result.delta, here, delta, 0.1),
        p_holm=put(put(result.p_holm, here, 0.001), (0, 0, 1, 0), 0.9),
    )


def failing_slice(delta=0.7):
    result = slices()
    g = 0
    return replace(
        result,
        delta=put_interval(result.delta, (g, 1), delta, 0.2),
        band=put_interval(result.band, (g, 1), delta, 0.2),
        p_holm=put(result.p_holm, (g, 1), 0.001),
    )


def test_a_transfer_that_fails_is_said_with_its_null_and_what_own_labels_give():
    text = words.transfer_sentence(failing(), "beta")
    assert text.startswith("Calibrated on easy items it fails on hard ones: NLL 0.610 [0.5")
    given = "As many labels of hard items give 0.110, a difference of +0.50 [+0.40, +0.60]"
    assert f"base rate 0.693. {given}" in text
    assert "worse than the base rate's 0.600" in words.transfer_sentence(failing(null=0.6), "beta")


def test_where_nothing_is_shown_both_ways_are_said():
    quiet = replace(transfer(), p_holm=np.full((1, 3, 3, 2), 0.5))
    text = words.transfer_sentence(quiet, "beta")
    assert "not shown to cost NLL" in text
    assert "easy to hard" in text
    assert "Hard to easy" in text
    early = replace(transfer(), p_holm=np.full((1, 3, 3, 2), np.nan))
    assert words.transfer_sentence(early, "beta") == "Not enough splits yet to say."


def test_the_way_that_is_shown_to_fail_is_told_though_the_other_looks_worse():
    result = failing()
    larger = replace(result, delta=put_interval(result.delta, (0, 0, 1, 0), 2.0, 0.5))
    quiet = replace(larger, p_holm=put(larger.p_holm, (0, 0, 1, 0), 0.5))
    text = words.transfer_sentence(quiet, "beta")
    assert text.startswith("Calibrated on easy items it fails on hard ones: ")
    assert "The reverse" not in text


def test_an_interval_that_excludes_0_alone_is_put_beside_what_holm_says():
    text = words.transfer_sentence(replace(failing(), p_holm=np.full((1, 3, 3, 2), 0.06)), "beta")
    assert "not shown to cost NLL" in text
    assert text.endswith(
        "Each interval is for one direction alone; corrected for testing both (Holm), p = .060."
    )


def test_remedies_help_hurt_or_change_nothing():
    result = failing()
    for value, word in ((-0.2, "helps"), (0.2, "hurts"), (0.0, "changes")):
        gain = put_interval(result.gain, (0, 1, 0, 1), value, 0.1)
        text = words.remedy_sentence(replace(result, gain=gain), "beta")
        assert f"stratified calibration {word}" in text
        assert "of the labels effective" in text


def test_a_remedy_that_is_the_plain_calibrator_is_said_to_be_that():
    result = failing()
    same = replace(result, gain=Interval.full(result.gain.shape, 0.0))
    text = words.remedy_sentence(same, "beta")
    assert "stratified calibration equals plain calibration" in text
    assert "0.00" not in text
    table = words.transfer_table(same, "beta")
    assert set(table["against plain"].texts()) == {"", "the same"}


def test_agreed_items_that_are_predicted_worse_are_not_called_easy():
    result = transfer()
    level = {False: (0.3, 0.5), True: (0.5, 0.3)}
    for odd, (easy, hard) in level.items():
        nll = put_interval(result.nll, (0, 0, 2, 0), easy, 0.1)
        nll = put_interval(nll, (0, 0, 2, 1), hard, 0.1)
        text = words.difficulty_sentence(replace(result, nll=nll), "beta")
        assert bool(text) == odd
    assert "Easy means that the judges agree" in text


def test_every_cell_is_in_the_table_with_its_base_rate():
    table = words.transfer_table(transfer(), "beta")
    assert {len(column) for column in table.values()} == {18}
    assert (table["base rate"].numbers > 0.6).all()
    assert table["loss"].texts().count("at home") == 6
    assert table["p, Holm"].texts().count("") == 12


def test_slices_that_fail_are_named_and_counted():
    text = words.slice_sentence(failing_slice())
    assert text.startswith(
        f"Without labels of the slice '{slices().slices[0]}' it fails there: NLL"
    )
    assert "Of 2 slices 1 fails" in text
    assert "base rate" in text
    quiet = replace(slices(), p_holm=np.full((2, 3), 0.9))
    start = "None of 2 slices by kind is shown to need its own labels"
    assert words.slice_sentence(quiet).startswith(start)
    assert {len(column) for column in words.slice_table(slices()).values()} == {2}


def test_without_features_the_words_say_what_is_missing():
    none = run(SLICE_TRANSFER, make_votes(1, 60, 4), SliceTransferSpec(SETTINGS), jobs=1)
    assert words.slice_sentence(none) == NO_FEATURES
    assert slices_present(none, SliceTransferSpec(SETTINGS)) == [Answer(NO_FEATURES)]


def test_permuted_labels_are_held_against_their_base_rate():
    text = permutation_sentence(permutation())
    assert text.startswith("With permuted labels the pipeline falls back to the base rate: NLL 0.")
    assert ", base rate 0.70" in text
    assert "With the real labels it does better" in text
    sure = replace(permutation(), permuted_nll=permutation().permuted_nll + 0.2)
    start = "Nothing leaks: permuted labels are predicted worse"
    assert permutation_sentence(sure).startswith(start)
    unsure = replace(permutation(), nll=Interval.full((), 0.9))
    assert "are not told apart from permuted ones" in permutation_sentence(unsure)
    leak = replace(permutation(), permuted_nll=permutation().permuted_nll - 0.1)
    assert leak.leaks
    assert "Labels leak" in permutation_sentence(leak)
    empty = replace(permutation(), identical=True)
    assert "changes nothing" in permutation_sentence(empty)
    assert "measure the coding" in permutation_sentence(empty)
    few = replace(permutation(), permuted_nll=np.zeros(0), permuted_null=np.zeros(0))
    assert permutation_sentence(few) == "Not enough permutations yet to say."


def test_the_worst_comes_first():
    mild, bad = failing(0.2), failing(0.9)
    slice_loss = failing_slice(0.7)
    assert "easy items" in words.worst_finding(bad, "beta", slice_loss).sentence
    assert "Without labels of" in words.worst_finding(mild, "beta", slice_loss).sentence
    assert words.worst_finding(mild, "beta", slice_loss).tone == "curate"
    quiet = replace(transfer(), p_holm=np.full((1, 3, 3, 2), 0.5))
    assert words.worst_finding(quiet, "beta").tone == "open"
    assert words.worst_finding(None, "beta").sentence.startswith("Nothing that could be tried")


def absent(change):
    """A recommendation whose worst absence, of a cluster, changes the NLL by this much."""
    outcome = recommended()
    delta = Interval.single(change, change - 0.1, change + 0.1)
    figures = replace(outcome.absence.single[0], delta=delta)
    group = GroupAbsence("cluster", "1", (1, 2, 4), figures)
    absence = replace(outcome.absence, groups=(group,), single=(), judges=(), several=())
    return replace(outcome, absence=absence)


def test_absent_judges_of_the_recommended_panel_are_the_worst_where_they_cost_most():
    name = recommended().model.judges[1]
    worst = words.worst_finding(failing(0.2), "beta", recommendation=absent(0.8))
    assert worst.sentence.startswith(
        f"Absent judges break it: without cluster '1' ('{name}' and 2 more) NLL changes by +0.80 ["
    )
    assert f"(base rate {recommended().null_nll:.3f})" in worst.sentence
    assert worst.tone == "curate"
    mild = words.worst_finding(failing(0.9), "beta", recommendation=absent(0.3))
    assert mild.sentence.startswith("Calibrated on easy items")
    quiet = replace(transfer(), p_holm=np.full((1, 3, 3, 2), 0.5))
    assert words.worst_finding(quiet, "beta", recommendation=absent(0.05)).tone == "open"


def test_figures_that_measure_the_coding_say_so_and_are_no_finding():
    finding = words.worst_finding(replace(failing(), measures_coding=True), "beta")
    assert "measure the coding, not the judges" in finding.sentence
    assert finding.tone == "open"


def test_every_cell_has_its_nll_its_loss_and_its_base_rate():
    figure = words.transfer_figure(transfer(), "beta", "stratified")
    texts = {(note.y, note.x): note.text for note in figure.layout.annotations}
    assert len(texts) == 6
    cell = transfer().cell("beta", "stratified", "easy", "hard")
    assert f"<b>{cell.nll.value:.3f}</b>" in texts[0, 1]
    assert f"{cell.delta.value:+.2f}" in texts[0, 1]
    assert f"base rate {cell.null_nll:.3f}" in texts[0, 1]
    assert "+0.00" not in texts[0, 0]


def test_narrow_intervals_get_decimals_enough_to_be_seen():
    result = transfer()
    nll = result.nll.value
    narrow = replace(result, nll=Interval(nll, nll - 0.004, nll + 0.004))
    text = words.transfer_figure(narrow, "beta", "plain").layout.annotations[0].text
    cell = narrow.cell("beta", "plain", "easy", "easy")
    assert f"[{cell.nll.lo:.3f}, {cell.nll.hi:.3f}]" in text


def test_a_cell_worse_than_its_base_rate_is_orange():
    result = transfer()
    nll = np.where(np.eye(3, 2) > 0, 1.5, 0.5) * result.null_nll
    ends = np.broadcast_to(nll, result.nll.shape)
    bad = replace(result, nll=Interval(ends, ends, ends))
    fills = [shape.fillcolor for shape in words.transfer_figure(bad, "beta", "plain").layout.shapes]
    assert [fill == CURATE_FILL for fill in fills] == [True, False, False, True, False, False]


def test_slices_come_by_loss_and_their_names_are_inert():
    names = np.repeat(np.array(["usual", "<b>odd</b>", "x" * 200], dtype=object), 60)
    named = replace(votes(), features=pd.DataFrame({"kind": names}))
    slices = run(SLICE_TRANSFER, named, SliceTransferSpec(SETTINGS), jobs=1)
    figure = words.slice_figure(slices)
    names = figure.layout.yaxis.ticktext
    assert "&lt;b&gt;odd&lt;/b&gt;" in names
    assert max(len(name) for name in names) < 60
    drawn, rows = (np.concatenate([trace[axis] for trace in figure.data]) for axis in "xy")
    assert (np.diff(drawn[np.argsort(rows)]) <= 0).all()
    np.testing.assert_allclose(np.sort(drawn), np.sort(slices.delta.value[:, 1]))
    assert all("<b>odd" not in text for trace in figure.data for text in trace.text)


def test_permutations_are_counted_and_the_real_nll_stands_beside_them():
    figure = permutation_figure(permutation())
    bars = figure.data[0]
    assert sum(bars.y) == 39
    apart = abs(np.array(bars.x) - permutation().permuted_nll[:, None]).min(axis=1)
    assert apart.max() <= bars.width
    assert figure.data[-1].x[0] == permutation().nll.value
    names = [trace.name for trace in figure.data]
    assert names == ["permuted labels", "base rate of permuted labels", "real labels, 95 %"]


def test_before_the_real_labels_are_in_only_permutations_are_drawn():
    early = replace(permutation(), nll=Interval.full((), np.nan))
    assert len(permutation_figure(early).data) == 2
    fields = ("permuted_nll", "permuted_null", "permuted_accuracy")
    blank = replace(early, **dict.fromkeys(fields, np.zeros(0)))
    assert len(permutation_figure(blank).data) == 1
