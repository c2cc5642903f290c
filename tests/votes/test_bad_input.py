"""What is refused, warned about and accepted, case by case."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from judgepanel.votes import InputError, checks, formats, limits, load_votes

HEAD = "item_id,label,j1,j2\n"
GOOD = HEAD + "a,1,1,0\nb,0,0,0\nc,1,1,1\nd,0,1,0\n"


def parquet_of(**columns):
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def lines_of(*records):
    return "\n".join(json.dumps(record) for record in records).encode()


# name -> (content, parts of the sentence, the file's name if it is another than v.csv)
REFUSED = {
    "empty file": ("", "v.csv: the file is empty … allowed: CSV … export it again"),
    "blank lines only": ("\n \n", "v.csv: the file is empty"),
    "header only": (HEAD, "v.csv: a header but no rows"),
    "prose": ("Dear team\nhere are the votes\n", "row 1 … not a CSV … 'Dear team'"),
    "web page": ("<!DOCTYPE html><html>a,b</html>", "not a table … a web page"),
    "PDF": (b"%PDF-1.7\n\xe2\xe3", "not a table of votes but a PDF document"),
    "tar": (gzip.compress(b"v.csv".ljust(257, b"\x00") + b"ustar"), "unpack it", "v.tar.gz"),
    "Excel": (b"PK\x03\x04\x14\x00", "a ZIP archive"),
    "pickle": (b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00]", "binary data"),
    "binary": (bytes(range(256)), "not a table of votes but binary data"),
    "too few cells": (HEAD + "a,1,1,0\nb,0,1\n", "row 3: 3 cells … header has 4"),
    "too many cells": (HEAD + "a,1,1,0,1\nb,0,1\n", "row 2: 5 cells … header has 4"),
    "NUL byte": (GOOD.replace("c,1", "c\x00,1"), "v.csv, row 4: NUL byte at byte 37"),
    "open quote": (GOOD + '"e,1,1,1\nf,1,1,1\n', "row 6 … opened and never closed"),
    "open quote before others": (GOOD + 'e,"1,1,1\n"f",1,1,1\n', "row 6 … a quotation mark"),
    "quote inside a cell": (GOOD + 'e"x,1,1,1\n', "row 6 … middle of a cell"),
    "no label column": ("item_id,j1\na,1\nb,0\n",
        "row 1: there is no label column … ; name the label column with --label-column, or on "
        "Start under Columns; give labels in another file with --labels, or with a second upload "
        "on Start."),
    "long without labels": ("item,judge,vote\nq1,m,1\nq1,n,0\nq2,m,1\n",
        "; name the label column with --label-column, or on Start under Columns; give labels in"),
    "label 2": (GOOD + "e,2,1,1\n",
        "v.csv, row 6, column 'label': labels on a scale: 0 (2), 1 (2), 2 (1) (found '2') … "
        "allowed: labels 0 and 1"),
    "label in another word": (GOOD + "e,dunno,1,1\n",
        "; correct it, or name another label column with --label-column, or on Start under "
        "Columns."),
    "unknown word": (GOOD + "e,1,maybe,1\n",
        "v.csv, row 6, column 'j1': not a verdict; unknown: 'maybe' (1) (found 'maybe') … B>A, "
        "tie … ; correct the cell; or, if this column is not a judge, name it with --ignore, "
        "--feature-column, --id-column, --label-column or --group-column, or on Start under "
        "Columns."),
    "vote 0.3": (GOOD + "e,1,1,0.3\n", "row 6, column 'j2' … (found '0.3')"),
    "item id twice": (GOOD + "b,1,1,1\n",
        "row 6, column 'item_id': this item id is already in row 3 (found 'b') … ; correct it, or "
        "name another id column with --id-column, or on Start under Columns; a file with one row "
        "per vote needs the columns item, judge and verdict."),
    "empty item id": (GOOD + " ,1,1,1\n", "row 6, column 'item_id' … is empty"),
    "judge twice": (GOOD.replace("j2", "j1"),
        "v.csv, row 1, column 'j1': this column is given twice … ; rename or remove one of the "
        "two."),
    "judge twice but for an apostrophe": (GOOD.replace("j1", "=x").replace("j2", "'=x"),
        "row 1, column ''=x': this judge is given twice"),
    "column without a name": (GOOD.replace("j1", " "), "row 1: column 3 has no name"),
    "feature without a name": (GOOD.replace("j1", "feat_"),
        "row 1, column 'feat_': this feature has no name"),
    "verdict among scores": (
        "id,label,a,b\nq1,1,0.9,0.8\nq2,0,0.2,0.1\nq3,1,0.7,0.6\nq4,0,yes,0.3\n",
        "row 5, column 'a': a verdict in a column of scores (found 'yes') … correct the cell"),
    "no judges": ("item_id,label,feat_x\na,1,2\nb,0,3\n", "row 1: there are no judge columns"),
    "no labels": (HEAD + "a,,1,0\nb,NA,1,1\n",
        "column 'label': all labels are missing … ; correct it, or name another label column with"),
    "tie labels only": (HEAD + "a,tie,1,0\nb,tie,1,1\n", "all labels are missing"),
    "one item of a class": (HEAD + "a,0,1,0\nb,0,1,1\nc,1,1,1\n",
        "v.csv, column 'label': only one item has the label 1 … at least 2 items of each class"),
    "infinity": ("item_id,label,feat_x,j1\na,1,2,1\nb,0,-inf,1\n",
        "row 3, column 'feat_x': an infinite number (found '-inf')"),
    "infinity by overflow": ("item_id,label,feat_x,j1\na,1,2,1\nb,0,1e999,1\n",
        "row 3, column 'feat_x' … '1e999'"),
    "fake Parquet": (GOOD, "name ends in .parquet … not Parquet", "v.parquet"),
    "broken Parquet": (b"PAR1" + b"x" * 50 + b"PAR1", "not a readable Parquet", "v.parquet"),
    "Parquet named CSV": (parquet_of(a=[1]), "name ends in .csv … 'Parquet content'"),
    "fake gzip": (GOOD, "the name ends in .gz but the content is not gzip", "v.csv.gz"),
    "gzip named CSV": (gzip.compress(GOOD.encode()), "but gzip … .csv.gz"),
    "cut gzip": (gzip.compress(GOOD.encode())[:-9], "damaged or cut off", "v.csv.gz"),
    "damaged gzip": (b"\x1f\x8b\x08\x00" + b"\xff" * 30, "gzip content is damaged", "v.csv.gz"),
    "gzip and more": (gzip.compress(GOOD.encode()) + b"x", "other data follows it", "v.csv.gz"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"a,b\n")), "unpack it once", "v.gz"),
    "JSON list": ('[{"a": 1}]', "there is no label column", "v.json"),
    "half a character of UTF-16": (b"\xff\xfe" + b"a", "damaged UTF-16"),
    "list of numbers": ("[1, 2, 3]", "not a list of JSON objects", "v.json"),
    "empty list": ("[]", "not a list of JSON objects", "v.json"),
    "list cut off": ('[{"item_id": "a"', "is not JSON", "v.json"),
    "list named CSV": (json.dumps([{"item_id": "q1"}]), "row 1: not a CSV table"),
    "two lists in a record": ('[{"a": [{"x": 1}], "b": [{"x": 1}]}]', "records of lists, none",
        "v.json"),
    "JSON named CSV": ('{"item_id": "a"}', "not CSV … 'JSON Lines content'"),
    "broken JSON line": ('{"item_id": "a", "label": 1, "j1": 1}\n\n{"item_id": "b", \n',
        "v.jsonl, row 3: is not JSON … at character", "v.jsonl"),
    "JSON number line": ('{"item_id": "a"}\n3\n', "row 2: not a JSON object", "v.jsonl"),
    "nested JSON": (lines_of({"item_id": "a", "j1": 1}, {"item_id": "b", "j1": [1]}),
        "row 2, column 'j1': a nested value (found 'list') … allowed: text, numbers", "v.jsonl"),
    "deeply nested JSON": ('{"a":' * 100000, "row 1: JSON is nested too deeply", "v.jsonl"),
    "JSON key twice": ('{"a": 1, "a": 2}', "row 1, column 'a' … given twice", "v.jsonl"),
    "JSON NUL": (lines_of({"item_id": "a\x00"}), "row 1, column 'item_id': a NUL", "v.jsonl"),
    "JSON surrogate": ('{"item_id": "\\ud800"}', "broken Unicode … '\\ud800'", "v.jsonl"),
    "nested Parquet": (parquet_of(item_id=["a"], j1=[[1]]),
        "v.parquet, column 'j1': nested or binary values", "v.parquet"),
    "Parquet without rows": (parquet_of(a=pa.array([], "int8")), "but no rows", "v.parquet"),
    "Parquet vote 0.3": (parquet_of(item_id=["a", "b"], label=[0, 1], j1=[1.0, 0.3]),
        "v.parquet, row 2, column 'j1': not a verdict, in a column of numbers from 0.3 to 1",
        "v.parquet"),
    "long vote twice": ("item,judge,verdict,gold\na,x,1,1\na,y,1,1\na,x,0,1\n",
        "row 4, column 'item': judge 'x' already has a vote on this item in row 2 (found 'a') … "
        "; remove one of the two rows, or name a column that tells the items apart with "
        "--id-column, or on Start under Columns."),
    "long labels in conflict": ("item,judge,verdict,gold\na,x,1,1\na,y,1,\na,z,0,0\n",
        "row 4, column 'gold': this item has another gold in row 2 (found '0')"),
    "long without judge name": ("item,judge,verdict,gold\na,x,1,1\na,,1,1\n",
        "row 3, column 'judge': the judge name is empty"),
    "long unknown word": ("item,judge,verdict,gold\na,x,1,1\na,y,left,1\n",
        "row 3, column 'verdict': not a verdict; unknown: 'left' (1) (found 'left')"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence_that_says_where(case):
    content, parts, name = (*REFUSED[case], "v.csv")[:3]
    data = content.encode() if isinstance(content, str) else content
    with pytest.raises(InputError) as caught:
        load_votes(data, name=name)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(name)
    assert sentence.endswith(".")
    for part in parts.split(" … "):
        assert part in sentence


def test_the_line_is_right_after_blank_lines_and_quoted_line_breaks():
    data = b'\r\nitem_id,label,"j\r\n1"\r\n\r\n"a\r\nb",1,1\r\nc,0,1\r\n\r\nd,0,dunno\r\n'
    with pytest.raises(InputError, match=r"row 9, column 'j 1'.*found 'dunno'"):
        load_votes(data, name="v.csv")


def test_one_class_is_refused_in_a_pointwise_task_only():
    data = (HEAD + "a,1,1,0\nb,1,1,1\nc,1,0,1\n").encode()
    refusal = (
        "column 'label': every label is 1.*; if the items are pairs, say so with --task pairwise"
    )
    with pytest.raises(InputError, match=refusal):
        load_votes(data, name="v.csv", task="pointwise")
    assert load_votes(data, name="v.csv").votes.n_items == 3


def test_labels_are_not_needed_to_score():
    assert load_votes(b"item_id,j1,j2\na,1,0\n", need_labels=False).votes.labels.tolist() == [-1]
    assert load_votes(b"item_id,label,j1\na,1,0\n", need_labels=False).warnings == (
        "There is only one judge, 'j1', so no panel to choose.",
    )


def test_an_upload_beyond_the_limit_is_refused(monkeypatch):
    assert limits.MAX_UPLOAD_MB == 200
    monkeypatch.setattr(limits, "MAX_UPLOAD_MB", 1)
    with pytest.raises(InputError, match=r"big.csv: the file has 2 MB; allowed: at most 1 MB"):
        formats.read_table(b"0" * 2_000_000, "big.csv")
    monkeypatch.setattr(limits, "MAX_UNPACKED", 1_000_000)
    with pytest.raises(InputError, match=r"b.csv.gz: too large when unpacked; allowed: at most 1,"):
        formats.read_table(gzip.compress(b"0,1," * 1_000_000), "b.csv.gz")


def test_too_many_cells_and_columns_are_refused(monkeypatch):
    monkeypatch.setattr("judgepanel.votes.limits.MAX_CELLS", 15)
    with pytest.raises(InputError, match="4 rows by 4 columns are too many cells; allowed: 15"):
        formats.read_table(GOOD.encode(), "v.csv")
    monkeypatch.setattr("judgepanel.votes.limits.MAX_COLUMNS", 3)
    with pytest.raises(InputError, match="row 1: 4 columns are too many; allowed: 3"):
        formats.read_table(GOOD.encode(), "v.csv")


def many(rows=20, judges="j1,j2", tail=""):
    body = "".join(f"i{i},{i % 2},{i // 2 % 2},{i // 3 % 2}\n" for i in range(rows))
    return f"item_id,label,{judges}\n{body}{tail}".encode()


WARNED: dict[str, tuple[bytes, list[str]]] = {
    "nothing odd": (many(), []),
    "judge without votes": (b"item_id,label,j1,j2,j3\n"
        + b"".join(b"i%d,%d,%d,,%d\n" % (i, i % 2, i // 2 % 2, i // 3 % 2) for i in range(20)),
        ["1 judge has no votes: 'j2'."]),
    "items without votes": (many(tail="x,1,,\ny,1,NA,-1\n"), ["2 items have no vote: 'x', 'y'."]),
    "one judge": (b"item_id,label,j1\n"
        + b"".join(b"i%d,%d,%d\n" % (i, i % 2, i // 2 % 2) for i in range(20)),
        ["There is only one judge, 'j1', so no panel to choose."]),
    "few labels": (many(19), ["Only 19 items have a label; fewer than 20 say very little."]),
    "constant judge": (b"item_id,label,j1,j2\n"
        + b"".join(b"i%d,%d,%d,1\n" % (i, i % 2, i // 2 % 2) for i in range(20)),
        ["1 judge gives the same verdict in all votes: 'j2'."]),
    "judge with one vote is not constant": (many(judges="j1,j2,j3", rows=0)
        + b"".join(b"i%d,%d,%d,%d,%s\n" % (i, i % 2, i // 2 % 2, i // 3 % 2, b"" if i else b"1")
        for i in range(20)), []),
    "tie label": (many(tail="x,tie,1,0\n"), ["1 label is a tie and counts as no label."]),
    "judge named as an id": (many(judges="sample,j2"),
        ["Read as judges in spite of their names: 'sample'."]),
}  # fmt: skip


@pytest.mark.parametrize("case", WARNED)
def test_odd_input_is_accepted_with_these_warnings(case):
    data, expected = WARNED[case]
    assert list(load_votes(data, name="v.csv").warnings) == expected


def test_one_class_pairwise_labels_are_left_to_the_check_of_item_order():
    rows = "".join(f"i{i},1,{i % 2},{i // 2 % 2}\n" for i in range(20))
    loaded = load_votes((HEAD + rows).encode())
    assert loaded.warnings == ()
    assert checks.item_checks(loaded.votes)[0].outcome == "fail"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_blank_lines_at_the_end_and_any_line_end_are_fine(line_end):
    text = GOOD.replace("\n", line_end) + 3 * line_end
    plain = load_votes(GOOD.encode()).votes
    assert load_votes(text.encode()).votes.sha256 == plain.sha256
    assert load_votes(b"\xef\xbb\xbf" + text.encode()).votes.sha256 == plain.sha256
