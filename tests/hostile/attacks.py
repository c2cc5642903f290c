"""Files that cost far more to read than to send, each built by its own function.

``ATTACKS`` maps a file name, whose extension is the claimed type, to the function that makes its
content. Sizes are those at which earlier readers took gigabytes or minutes.
"""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet

MIB = 1 << 20


def gzipped(blocks: Iterable[bytes]) -> bytes:
    """The gzip file of many blocks, made without holding what it unpacks to."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*map(packer.compress, blocks), packer.flush()])


def zipped(**members: Iterable[bytes]) -> bytes:
    """A ZIP archive; '__' in a name stands for a dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, blocks in members.items():
            with archive.open(name.replace("__", "."), "w") as member:
                for block in blocks:
                    member.write(block)
    return out.getvalue()


def _parquet(columns: dict[str, pa.Array], compression: str) -> bytes:
    out = io.BytesIO()
    pa.parquet.write_table(
        pa.table(columns),
        out,
        compression=compression,
        use_dictionary=True,
        dictionary_pagesize_limit=64 * MIB,
        write_statistics=False,
        store_schema=False,
    )
    return out.getvalue()


def parquet_of_long_values(compression: str = "none", rows: int = 10_000) -> bytes:
    """One value of 100 kB, shared by all rows of 16 columns through the file's dictionaries."""
    indices = np.zeros(rows)
    if compression == "none":  # One column holds its value; 159 kB in all.
        random = np.random.default_rng(7)
        values = [bytes(random.integers(97, 122, 9_000, np.uint8)).decode() for _ in range(16)]
    else:
        values = ["x" * 100_000] * 16
    features = {f"feat_{k}": shared([value], indices) for k, value in enumerate(values)}
    return _parquet({**votes_of(rows), **features}, compression)


