"""`collect`: from pairs to votes that the next command reads."""

import pytest

from judgepanel.cli import main
from judgepanel.collect import runner as calls
from judgepanel.votes import load_votes
from tests.hostile.collecting import judge, pairs_file
from tests.hostile.hostile_endpoint import KEY, hostile_endpoint


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setattr(calls, "FIRST_PAUSE", 0.01)
    prices = {"price_out": 100, "max_tokens": 20, "family": "f"}
    with hostile_endpoint() as served:
        judges = [judge(served.url, name, **prices) for name in ("x", "=y")]
        (tmp_path / "judges.toml").write_text("\n".join(judges))
        yield served


def pairs(folder, *instructions):
    return str(pairs_file(folder, instructions))


def test_pairs_become_outputs_votes_and_a_judge_table(tmp_path, asked, capsys):
    out = tmp_path / "run"
    arguments = ["collect", pairs(tmp_path, *"abcdef"), str(tmp_path / "judges.toml")]
    assert main([*arguments, "--out", str(out), "--estimate"]) == 0
    assert "In all 12 calls, about $0.02" in capsys.readouterr().err
    assert not asked.prompts
    assert main([*arguments, "--out", str(out)]) == 0
    sentence = capsys.readouterr().out
    assert "12 calls made, 12 of 12 finished, $0.0120 in all." in sentence
    assert "100 % of 12 outputs are read as a verdict." in sentence
    loaded = load_votes(out / "votes.csv", judge_table=out / "judges.csv")
    assert (loaded.votes.votes == loaded.votes.labels[:, None]).all()
    assert loaded.votes.judge_table["cost_usd"].tolist() == [0.001, 0.001]
    assert loaded.votes.judge_table["family"].tolist() == ["f", "f"]
    assert main([*arguments, "--out", str(out)]) == 0
    assert "0 calls made, 12 of 12 finished" in capsys.readouterr().out
    assert main(["inspect", str(out / "outputs.jsonl")]) == 0


def test_calls_that_are_left_are_said_and_the_exit_status_is_one(tmp_path, asked, capsys):
    asked_about = pairs(tmp_path, "fault refused 2", "b", "c")
    arguments = ["collect", asked_about, str(tmp_path / "judges.toml")]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 1
    sentence = capsys.readouterr().out
    assert "1 call of 'x' was given up, most often for: status 400" in sentence
    assert "1 call of '=y' was given up" in sentence
    assert "Run the same command again for the rest." in sentence
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 0


def test_wrong_input_is_one_line_and_nothing_is_asked(tmp_path, asked, capsys):
    judges = str(tmp_path / "judges.toml")
    good = pairs(tmp_path, "a", "b")
    for arguments, sentence in (
        ([good, judges, "--out", good], "this is a file, not a folder"),
        ([good, judges, "--out", str(tmp_path / "r"), "--max-cost", "0"], "must be positive"),
        ([good, judges, "--out", str(tmp_path / "r"), "--max-cost", "nan"], "must be positive"),
        ([judges, judges, "--out", str(tmp_path / "r")], "judges.toml"),
        ([good, good, "--out", str(tmp_path / "r")], "is not TOML"),
        ([good, "nowhere.toml", "--out", str(tmp_path / "r")], "there is no such file"),
    ):
        assert main(["collect", *arguments]) == 2
        error = capsys.readouterr().err.splitlines()
        assert len(error) == 1
        assert sentence in error[0]
    assert not asked.prompts


def test_an_interrupted_run_says_that_finished_work_is_kept(tmp_path, asked, capsys, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("judgepanel.cli.collecting.collect.collect", interrupted)
    arguments = ["collect", pairs(tmp_path, "a"), str(tmp_path / "judges.toml")]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 130
    assert "finished calls are kept" in capsys.readouterr().err.splitlines()[-1]
