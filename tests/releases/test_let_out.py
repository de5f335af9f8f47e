"""A release holds its noisy sums and public facts, and no error on the way to it holds more than those.

Two tables whose noisy sums happen to be the same must give releases that nothing tells apart: no attribute, print,
file or pickle. What a theorem lets out is the noisy sum, modulo 2^w for a modular sum.
"""

import dataclasses
import datetime
import pickle

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.engines.memory import Memory
from soundsum.privacy.noises.gaussian import Gaussian
from soundsum.privacy.noises.laplace import Laplace
from soundsum.refusals import Reason
from soundsum.releases import pipeline
from tests.refusing import refused

ONES = np.ones(300, np.int8)
LEFT = pa.table(
    {
        "x": [1.5, 7.0, None, 3.0],
        "k": pa.array([-3, 8, 100, 1], pa.int8()),
        "g": ["a", "b", "a", "c"],
        "id": [1, 2, 2, None],
    }
)
RIGHT = pa.table(
    {"x": [9.5, 0.0, 2.0, 3.5], "k": pa.array([3, 2, 9, 100], pa.int8()), "g": ["b", "b", "a", "a"], "id": [5, 5, 7, 8]}
)

ASKED = {
    "modular": lambda table, **o: ss.sum(table, -128, 127, 1, column="k", method="modular", **o),
    "split_modular": lambda t, **o: ss.sum(t, -128, 127, 1, column="k", method="split_modular", **o),
    "saturating": lambda t, **o: ss.sum(t, -9, 9, 1, column="k", method="split", **o),
    "sum": lambda table, **o: ss.sum(table, 0, 5, 1, column="x", **o),
    "gaussian": lambda table, **o: ss.sum(table, 0, 5, column="x", noise="gaussian", rho=1, **o),
    "change_one": lambda table, **o: ss.sum(table, 0, 5, 1, column="x", relation="change_one", **o),
    "mean": lambda table, **o: ss.mean(table, 0, 5, 1, column="x", **o),
    "variance": lambda table, **o: ss.variance(table, 0, 5, 1, column="x", **o),
    "std": lambda table, **o: ss.std(table, 0, 5, 1, column="x", **o),
    "count": lambda table, **o: ss.count(table, 1, **o),
    "histogram": lambda table, **o: ss.histogram(table, [0, 2, 4], 1, column="x", **o),
    "groups": lambda table, **o: ss.sum(table, 0, 5, 1, column="x", by="g", groups=["a", "b"], **o),
    "persons": lambda t, **o: ss.sum(t, 0, 5, 1, column="x", by="g", groups=["a", "b"], privacy_unit="id", **o),
    "filter": lambda table, **o: ss.mean(table, 0, 5, 1, column="x", where=[("k", ">", 2)], **o),
    "several": lambda table, **o: ss.release(table, [ss.Sum("x", 0, 5), ss.Count()], 1, **o),
}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=tz)


@pytest.fixture
def ask(monkeypatch):
    """Asks with noise that makes every noisy sum a given one, or that one plus a multiple of the modulus."""
    totals, turns = [], [0]
    real = Memory.add_up

    def add_up(engine, tasks, rows):
        sums, n = real(engine, tasks, rows)
        totals.extend((total, part.wraps) for own, t in zip(sums, tasks, strict=True)
                      for vector, part in zip(own, t.claim.parts, strict=True) for total in vector)  # fmt: skip
        return sums, n

    def draw(noise, count):
        drawn = []
        for place in range(count):
            total, wraps = totals.pop(0)
            drawn.append(40 + place - total + (0 if wraps is None else turns[0] * wraps.modulus))
        return drawn

    monkeypatch.setattr(Memory, "add_up", add_up)
    monkeypatch.setattr(Laplace, "draw", draw)
    monkeypatch.setattr(Gaussian, "draw", draw)
    monkeypatch.setattr(pipeline, "datetime", Clock)

    def run(question, table, turn=0):
        totals.clear()
        turns[0] = turn
        return question(table, name="t")

    return run


