"""Logs of Inspect AI and results of promptfoo become votes, in every version kept here.

The tools themselves wrote the files in data/ (the folder's name has the version), with models that
give scripted answers; expected values are what inspect_ai.log reads.
"""

import io
import json
import zipfile
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.votes import InputError, load_votes
from judgepanel.votes.imports import read_kind, recognised, source_of
from judgepanel.votes.imports.common import OF_ANOTHER_TASK, item_label, order_in
from tests.field.layouts import archive

DATA = Path(__file__).parent / "data"
INSPECT = ("inspect-0.3.60", "inspect-0.3.285")
PROMPTFOO = DATA / "promptfoo-0.121.20"
# q2 was shown the other way round; what the judges wrote is in the order in which they were shown.
CAREFUL, HASTY, LABELS = [1, 1, 1, -1], [1, 0, 1, 0], [1, 1, 1, 0]


def pair_votes(path, *, name=None):
    loaded = load_votes(path, name=name, need_labels=False)
    assert loaded.coverage is not None
    assert loaded.votes.item_ids == ("q1", "q2", "q3", "q4")
    assert loaded.votes.features["subset"].tolist() == ["x", "x", "y", "y"]
    return {
        "label": loaded.votes.labels.tolist(),
        **dict(zip(loaded.votes.judges, loaded.votes.votes.T.tolist(), strict=True)),
    }


def zipped(path, pattern):
    return archive({f"logs/{file.name}": file.read_bytes() for file in sorted(path.glob(pattern))})


@pytest.mark.parametrize("version", INSPECT)
@pytest.mark.parametrize("form", ["json", "eval"])
def test_a_folder_of_inspect_logs_is_a_panel_of_judges(tmp_path, version, form, capsys):
    data = tmp_path / "logs"
    data.mkdir()
    for file in (DATA / version).glob(f"pairs-*.{form}"):
        (data / file.name).write_bytes(file.read_bytes())
    out = tmp_path / "outputs.jsonl"
    assert main(["import", "inspect", str(data), "--out", str(out)]) == 0
    assert "8 rows written to outputs.jsonl." in capsys.readouterr().out
    assert pair_votes(out) == {"label": LABELS, "mockllm/careful": CAREFUL, "mockllm/hasty": HASTY}


@pytest.mark.parametrize("version", INSPECT)
@pytest.mark.parametrize("form", ["json", "eval"])
def test_inspect_logs_are_recognised_where_votes_are_read(version, form):
    votes = pair_votes(DATA / version / f"pairs-hasty.{form}")
    assert votes == {"label": LABELS, "mockllm/hasty": HASTY}
    both = load_votes(zipped(DATA / version, f"pairs-*.{form}"), name="logs.zip", need_labels=False)
    assert both.warnings[0] == "Read as logs of Inspect AI."
    assert both.votes.judges == ("mockllm/careful", "mockllm/hasty")


@pytest.mark.parametrize("version", INSPECT)
@pytest.mark.parametrize("form", ["json", "eval"])
def test_scorers_are_judges_where_no_side_is_asked_for(version, form):
    loaded = load_votes(DATA / version / f"sums.{form}", task="pointwise")
    votes = loaded.votes
    assert votes.labels.tolist() == [1, 1, 0, 0], "the scorer that is called human"
    first, second = votes.votes.T.tolist()
    assert first == [1, 1, 1, -1], "a partial grade is no vote"
    assert second == [1, 0, -1, 1], "an answer in which no grade was found is no vote"
    if version == INSPECT[1]:
        assert votes.judges == ("model_graded_qa/mockllm/g1", "model_graded_qa/mockllm/g2")
        assert "Left out, grades of answers that failed: 1." in loaded.warnings


