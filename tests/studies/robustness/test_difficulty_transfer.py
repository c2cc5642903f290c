"""Transfer between easy and hard items: equal labels, held-out groups, label-free difficulty."""

from dataclasses import replace
from functools import cache, reduce

import numpy as np
import pandas as pd
import pytest

from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.kernels.residual import disagreement
from judgepanel.present.trust.transfer import present_transfer, worst_finding
from judgepanel.scoring import metrics, splits
from judgepanel.studies import codec, results
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.panel.recommended import average_on
from judgepanel.studies.runner import run
from judgepanel.studies.slices import difficulty_strata
from judgepanel.studies.trust.difficulty_transfer import (
    DIFFICULTY_TRANSFER,
    NO_SPLIT,
    DifficultyTransferSpec,
    merge,
    run_chunk,
    source_rows,
)
from judgepanel.votes import InputError
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.helpers import make_votes

SETTINGS = Settings(splits=4)


def spec(**options):
    return DifficultyTransferSpec(**{"settings": SETTINGS, "calibrators": ("beta",), **options})


def shifted(given, **options):
    return run(DIFFICULTY_TRANSFER, given, spec(**options), jobs=1)


def with_feature(votes, values):
    return replace(votes, features=pd.DataFrame({"effort": values}))


@cache
def votes():
    return make_votes(1, 180, 9)


@cache
def result():
    return shifted(votes(), calibrators=("beta", "platt"))


def test_easy_and_hard_are_the_ends_of_disagreement_and_ties_stay_together():
    prepared = prepare(votes(), SETTINGS)
    strata = difficulty_strata(prepared, 1 / 3, None)
    measure = disagreement(prepared.ballots)
    ends = (measure[strata.easy].max(), measure[strata.hard].min())
    assert (strata.easy_to, strata.hard_from) == ends
    assert strata.easy_to < strata.hard_from
    assert set(np.flatnonzero(measure <= strata.easy_to)) == set(strata.easy)
    assert set(np.flatnonzero(measure >= strata.hard_from)) == set(strata.hard)
    assert abs(len(strata.easy) - 60) < 25


def test_the_labels_do_not_decide_what_is_hard():
    flipped = replace(votes(), labels=1 - votes().labels)
    first, other = (difficulty_strata(prepare(v, SETTINGS), 0.3, None) for v in (votes(), flipped))
    np.testing.assert_array_equal(first.easy, other.easy)
    np.testing.assert_array_equal(first.hard, other.hard)


def test_a_feature_may_be_the_difficulty_and_items_without_it_are_neither():
    values = np.arange(180.0)
    values[:10] = np.nan
    strata = difficulty_strata(prepare(with_feature(votes(), values), SETTINGS), 0.25, "effort")
    assert (strata.by, strata.easy.min(), strata.hard.max()) == ("effort", 10, 179)
    assert abs(len(strata.easy) - 42.5) < 1
    assert abs(len(strata.hard) - 42.5) < 1


def test_every_source_gives_equally_many_labels_of_its_own_kind():
    prepared = prepare(votes(), SETTINGS)
    strata = difficulty_strata(prepared, 1 / 3, None)
    one_split = splits.split(prepared.ballots.units, 2)
    easy, hard, everything = source_rows(one_split, strata, prepared.ballots.units, 0)
    assert len(easy) == len(hard) == len(everything)
    assert set(easy) <= set(strata.easy) & set(one_split.calibration)
    assert set(hard) <= set(strata.hard) & set(one_split.calibration)
    assert set(everything) <= set(one_split.calibration)


