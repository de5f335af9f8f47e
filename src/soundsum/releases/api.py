"""Private statistics of numbers in one line: sums, means and variances, by group or not, and several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

from soundsum.budget import Budget
from soundsum.methods import Method
from soundsum.privacy.guarantee import guarantee
from soundsum.releases.collections import Releases, Several
from soundsum.releases.mistakes import with_hints
from soundsum.releases.pipeline import carry_out, hold_no_data
from soundsum.releases.released import Release
from soundsum.releases.request import Setting, name_statistics, prepare_or_charge, release_one
from soundsum.statistics import Mean, Statistic, Sum, Variance
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation


@hold_no_data
@with_hints
def release(
    data: Any,
    statistics: Sequence[Statistic] | Mapping[str, Statistic],
    epsilon: Any = None,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    by: Any = None,
    groups: Any = None,
    where: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing | None = None,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
    engine: str | None = None,
) -> Several:
    """Several statistics of a table for one charge, read in one pass; they share epsilon by weight, or equally.

    data: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict of columns, a path to Parquet, CSV or Arrow files,
        or the address of a database with table=.
    statistics: a list of `Sum`, `Mean`, `Variance`, `Count` and `Histogram`, or a dict of them by name. With weight=2
        a statistic gets twice the share of epsilon that one without a weight gets.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    by: one result for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, what a person adds to a group is clamped to what this many rows can add.
    max_groups: with privacy_unit= and by=, how many groups a person counts in: those with most of their
        rows. Between groups with equally many, a hash of the id and the group decides.
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: a null or NaN counts as the value within the bounds nearest to zero ("zero"), or not at all ("drop").
        By default means and variances leave it out if the number of rows is private, and everything else counts it.
        Infinities are clamped.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    >>> table = {"pay": [100.0, 250.0], "age": [41, 29]}
    >>> pay, age = release(table, [Sum("pay", 0, 2e5), Mean("age", 0, 120)], epsilon=1)
    >>> pay.epsilon, age.statistic
    (Fraction(1, 2), 'mean')
    >>> named = release(table, {"total": Sum("pay", 0, 2e5, weight=3), "mean age": Mean("age", 0, 120)}, epsilon=1)
    >>> named["total"].epsilon, named["mean age"].epsilon
    (Fraction(3, 4), Fraction(1, 4))

    Returns a Several: a tuple with a Release, or with by= Releases, for each statistic; it also knows their names.
    """
    names, asked = name_statistics(statistics)
    promised = guarantee(epsilon, delta, rho, noise)
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    opened = prepare_or_charge(data, asked, setting, promised, budget)
    given = names if isinstance(statistics, Mapping) else None
    return Several(carry_out(*opened, promised, budget, setting.binding, given), names)


class CommonOptions(TypedDict, total=False):
    """Options that every statistic takes, for type checkers."""

    relation: Relation | str
    groups: Any
    where: Any
    privacy_unit: Any
    max_rows: int
    max_groups: int
    noise: str
    delta: Any
    rho: Any
    missing: Missing | None
    budget: Budget | None
    name: str | None
    table: Any
    engine: str | None


class BoundedOptions(CommonOptions, total=False):
    """And those of bounded numbers."""

    column: str | None
    dtype: object
    size: int | None


class SumOptions(BoundedOptions, total=False):
    """And a sum."""

    max_size: int | None
    method: str | Method


@overload
def sum(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: None = None, **options: Unpack[SumOptions]
) -> Release: ...
@overload
def sum(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any, **options: Unpack[SumOptions]
) -> Releases: ...
@hold_no_data
@with_hints
def sum(
    data: Any,
    lower: Any,
    upper: Any,
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
    """A private sum: records clamped to [lower, upper], with exact noise for the most one record or person can change.

    data: a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict
        of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no type,
        such as a list, is read item by item: numbers, and text that spells one; anything else is missing.
    lower, upper: the bounds of a record. They are public: take them from what everybody knows, not from the data.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    column: the column to add up, if the data is a table.
    by: one sum for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, what a person adds to a group is clamped to what this many rows can add.
    max_groups: with privacy_unit= and by=, how many groups a person counts in: those with most of their
        rows. Between groups with equally many, a hash of the id and the group decides.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    size: under change_one and hamming, the number of rows. It is checked; by default it is that of the data.
    max_size: for methods that need a limit: how many rows count; any beyond it are left out.
    dtype: the column's type, if it has none of its own, as in CSV; it is never taken from the values.
    method: how to add. "auto" reaches the ideal sensitivity; `plans` lists the others with what they cost.
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: a null or NaN counts as the value within the bounds nearest to zero ("zero"), or not at all ("drop").
        Infinities are clamped.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.

    >>> r = sum([1.0, 2.0, 3.0], lower=0, upper=10, epsilon=1)
    >>> r.plan.method, r.plan.sensitivity, r.epsilon
    ('grid', Fraction(10, 1), Fraction(1, 1))
    """
    statistic = Sum(column, lower, upper, dtype, size, max_size, method)
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    return release_one(data, statistic, setting, guarantee(epsilon, delta, rho, noise), budget)


@overload
def mean(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: None = None, **options: Unpack[BoundedOptions]
) -> Release: ...
@overload
def mean(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
@hold_no_data
@with_hints
def mean(
    data: Any,
    lower: Any,
    upper: Any,
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
    """A private mean, within the bounds; epsilon is shared equally by the sum and, if it is private, the count.

    data: a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict
        of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no type,
        such as a list, is read item by item: numbers, and text that spells one; anything else is missing.
    lower, upper: the bounds of a record. They are public: take them from what everybody knows, not from the data.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    column: the column to average, if the data is a table.
    by: one mean for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, a person with more rows in a group counts as this many of their average row.
    max_groups: with privacy_unit= and by=, how many groups a person counts in: those with most of their
        rows. Between groups with equally many, a hash of the id and the group decides.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    size: under change_one and hamming, the number of rows. It is checked; by default it is that of the data.
    dtype: the column's type, if it has none of its own, as in CSV; it is never taken from the values.
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: a null or NaN counts as the value within the bounds nearest to zero ("zero"), or not at all ("drop").
        "drop" is the default if the number of rows is private. Under change_one and hamming "zero" is the default, and
        "drop" makes the number of rows private there too, for a part of epsilon. Infinities are clamped.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    promised = guarantee(epsilon, delta, rho, noise)
    return release_one(data, Mean(column, lower, upper, dtype, size), setting, promised, budget)