def test_of_two_runs_of_one_model_the_later_counts_and_epochs_are_left_out(tmp_path):
    first = json.loads((DATA / INSPECT[0] / "pairs-hasty.json").read_text())
    later = json.loads(json.dumps(first))
    later["eval"]["created"] = "2099-01-01T00:00:00+00:00"
    for sample in later["samples"]:
        sample["output"]["choices"][0]["message"]["content"] = "[[B]]"
    later["samples"].append({**later["samples"][0], "epoch": 2})
    later["samples"].append({**later["samples"][0], "id": "q9", "error": {"message": "timeout"}})
    for name, log in (("a", later), ("b", first)):
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    outcome = read_kind(source_of(tmp_path), "inspect")
    assert [row["text"] for row in outcome.rows] == ["[[B]]"] * 4
    assert outcome.left_out == {
        "logs of runs that were made again, or copied": 1,
        "outputs of epochs after the first": 1,
        "samples that ended with an error": 1,
    }


def test_two_models_on_the_same_samples_are_items_of_one_group():
    log = json.loads((DATA / INSPECT[0] / "sums.json").read_text())
    files = {}
    for model in ("m1", "m2"):
        log["eval"]["model"] = model
        files[f"{model}.json"] = json.dumps(log).encode()
    loaded = load_votes(archive(files), name="logs.zip", task="pointwise")
    votes = loaded.votes
    assert loaded.roles.system_column == ("system",)
    assert votes.features["system"].tolist() == ["m1"] * 4 + ["m2"] * 4
    assert votes.item_ids[:2] == ("t0/m1/1", "t1/m1/1")
    assert votes.groups == tuple(f"sample t{k}" for k in range(4)) * 2


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_promptfoo_providers_are_judges_of_pairs(form):
    votes = pair_votes(PROMPTFOO / f"pairs.{form}")
    assert votes == {"label": LABELS, "careful": CAREFUL, "hasty": HASTY}


def test_promptfoo_assertions_are_judges_where_tests_have_no_side():
    loaded = load_votes(PROMPTFOO / "rubric.json", task="pointwise")
    votes = loaded.votes
    assert votes.judges == ("llm-rubric/strict", "llm-rubric/kind")
    assert votes.votes.T.tolist() == [[1, 0, 1, 0], [1, 1, 1, 0]]
    assert votes.labels.tolist() == [1, 1, 0, 0]
    assert votes.features["topic"].tolist() == ["sum", "sum", "other", "other"]
    assert loaded.warnings[0] == "Read as results of promptfoo."


def test_promptfoo_providers_are_systems_where_assertions_judge():
    content = json.loads((PROMPTFOO / "rubric.json").read_text())
    results = content["results"]["results"]
    for result in list(results):
        again = {**result, "id": f"{result['id']} again", "provider": {"id": "other"}}
        results.append(again | {"metadata": {"system": "what else is called so"}})
    loaded = load_votes(json.dumps(content).encode(), name="results.json", task="pointwise")
    assert loaded.roles.system_column == ("system",)
    systems = loaded.votes.features["system"].tolist()
    assert systems == [item.partition("/")[2] for item in loaded.votes.item_ids]
    assert len(set(systems)) == 2


def test_a_rating_by_a_person_is_the_label_of_a_promptfoo_test():
    content = json.loads((PROMPTFOO / "rubric.json").read_text())
    for k, result in enumerate(content["results"]["results"]):
        del result["vars"]["label"]
        sentence = result["gradingResult"]["componentResults"]
        sentence.append({"pass": k in (1, 2), "score": 1, "assertion": {"type": "human"}})
    votes = load_votes(json.dumps(content).encode(), name="results.json", task="pointwise").votes
    assert (votes.labels.tolist(), len(votes.judges)) == ([0, 1, 1, 0], 2)


