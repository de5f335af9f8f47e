"""A ledger is one file under one name: hard links, journals that are left over and files put in its place are seen."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

import soundsum as ss
from soundsum.budget import Budget, BudgetClosed, Cost
from soundsum.refusals import Reason, RefusedValue
from tests.refusing import refused


def charge(budget, epsilon="1/8"):
    return budget.charge(Cost(epsilon=epsilon), "a sum")


@pytest.fixture
def path(tmp_path):
    """A ledger with one charge."""
    charge(Budget(epsilon=1, path=tmp_path / "ledger.db"))
    return tmp_path / "ledger.db"


KILLED_AT_UNLINK = """
import ctypes, os, signal, sys, _sqlite3
from soundsum.budget import Budget, Cost

# SQLite lets its system calls be replaced: the journal's removal, which is the commit, is where the process dies.
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, CALL)
class VFS(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("file", ctypes.c_int), ("longest", ctypes.c_int),
                ("next", ctypes.c_void_p), ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("methods", ctypes.c_void_p * 13), ("set_system_call", SET)]
@CALL
def unlink(name):
    if name.endswith(b"-journal"):
        os.kill(os.getpid(), signal.SIGKILL)
    return 0
sqlite = ctypes.CDLL(_sqlite3.__file__)
sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(VFS)
budget = Budget(path=sys.argv[1])
vfs = sqlite.sqlite3_vfs_find(None)
assert vfs.contents.set_system_call(ctypes.cast(vfs, ctypes.c_void_p), b"unlink", unlink) == 0
budget.charge(Cost(epsilon="1/8"), "killed")
print("not killed")
"""


def test_no_other_name_sees_what_a_killed_process_did_not_finish(path, tmp_path):
    """Through a second name the journal is out of sight: charges made there are undone when the first is opened."""
    done = subprocess.run([sys.executable, "-c", KILLED_AT_UNLINK, path], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)
    assert os.path.exists(f"{path}-journal")
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "ledger.db"
    os.link(path, other)
    for name in (other, path):
        for act in (lambda: Budget(path=name), lambda: ss.budget.ledger.read(name)):  # noqa: B023
            with refused("path", Reason.UNSOUND, ValueError, path=str(name), names=2):
                act()
    other.unlink()
    budget = Budget(path=path)  # rolls back: that charge never returned, so nothing was released for it
    assert [entry.what for entry in budget.entries()] == ["a sum"]
    assert charge(budget) == 2


def test_a_second_name_is_noticed_also_after_opening(path):
    budget = Budget(path=path)
    os.link(path, path.with_name("second.db"))
    for act in (lambda: charge(budget), lambda: budget.settle(1), lambda: budget.spent, budget.reopen):
        with refused("path", Reason.UNSOUND, ValueError, names=2):
            act()
    path.with_name("second.db").unlink()
    with pytest.raises(BudgetClosed):  # as it could not be noted that charge 1 was released
        charge(budget)
    budget.reopen()
    assert [entry.state for entry in budget.entries()] == ["failed"]
    assert charge(budget) == 4


def test_a_symbolic_link_is_the_same_file_with_the_same_journal(path):
    path.with_name("link.db").symlink_to(path)
    done = subprocess.run([sys.executable, "-c", KILLED_AT_UNLINK, path.with_name("link.db")], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert os.path.exists(f"{path}-journal")
    assert len(Budget(path=path.with_name("link.db")).entries()) == 1


def test_a_process_killed_while_it_makes_a_ledger_does_not_close_it(path):
    """It leaves the draft it wrote, as a second name of the ledger; the next one to come removes it."""
    draft = path.with_name(f".{path.name}.0123456789abcdef.new")
    os.link(path, draft)
    assert charge(Budget(path=path)) == 2
    assert not draft.exists()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_no_ledger_is_made_beside_what_is_left_of_another(tmp_path, ending):
    """SQLite would take the journal for the new ledger's, and roll it back into that."""
    (tmp_path / f"ledger.db{ending}").write_bytes(b"\\0" * 512)
    with pytest.raises(FileExistsError, match=rf"ledger\.db{ending} .*of another ledger.*; "):
        Budget(epsilon=1, path=tmp_path / "ledger.db")
    assert os.listdir(tmp_path) == [f"ledger.db{ending}"]


@pytest.mark.parametrize("terms", [{"epsilon": 1}, {"epsilon": 100}, {"rho": 1}, {"epsilon": 1, "privacy_unit": "id"}])
def test_a_file_put_in_its_place_is_not_charged(path, terms):
    budget = Budget(path=path)
    Budget(path=path.with_name("other.db"), **terms)
    os.replace(path.with_name("other.db"), path)
    before = path.read_bytes()
    for act in (lambda: charge(budget), lambda: budget.settle(1), budget.reopen, lambda: budget.spent, budget.entries):
        with refused("path", Reason.MISMATCH, ValueError, how="another file is in its place; nothing was charged"):
            act()
    assert path.read_bytes() == before
    assert Budget(path=path).entries() == []


@pytest.mark.parametrize("statement", ["epsilon = '100'", "max_failures = 5", "data = 'other'"])
def test_other_terms_in_the_same_file_are_noticed(path, statement):
    budget = Budget(path=path)
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE promise SET {statement}")
    db.close()
    with refused("path", Reason.MISMATCH, ValueError, path=str(path)):
        charge(budget)


