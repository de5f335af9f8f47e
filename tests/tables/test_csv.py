"""Rows and cells of CSV are those of Python's csv.reader, wherever the blocks that are read happen to end."""

import csv
import gzip
import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import soundsum as ss
from soundsum import native
from soundsum.tables import csv_files
from soundsum.tables.csv_files import CsvFiles
from tests.refusing import refused

HEADERS = ["a", "a,b", "a,b,c"]
BYTES = st.lists(
    st.sampled_from([b",", b'"', b"\n", b"\r", b"\r\n", b"x", b"7", b" ", b'""', b'"y"', b"\xff", b"\0", b"long cell"])
).map(b"".join)


def model(body, columns, longest):
    """csv.reader over the bytes as characters; an empty line is a row of empty cells, and others fit the header."""
    taken, rows = [], []

    def lines():
        for line in io.StringIO(body.decode("latin-1"), newline=""):
            taken.append(line)
            yield line

    for row in csv.reader(lines()):
        raw = "".join(taken)
        taken.clear()
        length = len(raw if is_open(raw) else raw.removesuffix("\n").removesuffix("\r"))
        if (len(row) == columns or not row) and length <= longest:
            rows.append([cell.encode("latin-1") or None for cell in row] or [None] * columns)
    return rows


def is_open(row):
    """Whether a quote of the row is not closed."""
    try:
        return not list(csv.reader([row], strict=True))
    except csv.Error as error:
        return "end of data" in str(error)


