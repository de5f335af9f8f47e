"""Runs pytest with kernels from another folder in place of the installed ones: `make portable` and whoever builds them.

`python -m tests.with_kernels FOLDER [pytest's arguments]`. Workers of pytest-xdist are told by the environment.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

FOLDER = "SOUNDSUM_TEST_KERNELS"


def use(folder: str) -> None:
    """From here on `soundsum._kernels` is the module in this folder."""
    (path,) = Path(folder).glob("_kernels*.so")
    spec = importlib.util.spec_from_file_location("soundsum._kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["soundsum._kernels"] = module


class Kernels:
    """A plugin that says which kernels are tested, and fails where they are not those that were asked for."""

    def pytest_report_header(self) -> str:
        return f"kernels: {sys.modules['soundsum._kernels'].__file__}"


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin (`-p tests.with_kernels`), in every worker before anything is imported."""
    use(os.environ[FOLDER])
    config.pluginmanager.register(Kernels())


if __name__ == "__main__":
    os.environ[FOLDER] = str(Path(sys.argv[1]).resolve())
    sys.exit(pytest.main(["-p", "tests.with_kernels", *sys.argv[2:]]))