def test_an_older_copy_put_back_is_noticed_by_whoever_charged_since(path):
    budget, older = Budget(path=path), path.read_bytes()
    charge(budget)
    path.write_bytes(older)
    with refused("path", Reason.MISMATCH, ValueError, how="an older copy is in its place; nothing was charged"):
        charge(budget)


def test_a_connection_is_kept_for_the_same_file_alone(path, monkeypatch):
    """It is opened again for a file with other permissions, and for another file of the same name."""
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: opened.append(a) or connect(*a, **k))
    budget = Budget(path=path)
    opened.clear()
    charge(budget)
    charge(budget)
    assert len(opened) == 1
    path.chmod(0o600)
    charge(budget)
    assert len(opened) == 2
    path.with_name("copy.db").write_bytes(path.read_bytes())
    path.rename(path.with_name("old.db"))
    path.with_name("copy.db").rename(path)
    charge(budget)
    assert len(opened) == 3
    assert [len(Budget(path=one).entries()) for one in (path, path.with_name("old.db"))] == [5, 4]


def test_no_page_is_kept_with_a_connection(path):
    """Another history of as many writes, put back into the same file, is what counts from then on."""
    before = path.read_bytes()
    charge(Budget(path=path), "1/4")
    other = path.read_bytes()
    path.write_bytes(before)
    budget = Budget(path=path)
    charge(budget, "1/8")
    assert budget.spent == Cost("1/4")
    path.write_bytes(other)
    assert budget.spent == Cost("3/8")


def test_a_fork_opens_the_ledger_for_itself(path):
    budget = Budget(path=path)
    charge(budget)
    child = os.fork()
    if not child:
        try:
            charge(budget)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    charge(budget)
    assert len(Budget(path=path).entries()) == 4


def test_a_file_replaced_during_a_charge_is_no_charge(path, monkeypatch):
    """The charge went to a file that is not there any more, so nothing may be released for it."""
    budget, older = Budget(path=path), path.read_bytes()
    real = sqlite3.connect

    class Replacing(sqlite3.Connection):
        def execute(self, sql, *parameters):
            done = super().execute(sql, *parameters)
            if sql.startswith("INSERT INTO lines"):
                path.with_name("copy.db").write_bytes(older)
                os.replace(path.with_name("copy.db"), path)
            return done

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Replacing))
    with pytest.raises((RefusedValue, OSError), match="replaced"):
        charge(budget)


@pytest.mark.parametrize("is_link", [False, True])
def test_no_connection_is_kept_to_a_file_that_took_its_place(path, monkeypatch, is_link):
    """Once the right file is back, it is the one that is charged."""
    other, aside, name, connect = path.with_name("other.db"), path.with_name("aside.db"), path, sqlite3.connect
    other.write_bytes(path.read_bytes())
    if is_link:
        name = path.with_name("link.db")
        name.symlink_to(path)
    budget = Budget(path=name)

    def point_to(file):
        os.symlink(file, aside)
        os.replace(aside, name)

    def connect_to_other(*arguments, **options):
        if is_link:
            point_to(other)
        else:
            path.rename(aside)
            other.rename(path)
        monkeypatch.undo()
        return connect(*arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_to_other)
    with refused("path", Reason.MISMATCH, ValueError, how="it was replaced just now; nothing was released"):
        charge(budget)
    if is_link:
        point_to(path)
    else:
        path.rename(other)
        aside.rename(path)
    assert charge(budget) == 2
    assert [len(Budget(path=one).entries()) for one in (path, other)] == [2, 2]


def test_a_write_ahead_log_is_refused(path):
    """Whoever copies or moves the file alone would lose the charges in it."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    db.close()
    with refused("path", Reason.UNSUPPORTED, ValueError):
        Budget(path=path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER gone AFTER INSERT ON lines BEGIN UPDATE lines SET total_epsilon = '0'; END",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE lines ADD COLUMN more TEXT",
        "CREATE INDEX i ON lines (at)",
    ],
)
def test_what_is_no_part_of_a_ledger_is_refused(path, statement):
    budget = Budget(path=path)
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    for act in (lambda: Budget(path=path), lambda: charge(budget)):
        with refused("path", Reason.UNREADABLE, ValueError):
            act()


HIDDEN = """
import os, sys
from soundsum.budget import Budget
Budget(path=sys.argv[1])
os.chmod(os.path.dirname(sys.argv[1]), 0)
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try: Budget(path=sys.argv[1])
except PermissionError as error: print(error)
"""


def test_a_ledger_in_a_directory_that_may_not_be_looked_into(path):
    done = subprocess.run([sys.executable, "-c", HIDDEN, path], capture_output=True, text=True)
    path.parent.chmod(0o700)
    assert "cannot be opened; nothing was charged: it must be a file, writable like its directory" in done.stdout


def test_a_pipe_is_no_ledger(tmp_path):
    os.mkfifo(tmp_path / "ledger.db")
    with refused("path", Reason.UNREADABLE, ValueError):
        Budget(path=tmp_path / "ledger.db")