def test_the_recommended_panel_is_recommended_on_every_source_and_has_one_method():
    wanted = spec(settings=Settings(splits=2), aggregator="average")
    transfer = run(DIFFICULTY_TRANSFER, votes(), wanted, jobs=1)
    assert (transfer.calibrators, transfer.methods) == (("none",), ("plain",))
    prepared = prepare(votes(), wanted.settings)
    ballots, strata = prepared.ballots, difficulty_strata(prepared, 1 / 3, None)
    total, times = np.zeros(180), np.zeros(180)
    for number in range(2):
        one_split = splits.split(ballots.units, number)
        rows = source_rows(one_split, strata, ballots.units, 0)[0]
        scored = np.intersect1d(one_split.evaluation, strata.hard)
        average = average_on(ballots, splits.Split(number, rows, scored), 0)
        total[scored] += metrics.item_nll(average.logits, ballots.signs[scored])
        times[scored] += 1
    cell = transfer.cell("none", "plain", "easy", "hard")
    seen = times > 0
    assert float(cell.nll.value) == pytest.approx((total[seen] / times[seen]).mean(), rel=1e-9)
    assert float(transfer.cell("none", "plain", "hard", "hard").delta.value) == 0.0


def test_a_cell_is_the_one_path_fitted_there_and_scored_here():
    prepared = prepare(votes(), SETTINGS)
    ballots, strata = prepared.ballots, difficulty_strata(prepared, 1 / 3, None)
    means = []
    for number in range(4):
        one_split = splits.split(ballots.units, number)
        rows = source_rows(one_split, strata, ballots.units, 0)[0]
        scored = np.intersect1d(one_split.evaluation, strata.hard)
        recipe = Recipe(calibrators=("beta", "platt"))
        scores = evaluate_split(ballots, splits.Split(number, rows, scored), np.array([9]), recipe)
        means.append((scores.null_nll, scores.constant_nll["beta"]))
    cell = result().cell("beta", "plain", "easy", "hard")
    assert cell.null_nll == pytest.approx(np.mean([null for null, _ in means]))
    assert cell.constant_nll == pytest.approx(np.mean([constant for _, constant in means]))


def test_losses_are_against_the_target_at_home_and_gains_against_plain():
    transfer = result()
    nll, delta = transfer.nll, transfer.delta.value
    home = nll.value[:, :, [0, 1], [0, 1]][:, :, None]
    np.testing.assert_allclose(delta, nll.value - home, atol=1e-12)
    gain = nll.value - nll.value[:, [0]]
    np.testing.assert_allclose(transfer.gain.value, gain, atol=1e-12)
    assert not delta[:, :, [0, 1], [0, 1]].any()
    tested = np.isfinite(transfer.p_holm)
    assert tested.sum() == 2 * 3 * 2
    assert (transfer.p_holm[tested] >= transfer.p[tested]).all()
    assert np.isnan(transfer.p[:, :, [0, 1], [0, 1]]).all()
    assert (transfer.effective <= 1 + 1e-12).all()


def test_no_difference_between_the_strata_shows_none():
    """Difficulty that is a coin: of 40 transfers, five per cent or so may look significant."""
    ps = []
    for seed in range(20):
        plain = make_votes(seed, 120, 6, missing=0.0)
        noise = np.random.default_rng(1000 + seed).random(120)
        wanted = spec(settings=Settings(splits=3, seed=seed), by="effort")
        transfer = run(DIFFICULTY_TRANSFER, with_feature(plain, noise), wanted, jobs=1)
        ps += transfer.p[0, 0, [0, 1], [1, 0]].tolist()
    assert np.mean(np.array(ps) < 0.05) <= 0.1


def test_labels_of_easy_items_alone_fail_on_hard_ones():
    hard = simulate(
        SimulationSpec(400, 16, seed=3, difficulty_sd=3.5, accuracy_low=0.55, accuracy_high=0.8)
    )
    transfer = shifted(hard, settings=Settings(splits=8))
    cell = transfer.cell("beta", "plain", "easy", "hard")
    assert cell.delta.above()
    assert cell.p_holm < 0.05
    home = transfer.cell("beta", "plain", "hard", "hard")
    assert cell.nll.value > home.nll.value + 0.1