def test_errors_and_repeats_of_promptfoo_are_counted():
    content = json.loads((PROMPTFOO / "pairs.json").read_text())
    results = content["results"]["results"]
    results[0]["response"] = {"error": "429"}
    results.append(results[1])
    loaded = load_votes(json.dumps(content).encode(), name="results.json", need_labels=False)
    assert "Left out, results that ended with an error: 1." in loaded.warnings
    assert "Left out, results that are there twice: 1." in loaded.warnings


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"item,label,a\n1,1,1\n", "votes.csv"),
        (b'{"item_id": "a", "label": 1, "x": 1}\n', "votes.jsonl"),
        (b'{"results": {"results": []}}', "results.json"),
        (b"PK\x03\x04 and no archive", "votes.xlsx"),
        (b'{"item_id": "a", "label": 1, "x": 1}\n{"item_id": "b"}\n', "votes.json"),
    ],
)
def test_other_files_are_left_to_other_readers(data, name):
    assert recognised(data, name) is None


def test_a_workbook_is_no_archive_of_results():
    data = archive({"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<workbook/>"})
    with pytest.raises(InputError, match=r"votes\.xlsx: the workbook is damaged"):
        load_votes(data, name="votes.xlsx")


def test_a_log_folder_is_read_whatever_else_lies_in_it(tmp_path):
    data = tmp_path / "logs"
    data.mkdir()
    for file in (DATA / INSPECT[0]).glob("pairs-*.json"):
        (data / file.name).write_bytes(file.read_bytes())
    (data / "._pairs-careful.json").write_bytes(b"\x00\x05\x16\x07")
    (data / "logs.json").write_text('{"logs": []}')
    (data / "readme.txt").write_text("notes")
    (data / "rubric.json").write_bytes((PROMPTFOO / "rubric.json").read_bytes())
    (data / "sums.json").write_bytes((DATA / INSPECT[0] / "sums.json").read_bytes())
    outcome = read_kind(source_of(data), "inspect")
    assert {row["judge"] for row in outcome.rows} == {"mockllm/careful", "mockllm/hasty"}
    assert outcome.left_out == {"files that are something else": 3, OF_ANOTHER_TASK["pairwise"]: 1}
    assert outcome.left_out.files[OF_ANOTHER_TASK["pairwise"]] == ["logs/sums.json"]


@pytest.fixture
def mixed(tmp_path):
    """A log of four pairs, and two logs with eight grades each."""
    data = tmp_path / "logs"
    data.mkdir()
    log = json.loads((DATA / INSPECT[0] / "sums.json").read_text())
    for task in ("sums", "differences"):
        log["eval"]["task"] = task
        (data / f"{task}.json").write_text(json.dumps(log))
    (data / "pairs.json").write_bytes((DATA / INSPECT[0] / "pairs-hasty.json").read_bytes())
    return data


