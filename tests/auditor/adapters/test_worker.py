"""A library runs in a worker: numbers travel exactly, and nothing that happens there ends the audit."""

import math
import os
import sys
from pathlib import Path

import pytest

import soundsum as ss
from soundsum.auditor.calling import Raised, TargetRefused, Unsupported
from soundsum.auditor.limits import Limits
from soundsum.auditor.process import Library, LibraryMissing
from soundsum.auditor.resolve import open_targets
from soundsum.auditor.worker import complete

TOY = Path(__file__).with_name("toy.py")
THREE = ss.Runs("float64", [(0.5, 2), ((0.25, 1), 1)])


@pytest.fixture(scope="module")
def toy():
    library = Library("toy", Path(sys.executable), TOY, Limits(seconds=5, memory=1 << 30))
    yield {target.name: target for target in library.targets()}
    library.process.close()


def sum_of(target, data=THREE):
    return target.sum_of(data, target.problem(0, 1, data.size))


def test_the_worker_is_another_process(toy):
    assert sum_of(toy["toy.process"]) != os.getpid()


def test_runs_are_written_out_in_order(toy):
    assert sum_of(toy["toy.sum"]) == THREE.total()
    assert toy["toy.sum"].claim(toy["toy.sum"].problem(0, 1, 4), 4) == 1


@pytest.mark.parametrize("x", [2**-1074, 1 - 2**-53, -0.1, math.inf, math.nan])
def test_floats_travel_exactly(toy, x):
    back = sum_of(toy["toy.exact"], ss.Runs("float64", [(x, 1)]))
    assert back == x or (back != back and x != x)


def test_integers_travel_exactly(toy):
    assert sum_of(toy["toy.integers"], ss.Runs("int64", [(2**63 - 1, 3)])) == 3 * (2**63 - 1)


def test_data_is_fed_once_and_noise_drawn_many_times(toy):
    target = toy["toy.fed"]
    problem = target.problem(0, 1, 4)
    first = target.outputs(THREE, problem, 4, 3)
    assert first == target.outputs(THREE, problem, 4, 3) == [2.25, 3.25, 4.25]
    assert sum_of(target) == 1  # how often something was fed


def test_the_lines_of_a_repro_are_what_is_run(toy):
    target = toy["toy.written"]
    assert sum_of(target) == THREE.total()
    assert target.outputs(THREE, target.problem(0, 1, 4), 4, 2) == [1, 1]


@pytest.mark.parametrize(
    "name, kind, words",
    [
        ("declines", TargetRefused, "ZeroDivisionError: division by zero"),
        ("raises", Raised, "IndexError"),
        ("text", Raised, "'seven' is not a number"),
        ("unable", Unsupported, "not supported: too many records"),
        ("crashes", Unsupported, "ended by SIGSEGV"),
        ("exits", Unsupported, "ended with exit code 7"),
        ("eats", Unsupported, "out of memory"),
        (
            "starves",
            Unsupported,
            "out of memory: the worker ended by SIGABRT: memory allocation of 16777216",
        ),
    ],
)
def test_what_goes_wrong_is_told_and_the_next_call_works(toy, name, kind, words):
    with pytest.raises(kind, match=words):
        sum_of(toy[f"toy.{name}"])
    assert sum_of(toy["toy.sum"]) == THREE.total()


def test_what_was_written_during_an_earlier_call_is_not_why_a_worker_ended(toy):
    sum_of(toy["toy.mutters"])
    with pytest.raises(Unsupported, match=r"^the worker ended by SIGSEGV$"):
        sum_of(toy["toy.crashes"])


def test_a_worker_that_hangs_is_ended():
    library = Library("toy", Path(sys.executable), TOY, Limits(seconds=1))
    hangs = {target.name: target for target in library.targets()}["toy.hangs"]
    worker = library.process._running.pid
    with pytest.raises(Unsupported, match="no answer in 1 seconds"):
        sum_of(hangs)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    library.process.close()