def read(path, names):
    found = [batch.to_pylist() for batch in CsvFiles([str(path)]).batches(dict.fromkeys(names))]
    return [[row[name] for name in names] for batch in found for row in batch]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "rows.csv"


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(HEADERS), BYTES, st.sampled_from([7, 16, 64, 1 << 22]), st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example("a,b", b'1,"x\ny"\n\n"3""4",\r\n,5', 7, b"\n")
@example("a", b'"open', 7, b"\n")
@example("a", b'"open\n', 64, b"\n")
@example("a,b", b'1"2,"3"4"5\n"6"",7",8\n', 7, b"\n")
@example("a", b"x\r", 7, b"\r")
@example("a", b"1\r\n2\r\n3\r\n4", 7, b"\r\n")
def test_rows_are_those_of_python(path, header, body, block, end):
    path.write_bytes(header.encode() + end + body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK", block)
        found = read(path, header.split(","))
    assert found == model(after_header(end, body), header.count(",") + 1, block)


def after_header(end, body):
    """What is left when a line feed that begins the body has become part of the header's end."""
    return body.removeprefix(b"\n") if end == b"\r" and body.startswith(b"\n") else body


def test_some_columns_of_many_in_any_order_and_twice_over(path):
    path.write_bytes(b"a,b,c\n1,2,3\n4,5,6\n")
    assert read(path, ["c", "a"]) == [[b"3", b"1"], [b"6", b"4"]]


def test_a_mark_before_a_quoted_header_with_a_line_end(path):
    path.write_bytes(b'\xef\xbb\xbf"a\nb",c\n1,2\n')
    assert read(path, ["a\nb", "c"]) == [[b"1", b"2"]]


def test_files_with_their_columns_in_another_order(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "2.csv").write_bytes(b"c,b,a\n5,4,3\n")
    files = CsvFiles([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")])
    kinds = {"a": pa.float64(), "b": pa.int64()}
    assert [row for batch in files.batches(kinds) for row in batch.to_pylist()] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    files.require_column("a")
    with refused("data", "mismatch", ValueError, column="'c'"):
        files.require_column("c")


def test_a_quote_that_is_never_closed_takes_no_more_memory_than_a_block(path):
    """Rows before it are there, what follows it is one row that is too long."""
    path.write_bytes(b"a\n1\n2\n" + b'"' + b"3\n" * (3 * csv_files.BLOCK))
    assert read(path, ["a"]) == [[b"1"], [b"2"]]


def test_rows_of_many_blocks_are_all_there(path):
    rows = 3 * csv_files.BLOCK // 8
    path.write_bytes(b"a,b\n" + b"".join(b'%d,"%d"\r\n' % (i, -i) for i in range(rows)))
    batches = list(CsvFiles([str(path)]).batches({"a": pa.int64(), "b": pa.int64()}))
    assert len(batches) > 3
    table = pa.Table.from_batches(batches)
    assert table["a"].to_pylist() == list(range(rows))
    assert table["b"].to_pylist() == [-i for i in range(rows)]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf_16_is_refused_by_its_first_two_bytes(tmp_path, coding):
    mark = "" if coding == "utf-16" else "\ufeff"
    (tmp_path / "t.csv").write_bytes(f"{mark}age,pay\n41,3\n".encode(coding))
    with refused("data", "unreadable", ValueError, path=str(tmp_path / "t.csv")):
        ss.count(tmp_path / "t.csv", 1)


def test_other_formats_are_refused_by_their_first_bytes(tmp_path):
    table = pa.table({"age": [41]})
    pq.write_table(table, tmp_path / "t.csv")
    with pa.OSFile(str(tmp_path / "u.csv"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with refused("data", "unreadable", ValueError, path=str(tmp_path / "t.csv"), suffix=".parquet"):
        ss.sum(tmp_path / "t.csv", 0, 1, 1, column="age")
    with refused("data", "unreadable", ValueError, path=str(tmp_path / "u.csv"), suffix=".arrow"):
        ss.sum(tmp_path / "u.csv", 0, 1, 1, column="age")
    (tmp_path / "v.csv").write_text("PAR1,age\n2,3\n")
    ss.sum(tmp_path / "v.csv", 0, 1, 1, column="PAR1")


def test_a_name_with_blanks_is_said_to_whoever_knows_it_without(tmp_path):
    (tmp_path / "t.csv").write_text(" person, date, ward;x\n1,2,3\n")
    for column in ("person", "date"):
        with refused("column", "unknown", ValueError) as caught:
            ss.sum(tmp_path / "t.csv", 0, 1, 1, column=column)
        assert f"one of its names is ' {column}', with blanks around it" in str(caught.value)
    with refused("column", "unknown", ValueError) as caught:
        ss.sum(tmp_path / "t.csv", 0, 1, 1, column="x")
    assert "separated by semicolons" in str(caught.value)
    ss.sum(tmp_path / "t.csv", 0, 1, 1, column=" person")


@pytest.mark.parametrize("sign, words", [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_another_separator_is_named_to_whoever_knows_a_column(tmp_path, sign, words):
    (tmp_path / "t.csv").write_text(f'age{sign}"pay"\n41{sign}3\n')
    for column in ("age", "pay"):
        with refused("column", "unknown", ValueError, column=f"column '{column}'") as caught:
            ss.sum(tmp_path / "t.csv", 0, 1, 1, column=column)
        assert f"separated by {words}; save" in str(caught.value)
    names = "its names are the cells of the first line, which commas separate"
    with refused("column", "unknown", ValueError, column="column 'ag'", names=names):
        ss.sum(tmp_path / "t.csv", 0, 1, 1, column="ag")


RECORDS = {
    "plain": b"a,5\n" * (1 << 20),
    "a broken byte": b"a,5\n" * 9 + b"\xff,5\n" + b"a,5\n" * ((1 << 20) - 10),
    "an emoji": b"a,5\n" * 9 + "\U0001f600\n".encode() + b"a,5\n" * ((1 << 20) - 10),
    "an open quote": b'"' + b"a,5\n" * (1 << 20),
    "a carriage return": b"\r" + b"a,5\n" * (1 << 20),
    "a long line": b"a" * (1 << 22),
    "nul": bytes(1 << 22),
}


@pytest.mark.parametrize("header", [b"k,x", b'\xef\xbb\xbf"k\n\r\n""",x', b"\xff,x", "Köln,x".encode()])
@pytest.mark.parametrize("records", RECORDS)
def test_before_a_charge_nothing_after_the_header_is_looked_at(path, header, records):
    """Not even decoded: text with an emoji takes four times the memory of plain text, and a broken byte three times."""
    opened, taken = [], []
    for body in (RECORDS["plain"], RECORDS[records]):
        path.write_bytes(header + b"\n" + body)
        CsvFiles([str(path)])  # so that all is imported
        tracemalloc.start()
        opened.append(CsvFiles([str(path)]).schema.names)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert opened[0] == opened[1]
    assert abs(taken[0] - taken[1]) < 1000
    assert max(taken) < 1 << 20


@settings(deadline=None)
@given(BYTES, BYTES)
def test_the_end_of_the_header_is_found_without_what_follows_it(header, more):
    """With the line end that was found, everything after it can be anything."""
    block = np.frombuffer(header + b"\n" + more, np.uint8)
    end = native.find_row_end(block)
    first, _, _ = native.scan_rows(np.append(block, np.frombuffer(b"x", np.uint8)), csv_files.ROW_START)
    assert (end is None) == (first is None)
    if end is not None:
        assert first - end in (1, 2)
        assert native.find_row_end(block[: end + 1]) == end
        assert native.find_row_end(np.append(block[: end + 1], block[::-1])) == end


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_header_of_over_4_mib_is_refused(tmp_path, end):
    pack = gzip.compress if end else bytes
    budget = ss.Budget(epsilon=1)
    for head in (b'"' + b"a,b\n1,2\n" * (1 << 20), b"a," * (1 << 22) + b"b\n1\n"):
        (tmp_path / f"t.csv{end}").write_bytes(pack(head))
        with refused("data", "unreadable", ValueError, path=str(tmp_path / f"t.csv{end}")):
            ss.count(tmp_path / f"t.csv{end}", 1, budget=budget)
    assert budget.entries() == []
    (tmp_path / f"t.csv{end}").write_bytes(pack(b"a," * (1 << 20) + b"b\n"))
    assert len(CsvFiles([str(tmp_path / f"t.csv{end}")]).schema.names) == (1 << 20) + 1
