"""The public functions: private sums, means, counts and other statistics, one or several for one charge.

Their signatures are written out for editors and type checkers. The options are declared in options.py, and a test holds
every signature to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypedDict, Unpack, overload

from soundsum.budget import Binding, Budget
from soundsum.engines import open_engine
from soundsum.methods import Method
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.selection import Found
from soundsum.privacy.units import Norms
from soundsum.releases.advice import BoundsAdvice, MaxRowsAdvice
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Several
from soundsum.releases.pipeline import make_charge
from soundsum.releases.prepare import release_all, release_one
from soundsum.releases.released import Release, require_confidence
from soundsum.releases.request import Request, ask_bounds, name_statistics, read_bounds
from soundsum.releases.signatures import explain, with_hints
from soundsum.statistics import Count, Histogram, MaxRows, Mean, Quantile, Statistic, Std, Sum, Variance
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.quantile import MEDIAN, list_quantiles
from soundsum.tables.read_guard import hold_no_data, read_within
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.rows import Rows


class CommonOptions(TypedDict, total=False):
    """Options that every statistic takes, for type checkers."""

    groups: Any
    where: Any
    privacy_unit: Any
    max_rows: int
    max_groups: int
    relation: Relation | str
    noise: str
    delta: Any
    rho: Any
    missing: Missing | None
    budget: Budget | None
    name: str | None
    table: Any
    engine: str | None


class BoundedOptions(CommonOptions, total=False):
    """Options of statistics of bounded numbers, for type checkers."""

    bounds: Any
    column: str | None
    dtype: object
    size: int | None


class QuantileOptions(CommonOptions, total=False):
    """Options of quantiles, for type checkers."""

    bounds: Any
    column: str | None
    candidates: Any
    dtype: object


class SumOptions(BoundedOptions, total=False):
    """Options of sums, for type checkers."""

    max_size: int | None
    method: str | Method


@explain("release")
@hold_no_data
@with_hints
def release(
    data: Any,
    statistics: Sequence[Statistic] | Mapping[str, Statistic],
    epsilon: Any = None,
    *,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Several:
    """Release several statistics of a table in one pass, for one charge; they share epsilon by weight, or equally.

    {options}

    >>> table = {"pay": [100.0, 250.0], "age": [41, 29]}
    >>> pay, age = release(table, [Sum("pay", 0, 2e5), Mean("age", 0, 120)], epsilon=1)
    >>> pay.epsilon, age.statistic
    (Fraction(1, 2), 'mean')
    >>> named = release(table, {"total": Sum("pay", 0, 2e5, weight=3), "mean age": Mean("age", 0, 120)}, epsilon=1)
    >>> named["total"].epsilon, named["mean age"].epsilon
    (Fraction(3, 4), Fraction(1, 4))

    Returns a Several: a tuple with a Release for each statistic, or with by= Releases, also accessible by name.
    """
    labels, asked = name_statistics(statistics)
    names = tuple(labels) if isinstance(statistics, Mapping) else None
    request = Request(
        tuple(asked), names, Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return Several(release_all(data, request, guarantee(epsilon, delta, rho, noise), budget), labels)


@overload
def sum(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[SumOptions],
) -> Release: ...
@overload
def sum(
    data: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *, by: Any, **options: Unpack[SumOptions]
) -> Releases: ...
@explain("sum")
@hold_no_data
@with_hints
def sum(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    max_size: int | None = None,
    dtype: object = None,
    method: str | Method = "auto",
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = "zero",
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Sum records, each clamped to [lower, upper], and add exact noise for the most one record or person can change.

    {options}

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.

    >>> r = sum([1.0, 2.0, 3.0], lower=0, upper=10, epsilon=1)
    >>> r.plan.method, r.plan.sensitivity, r.epsilon
    ('grid', Fraction(10, 1), Fraction(1, 1))
    """
    request = Request(
        (Sum(column, *read_bounds(lower, upper, bounds, max_rows), dtype, size, max_size, method),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@overload
def mean(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[BoundedOptions],
) -> Release: ...
@overload
def mean(
    data: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
@explain("mean")
@hold_no_data
@with_hints
def mean(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Average records privately; the sum and, if it is private, the count share epsilon equally.

    {options}

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    request = Request(
        (Mean(column, *read_bounds(lower, upper, bounds, max_rows), dtype, size),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@overload
def variance(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[BoundedOptions],
) -> Release: ...
@overload
def variance(
    data: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
@explain("variance")
@hold_no_data
@with_hints
def variance(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Release the population variance; two sums and, if it is private, the count share epsilon equally.

    {options}

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    request = Request(
        (Variance(column, *read_bounds(lower, upper, bounds, max_rows), dtype, size),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@overload
def std(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[BoundedOptions],
) -> Release: ...
@overload
def std(
    data: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
@explain("std")
@hold_no_data
@with_hints
def std(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Release the population standard deviation, the square root of a private variance, for the same cost.

    {options}

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    request = Request(
        (Std(column, *read_bounds(lower, upper, bounds, max_rows), dtype, size),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: None = None, **options: Unpack[CommonOptions]
) -> Release: ...
@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: Any, **options: Unpack[CommonOptions]
) -> Releases: ...
@explain("count")
@hold_no_data
@with_hints
def count(
    data: Any,
    epsilon: Any = None,
    *,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = "zero",
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Count rows privately; with missing="drop", only rows with a value in the column.

    Under change_one and hamming the total number of rows is public and gets no noise.

    {options}

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    request = Request(
        (Count(column),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@explain("histogram")
@hold_no_data
@with_hints
def histogram(
    data: Any,
    edges: Sequence[Any] | None = None,
    epsilon: Any = None,
    *,
    categories: Sequence[Any] | None = None,
    bins: int | None = None,
    lower: Any = None,
    upper: Any = None,
    bounds: Any = None,
    column: str | None = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = "zero",
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Releases:
    """Count records privately in cells [edge, next edge), the last one closed, or by category; empty cells included.

    Missing records, and records outside all cells, are dropped.

    {options}

    Returns a mapping from cells, (edge, next edge) or categories, to Releases; with by= from pairs of group and cell.
    """
    lower, upper = read_bounds(lower, upper, bounds)
    request = Request(
        (Histogram(column, edges, categories, dtype, bins=bins, lower=lower, upper=upper),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    released = release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)
    assert isinstance(released, Releases)
    return released


@overload
def quantile(
    data: Any,
    quantile: Real | Decimal | str,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[QuantileOptions],
) -> Release: ...
@overload
def quantile(
    data: Any,
    quantile: Real | Decimal | str,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: Any,
    **options: Unpack[QuantileOptions],
) -> Releases: ...
@overload
def quantile(
    data: Any,
    quantile: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: Any = None,
    **options: Unpack[QuantileOptions],
) -> Any: ...
@explain("quantile")
@hold_no_data
@with_hints
def quantile(
    data: Any,
    quantile: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    candidates: Any = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases | Several:
    """Release a private quantile: one of the candidates, chosen by how close its rank is, values clamped to the bounds.

    Missing values are left out. Ties are no difficulty, and the value is always one of the candidates.

    {options}

    Returns a Release (value, rank_error, certificate), or with by= a mapping from groups to Releases; for a list of
    quantiles a Several, with one for each.

    >>> pay = [float(x) for x in range(1000)]
    >>> r = quantile(pay, 0.5, lower=0, upper=1000, epsilon=1)
    >>> r.rank_error(0.95)
    11
    """
    low, high = read_bounds(lower, upper, bounds)
    listed, labels = list_quantiles(quantile)
    request = Request(
        tuple([Quantile(column, one, low, high, dtype, candidates=candidates) for one in listed]),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    promised = guarantee(epsilon, delta, rho, noise)
    if labels is None:
        return release_one(data, request, promised, budget)
    return Several(release_all(data, request, promised, budget), labels)


@overload
def median(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    by: None = None,
    **options: Unpack[QuantileOptions],
) -> Release: ...
@overload
def median(
    data: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *, by: Any, **options: Unpack[QuantileOptions]
) -> Releases: ...
@explain("median")
@hold_no_data
@with_hints
def median(
    data: Any,
    lower: Any = None,
    upper: Any = None,
    epsilon: Any = None,
    *,
    bounds: Any = None,
    column: str | None = None,
    candidates: Any = None,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Release | Releases:
    """Release a private median, the quantile 0.5: see `quantile`.

    {options}

    Returns a Release (value, rank_error, certificate), or with by= a mapping from groups to Releases.
    """
    low, high = read_bounds(lower, upper, bounds)
    request = Request(
        (Quantile(column, MEDIAN, low, high, dtype, candidates=candidates),),
        relation=Relation.read(relation), missing=missing, by=by, groups=groups, where=where,
        privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    return release_one(data, request, guarantee(epsilon, delta, rho, noise), budget)


@explain("suggest_bounds")
@hold_no_data
@with_hints
def suggest_bounds(
    data: Any,
    epsilon: Any = None,
    *,
    column: str | None = None,
    coverage: Any = 0.99,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int | None = None,
    relation: Relation | str = Relation.SYMMETRIC,
    dtype: object = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> BoundsAdvice:
    """Suggest bounds for a column, for less than a sum would cost: from noisy counts of its orders of magnitude.

    {options}

    Returns a BoundsAdvice (lower, upper, outside, reason), which `bounds=` takes. Where the counts say too little it
    has no bounds, and is false.

    >>> pay = [21.5, 32.0, 18.25, 44.0] * 2_500
    >>> advice = suggest_bounds(pay, epsilon=1)
    >>> advice.lower, advice.upper
    (Fraction(0, 1), Fraction(50, 1))
    >>> total = sum(pay, bounds=advice, epsilon=1)
    """
    statistic, most = ask_bounds(column, coverage, dtype, max_rows, privacy_unit is not None)
    request = Request(
        (statistic,), relation=Relation.read(relation), where=where, privacy_unit=privacy_unit, max_groups=most,
        name=name, table=table, engine=engine,
    )  # fmt: skip
    (advice,) = release_all(data, request, guarantee(epsilon, delta, rho, noise), budget)
    assert isinstance(advice, BoundsAdvice)
    return advice


@explain("suggest_max_rows")
@hold_no_data
@with_hints
def suggest_max_rows(
    data: Any,
    privacy_unit: Any,
    epsilon: Any = None,
    *,
    coverage: Any = 0.99,
    where: Any = None,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> MaxRowsAdvice:
    """Suggest how many rows of a person to count (`max_rows=`), from noisy counts of persons by their number of rows.

    {options}

    Returns a MaxRowsAdvice (max_rows, outside, reason). Where the counts say too little it is false.

    >>> visits = {"cost": [10.0] * 30_000, "patient": list(range(10_000)) * 3}
    >>> suggest_max_rows(visits, "patient", epsilon=1).max_rows
    5
    """
    request = Request(
        (MaxRows(coverage=coverage),),
        where=where, privacy_unit=privacy_unit, name=name, table=table, engine=engine,
    )  # fmt: skip
    (advice,) = release_all(data, request, guarantee(epsilon, delta, rho, noise), budget)
    assert isinstance(advice, MaxRowsAdvice)
    return advice


@explain("groups")
@hold_no_data
@with_hints
def groups(
    data: Any,
    by: Any,
    epsilon: Any = None,
    delta: Any = None,
    *,
    where: Any = None,
    privacy_unit: Any = None,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: str = "laplace",
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Releases:
    """Find groups that nobody listed: those with enough persons (or records), and the noisy number of these.

    A group is released if its noisy number reaches a threshold, which `plan_groups` says beforehand. So a group of one
    person is released with a chance of at most delta. Names of groups that are released are public from then on, and
    `groups=` takes the result; all others stay private. To find groups and ask for something in them at once, give
    `groups=ss.Found(...)`.

    {options}

    Returns a mapping from groups to Releases, with the groups in their own order.

    >>> visits = {"ward": ["eye"] * 300 + ["heart"] * 200 + ["rare"], "patient": list(range(501))}
    >>> found = groups(visits, by="ward", epsilon=1, delta="1e-9", privacy_unit="patient")
    >>> list(found), found.threshold
    (['eye', 'heart'], 21)
    """
    request = Request(
        (GroupCounts(),), relation=Relation.read(relation), by=by, groups=Found(delta, noise=noise), where=where,
        privacy_unit=privacy_unit, max_groups=max_groups, name=name, table=table, engine=engine,
    )  # fmt: skip
    released = release_one(data, request, guarantee(epsilon), budget)
    assert isinstance(released, Releases)
    return released


@hold_no_data
def private_max_size(
    data: Any,
    epsilon: Any,
    confidence: float = 0.999,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
) -> int:
    """Choose a limit that keeps all records with the given confidence, from an epsilon-private count of the data.

    One record changes the count by 1 under symmetric and insert_delete, so Laplace noise of scale 1/epsilon is enough;
    the margin added on top is public. Spend the rest of the budget on the sum.
    """
    promised = guarantee(epsilon)
    require_confidence(confidence)
    engine = open_engine(data, table=table)
    charge = make_charge(budget, promised.cost, "private limit on the size", Binding(data=name))
    noise = promised.noise_for(Norms(1, 1))
    noisy = read_within(lambda: noise.add_to([engine.add_up([], Rows())[1]]), charge.fail)
    read_within(charge.settle)
    return max(1, noisy[0] + noise.half_width(confidence))