def shared(values: list[str], codes: np.ndarray) -> pa.DictionaryArray:
    """A column whose every value stands in the file once."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))


def votes_of(rows: int, judges: int = 3) -> dict[str, pa.Array]:
    """Ids, labels and judges of a file of votes that is right but for what is added to it."""
    random = np.random.default_rng(5)
    columns = {f"judge {k}": random.integers(0, 2, rows) for k in range(judges)}
    known = {"item_id": pa.array(range(rows)), "label": pa.array(np.arange(rows) % 2)}
    return known | {name: shared(["0", "1"], votes) for name, votes in columns.items()}


def long_texts(column: str, rows: int = 10_000) -> bytes:
    """Two texts of 100,000 characters in a column that is kept for every item."""
    texts = shared(["g" * 100_000, "h" * 100_000], np.arange(rows) % 2)
    return _parquet({**votes_of(rows), column: texts}, "zstd")


def one_vote_each(n_items: int, n_judges: int) -> bytes:
    """One vote of each judge on some item: a matrix of items by judges that is nearly empty."""
    rows = np.arange(max(n_items, n_judges))
    table = {
        "item": pa.array([f"i{k}" for k in rows % n_items]),
        "judge": pa.array([f"j{k}" for k in rows % n_judges]),
        "verdict": pa.array(rows * 7 % 13 % 2),
        "label": pa.array(rows % n_items % 2),
    }
    return _parquet(table, "zstd")


def long_names(n_judges: int = 60, length: int = 500_000) -> bytes:
    """Judges with names of half a million characters, one row per vote."""
    items, judges = (part.ravel() for part in np.indices((40, n_judges)))
    table = {
        "item": shared([f"i{k}" for k in range(40)], items),
        "judge": shared([f"j{k}" + "n" * length for k in range(n_judges)], judges),
        "verdict": pa.array((items * 5 + judges * 3) % 7 % 2),
        "label": pa.array(items % 2),
    }
    return _parquet(table, "zstd")


def many_features(n_features: int = 1_500, rows: int = 4_000) -> bytes:
    """As many numbers about the items as a table may have columns."""
    numbers = shared(["0.12345678901234567", "1"], np.arange(rows) % 2)
    features = {f"feat_{k}": numbers for k in range(n_features)}
    return _parquet({**votes_of(rows), **features}, "zstd")


def long_judge_table(rows: int = 10_000) -> bytes:
    """What is known about ten thousand judges, of which three vote."""
    notes = {f"note {k}": shared(["n" * 100_000], np.zeros(rows)) for k in range(8)}
    return _parquet({"judge": pa.array([f"judge {k}" for k in range(rows)]), **notes}, "zstd")


def arrow_of_zeros(rows: int = 150 * MIB) -> bytes:
    """Four columns of zeros, compressed a thousandfold: 600 MiB when unpacked."""
    zeros = pa.array(np.zeros(rows, np.int8))
    table = pa.table(dict.fromkeys(("item_id", "label", "j1", "j2"), zeros))
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue()


def parquet_of_many_rows(rows: int = 400_000_000) -> bytes:
    """One value, repeated by its run length."""
    out = io.BytesIO()
    schema = pa.schema({"item_id": pa.int8(), "label": pa.int8()})
    block = pa.table([pa.array(np.ones(rows // 40, np.int8))] * 2, schema=schema)
    with pa.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for _ in range(40):
            writer.write_table(block, row_group_size=rows)
    return out.getvalue()


def empty_lists(megabytes: int) -> Iterable[bytes]:
    """A JSON list of empty lists: 3 bytes each in the file, over 60 in memory."""
    yield b"[[]"
    for _ in range(megabytes):
        yield b",[]" * (MIB // 3)
    yield b"]"


def csv_rows(megabytes: int) -> Iterable[bytes]:
    """A regular table of two judges, as many rows as fit."""
    yield b"a,b\n"
    for _ in range(megabytes):
        yield b"1,0\n" * (MIB // 4)


def honest_csv(items: int = 100_000, judges: int = 950, seed: int = 3) -> bytes:
    """A regular table: ids, labels, and a vote of every judge on every item (190 MB)."""
    random = np.random.default_rng(seed)
    header = ",".join(["item_id", "label", *(f"judge {k}" for k in range(judges))])
    blocks = [header.encode() + b"\n"]
    for start in range(0, items, 2_000):
        n = min(2_000, items - start)
        cells = np.full((n, 2 * judges + 2), ord(","), np.uint8)
        cells[:, :-1:2] = random.integers(48, 50, (n, judges + 1))
        cells[:, -1] = ord("\n")
        rows = cells.tobytes()
        width = cells.shape[1]
        blocks += [b"item-%d,%s" % (start + k, rows[k * width : (k + 1) * width]) for k in range(n)]
    return b"".join(blocks)


def honest_long_csv(items: int = 20_000, judges: int = 400, seed: int = 3) -> bytes:
    """A regular table of one row per vote: item, judge, verdict and label (200 MB)."""
    random = np.random.default_rng(seed)
    names = [b"judge-%03d" % k for k in range(judges)]
    blocks = [b"item,judge,verdict,label\n"]
    for item in range(items):
        verdicts = random.integers(0, 2, judges).tolist()
        blocks += [
            b"item-%05d,%s,%d,%d\n" % (item, name, verdict, item % 2)
            for name, verdict in zip(names, verdicts, strict=True)
        ]
    return b"".join(blocks)


def wide_csv(columns: int = 50_000, rows: int = 5) -> bytes:
    """Very many judges on hardly any item."""
    header = ",".join(["item_id", "label", *(f"j{k}" for k in range(columns - 2))])
    votes = [",".join([f"q{row}", str(row % 2), *["1"] * (columns - 2)]) for row in range(rows)]
    return "\n".join([header, *votes]).encode()


def newlines_in_the_header(size: int) -> bytes:
    """A quoted first cell that holds nothing but line ends."""
    return b'"' + b"\n" * size + b'",label,judge\nq1,1,0\n'


def open_quote(size: int) -> bytes:
    """A quotation mark that is never closed, over many lines."""
    return b'item_id,"label\n' + b"q1,1\n" * (size // 5)


def keys_repeated(size: int) -> bytes:
    """One JSON object of many keys, of which the last is there twice."""
    n = size // 11
    keys = [f'"{k:07d}":1' for k in range(n)]
    return ("{" + ",".join([*keys, keys[-1]]) + "}\n").encode()


def keys_new_in_each_line(size: int) -> bytes:
    """JSON Lines in which every line has another key."""
    return b"".join(b'{"k%d":1}\n' % k for k in range(size // 14))


def empty_members(size: int) -> bytes:
    """A gzip file of many empty members."""
    data = gzip.compress(b"", mtime=0)
    return data * (size // len(data)) + gzip.compress(b"item_id,label,a\nq,1,1\n", mtime=0)


def many_members(count: int) -> bytes:
    """A ZIP archive of small files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for k in range(count):
            archive.writestr(f"{k}.json", b"{}")
    return out.getvalue()


def nested(depth: int) -> bytes:
    """JSON lists in lists."""
    return b'{"item_id":' + b"[" * depth + b"]" * depth + b"}\n"


def outputs_of(text: str) -> bytes:
    """A file of outputs with one output."""
    row = {"item_id": "q1", "judge": "j", "order": "AB", "label": 1, "text": text}
    return json.dumps(row).encode() + b"\n"


