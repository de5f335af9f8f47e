"""The notebooks run from top to bottom, in a folder of their own, and without a network."""

import nbformat
import pytest
from nbclient import NotebookClient
from website.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

NO_NETWORK = """\
import socket
def refuse(self, address, connect=socket.socket.connect):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
        raise OSError(f"a notebook asked for {address}")
    return connect(self, address)
socket.socket.connect = refuse
"""


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["from_attack_to_bound", "publish_a_table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(NO_NETWORK))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
