"""Votes and analyses: what survives a restart, and what does not open."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.service.basics import NotFound
from judgepanel.studies.codec import pack, unpack
from judgepanel.studies.contract import Settings
from judgepanel.votes import VoteMatrix, load_votes
from tests.helpers import make_votes, transcripts
from tests.service.counting import loaded


def test_votes_come_back_by_their_hash(home, votes):
    sha = home().put_votes(votes)
    assert sha == votes.sha256
    result = home().votes(sha)
    assert result.sha256 == sha
    assert (result.votes == votes.votes).all()


def test_an_analysis_comes_back_after_a_restart(home, votes):
    chosen = Settings("symmetric", judges=("judge000", "judge002"), splits=7, fraction=0.3, seed=5)
    made = home().create(loaded(votes, id_column=("id",), label_column="y"), chosen, "Mine")
    result = home().open(made.id)
    assert (result, result.settings) == (made, chosen)
    assert result.columns == ("--id-column", "id", "--label-column", "y")
    assert result.notes == ("A note.",)
    assert home().votes(result.votes_sha256).sha256 == votes.sha256


def test_analyses_are_listed_newest_first(space, votes):
    made = [space.create(loaded(votes), Settings(seed=seed), f"n{seed}") for seed in range(3)]
    listed = space.list()
    assert {analysis.id for analysis in listed} == {analysis.id for analysis in made}
    stamps = [(analysis.created, analysis.id) for analysis in listed]
    assert stamps == sorted(stamps, reverse=True)


def test_other_settings_are_another_analysis_of_the_same_votes(space, votes):
    entry = space.create(loaded(votes), Settings(), "Mine")
    other = space.with_settings(entry, Settings(seed=4))
    assert other.id != entry.id
    assert (other.name, other.votes_sha256) == (entry.name, entry.votes_sha256)
    assert (space.open(entry.id).settings.seed, space.open(other.id).settings.seed) == (0, 4)


def test_another_judge_table_is_another_analysis_with_its_file(space, votes):
    entry = space.create(loaded(votes), Settings(), "Mine")
    priced = replace(votes, judge_table=pd.DataFrame({"cost": np.ones(votes.n_judges)}))
    other = space.with_judge_table(entry, priced, "Mine-judges.csv")
    assert other.columns[-2:] == ("--judge-table", "Mine-judges.csv")
    assert space.with_judge_table(other, votes, "b.csv").columns.count("--judge-table") == 1
    assert space.votes(other.votes_sha256).judge_table is not None
    assert space.open(entry.id) == entry


def test_ids_are_long_random_and_fit_a_url(space, votes):
    ids = {space.create(loaded(votes), Settings(), "x").id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(name) >= 22 and name.replace("-", "").replace("_", "").isalnum() for name in ids)


FORGED = (
    *("", "a", "unknown-but-well-formed", "..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd"),
    *("/etc/passwd/0123456789", "0123456789abcdef\0", "0123456789abcdef\n", "a/b" * 8),
    *("é" * 20, "０" * 20, "🦜" * 20, "x" * 10_000, "0123456789abcdef.json"),
    *("*" * 20, "\ud800" * 20),
)


def test_an_unknown_or_forged_id_is_not_found(space, votes):
    space.create(loaded(votes), Settings(), "x")
    for name in FORGED:
        for look in (space.open, space.votes):
            with pytest.raises(NotFound):
                look(name)


def test_many_threads_can_bring_votes_and_open_analyses(space):
    def bring(number):
        own = make_votes(number % 5, 30, 3)
        made = space.create(loaded(own), Settings(seed=number), f"n{number}")
        assert space.votes(made.votes_sha256).sha256 == own.sha256
        return space.open(made.id).settings.seed

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bring, range(40))) == list(range(40))
    assert len(space.list()) == 40


def test_a_judge_table_of_names_alone_comes_back(home):
    text = b"item_id,label,a,b\n1,1,1,0\n2,0,0,0\n3,1,1,1\n4,0,0,1\n"
    made = load_votes(text, name="v.csv", judge_table=b'{"judge": "a"}\n{"judge": "b"}\n').votes
    assert home().votes(home().put_votes(made)).sha256 == made.sha256


def test_a_hostile_file_name_is_kept_as_it_was(home, votes):
    name = "../../\x00evil\ud800\n<b>'; DROP TABLE votes;--.csv"
    made = home().create(loaded(votes, name), Settings(), name)
    assert (home().open(made.id).file, home().open(made.id).name) == (name, name)


def test_the_command_of_an_analysis_names_its_judge_table(space, votes):
    """Without it the command would read other votes: families are part of their hash."""
    made = space.create(replace(loaded(votes), judge_file="judges.csv"), Settings(), "with a table")
    assert made.columns[-2:] == ("--judge-table", "judges.csv")


TEXT = st.text(min_size=1, max_size=8)
NUMBER = st.floats(-1e9, 1e9, allow_subnormal=False) | st.just(float("nan"))


@st.composite
def tables(draw, n_rows):
    """None, or a table of n rows with columns of every type."""
    if draw(st.booleans()):
        return None
    kinds = {
        "float": (NUMBER, "float64"),
        "int": (st.integers(-(2**40), 2**40), "int64"),
        "bool": (st.booleans(), "bool"),
        "text": (st.text(max_size=5), "str"),
        "object": (st.none() | st.text(max_size=5), object),
    }
    columns = {}
    for name in draw(st.lists(TEXT, unique=True, max_size=3)):
        values, dtype = kinds[draw(st.sampled_from(sorted(kinds)))]
        cells = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        columns[name] = pd.Series(cells, dtype=dtype)
    return pd.DataFrame(columns, index=range(n_rows))


@st.composite
def matrices(draw):
    n_items, n_judges = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.sampled_from((-1, 0, 1))
    rows = st.lists(cell, min_size=n_judges, max_size=n_judges)
    names = [draw(st.lists(TEXT, min_size=n, max_size=n, unique=True)) for n in (n_items, n_judges)]
    groups = st.none() | st.lists(TEXT, min_size=n_items, max_size=n_items).map(tuple)
    return VoteMatrix(
        votes=np.array(draw(st.lists(rows, min_size=n_items, max_size=n_items)), np.int8),
        labels=np.array(draw(st.lists(cell, min_size=n_items, max_size=n_items)), np.int8),
        item_ids=tuple(names[0]),
        judges=tuple(names[1]),
        task=draw(st.sampled_from(("pairwise", "pointwise"))),
        groups=draw(groups),
        features=draw(tables(n_items)),
        judge_table=draw(tables(n_judges)),
    )


@settings(max_examples=60)
@given(matrices())
def test_any_votes_come_back_as_they_were(made):
    votes = unpack(VoteMatrix, pack(made))
    assert votes.sha256 == made.sha256
    for first, other in ((votes.features, made.features), (votes.judge_table, made.judge_table)):
        assert (first is None) == (other is None)
        if first is not None:
            pd.testing.assert_frame_equal(first, other)


def test_coverage_is_kept_bit_for_bit(home):
    read = load_votes(transcripts(), name="said.jsonl")
    made = home().create(read, Settings(), "said")
    assert home().open(made.id) == made
    assert made.coverage == read.coverage
