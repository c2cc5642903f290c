"""Encodings, separators and JSON as people save them: the same matrix, or a clear refusal."""

import gzip
import json

import pytest

from judgepanel.votes import InputError, limits, load_votes

ROWS = [
    {"item_id": f"q{n}", "label": n % 2, "jé": (n // 2) % 2, "bob": (n // 3) % 2} for n in range(12)
]
NAMES = ["item_id", "label", "jé", "bob"]


def text_of(separator=",", words=("0", "1")):
    rows = [[row["item_id"], *(words[int(row[name])] for name in NAMES[1:])] for row in ROWS]
    return "\n".join(separator.join(map(str, row)) for row in [NAMES, *rows]) + "\n"


def votes_of(data, name="v.csv"):
    return load_votes(data, name=name).votes


def nested(row):
    return {
        "item_id": row["item_id"],
        "label": row["label"],
        "votes": {name: row[name] for name in NAMES[2:]},
    }


def listed(row):
    votes = [{"judge": name, "verdict": row[name]} for name in NAMES[2:]]
    return {"item": row["item_id"], "label": row["label"], "votes": votes}


FILES = {
    "UTF-8 with a byte order mark.csv": text_of().encode("utf-8-sig"),
    "UTF-16.csv": text_of().encode("utf-16"),
    "UTF-16 big-endian.csv": b"\xfe\xff" + text_of().encode("utf-16-be"),
    "UTF-16 with tabs.txt": text_of("\t").encode("utf-16"),
    "Latin-1.csv": text_of().encode("latin-1"),
    "Latin-1 and packed.csv.gz": gzip.compress(text_of(";").encode("latin-1")),
    "bars.txt": text_of("|").encode(),
    "decimal commas.csv": text_of(";", ("0,0", "1,0")).encode(),
    "a list.json": json.dumps(ROWS).encode(),
    "a list over lines.json": json.dumps(ROWS, indent=2).encode(),
    "a list without a known name": json.dumps(ROWS).encode(),
    "a list in an object.json": json.dumps({"version": 1, "data": ROWS}).encode(),
    "a list in an object over lines.json": json.dumps({"data": ROWS}, indent=1).encode(),
    "a list inside objects.json": json.dumps(
        {"meta": {"tags": ["x"]}, "results": {"items": ROWS}}).encode(),
    "a list at the top comes before a deeper one.json": json.dumps(
        {"run": {"steps": [{"name": "x"}]}, "data": ROWS}).encode(),
    "objects in records.json": json.dumps([nested(row) for row in ROWS]).encode(),
    "lists in records.json": json.dumps([listed(row) for row in ROWS]).encode(),
    "a list in UTF-16.json": json.dumps(ROWS, ensure_ascii=False).encode("utf-16"),
    "objects in lines.jsonl": "\n".join(json.dumps(nested(row)) for row in ROWS).encode(),
    "objects in some lines.jsonl": "\n".join(
        json.dumps(row if n % 2 else nested(row)) for n, row in enumerate(ROWS, start=1)).encode(),
    "lists in lines.jsonl": "\n".join(json.dumps(listed(row)) for row in ROWS).encode(),
    "objects in lines.json": "\n".join(json.dumps(nested(row)) for row in ROWS).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_same_matrix_however_it_was_saved(name):
    assert votes_of(FILES[name], name).sha256 == votes_of(text_of().encode()).sha256


def test_an_encoding_that_was_guessed_is_in_a_note():
    notes = load_votes(FILES["Latin-1.csv"], name="v.csv").warnings
    assert any(note.startswith("Not UTF-8: read as Windows-1252 text.") for note in notes)
    assert "Read as UTF-16 text." in load_votes(FILES["UTF-16.csv"], name="v.csv").warnings


def test_a_document_that_unfolds_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CELLS", 300)
    record = {"item": "x" * 500, "votes": [{"judge": str(n), "verdict": n % 2} for n in range(100)]}
    with pytest.raises(InputError, match="too large when unpacked"):
        votes_of(json.dumps([record]).encode(), "v.json")