def test_weights_repair_a_shift_that_they_can_repair_and_only_that():
    """Judges share an error on harder items. Kinds told apart by a noisy measure of difficulty
    overlap in disagreement, which is what weights go by; kinds cut by disagreement do not.
    """
    rng = np.random.default_rng(79)
    plain = make_votes(0, 600, 12)
    difficulty = rng.normal(size=600)
    own = rng.random((600, 12)) < 1 / (1 + np.exp(difficulty - 1.6))[:, None]
    shared = rng.random(600) < 1 / (1 + np.exp(difficulty - 0.8))
    right = np.where(rng.random((600, 12)) < 0.5, shared[:, None], own)
    cast = np.where(right, plain.labels[:, None], 1 - plain.labels[:, None]).astype(np.int8)
    given = with_feature(replace(plain, votes=cast), difficulty + rng.normal(size=600))
    settings = Settings(splits=6)
    overlapping, apart = (
        shifted(given, settings=settings, calibrators=("platt",), by=by) for by in ("effort", None)
    )
    cell = overlapping.cell("platt", "weighted", "easy", "hard")
    assert cell.gain.below()
    assert overlapping.cell("platt", "plain", "easy", "hard").delta.value > 0.05
    assert 0.2 < cell.effective < 0.9
    assert apart.cell("platt", "weighted", "easy", "hard").gain.value > cell.gain.value / 2


def test_splits_with_easy_or_hard_items_on_one_side_give_a_result_without_figures():
    """Few items calibrate, so that most splits have none of one kind."""
    wanted = spec(settings=Settings(splits=8, fraction=0.015))
    chunks = [Chunk(number, number, 1) for number in range(8)]
    parts = [run_chunk(votes(), wanted, chunk) for chunk in chunks]
    unusable = [part for part in parts if part.skipped]
    assert 0 < len(unusable) < 8
    empty = merge(votes(), wanted, reduce(results.combine, unusable))
    assert (empty.n_splits, empty.warnings[-1]) == (len(unusable), NO_SPLIT)
    assert empty.frame()[["nll", "delta", "gain", "p_holm", "null_nll"]].isna().all(axis=None)
    assert np.isnan(empty.effective).all()
    whole = merge(votes(), wanted, reduce(results.combine, parts))
    usable = merge(votes(), wanted, reduce(results.combine, [p for p in parts if not p.skipped]))
    assert codec.to_plain(whole.nll) == codec.to_plain(usable.nll)
    assert (whole.n_splits, usable.n_splits) == (8, 8 - len(unusable))
    sentence, *_ = present_transfer(empty, wanted)
    assert sentence.text == NO_SPLIT
    assert worst_finding(empty, "beta").sentence == NO_SPLIT


def test_too_few_items_and_no_difference_in_difficulty_say_what_is_needed():
    with pytest.raises(InputError, match="too few easy items"):
        shifted(make_votes(0, 40, 7), share=0.2)
    with pytest.raises(InputError, match="cannot be told apart by difficulty"):
        shifted(make_votes(0, 120, 1, missing=0.0))
    with pytest.raises(InputError, match="no such feature"):
        shifted(votes(), by="effort")
    words = with_feature(votes(), np.array(["a", "b"] * 90, dtype=object))
    with pytest.raises(InputError, match="feature of numbers"):
        shifted(words, by="effort")


def test_easy_items_of_one_label_are_refused_for_they_measure_the_coding():
    values = np.arange(180.0)
    easiest = np.where(values < 60, 1, votes().labels)
    lopsided = replace(votes(), labels=easiest.astype(votes().labels.dtype))
    with pytest.raises(InputError, match="too few easy items of the rarer label"):
        shifted(with_feature(lopsided, values), by="effort")
    swapped = Settings(splits=2, orientation="symmetric")
    shifted(with_feature(lopsided, values), by="effort", settings=swapped)


def test_strata_that_keep_the_plain_fit_are_said():
    large = shifted(make_votes(1, 600, 9), settings=Settings(splits=2))
    assert not any("keep the plain fit" in text for text in large.warnings)
    transfer = shifted(votes(), strata=6)
    few = "strata of the stratified calibrators have fewer than 10 labelled"
    assert any(few in text for text in transfer.warnings)