def every_view(release):
    """All that can be looked at, printed or written of a release."""
    views = {
        "repr": repr(release),
        "dict": release.to_dict(),
        "json": release.to_json(),
        "pickle": pickle.dumps(release),
    }
    views |= {
        "html": release._repr_html_(),
        "arrow": release.to_arrow().to_pydict(),
        "csv": release.to_pandas().to_csv(),
    }
    views["panels"] = [dataclasses.astuple(panel) for panel in release.panels()]
    entries = [release] if isinstance(release, ss.Release) else list(getattr(release, "values", release.__iter__)())
    for place, one in enumerate(entries):
        if not isinstance(one, ss.Release):
            views |= {f"{place} {name}": view for name, view in every_view(one).items()}
            continue
        names = [name for name in dir(one) if not name.startswith("__")]
        views |= {f"{place}.{name}": repr(getattr(one, name)) for name in names if not callable(getattr(one, name))}
        views |= {
            f"{place} float": float(one),
            f"{place} interval": one.interval(0.9),
            f"{place} format": f"{one:,.3f}",
        }
    return views


@pytest.mark.parametrize("asked", ASKED)
def test_releases_with_the_same_noisy_sums_cannot_be_told_apart(ask, asked):
    every_view(ask(ASKED[asked], RIGHT))  # makes the plan, which is kept: pickles of shared and of equal objects differ
    assert every_view(ask(ASKED[asked], LEFT)) == every_view(ask(ASKED[asked], RIGHT))


@pytest.mark.parametrize("asked", ["modular", "split_modular"])
@pytest.mark.parametrize("turn", [-3, 1])
def test_a_modular_release_is_known_modulo_the_modulus_alone(ask, asked, turn):
    """127 and 128 ones of int8 are neighbours whose sums are 127 and -128: only the wrapped sum is hidden."""
    assert every_view(ask(ASKED[asked], LEFT, turn)) == every_view(ask(ASKED[asked], LEFT))
    for count in (127, 128):
        release = ss.sum(ONES[:count], -128, 127, 1, method=asked)
        assert -128 <= release.noisy[0] <= 127
        assert release.exact == release.noisy[0]


# Errors

SECRET = 918_273_645


def numbers_in(value, seen=None):
    """Every number in a local variable, and in whatever it holds."""
    seen = {} if seen is None else seen
    if id(value) in seen or len(seen) > 200_000:
        return set()
    seen[id(value)] = value
    if isinstance(value, int | float | np.number):
        return {value}
    if isinstance(value, np.ndarray | pa.Table | pa.ChunkedArray | pa.Array):
        value = value.tolist() if isinstance(value, np.ndarray) else value.to_pylist()
    if isinstance(value, dict):
        value = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        value = list(value)
    else:
        slots = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
        value = [*getattr(value, "__dict__", {}).values(), *slots, *(getattr(value, "args", None) or ())]
    return {number for one in value for number in numbers_in(one, seen)}


def numbers_in_frames(error):
    """Every number in a frame of the package that the error's traceback, cause or context leads to."""
    assert error.__cause__ is None
    assert error.__context__ is None
    found, trace = set(), error.__traceback__
    while trace is not None:
        if "soundsum" in trace.tb_frame.f_code.co_filename and "tests" not in trace.tb_frame.f_code.co_filename:
            found |= numbers_in(dict(trace.tb_frame.f_locals))
        trace = trace.tb_next
    return found


def meddling(meddle):
    """A stream of one batch that does something before it ends."""

    def batches():
        yield pa.record_batch({"x": [SECRET, 1]})
        meddle()

    return pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())


def test_a_ledger_that_is_gone_after_the_read_is_a_failed_read_that_shows_nothing(tmp_path):
    ledger = tmp_path / "l.db"
    budget = ss.Budget(epsilon=1, path=ledger)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(meddling(ledger.unlink), 0, 10**10, 1, column="x", budget=budget)
    assert not numbers_in_frames(caught.value) & {SECRET, SECRET + 1, 2}


