"""`estimate` is the study of that name, and a gate for pipelines."""

import json

import pandas as pd
import pytest


@pytest.fixture
def llmbar(samples):
    return samples / "llmbar_votes.csv"


@pytest.fixture
def few(llmbar, tmp_path):
    """The same votes with a text for each item and a quarter of the labels."""
    known = pd.read_csv(llmbar, dtype=str)
    question = [f"=cmd({n}) is what the user typed" for n in range(len(known))]
    label = known["label"].where(known.index % 4 == 0, "")
    known.assign(label=label, question=question).to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


def test_estimate_writes_the_table_of_the_study(cli, llmbar, tmp_path):
    ran = cli("estimate", llmbar, "--by", "subset", "--out", tmp_path / "rates.csv")
    assert ran.status == 0
    assert "The win rate of the first response is " in ran.out
    rates = pd.read_csv(tmp_path / "rates.csv")
    assert rates["group"].tolist()[:2] == ["all items", "GPTInst"]
    cli("study", "estimate", llmbar, "--by", "subset", "--out", tmp_path / "rates.json")
    table = json.loads((tmp_path / "rates.json").read_text("utf-8"))["table"]
    assert [row["rate"] for row in table] == pytest.approx(rates["rate"].tolist())


@pytest.mark.parametrize(("rate", "status"), [("0.3", 0), ("0.5", 0), ("0.6", 1)])
def test_a_rate_shown_to_be_too_low_fails(cli, llmbar, rate, status):
    ran = cli("estimate", llmbar, "--fail-under", rate)
    assert ran.status == status
    assert ("failed: the rate is 49.2 %" in ran.err) == (status == 1)


def test_a_group_that_is_not_shown_to_be_better_fails(cli, llmbar):
    options = ("estimate", llmbar, "--by", "subset", "--about", "file", "--fail-unless-better")
    assert cli(*options, "Natural", "Neighbor").status == 0
    ran = cli(*options, "Neighbor", "Natural")
    assert ran.status == 1
    assert "failed: Natural is not shown to be better than Neighbor." in ran.err


def test_an_unknown_group_is_refused_with_the_known_ones(cli, llmbar):
    ran = cli("estimate", llmbar, "--by", "subset", "--fail-unless-better", "Natural", "Unnatural")
    assert ran.status == 2
    assert "there is no such group (found 'Unnatural'); allowed: GPTInst, GPTOut" in ran.err


def test_drawn_items_come_back_labelled_and_narrow_the_interval(cli, llmbar, few, tmp_path):
    drawn, rates = tmp_path / "draw.csv", tmp_path / "rates.csv"
    options = ("estimate", few, "--by", "subset", "--out", rates)
    assert cli(*options, "--draw", 80, "--draw-to", drawn).status == 0
    before = pd.read_csv(rates).iloc[0]
    items = pd.read_csv(drawn, dtype=str)
    assert (*items.columns[:3], items.columns[-1]) == ("id", "question", "subset", "label")
    assert items["label"].isna().all()
    # Texts that no spreadsheet runs.
    asked = pd.read_csv(few, dtype=str).set_index("item_id")["question"]
    assert items["question"].tolist() == [f"'{asked[item]}" for item in items["id"]]
    truth = pd.read_csv(llmbar, dtype=str).set_index("item_id")["label"]
    items.assign(label=items["id"].map(truth)).to_csv(drawn, index=False)
    assert cli(*options, "--labels", drawn).status == 0
    after = pd.read_csv(rates).iloc[0]
    assert after["n_labels"] == before["n_labels"] + 80
    assert after["rate_hi"] - after["rate_lo"] < before["rate_hi"] - before["rate_lo"]


def test_the_sample_of_two_systems_has_the_labels_of_what_is_drawn(cli, samples, tmp_path):
    votes, drawn = samples / "two_systems_votes.csv", tmp_path / "draw.csv"
    options = ("--by", "system", "--draw", 50, "--draw-to", drawn)
    assert cli("estimate", votes, *options).status == 0
    labelled = pd.read_csv(samples / "two_systems_labels.csv", dtype=str)
    assert pd.read_csv(drawn, dtype=str)[["id", "system"]].equals(labelled[["id", "system"]])
    assert labelled["label"].notna().all()


def test_items_to_label_need_a_number_and_a_file(refused, llmbar):
    line = refused("estimate", llmbar, "--draw", 50)
    assert "items to label need their number and a file; allowed: --draw N --draw-to" in line


def test_labels_that_were_filled_in_are_not_drawn_over(refused, few, tmp_path):
    drawn = tmp_path / "draw.csv"
    drawn.write_text("id,label\n1,1\n", "utf-8")
    line = refused("estimate", few, "--draw", 20, "--draw-to", drawn)
    assert "draw.csv: this file already exists, and labels may have been filled in" in line
    assert drawn.read_text("utf-8") == "id,label\n1,1\n"


def test_a_second_file_of_labels_is_refused_instead_of_the_first_dropped(refused, llmbar, tmp_path):
    assert "--labels is given twice: put the rows of both files into one" in refused(
        "estimate", llmbar, "--labels", tmp_path / "a.csv", "--labels", tmp_path / "b.csv"
    )
