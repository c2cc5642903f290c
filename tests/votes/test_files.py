import gzip
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from judgepanel.votes import InputError
from judgepanel.votes.formats import read_table
from judgepanel.votes.load import open_table

CSV = b"item_id,label,j1\na,1,0\nb,,1\n"
ROWS = [["a", "1", "0"], ["b", "", "1"]]


FRAME = pd.DataFrame(
    {
        "item_id": ["a", "b"],
        "label": pd.array([1, None], dtype="Int64"),
        "j1": pd.Categorical(["0", "1"]),
    }
)


def arrow(frame, compression=None, *, stream=False, rows=1):
    """An Arrow file or stream, in batches of so many rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=stream)
    write = pa.ipc.new_stream if stream else pa.ipc.new_file
    with write(sink, table.schema, options=options) as writer:
        writer.write_table(table, rows)
    return bytes(sink.getvalue())


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
        "jsonl", 1),
    "keys left out.jsonl": (b'\n{"item_id": "a", "label": 1, "j1": 0}\n{"j1": 1, "item_id": "b"}',
        "jsonl", 2),
    "v.parquet": (bytes(FRAME.to_parquet()), "parquet", 1),
    "v.arrow": (arrow(FRAME), "arrow", 1),
    "v.feather": (arrow(FRAME, "zstd"), "arrow", 1),
    "v.arrows": (arrow(FRAME, "lz4", stream=True), "arrow", 1),
    "arrow without a name": (arrow(FRAME, rows=2), "arrow", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_texts(name):
    data, kind, first_row = FILES[name]
    table = read_table(data, name)
    assert table.columns == ("item_id", "label", "j1")
    assert table.frame.astype(object).to_numpy().tolist() == ROWS
    assert (table.name, table.format, table.first_row) == (name, kind, first_row)
    assert table.row(1) == first_row + 1


def test_every_plain_json_and_parquet_value_becomes_its_text():
    values = [True, False, None, 1, 0.50, "A", float("nan")]
    lines = "\n".join(json.dumps({"x": value, "y": 1}) for value in values)
    table = read_table(lines.encode(), "v.jsonl")
    assert table.frame["x"].tolist() == ["true", "false", "", "1", "0.5", "A", "NaN"]
    sink = io.BytesIO()
    columns = {"t": [True, False, None], "f": [1.0, None, 0.1], "n": pa.nulls(3)}
    pa.parquet.write_table(pa.table(columns), sink)
    frame = read_table(sink.getvalue(), "v.parquet").frame
    assert (frame["t"].tolist(), frame["f"].tolist()) == (["true", "false", ""], ["1.0", "", "0.1"])
    assert frame["n"].tolist() == ["", "", ""]


def test_texts_of_newer_kinds_and_columns_that_are_none():
    views = pa.table({"item_id": pa.array(["a", None], pa.string_view()), "j1": [0, 1]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, views.schema) as writer:
        writer.write_table(views)
    assert read_table(bytes(sink.getvalue()), "v.arrow").frame["item_id"].tolist() == ["a", ""]
    for kind in (pa.binary_view(), pa.binary(2), pa.list_(pa.int8())):
        table = pa.table({"item_id": ["a"], "x": pa.array([None], kind)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(InputError, match="column 'x': nested or binary values"):
            read_table(bytes(sink.getvalue()), "v.arrow")


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_that_is_empty_cut_off_or_too_large_is_refused(stream, monkeypatch):
    whole = arrow(FRAME, stream=stream)
    with pytest.raises(InputError, match="columns but no rows"):
        read_table(arrow(FRAME.head(0), stream=stream), "v.arrow")
    for end in (8, len(whole) // 2, len(whole) - 20):
        with pytest.raises(InputError, match=r"^v\.arrow: "):
            read_table(whole[:end] + (b"" if stream else whole[-10:]), "v.arrow")
    monkeypatch.setattr("judgepanel.votes.limits.MAX_UNPACKED", 4)
    with pytest.raises(InputError, match="too large when unpacked"):
        read_table(whole, "v.arrow")


def dataset(folder, files):
    """A folder as ``save_to_disk`` of Hugging Face's datasets lays it out."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    listed = [{"filename": name} for name in files]
    (folder / "state.json").write_text(json.dumps({"_data_files": listed, "_split": None}))
    return folder


def test_a_dataset_on_disk_is_read_part_by_part_in_its_order(tmp_path):
    parts = {
        f"data-0000{k}-of-00002.arrow": arrow(FRAME.iloc[[1 - k]], stream=True) for k in (0, 1)
    }
    table = open_table(dataset(tmp_path / "votes", parts))
    assert (table.name, table.format) == ("votes", "arrow")
    assert table.frame.astype(object).to_numpy().tolist() == ROWS[::-1]


def test_a_dataset_that_cannot_be_read_as_one_table_is_refused(tmp_path):
    part = arrow(FRAME, stream=True)
    other = dataset(tmp_path / "a", {"x.arrow": part, "y.arrow": arrow(FRAME[["j1"]], stream=True)})
    with pytest.raises(InputError, match="a: its files have different columns"):
        open_table(other)


def test_a_dataset_names_no_file_outside_its_folder(tmp_path):
    inside = dataset(tmp_path / "b" / "c", {"x.arrow": arrow(FRAME, stream=True)})
    (tmp_path / "b" / "secret.arrow").write_bytes(arrow(FRAME.head(1), stream=True))
    (inside / "state.json").write_text('{"_data_files": [{"filename": "../secret.arrow"}]}')
    assert open_table(inside).n_rows == len(FRAME)


def test_the_splits_of_a_dataset_are_one_table_that_says_which(tmp_path):
    for split in ("train", "test"):
        dataset(tmp_path / "d" / split, {"x.arrow": arrow(FRAME, stream=True)})
    table = open_table(tmp_path / "d")
    assert table.frame["folder"].astype(str).tolist() == ["test"] * 2 + ["train"] * 2


def test_parquet_columns_with_dots_in_their_names_are_kept_apart():
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"m": [0, 0], "m.1": [1, 1], "m.1.x": [0, 1]}), sink)
    frame = read_table(sink.getvalue(), "v.parquet").frame
    assert frame.astype(object).to_numpy().tolist() == [["0", "1", "0"], ["0", "1", "1"]]


def test_blanks_around_column_names_are_taken_away():
    assert read_table(b" a , b\n1,2\n", "v.csv").columns == ("a", "b")
    with pytest.raises(InputError, match="row 1, column 'a': this column is given twice"):
        read_table(b"a, a\n1,2\n", "v.csv")
