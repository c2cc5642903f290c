import gzip
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from judgepanel.votes import InputError, read_table

CSV = b"item_id,label,j1\na,1,0\nb,,1\n"
ROWS = [["a", "1", "0"], ["b", "", "1"]]


def parquet(frame: pd.DataFrame) -> bytes:
    return bytes(frame.to_parquet())


FILES = {
    "v.csv": (CSV, "csv", 2),
    "v.tsv": (CSV.replace(b",", b"\t"), "csv", 2),
    "v.txt": (CSV.replace(b",", b";"), "csv", 2),
    "v": (CSV, "csv", 2),
    "model-4.1 votes": (CSV, "csv", 2),
    "v.csv.gz": (gzip.compress(CSV), "csv", 2),
    "two members.csv.gz": (gzip.compress(CSV[:11]) + gzip.compress(CSV[11:]), "csv", 2),
    "blank lines.csv": (b"\n\n" + CSV + b"\n\n", "csv", 4),
    "v.jsonl": (
        b'{"item_id": "a", "label": 1, "j1": 0}\n{"item_id": "b", "label": null, "j1": 1}\n',
        "jsonl",
        1,
    ),
    "keys left out.jsonl": (
        b'\n{"item_id": "a", "label": 1, "j1": 0}\n{"j1": 1, "item_id": "b"}',
        "jsonl",
        2,
    ),
    "v.parquet": (
        parquet(
            pd.DataFrame(
                {
                    "item_id": ["a", "b"],
                    "label": pd.array([1, None], dtype="Int64"),
                    "j1": pd.Categorical(["0", "1"]),
                }
            )
        ),
        "parquet",
        1,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_texts(name: str) -> None:
    data, kind, first_row = FILES[name]
    table = read_table(data, name)
    assert table.columns == ("item_id", "label", "j1")
    assert table.frame.astype(object).to_numpy().tolist() == ROWS
    assert (table.name, table.format, table.first_row) == (name, kind, first_row)
    assert table.row(1) == first_row + 1


def test_lines_are_counted_where_cells_hold_line_breaks() -> None:
    table = read_table(b'id,x\n"a\nb",1\n\nc,2\n', "v.csv")
    assert [table.row(0), table.row(1)] == [2, 5]


def test_every_plain_json_and_parquet_value_becomes_its_text() -> None:
    values = [True, False, None, 1, 0.50, "A", float("nan")]
    lines = "\n".join(json.dumps({"x": value, "y": 1}) for value in values)
    table = read_table(lines.encode(), "v.jsonl")
    assert table.frame["x"].tolist() == ["true", "false", "", "1", "0.5", "A", "NaN"]
    sink = io.BytesIO()
    columns = {"t": [True, False, None], "f": [1.0, None, 0.1], "n": pa.nulls(3)}
    pa.parquet.write_table(pa.table(columns), sink)
    frame = read_table(sink.getvalue(), "v.parquet").frame
    assert frame["t"].tolist() == ["true", "false", ""]
    assert frame["f"].tolist() == ["1.0", "", "0.1"]
    assert frame["n"].tolist() == ["", "", ""]


def test_parquet_columns_with_dots_in_their_names_are_kept_apart() -> None:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"m": [0, 0], "m.1": [1, 1], "m.1.x": [0, 1]}), sink)
    frame = read_table(sink.getvalue(), "v.parquet").frame
    assert frame.astype(object).to_numpy().tolist() == [["0", "1", "0"], ["0", "1", "1"]]


def test_blanks_around_column_names_are_taken_away() -> None:
    assert read_table(b" a , b\n1,2\n", "v.csv").columns == ("a", "b")
    with pytest.raises(InputError, match="row 1, column 'a': this column is given twice"):
        read_table(b"a, a\n1,2\n", "v.csv")