@overload
def variance(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: None = None, **options: Unpack[BoundedOptions]
) -> Release: ...
@overload
def variance(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
@hold_no_data
@with_hints
def variance(
    data: Any,
    lower: Any,
    upper: Any,
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
    """A private population variance; epsilon is shared equally by two sums and, if it is private, the count.

    data: a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict
        of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no type,
        such as a list, is read item by item: numbers, and text that spells one; anything else is missing.
    lower, upper: the bounds of a record. They are public: take them from what everybody knows, not from the data.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    column: the column to look at, if the data is a table.
    by: one variance for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, a person with more rows in a group counts as this many of their average row.
    max_groups: with privacy_unit= and by=, how many groups a person counts in: those with most of their
        rows. Between groups with equally many, a hash of the id and the group decides.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    size: under change_one and hamming, the number of rows. It is checked; by default it is that of the data.
    dtype: the column's type, if it has none of its own, as in CSV; it is never taken from the values.
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: a null or NaN counts as the value within the bounds nearest to zero ("zero"), or not at all ("drop").
        "drop" is the default if the number of rows is private. Under change_one and hamming "zero" is the default, and
        "drop" makes the number of rows private there too, for a part of epsilon. Infinities are clamped.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    promised = guarantee(epsilon, delta, rho, noise)
    return release_one(data, Variance(column, lower, upper, dtype, size), setting, promised, budget)
