"""The public names, commands and options, pinned: what people and programs rely on does not change by accident."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys

import typer.main

import soundsum as ss
from soundsum.cli import app

NAMES = [
    "Attack", "Audit", "Bounds", "BoundsAdvice", "Budget", "BudgetExceeded", "BudgetMismatch", "Clipped",
    "ClippedShare", "Cost", "Count", "Finding", "FloatType", "Found", "GroupPlan", "Histogram", "IntType", "MaxRows",
    "MaxRowsAdvice", "Mean", "Partial", "PartialPlan", "Plan", "Private", "Problem", "Quantile", "QuantilePlan",
    "Ratio", "ReadFailed", "Relation", "Release", "Releases", "Rounding", "Runs", "Several", "Std", "Sum", "Target",
    "TotalBounds", "Unit",
    "Variance", "__version__", "attack", "audit", "check", "connect", "count", "day", "groups", "histogram", "hour",
    "mean", "median", "month", "plan", "plan_groups", "plan_quantile", "plans", "private_max_size", "quantile",
    "release", "std", "suggest_bounds", "suggest_max_rows", "sum", "variance", "week", "year",
]  # fmt: skip

COMMON = {
    "--epsilon", "--delta", "--rho", "--noise", "--relation", "--by", "--groups", "--where", "--privacy-unit",
    "--max-rows", "--max-groups", "--missing", "--table", "--engine", "--budget", "--data", "--json", "--csv",
}  # fmt: skip
BOUNDED = COMMON | {"file", "--column", "--bounds", "--dtype", "--size"}
ADVICE = {
    "file", "--coverage", "--epsilon", "--delta", "--rho", "--noise", "--where", "--privacy-unit", "--table",
    "--engine", "--budget", "--data", "--json", "--csv",
}  # fmt: skip
WHOM = {"--privacy-unit", "--relation", "--data", "--max-failures"}
COMMANDS = {
    "demo": set(),
    "plan": {"--dtype", "--bounds", "--size", "--max-size", "--relation", "--method", "--all", "--json"},
    "verify": {"--quick", "--json", "--only", "--all", "--markdown"},
    "sum": BOUNDED | {"--max-size", "--method"},
    "mean": BOUNDED,
    "variance": BOUNDED,
    "std": BOUNDED,
    "count": COMMON | {"file", "--column"},
    "histogram": COMMON | {"file", "--column", "--edges", "--bins", "--bounds", "--categories", "--dtype"},
    "groups": COMMON - {"--rho", "--groups", "--max-rows", "--missing"} | {"file"},
    "quantile": COMMON | {"file", "--column", "--bounds", "--dtype", "--quantile", "--candidates"},
    "median": COMMON | {"file", "--column", "--bounds", "--dtype", "--candidates"},
    "suggest-bounds": ADVICE | {"--column", "--max-rows", "--relation", "--dtype"},
    "suggest-max-rows": ADVICE,
    "release": {"file", "request", "--epsilon", "--budget", "--data", "--json", "--csv", "--table", "--engine"},
    "check": {"file", "--budget"},
    "budget create": {"ledger", "--epsilon", "--delta", "--rho", *WHOM},
    "budget show": {"ledger", "--json", "--all"},
    "budget check": {"ledger"},
    "budget refund": {"ledger", "number"},
    "budget reopen": {"ledger"},
    "budget share": {"ledger", "analyst", "source", "--epsilon", "--delta", "--rho", "--max-failures"},
    "serve start": {
        "owner", "--port", "--host", "--certificate", "--key", "--behind-proxy", "--no-pad", "--slots", "--waiting",
        "--each", "--memory",
    },
    "serve init": {
        "owner", "--data", "--name", "--privacy-unit", "--epsilon", "--max-rows", "--max-groups", "--pad", "--table",
    },
    "serve token": {
        "owner", "action", "who", "--epsilon", "--delta", "--rho", "--table", "--max-failures", "--days", "--owner",
        "--json",
    },
    "registry": {"file", "--budget", "--owner", "--table"},
    "attack list": {"--json"},
    "attack show": {
        "name", "--dtype", "--relation", "--bounds", "--ratio", "--max-records", "-j", "--j", "-m", "--m", "-a", "--a",
        "-d", "--d", "-n", "--n", "--lower", "--upper", "--place", "--form", "--drop-last", "--no-drop-last",
        "--with", "--json",
    },
    "attack deliver": {"name", "--targets", "--epsilon", "--json"},
    "audit": {
        "target", "--dtype", "--relation", "--epsilon", "--delta", "--bounds", "--noiseless", "--claimed",
        "--no-specials", "--attack", "--time", "--timing", "--memory", "--runs", "--alpha", "--no-search", "--strict",
        "--install", "--install-spec", "--new", "--clean", "--json", "--html", "--junit", "--sarif",
    },
    "reproduce": {"--full", "--only", "--all", "--json", "--html"},
}  # fmt: skip

OPTIONS = {
    "relation", "by", "groups", "where", "privacy_unit", "max_rows", "max_groups", "noise", "delta", "rho", "missing",
    "budget", "name", "table", "engine",
}  # fmt: skip
ADVISING = {
    "data", "epsilon", "coverage", "where", "privacy_unit", "noise", "delta", "rho", "budget", "name", "table",
    "engine",
}  # fmt: skip
OF_NUMBERS = OPTIONS | {"data", "lower", "upper", "epsilon", "column", "size", "dtype"}
SIGNATURES = {
    "release": OPTIONS | {"data", "statistics", "epsilon"},
    "sum": OF_NUMBERS | {"bounds", "max_size", "method"},
    "mean": OF_NUMBERS | {"bounds"},
    "variance": OF_NUMBERS | {"bounds"},
    "groups": OPTIONS - {"groups", "max_rows", "rho", "missing"} | {"data", "epsilon"},
    "quantile": (OF_NUMBERS - {"size"}) | {"bounds", "candidates", "quantile"},
    "median": (OF_NUMBERS - {"size"}) | {"bounds", "candidates"},
    "std": OF_NUMBERS | {"bounds"},
    "suggest_bounds": ADVISING | {"column", "max_rows", "relation", "dtype"},
    "suggest_max_rows": ADVISING,
    "count": OPTIONS | {"data", "epsilon", "column"},
    "histogram": OPTIONS
    | {"data", "edges", "epsilon", "categories", "bins", "lower", "upper", "bounds", "column", "dtype"},
}


def test_public_names():
    assert sorted(ss.__all__) == sorted(NAMES)
    assert all(getattr(ss, name) is not None for name in ss.__all__)


def test_only_public_names_are_listed():
    assert set(dir(ss)) == {*NAMES, "attacks", "gradients"}


def commands(group, prefix=""):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
            yield f"{prefix}{name}", options - {"--help"}


def test_commands_and_their_options():
    assert dict(commands(typer.main.get_command(app))) == COMMANDS


def test_signatures_name_every_option_and_documents_explain_each():
    for name, options in SIGNATURES.items():
        function = getattr(ss, name)
        assert set(inspect.signature(function).parameters) == options, name
        explained = {word for line in inspect.getdoc(function).splitlines() if ": " in line
                     for word in line.partition(":")[0].replace(",", "").split()}  # fmt: skip
        assert options <= explained, (name, options - explained)


def test_no_room_bears_the_name_of_a_public_function():
    rooms = {module.name for module in pkgutil.iter_modules(ss.__path__)}
    assert not rooms & set(NAMES)


def test_every_submodule_can_be_imported_first_and_all_names_still_work():
    code = """
