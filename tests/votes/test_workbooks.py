"""Excel workbooks: the same matrix as the table as CSV, or a refusal."""

import io
import zipfile
from datetime import date

import openpyxl
import pytest

from judgepanel.votes import InputError, limits, load_votes
from judgepanel.votes.formats import _extent, read_excel

ROWS = [
    ["item_id", "label", "careful", "hasty", "when"],
    *([f"q{n}", n % 2, (n // 2) % 2, (n // 3) % 2, date(2026, 1, 1 + n)] for n in range(12)),
]


def workbook(sheets, *, hidden=()):
    """The bytes of a workbook: rows by sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
        if title in hidden:
            sheet.sheet_state = "hidden"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_csv(rows):
    return "\n".join(",".join(map(str, row)) for row in rows).encode()


def same(data, name, rows):
    read, wanted = load_votes(data, name=name), load_votes(as_csv(rows), name="v.csv")
    assert read.votes.sha256 == wanted.votes.sha256
    return read


def test_empty_rows_and_columns_around_the_table_do_not_matter_and_rows_keep_their_numbers():
    moved = [[], [], *([None, *row] for row in ROWS[:4]), [], *([None, *row] for row in ROWS[4:])]
    same(workbook({"Sheet1": moved}), "v.xlsx", ROWS)
    moved[10][3] = "perhaps"
    with pytest.raises(InputError, match=r"v\.xlsx, row 11, column 'careful'"):
        load_votes(workbook({"Sheet1": moved}), name="v.xlsx")


def test_titles_above_the_header_are_left_out_and_named():
    titled = [["Votes of March"], [], [None, "draft"], *map(list, ROWS)]
    read = same(workbook({"Sheet1": titled}), "v.xlsx", ROWS)
    assert read.warnings[:2] == (
        "Row 1 is left out, a title above the header: 'Votes of March'.",
        "Row 3 is left out, a title above the header: 'draft'.",
    )
    titled[6][2] = "perhaps"
    with pytest.raises(InputError, match=r"v\.xlsx, row 7, column 'careful'"):
        load_votes(workbook({"Sheet1": titled}), name="v.xlsx")


def test_an_archive_that_is_only_called_a_workbook_is_refused_as_one():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(InputError, match="but a ZIP archive, or a damaged workbook"):
        load_votes(out.getvalue(), name="v.xlsx")


def test_the_sheet_called_votes_is_read_else_the_first_visible_one_and_others_are_named():
    notes = [["about"], ["these votes"]]
    data = workbook({"Read me": notes, "Votes": ROWS, "old": notes}, hidden=("old",))
    assert "Read the sheet 'Votes' and no other ('Read me')." in same(data, "v.xlsx", ROWS).warnings
    same(workbook({"hidden": notes, "first": ROWS}, hidden=("hidden",)), "v.xlsx", ROWS)


def test_truth_values_are_votes():
    told = [[bool(cell) if j in (2, 3) else cell for j, cell in enumerate(row)] for row in ROWS[1:]]
    same(workbook({"Sheet1": [ROWS[0], *told]}), "v.xlsx", ROWS)


def damaged():
    data = workbook({"Sheet1": ROWS})
    start = data.index(b"xl/worksheets/sheet1.xml") + len("xl/worksheets/sheet1.xml")
    return data[:start] + b"\xff" * 40 + data[start + 40 :]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (damaged(), "the workbook is damaged"),
        (workbook({"Sheet1": []}), "no visible sheet of the workbook has content"),
        (workbook({"Sheet1": ROWS[:1]}), "the sheet has a header and no rows"),
        (workbook({"Sheet1": [["item_id", "label", "a"], ["q", 1, 1, "n.b."]]}), "row 2: a cell"),
        (workbook({"Sheet1": [["item_id", None, "a"], ["q", 1, 1]]}), "column 2 has no name"),
        (as_csv(ROWS), "the name ends in .xlsx but the content is not Excel"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "an old or protected Excel workbook; save it as"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(data, sentence):
    with pytest.raises(InputError) as error:
        load_votes(data, name="v.xlsx")
    assert str(error.value).startswith("v.xlsx")
    assert sentence in str(error.value)


def test_a_workbook_that_unpacks_to_too_much_is_refused(monkeypatch):
    data = workbook({"Sheet1": ROWS})
    monkeypatch.setattr(limits, "MAX_UNPACKED", 1000)
    with pytest.raises(InputError, match="too large when unpacked"):
        load_votes(data, name="v.xlsx")


@pytest.mark.parametrize(
    ("part", "extent"),
    [
        (b'<row r="3"><c r="B3"/></row>', (3, 2)),
        (b"<row r = '1048576'><c/></row><row><c r='XFD1'/></row>", (1048576, 16384)),
        (b"<c r='xfd2'/><c r='A00001048576'/>", (1048576, 16384)),
        (b"<row r='4294967295'/><c r='AAAAA1'/>", (4294967295, 475255)),
        (b"no cells", (0, 0)),
    ],
)
def test_the_farthest_cell_is_seen_however_it_is_written(part, extent):
    assert _extent(io.BytesIO(part)) == extent


def test_truth_is_written_as_in_other_files():
    data = workbook({"Sheet1": [["item_id", "label", "feat_x", "a"], ["p", 1, True, 1]]})
    assert read_excel(data, "v.xlsx").frame["feat_x"].tolist() == ["true"]