def workbook(cells: Iterable[bytes], text: str = "x") -> bytes:
    """A workbook of one sheet; every cell of type s holds the text."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006/"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    parts = {"sheet": "worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml"}
    relations = "".join(
        f'<Relationship Id="r{k}" Type="{office}/{kind.replace("sheet", "worksheet")}" '
        f'Target="{target}"/>'
        for k, (kind, target) in enumerate(parts.items())
    )
    known = "".join(
        f'<Override PartName="/xl/{part}" ContentType="{types}{kind}+xml"/>'
        for part, kind in (
            ("workbook.xml", "sheet.main"),
            (parts["sheet"], "worksheet"),
            (parts["sharedStrings"], "sharedStrings"),
        )
    )
    whole = {
        "[Content_Types].xml": f'<Types xmlns="{package}content-types">{known}</Types>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="v" sheetId="1" r:id="r0"/></sheets></workbook>',
        "_rels/.rels": f'<Relationships xmlns="{package}relationships"><Relationship Id="r0" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}relationships">'
        f"{relations}</Relationships>",
        "xl/sharedStrings.xml": f'<sst xmlns="{main}"><si><t>{text}</t></si></sst>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in whole.items():
            archive.writestr(name, content)
        with archive.open(f"xl/{parts['sheet']}", "w", force_zip64=True) as sheet:
            sheet.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
            for cell in cells:
                sheet.write(cell)
            sheet.write(b"</sheetData></worksheet>")
    return out.getvalue()


def rows_of(n_rows: int, n_columns: int) -> Iterator[bytes]:
    """Rows of a sheet in which every cell holds the shared text."""
    row = b"<row>" + b'<c t="s"><v>0</v></c>' * n_columns + b"</row>"
    return (row for _ in range(n_rows))


def far_cells() -> Iterator[bytes]:
    """The first cell of a sheet and the last one that it can have."""
    for row, cell in ((1, b"A1"), (1_048_576, b"XFD1048576")):
        yield b'<row r="%d"><c r="%b" t="s"><v>0</v></c></row>' % (row, cell)


ATTACKS: MappingProxyType[str, Callable[[], bytes]] = MappingProxyType(
    {
        "long-values.parquet": parquet_of_long_values,
        "longer-values.parquet": lambda: parquet_of_long_values("zstd"),
        "many-rows.parquet": parquet_of_many_rows,
        "zeros.arrow": arrow_of_zeros,
        "far-cells.xlsx": lambda: workbook(far_cells()),
        "shared-text.xlsx": lambda: workbook(rows_of(10_000, 100), "x" * 1_000_000),
        "many-cells.xlsx": lambda: workbook(rows_of(200_000, 100)),
        "empty-lists.zip": lambda: zipped(results__json=empty_lists(190)),
        "empty-lists.jsonl.gz": lambda: gzipped(empty_lists(190)),
        "many-rows.csv.gz": lambda: gzipped(csv_rows(950)),
        "many-columns.csv": wide_csv,
        "newlines.csv": lambda: newlines_in_the_header(5 * MIB),
        "open-quote.csv": lambda: open_quote(5 * MIB),
        "repeated-keys.jsonl": lambda: keys_repeated(5 * MIB),
        "new-keys.jsonl": lambda: keys_new_in_each_line(5 * MIB),
        "empty-members.csv.gz": lambda: empty_members(5 * MIB),
        "many-members.zip": lambda: many_members(50_000),
        "nested.jsonl": lambda: nested(2_000_000),
        # One cell that is nearly the whole file.
        "long-cell.csv": lambda: b"item_id,label,judge\nq1,1," + b"x" * (190 * MIB) + b"\n",
        "winwin.jsonl": lambda: outputs_of("win" * (5 * MIB // 3)),
        "better.jsonl": lambda: outputs_of("better" * (5 * MIB // 6)),
    }
)


AFTER_READING: MappingProxyType[str, tuple[Callable[[], bytes], Callable[[], bytes] | None]] = (
    MappingProxyType(
        {
            "long features": (lambda: long_texts("feat_text"), None),
            "long groups": (lambda: long_texts("group"), None),
            "long notes": (lambda: long_texts("note"), None),
            "one vote a judge": (lambda: one_vote_each(9_000, 9_000), None),
            "many judges": (lambda: one_vote_each(4_000, 4_000), None),
            "long names": (long_names, None),
            "many features": (many_features, None),
            "a judge table": (lambda: _parquet(votes_of(200), "zstd"), long_judge_table),
        }
    )
)
"""Small files that reading takes little for and everything after it much: votes, and judges."""