def test_fresh_processes_have_the_threads_asked_for(toy):
    asked = [(THREE, {"lower": 0.0, "upper": 1.0, "epsilon": 1.0, "size": None})] * 2
    assert toy["toy.threads"].fresh(asked, 2) == [2, 2]
    one, two = (toy["toy.process"].fresh(asked, 1)[0] for _ in range(2))
    assert len({one, two, sum_of(toy["toy.process"])}) == 3


def test_an_error_on_one_neighbour_is_confirmed_in_fresh_processes(toy):
    (finding,) = ss.audit(toy["toy.divides"], runs=0, seconds=5, search=False).violations
    assert (finding.rule, str(finding.verdict)) == ("exception", "VIOLATION_CERTIFIED")
    assert "3 fresh processes" in finding.confirmed


def test_a_library_that_is_not_there_is_missing(tmp_path):
    adapter = tmp_path / "absent.py"
    adapter.write_text("def targets():\n    import a_library_that_is_not_there\n")
    with pytest.raises(LibraryMissing, match="a_library_that_is_not_there"):
        Library("absent", Path(sys.executable), adapter, Limits()).targets()


@pytest.fixture
def toys_package(tmp_path, monkeypatch):
    """A package that brings the toy by entry point, as others bring their adapters."""
    (tmp_path / "toys.py").write_text(
        "from pathlib import Path\nfrom soundsum.auditor.adapters import open_file\n\n\n"
        f"def targets(limits):\n    return open_file('toys', Path({str(TOY)!r}), limits=limits)\n"
    )
    about = tmp_path / "toys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[soundsum.adapters]\ntoys = toys:targets\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    "name, limits, verdict, said",
    [
        ("hangs", {"seconds": 1}, "UNSUPPORTED", "no answer in 1 seconds; a longer limit (--time) may do"),
        ("eats", {"memory": 1 << 30}, "UNSUPPORTED", "out of memory"),
        pytest.param("eats", {"memory": 4 << 30}, "NOT_REFUTED", "", marks=pytest.mark.slow),
    ],
)
def test_an_audits_limits_are_those_of_its_workers(toys_package, name, limits, verdict, said):
    audit = ss.audit(f"toys.{name}", ["special_values"], runs=0, **limits)
    assert {str(finding.verdict) for finding in audit.findings} == {verdict}
    assert all(said in finding.note for finding in audit.findings)
    assert audit.seconds < 60


@pytest.mark.parametrize("mebibytes", [1, 280])  # too little for NumPy to write it out, and for OpenDP to copy it
def test_the_limits_reach_the_adapters_that_are_here(mebibytes):
    with pytest.raises(Unsupported, match="out of memory"):
        sum_of_many_within(mebibytes)


def test_an_adapter_with_memory_enough_answers():
    assert sum_of_many_within(2048) == 1 << 25


def sum_of_many_within(mebibytes):
    many = ss.Runs("int32", [(1, 1 << 25)])
    (target,) = open_targets("opendp.sum.sized.symmetric.int32", limits=Limits(60, mebibytes << 20))
    return target.sum_of(many, target.problem(0, 1, many.size))


def test_a_clipped_sum_claims_its_norm_up_to_the_largest_number_of_its_type():
    target = complete({"name": "sum", "dtype": "float16", "clips_to": "2 * upper", "epsilon": 2})
    assert (target["relation"], target["noise"], target["delta"], target["epsilon"]) == (
        "symmetric",
        "gaussian",
        1e-5,
        2,
    )
    assert target["claimed"](lower=0, upper=3) == 6
    asked = complete(
        {"name": "sum", "dtype": "float16", "clips_to": "upper", "claimed": lambda lower, upper: lower - 1}
    )
    assert asked["claimed"](lower=0, upper=3) == -1  # what the library says
    for one, upper in ((target, 32753), (asked, 65505)):
        with pytest.raises(NotImplementedError, match="lies beyond float16"):
            one["claimed"](lower=0, upper=upper)