import importlib, pkgutil, soundsum
for module in pkgutil.walk_packages(soundsum.__path__, "soundsum."):
    if ".gradients.opacus." not in module.name:  # these need Opacus
        importlib.import_module(module.name)
import soundsum as ss
data = [1.0, 2.0]
ss.sum(data, 0, 1, 1), ss.mean(data, 0, 1, 1), ss.variance(data, 0, 1, 1), ss.std(data, 0, 1, 1), ss.count(data, 1)
ss.histogram(data, [0, 1, 2], 1), ss.private_max_size(data, 1)
ss.release(data, [ss.Sum(None, 0, 1), ss.Mean(None, 0, 1), ss.Variance(None, 0, 1), ss.Count()], 1)
problem = ss.Problem(ss.FloatType(3, 4), 0, 1)
ss.plans(problem), ss.check(ss.plan(ss.Problem("float64", 0, 1)).release(data, 1, budget=ss.Budget(1)).certificate)
ss.attack("rounding").left.size
for name in ss.__all__:
    assert not hasattr(getattr(ss, name), "__path__"), name
    assert type(getattr(ss, name)).__name__ != "module", name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_classes_say_soundsum_as_their_module():
    classes = [getattr(ss, name) for name in ss.__all__ if isinstance(getattr(ss, name), type)]
    assert len(classes) > 15
    for public in classes:
        assert public.__module__ == "soundsum", public
    for made in (ss.Problem("float64", 0, 1), ss.plan(ss.Problem("int8", 0, 1)), ss.sum([1.0], 0, 1, 1), ss.Cost(1)):
        assert pickle.loads(pickle.dumps(made)) == made


def test_paths_that_stay():
    for path in ("kernels", "methods", "budget", "attacks", "gradients"):
        importlib.import_module(f"soundsum.{path}")
    assert ss.gradients.__all__ == ["Attack", "Grid", "Noisy", "Slots", "Sum", "attack", "clip", "opacus"]
    assert ss.gradients.opacus.__all__ == [
        "BatchMemoryManager",
        "DPOptimizer",
        "DistributedDPOptimizer",
        "PrivacyEngine",
    ]
    from soundsum.kernels import float_sum, grid_sum, wide_sum
    from soundsum.methods import METHODS, OnGrid

    assert callable(float_sum)
    assert callable(grid_sum)
    assert callable(wide_sum)
    assert METHODS["grid"] == OnGrid()
