"""The samples have the promised properties and can be rebuilt, byte for byte."""

import shlex

import numpy as np
import pytest

from judgepanel.cli import main
from judgepanel.votes import matrix, simulate
from judgepanel.votes.errors import SAMPLE_FOLDER, InputError
from judgepanel.votes.load import load_votes

NAMES = [sample.name for sample in simulate.SAMPLES]
MADE = [sample.name for sample in simulate.SIMULATED]


def accuracies(votes):
    """float (n_judges,): share of right verdicts among those on labelled items."""
    seen = (votes.votes != matrix.MISSING) & votes.labelled[:, None]
    return ((votes.votes == votes.labels[:, None]) & seen).sum(axis=0) / seen.sum(axis=0)


@pytest.mark.parametrize("name", MADE)
def test_making_a_sample_again_gives_the_same_bytes(name, tmp_path):
    sample = simulate.find_sample(name)
    judges = simulate.write_panel(simulate.sample_votes(name), tmp_path / sample.file)
    assert judges == tmp_path / sample.judge_file
    assert (tmp_path / sample.file).read_bytes() == simulate.sample_bytes(name)
    assert judges.read_bytes() == simulate.sample_judge_bytes(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_reads_back_as_its_votes(name):
    data, judges = simulate.sample_bytes(name), simulate.sample_judge_bytes(name)
    loaded = load_votes(data, name=simulate.find_sample(name).file, judge_table=judges)
    assert loaded.votes.sha256 == simulate.sample_votes(name).sha256


@pytest.mark.parametrize(
    ("file", "judge_file"),
    [
        ("panel.csv", "panel_judges.csv"),
        ("my.panel_votes.csv.gz", "my.panel_judges.csv.gz"),
        ("panel_votes.parquet", "panel_judges.parquet"),
    ],
)
def test_the_judge_table_goes_beside_the_votes_in_their_format(file, judge_file, tmp_path):
    votes = simulate.sample_votes("one_class")
    assert simulate.write_panel(votes, tmp_path / file) == tmp_path / judge_file
    loaded = load_votes(tmp_path / file, judge_table=tmp_path / judge_file)
    assert loaded.votes.sha256 == votes.sha256


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_small(name):
    assert len(simulate.sample_bytes(name)) < 150_000


def test_the_readme_gives_every_sample_its_command():
    readme = (SAMPLE_FOLDER / "README.md").read_text(encoding="utf-8")
    for sample in simulate.SAMPLES:
        votes = simulate.sample_votes(sample.name)
        assert f"| `{sample.name}` | {votes.n_items} x {votes.n_judges} |" in readme
        assert sample.spec is None or sample.command in readme


def test_the_folder_holds_the_samples_and_nothing_else():
    expected = (
        {"README.md", "llmbar_LICENSE", "two_systems_votes.csv", "two_systems_judges.csv"}
        | {"two_systems_labels.csv"}
        | {s.file for s in simulate.SAMPLES}
        | {s.judge_file for s in simulate.SAMPLES}
    )
    assert {path.name for path in SAMPLE_FOLDER.iterdir()} == expected


def test_two_systems_are_what_their_command_makes(tmp_path):
    readme = (SAMPLE_FOLDER / "README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.endswith("two_systems_votes.csv"))
    *options, _ = shlex.split(line)[2:]
    assert main([*options, str(tmp_path / "two_systems_votes.csv")]) == 0
    for name in ("two_systems_votes.csv", "two_systems_judges.csv"):
        assert (tmp_path / name).read_bytes() == (SAMPLE_FOLDER / name).read_bytes()


def test_an_unknown_sample_is_refused_with_the_names_there_are():
    with pytest.raises(
        InputError, match="llmbar, clean_pairwise, hard_panel, one_class, sparse_humans"
    ):
        simulate.sample_bytes("tidy")


def test_a_missing_file_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr("judgepanel.votes.simulate.SAMPLE_FOLDER", tmp_path)
    with pytest.raises(InputError, match=r"\./run cli simulate --sample one_class"):
        simulate.sample_bytes("one_class")
    with pytest.raises(InputError, match=r"git checkout sample_data/llmbar_votes\.csv"):
        simulate.sample_votes("llmbar")
    monkeypatch.setattr("judgepanel.votes.simulate.IN_CHECKOUT", False)
    with pytest.raises(InputError, match="missing: install judgepanel again"):
        simulate.sample_bytes("one_class")


def test_the_clean_panel_is_dense_balanced_and_moderately_correlated():
    votes = simulate.sample_votes("clean_pairwise")
    assert votes.votes.shape == (300, 24)
    assert (votes.votes != matrix.MISSING).all()
    assert votes.minority_share > 0.4
    assert accuracies(votes).min() > 0.6
    right = votes.votes == votes.labels[:, None]
    assert 0.05 < np.corrcoef(right, rowvar=False)[~np.eye(24, dtype=bool)].mean() < 0.3


def test_the_hard_panel_has_every_trouble_it_promises():
    votes = simulate.sample_votes("hard_panel")
    table, accuracy = votes.judge_table, accuracies(votes)
    kind = table["kind"].to_numpy()
    assert (kind == "copy").sum() == 6
    assert (accuracy < 0.45).sum() == 2
    assert set(np.flatnonzero(accuracy < 0.45)) == set(np.flatnonzero(kind == "anti-expert"))
    (broken,) = np.flatnonzero(kind == "broken")
    assert set(votes.votes[:, broken]) == {0, matrix.MISSING}
    (illegible,) = np.flatnonzero(votes.coverage < 0.9)
    assert votes.coverage[illegible] == pytest.approx(0.54, abs=0.07)
    assert (~votes.labelled).sum() == 20
    assert len(set(votes.groups)) == 200
    assert list(votes.features.columns) == ["difficulty", "subset"]
    assert (table["cost_usd"] > 0).all()


def test_the_one_class_panel_has_only_label_one_and_sound_judges():
    votes = simulate.sample_votes("one_class")
    assert set(votes.labels) == {1}
    assert accuracies(votes).min() > 0.55


def test_the_sparse_panel_has_five_votes_an_item():
    votes = simulate.sample_votes("sparse_humans")
    assert (votes.votes.shape, set(votes.n_votes)) == ((400, 60), {5})
    assert votes.coverage.min() > 0


def test_the_real_panel_is_llmbars_as_published():
    votes = simulate.sample_votes("llmbar")
    assert votes.judge_table["source"].eq("princeton-nlp/LLMBar@900616bff90b").all()
    assert (SAMPLE_FOLDER / "llmbar_LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert "llmbar_LICENSE" in (SAMPLE_FOLDER / "README.md").read_text(encoding="utf-8")