def test_noise_that_cannot_be_drawn_is_a_failed_read_that_shows_nothing(monkeypatch):
    def draw(noise, count):
        raise OSError("no randomness")

    monkeypatch.setattr(Laplace, "draw", draw)
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum([SECRET, 1], 0, 10**10, 1, budget=budget)
    assert not numbers_in_frames(caught.value) & {SECRET, SECRET + 1}
    assert budget.entries()[0].state == "failed"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_and_an_exit_pass_without_the_sums(stop, monkeypatch):
    def draw(noise, count):
        raise stop

    monkeypatch.setattr(Laplace, "draw", draw)
    with pytest.raises(stop) as caught:
        ss.sum(meddling(lambda: None), 0, 10**10, 1, column="x")
    assert not numbers_in_frames(caught.value) & {SECRET, SECRET + 1}


def test_a_size_that_is_wrong_is_refused_without_the_sum(tmp_path):
    budget = ss.Budget(epsilon=1, relation="change_one", path=tmp_path / "l.db")
    with refused("size", Reason.MISMATCH, ValueError) as caught:
        ss.sum(meddling(lambda: None), 0, 10**10, 1, column="x", size=3, relation="change_one", budget=budget)
    assert not numbers_in_frames(caught.value) & {SECRET, SECRET + 1}
    assert budget.left.epsilon == 1


QUESTIONS = {
    "sum": lambda data, budget: ss.sum(data, 0, 9, 2, budget=budget),
    "mean": lambda data, budget: ss.mean(data, 0, 9, 2, budget=budget),
    "variance": lambda data, budget: ss.variance(data, 0, 9, 2, budget=budget),
    "std": lambda data, budget: ss.std(data, 0, 9, 2, budget=budget),
    "suggest_bounds": lambda data, budget: ss.suggest_bounds(data, 2, budget=budget),
    "suggest_max_rows": lambda data, budget: ss.suggest_max_rows({"x": data}, "x", 2, budget=budget),
    "count": lambda data, budget: ss.count(data, 2, budget=budget),
    "histogram": lambda data, budget: ss.histogram(data, [0, 5, 9], 2, budget=budget),
    "release": lambda data, budget: ss.release({"x": data}, [ss.Sum("x", 0, 9)], 2, budget=budget),
    "plan": lambda data, budget: ss.plan(ss.Problem("float64", 0, 9)).release(data, 2, budget=budget),
}


@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("refused", ["exceeded", "mismatch", "failed"])
def test_a_refused_charge_or_failed_read_leaves_no_frame_with_data(asked, refused, monkeypatch):
    budget = ss.Budget(epsilon=1 if refused == "exceeded" else 3, data="other" if refused == "mismatch" else None)
    if refused == "failed":
        monkeypatch.setattr(Memory, "add_up", lambda engine, tasks, rows: [SECRET, engine.gone])
    kinds = {"exceeded": ss.BudgetExceeded, "mismatch": ss.BudgetMismatch, "failed": ss.ReadFailed}
    with pytest.raises(kinds[refused]) as caught:
        QUESTIONS[asked]([SECRET, 1.0], budget)
    assert SECRET not in numbers_in_frames(caught.value)


class Unopened:
    """A column whose length cannot be told."""

    def __iter__(self):
        return iter([1.0, 2.0])

    def __len__(self):
        raise OSError("disk")


@pytest.mark.parametrize("asked", ["plan", "sum"])
def test_a_refused_charge_for_a_table_that_cannot_be_opened_leaves_no_frame_with_data(asked):
    columns = {"x": [SECRET, 1.0]}
    owner = ss.Private(columns, budget=ss.Budget(epsilon=3))
    columns["y"] = Unopened()
    with pytest.raises(ss.ReadFailed) as failed:
        getattr(owner, asked)("x", 0, 9, **({} if asked == "plan" else {"epsilon": 1}))
    with refused("budget", Reason.CLOSED, ss.BudgetExceeded) as closed:
        getattr(owner, asked)("x", 0, 9, **({} if asked == "plan" else {"epsilon": 1}))
    for caught in (failed, closed):
        assert SECRET not in numbers_in_frames(caught.value)
