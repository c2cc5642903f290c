"""Every command on sample data: what it prints and writes."""

import csv
import json
import re

import pytest

from judgepanel.decision.panel_file import load_panel
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import SAMPLES

FEW = ("--splits", 4, "--jobs", 1)
COLUMNS = {
    *("k", "aggregator", "calibrator", "n_splits", "nll", "nll_lo", "nll_hi"),
    *("brier", "ece", "accuracy", "null_nll", "skill"),
}


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_inspect_says_what_a_sample_holds(cli, samples, sample):
    votes = load_votes(samples / sample.file).votes
    ran = cli("inspect", samples / sample.file)
    assert ran.status == 0
    first, second, *_ = ran.out.splitlines()
    start = f"I read {votes.n_items} items and {votes.n_judges} judges from one row"
    assert first.startswith(start)
    assert second.startswith(f"{votes.n_items} items, {votes.n_judges} judges, ")
    assert votes.sha256 in ran.out
    assert all(name in ran.out for name in votes.judges)


def test_inspect_lists_judges_by_accuracy_with_intervals(cli, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("item_id,label,bad,good,mute\na,1,0,1,\nb,0,1,0,\nc,1,1,1,\nd,0,1,0,\n")
    lines = [line.split() for line in cli("inspect", path).out.splitlines()[-6:-2]]
    assert [line[0] for line in lines] == ["judge", "good", "bad", "mute"]
    assert (lines[1][1:3], lines[2][-4:]) == (["100", "%"], ["1", "4", "100", "%"])
    assert lines[3][1] == "n/a"


def test_inspect_has_agreement_beyond_chance_with_intervals(cli, samples):
    out = cli("inspect", samples / "clean_pairwise_votes.csv").out
    assert re.search(r"^ +judge accuracy +95 % +kappa +AC1 +right", out, re.MULTILINE)
    assert re.search(r"Krippendorff's alpha of the judges is 0\.\d+ \[0\.\d+, 0\.\d+\]\.$", out)


def test_inspect_tells_the_parse_rates_of_outputs_that_have_no_labels(cli, tmp_path):
    path = tmp_path / "outputs.jsonl"
    rows = [("a", "one", "[[A]]"), ("a", "two", "[[B]]"), ("b", "one", "?"), ("b", "two", "[[A]]")]
    lines = [json.dumps(dict(zip(("item", "judge", "text"), row, strict=True))) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    ran = cli("inspect", path)
    assert ran.status == 0
    assert ran.out.startswith("I read 2 items and 2 judges from one row per vote; without labels;")
    assert "\n2 items, 2 judges, no labels.\n75.0 % of 4 outputs are read as" in ran.out
    counts = [line.split()[:3] for line in ran.out.splitlines()[-2:]]
    assert counts == [["one", "2", "1"], ["two", "2", "2"]]
    assert "Studying these votes needs more: outputs.jsonl: there is no label" in ran.err


def test_a_curve_goes_to_csv_as_its_table(cli, clean, tmp_path):
    ran = cli("curve", clean, *FEW, "--out", tmp_path / "c.csv")
    assert (ran.status, ran.err) == (0, "")
    rows = rows_of(tmp_path / "c.csv")
    assert set(rows[0]) >= COLUMNS
    assert len(rows) == 24 * 3
    assert [int(row["k"]) for row in rows[:24]] == list(range(1, 25))
    assert {row["calibrator"] for row in rows} == {"none", "temperature", "beta"}


def test_the_number_of_splits_may_be_left_to_the_answer(cli, clean, tmp_path):
    panel = tmp_path / "panel.json"
    ran = cli("recommend", clean, "--splits", "auto", "--out", panel)
    assert "20 splits: more are unlikely to change the verdict." in ran.out
    assert "; 20 splits; " in ran.out
    content = json.loads(panel.read_text("utf-8"))
    assert (content["spec"]["settings"]["splits"], content["figures"]["n_splits"]) == (None, 20)
    assert cli("score", panel, clean, "--out", tmp_path / "scored.csv").status == 0


def test_curve_is_study_panel_curve(cli, clean, tmp_path):
    left, other = tmp_path / "one.json", tmp_path / "other.json"
    first = cli("curve", clean, *FEW, "--out", left)
    assert first.out == cli("study", "panel_curve", clean, *FEW, "--out", other).out
    assert left.read_bytes() == other.read_bytes()


def test_recommend_prints_best_and_lean_and_takes_lean_at_a_price(cli, clean, tmp_path):
    panel = tmp_path / "panel.json"
    ran = cli("recommend", clean, *FEW, "--prefer", "lean", "--price", ".05", "--out", panel)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert any(line.startswith(("Best: ", "Best (recommended): ")) for line in lines)
    (rule,) = (line for line in lines if line.startswith("Which of them: "))
    assert "5 % accepted" in rule or "less than a third" in rule
    spec = load_panel(panel.read_text("utf-8")).content["spec"]
    assert (spec["prefer"], spec["price"]) == ("lean", 0.05)


def test_a_panel_is_recommended_exported_and_scores_new_votes(cli, samples, tmp_path):
    votes = load_votes(samples / "hard_panel_votes.csv").votes
    panel, scored = tmp_path / "panel.json", tmp_path / "scored.csv"
    path = samples / "hard_panel_votes.csv"
    assert cli("recommend", path, *FEW, "--out", panel).status == 0
    ran = cli("score", panel, path, "--out", scored)
    assert ran.status == 0
    assert "These are the votes the panel was fitted on" in ran.err
    rows = rows_of(scored)
    assert list(rows[0]) == ["item_id", "p", "decision", "set_80", "set_90", "n_votes", "fallback"]
    assert [row["item_id"] for row in rows] == list(votes.item_ids)
    for row in rows:
        p = float(row["p"])
        blank = p == 0.5 or row["n_votes"] == "0"
        assert row["decision"] == ("" if blank else str(int(p > 0.5)))
        assert row["set_80"] == row["set_90"] == ""


def test_votes_that_drifted_fail_where_that_is_asked(cli, clean, tmp_path):
    panel, scored, other = (tmp_path / name for name in ("panel.json", "scored.csv", "other.csv"))
    assert cli("recommend", clean, *FEW, "--out", panel).status == 0
    assert cli("score", panel, clean, "--out", scored, "--fail-on-drift").status == 0
    header, *rows = clean.read_text("utf-8").splitlines()
    judges = [i for i, name in enumerate(header.split(",")) if "judge" in name][:6]
    cells = [row.split(",") for row in rows]
    for row in cells:
        row[:] = ["1" if i in judges else cell for i, cell in enumerate(row)]
    other.write_text("\n".join([header, *map(",".join, cells)]), "utf-8")
    assert cli("score", panel, other, "--out", scored).status == 0
    ran = cli("score", panel, other, "--out", scored, "--fail-on-drift")
    assert ran.status == 1
    assert "failed: these votes are not like those the panel was fitted on, by " in ran.err


def test_score_needs_no_labels_and_names_judges_that_are_absent(cli, clean, tmp_path):
    panel, new = tmp_path / "panel.json", tmp_path / "new.csv"
    cli("recommend", clean, *FEW, "--out", panel)
    names = load_panel(panel.read_text("utf-8")).model.judges
    new.write_text(f"item_id,{names[0]},stranger\na,1,0\nb,,1\n")
    ran = cli("score", panel, new, "--out", tmp_path / "s.csv")
    assert ran.status == 0
    assert f"{len(names) - 1} of {len(names)} panel judges are absent" in ran.err
    assert "'stranger'" in ran.err
    assert "no vote of the panel (first 'b')" in ran.err
    first, second = rows_of(tmp_path / "s.csv")
    assert (first["decision"], first["n_votes"]) == ("1", "1")
    assert (second["decision"], second["n_votes"]) == ("", "0")


def test_simulate_writes_where_a_link_leads(cli, tmp_path):
    folder, link = tmp_path / "data", tmp_path / "link.csv"
    folder.mkdir()
    (folder / "votes.csv").write_text("old")
    link.symlink_to(folder / "votes.csv")
    ran = cli("simulate", "--n-items", 40, "--n-judges", 5, "--out", link)
    assert (ran.status, ran.err) == (0, "")
    assert "Written: votes.csv" in ran.out
    assert link.is_symlink()
    assert load_votes(folder / "votes.csv").votes.n_items == 40
    assert {path.name for path in folder.iterdir()} == {"votes.csv", "votes_judges.csv"}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".jsonl"])