def test_one_log_of_pairs_does_not_suppress_the_logs_without(mixed, tmp_path, capsys):
    out = tmp_path / "outputs.jsonl"
    assert main(["import", "inspect", str(mixed), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("8 rows written")
    assert "beside others that do not; the task pairwise reads them: 1 ('logs/pairs.json')" in (
        printed
    )
    assert main(["import", "inspect", str(mixed), "--out", str(out), "--task", "pairwise"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4 rows written")
    assert "2 ('logs/differences.json', 'logs/sums.json')" in printed


def test_the_task_also_chooses_where_an_archive_of_both_is_read_as_votes(mixed):
    data = zipped(mixed, "*.json")
    assert load_votes(data, name="logs.zip", need_labels=False).votes.task == "pointwise"
    pairs = load_votes(data, name="logs.zip", task="pairwise", need_labels=False)
    assert pairs.votes.judges == ("mockllm/hasty",)


def test_one_file_of_promptfoo_with_pairs_does_not_suppress_the_files_without():
    pairs = json.loads((PROMPTFOO / "pairs.json").read_text())
    pairs["results"]["results"] = pairs["results"]["results"][:2]
    rubric = (PROMPTFOO / "rubric.json").read_bytes()
    data = archive({"a.json": json.dumps(pairs), "b.json": rubric})
    loaded = load_votes(data, name="results.zip", need_labels=False)
    assert loaded.votes.task == "pointwise"
    assert any("the task pairwise reads them: 1 ('a.json')" in note for note in loaded.warnings)


def test_a_question_with_four_choices_is_no_pair_though_its_answer_is_a(tmp_path):
    log = json.loads((DATA / INSPECT[0] / "sums.json").read_text())
    for sample in log["samples"]:
        sample.update(target="A", choices=["1", "2", "3", "4"])
    (tmp_path / "a.json").write_text(json.dumps(log))
    assert read_kind(source_of(tmp_path / "a.json"), "inspect").task == "pointwise"


def test_a_run_that_was_cut_short_does_not_replace_a_complete_one(tmp_path):
    log = json.loads((DATA / INSPECT[0] / "sums.json").read_text())
    later = json.loads(json.dumps(log))
    later["eval"].update(created="2099-01-01T00:00:00+00:00", run_id="later")
    later["status"], later["samples"] = "cancelled", later["samples"][:1]
    for name, content in (("a", log), ("b", later), ("c", log)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    outcome = read_kind(source_of(tmp_path), "inspect")
    assert len(list(outcome.rows)) == 4
    folder = tmp_path.name
    assert outcome.left_out.files == {
        "logs of runs that were cut short, beside a complete one": [f"{folder}/b.json"],
        "logs of runs that were made again, or copied": [f"{folder}/a.json"],
    }


def test_logs_with_nothing_to_read_and_damaged_ones_are_named_and_the_others_read(tmp_path):
    log = json.loads((DATA / INSPECT[0] / "sums.json").read_text())
    log["eval"]["task"] = "another"
    silent = {**log, "samples": [{**sample, "scores": None} for sample in log["samples"]]}
    failed = {**log, "samples": [{**sample, "error": {}, "id": None} for sample in log["samples"]]}
    files = {
        "sums.json": (DATA / INSPECT[0] / "sums.json").read_bytes(),
        "empty.json": json.dumps({**log, "samples": []}).encode(),
        "silent.json": json.dumps(silent).encode(),
        "failed.json": json.dumps(failed).encode(),
        "half.json": json.dumps(log).encode()[:400],
        "half.eval": (DATA / INSPECT[1] / "sums.eval").read_bytes()[:400],
        "odd.json": json.dumps({**log, "samples": ["x"]}).encode(),
    }
    loaded = load_votes(archive(files), name="logs.zip", task="pointwise")
    assert loaded.votes.n_items == 4
    notes = [note for note in loaded.warnings if "eft out" in note or note.startswith("Not read")]
    assert notes == [
        "Left out, logs without samples: 1 ('empty.json').",
        "Left out, logs in which every sample ended with an error: 1 ('failed.json').",
        "Left out, logs without scores: 1 ('silent.json').",
        "Left out, grades of answers that failed: 1.",
        "Left out, grades that are neither right nor wrong: 1.",
        "Left out, files that cannot be read: 3.",
        "Not read: half.eval: the ZIP archive is damaged; export it again with the tool that wrote "
        "it.",
        "Not read: half.json: is not JSON, cut off or damaged: Unterminated string starting at "
        """character 390 (found '{"version": 2, "status": "success", "eval": {"run_id": "2qs…'); """
        "allowed: whole JSON; export it again with the tool that wrote it.",
        "Not read: odd.json: damaged, or not written as logs of Inspect AI are; allowed: a log of "
        "Inspect AI (.eval or .json), or a folder with them; export it again with the tool that "
        "wrote it.",
    ]


def test_an_archive_of_a_mac_is_read_and_one_of_two_tools_is_refused():
    log = (DATA / INSPECT[1] / "pairs-hasty.eval").read_bytes()
    other = (PROMPTFOO / "rubric.json").read_bytes()
    mac = archive({"__MACOSX/logs/._a.eval": b"\x00\x05", "logs/a.eval": log})
    assert load_votes(mac, name="logs.zip", need_labels=False).votes.judges == ("mockllm/hasty",)
    both = archive({"a.eval": log, "b.json": other})
    with pytest.raises(InputError, match=r"both\.zip: holds logs of Inspect AI and results of pro"):
        load_votes(both, name="both.zip")
    with pytest.raises(InputError, match=r"txt\.zip: holds no votes\. .*choose the file"):
        load_votes(archive({"votes.txt": b"item,label,a\n1,1,1\n"}), name="txt.zip")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("half.eval", "half.eval: the ZIP archive is damaged"),
        ("half.zip", "half.zip: the ZIP archive is damaged"),
        ("half.json", "half.json: is not JSON, cut off or damaged"),
    ],
)
def test_half_a_result_is_called_so(name, sentence):
    form = "json" if name.endswith("json") else "eval"
    data = (DATA / INSPECT[1] / f"pairs-hasty.{form}").read_bytes()
    with pytest.raises(InputError, match=sentence):
        load_votes(data[: len(data) // 2], name=name)


def test_the_same_results_of_promptfoo_in_two_files_count_once():
    files = {file.name: file.read_bytes() for file in PROMPTFOO.glob("pairs.*")}
    loaded = load_votes(archive(files), name="results.zip", need_labels=False)
    assert "Left out, results that are there twice: 8." in loaded.warnings
    assert loaded.votes.votes.T.tolist() == [CAREFUL, HASTY]
    with pytest.raises(InputError, match=r"empty\.json: holds no outputs"):
        load_votes(b'{"evalId": "x", "results": {"version": 3, "results": []}}', name="empty.json")


def test_long_texts_that_a_log_keeps_apart_are_found(tmp_path):
    log = json.loads((DATA / INSPECT[0] / "pairs-hasty.json").read_text())
    sample = log["samples"][0]
    sample["output"]["choices"][0]["message"]["content"] = "attachment://abc"
    sample["attachments"] = {"abc": "x" * 200 + "\n[[B]]"}
    (tmp_path / "a.json").write_text(json.dumps(log))
    assert next(iter(read_kind(source_of(tmp_path), "inspect").rows))["text"].endswith("[[B]]")


def test_a_damaged_log_is_named():
    data = bytearray((DATA / INSPECT[1] / "pairs-hasty.eval").read_bytes())
    place = data.find(b"samples/q1_epoch_1.json") + 60
    data[place : place + 40] = bytes(40)
    with pytest.raises(InputError, match=r"bad\.eval.*the ZIP archive is damaged"):
        load_votes(bytes(data), name="bad.eval")


def test_archives_inside_an_archive_have_no_more_room_than_it(monkeypatch):
    log = (DATA / INSPECT[1] / "pairs-hasty.eval").read_bytes()
    with zipfile.ZipFile(io.BytesIO(log)) as inner:
        size = sum(entry.file_size for entry in inner.infolist())
    two = archive({"a.eval": log, "b.eval": log})
    for room, fits in ((2 * size + 2 * len(log), True), (2 * size, False)):
        monkeypatch.setattr("judgepanel.votes.sources.Archive.__init__.__defaults__", (room,))
        if fits:
            assert load_votes(two, name="logs.zip", need_labels=False).votes.judges
        else:
            with pytest.raises(InputError, match="too large when unpacked"):
                load_votes(two, name="logs.zip", need_labels=False)


def test_a_label_as_shown_is_taken_only_where_the_order_is_known():
    """An order of 1 is the first of 1 and 2, and the second of 0 and 1."""
    assert [item_label("A", word) for word in ("AB", "0", "2", "1")] == [1, 1, 0, None]
    swapped = [order_in({"swapped": way}) for way in (0, 1, False, True)]
    assert [item_label("A", order) for order in swapped] == [1, 0, 1, 0]
