"""Every adapter: read without its library, which it names when that is missing; and the small ones in full."""

import importlib.util
import re
import subprocess
import sys

import pytest

import soundsum as ss
from soundsum.auditor.adapters import HERE, NAMES, open_adapter
from soundsum.auditor.worker import Data
from tests.auditor.adapters.conformance import check_sum, check_words

LIBRARIES = {
    "diffprivlib": "diffprivlib",
    "flwr": "flwr",
    "jax-privacy": "jax_privacy",
    "opacus": "opacus",
    "opendp": "opendp",
    "opendp-polars": "opendp",
    "optax": "optax",
    "pipeline-dp": "pipeline_dp",
    "pyqrlew": "pyqrlew",
    "python-dp": "pydp",
    "smartnoise-sql": "snsql",
    "tensorflow-privacy": "tensorflow_privacy",
    "tmlt-analytics": "tmlt",
}
"""What each is imported by."""

WITHOUT = """
import importlib.util, sys
path, library = sys.argv[1:]
sys.modules[library] = None  # as if it were not installed
spec = importlib.util.spec_from_file_location("adapter", path)
adapter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(adapter)
assert adapter.__doc__ and not {"numpy", "soundsum"} & sys.modules.keys()
list(adapter.targets())
"""


def test_every_adapter_is_here():
    assert set(LIBRARIES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_is_read_without_its_library_and_names_what_is_missing(name):
    path = HERE / f"{name.replace('-', '_')}.py"
    ran = subprocess.run([sys.executable, "-c", WITHOUT, path, LIBRARIES[name]], capture_output=True, text=True)
    assert ran.returncode == 1
    assert re.search(rf"^(ModuleNotFound|Import)Error: .*\b{LIBRARIES[name]}\b", ran.stderr, re.MULTILINE), ran.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_target_of_an_adapter_has_its_words(name):
    """What conformance looks at in targets, looked for in the file where the library is not here."""
    text = (HERE / f"{name.replace('-', '_')}.py").read_text()
    own = () if '"clips_to"' in text else ("relation", "claimed", "noise")  # the promise of clipped gradients
    for key in ("name", "dtype", "relation_quote", "claim_quote", "repro", "version", *own):
        assert f'"{key}"' in text, key
    assert '"source"' in text
    assert text.count("def noiseless") or text.count('"noiseless"')


@pytest.mark.parametrize(
    "name, options",
    [
        ("flwr", {}),
        ("opacus", {"most": 9, "least": 1}),
        ("pipeline_dp", {}),
        ("tensorflow_privacy", {"name": "DPKerasSGDOptimizer", "most": 9}),
    ],
)
def test_no_records_are_not_tried_where_nobody_promises_to_take_none(name, options):
    spec = importlib.util.spec_from_file_location("adapter", HERE / f"{name}.py")
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    none, one = (Data({"dtype": "float32", "parts": [[["0x1p+0"], n]]}) for n in (0, 1))
    assert list(adapter.feed(one, **options)) == [1]
    with pytest.raises(NotImplementedError):
        adapter.feed(none, **options)


@pytest.mark.parametrize(
    "name, target, value, count, claimed",
    [
        ("opendp", "opendp.sized_int_split_sum.int32", 1, 6, 1),
        ("python-dp", "python-dp.sum.float64", 0.5, 3, 1),
        ("python-dp", "python-dp.sum.int64", 1, 5, 1),
    ],
)
def test_libraries_that_are_here_do_as_their_adapters_say(name, target, value, count, claimed):
    targets = open_adapter(name)
    check_words(targets)
    check_sum(next(one for one in targets if one.name == target), value, count, claimed)


def test_records_are_fed_in_chunks_and_noise_is_drawn_anew():
    """python-dp's partial sum is fed once; every release merges it into a new algorithm with its own randomness."""
    (target,) = (one for one in open_adapter("python-dp") if one.name == "python-dp.sum.float64")
    many = ss.Runs("float64", [(0.5, (1 << 20) + 7)])  # more than one chunk
    problem = target.problem(0, 1, many.size)
    assert target.streams
    assert target.sum_of(many, problem) == many.total()
    assert len(set(target.outputs(many, problem, many.size, 50))) > 45