def test_simulate_takes_knobs_and_every_format(cli, tmp_path, ending):
    out = tmp_path / f"mine{ending}"
    options = (
        "--n-items", 40, "--n-judges", 5, "--seed", 9, "--anti-experts", 1, "--base-rate", 0.7,
    )  # fmt: skip
    ran = cli("simulate", *options, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    votes = load_votes(out, judge_table=tmp_path / f"mine_judges{ending}").votes
    assert (votes.n_items, votes.n_judges) == (40, 5)
    assert (votes.judge_table["kind"] == "anti-expert").sum() == 1


def test_panel_sizes_calibrators_and_judges_can_be_chosen(cli, clean, tmp_path):
    names = load_votes(clean).votes.judges[:6]
    listed = tmp_path / "judges.txt"
    listed.write_text("\ufeff" + "\r\n".join(names[:5]) + "\r\n\r\n", encoding="utf-8")
    out = tmp_path / "c.csv"
    options = ("--calibrators", "platt,none", "--k", "2,4", "--top", "3", "--ranking")
    cli(
        *("curve", clean, *FEW, "--judges", listed, "--judge", names[5], *options),
        *("informativeness", "--aggregator", "majority", "--out", out),
    )
    rows = rows_of(out)
    sizes = [(row["calibrator"], row["k"]) for row in rows]
    assert sizes == [(calibrator, k) for calibrator in ("platt", "none") for k in "12346"]
    assert {row["aggregator"] for row in rows} == {"majority"}


def test_sizes_beyond_the_panel_are_named(cli, clean):
    ran = cli("curve", clean, *FEW, "--k", "2,9999", "--calibrators", "none")
    assert "no panel of 9999 is shown" in ran.out


def test_one_judge_alone_is_no_error(cli, clean):
    ran = cli("curve", clean, *FEW, "--judge", load_votes(clean).votes.judges[0])
    assert ran.status == 0
    assert "There is only one judge" in ran.out


@pytest.mark.parametrize(
    "command", ["", "inspect", "study", "curve", "recommend", "score", "simulate"]
)
def test_every_command_explains_itself(cli, command):
    ran = cli(*command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: judgepanel {command}".rstrip())


def test_notes_come_once_and_only_when_the_work_is_done(cli, samples):
    lines = cli("curve", samples / "hard_panel_votes.csv", *FEW).err.splitlines()
    assert lines
    assert len(set(lines)) == len(lines)
    assert all(line.startswith("note: ") for line in lines)


def test_progress_stays_off_what_is_not_a_terminal(cli, clean):
    assert "parts" not in cli("curve", clean, "--splits", 20, "--jobs", 1).err


def test_names_with_a_line_break_need_quotes(cli, clean):
    refused = cli("inspect", clean, "--judge-columns", "two\nlines")
    assert refused.status == 2
    assert "in double quotes" in refused.err
    unknown = cli("inspect", clean, "--judge-columns", '"two\nlines"')
    assert "no such column" in unknown.err or "two lines" in unknown.err


def test_roles_of_columns_come_from_a_file_and_options_before_it(cli, tmp_path):
    rows = "".join(f"q{i},{i % 2},{i % 2},{i % 3 % 2},1\n" for i in range(20))
    (tmp_path / "v.csv").write_text("qid,gold,a,b,difficult\n" + rows)
    (tmp_path / "r.toml").write_text('item_id = "qid"\nlabel = "gold"\njudges = ["a", "b"]\n')
    told = ("inspect", tmp_path / "v.csv", "--roles", tmp_path / "r.toml")
    assert "\n20 items, 2 judges, all labelled" in cli(*told).out
    assert "\n20 items, 1 judge, all labelled" in cli(*told, "--judge-columns", "b").out
    refused = cli(*told[:3], tmp_path / "v.csv")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("judgepanel: v.csv: not a TOML file: ")
