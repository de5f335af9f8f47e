"""Private counts and histograms in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from soundsum.budget import Budget
from soundsum.privacy.guarantee import guarantee
from soundsum.releases.api import CommonOptions
from soundsum.releases.collections import Releases
from soundsum.releases.mistakes import with_hints
from soundsum.releases.pipeline import hold_no_data
from soundsum.releases.released import Release
from soundsum.releases.request import Setting, release_one
from soundsum.statistics import Count, Histogram
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation


@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: None = None, **options: Unpack[CommonOptions]
) -> Release: ...
@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: Any, **options: Unpack[CommonOptions]
) -> Releases: ...
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
    """A private number of rows; with missing="drop", of those with a value in the column.

    Under change_one and hamming the number of all rows is public, so it comes without noise.

    data: a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict
        of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no type,
        such as a list, is read item by item: numbers, and text that spells one; anything else is missing.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    column: with missing="drop", the column to look at, if the data is a table.
    by: one count for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, this many rows of a person count in a group.
    max_groups: with privacy_unit= and by=, how many groups a person counts in: those with most of their
        rows. Between groups with equally many, a hash of the id and the group decides.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: "zero" counts every row, "drop" only those with a value in the column.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    Returns a Release (value, exact, interval, certificate), or with by= a mapping from groups to Releases.
    """
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    return release_one(data, Count(column), setting, guarantee(epsilon, delta, rho, noise), budget)


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
    """Private counts of records in [edge, next edge), the last cell closed, or of each category; empty cells too.

    Records outside every cell, and missing ones, are left out.

    data: a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict
        of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no type,
        such as a list, is read item by item: numbers, and text that spells one; anything else is missing.
    edges: increasing numbers; or give bins or categories instead.
    epsilon: what this release may cost, such as 1 or "1/3"; smaller is more private.
    categories: the categories to count. They are public: list them from what everybody knows.
    bins: the number of cells of equal width between lower and upper, instead of edges.
    lower, upper: with bins, where the first cell begins and the last one ends. They are public.
    column: the column to look at, if the data is a table.
    by: one histogram for each group: the column of the groups, or its values if data is a single column.
        For dates and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").
    groups: the groups to release, with by=. They are public: list them from what everybody knows. With several columns
        in by=["ward", "year"], tuples of their values, or a list for each column to combine.
    where: only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column's
        own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values.
        The number of rows that meet them is then private, under every relation.
    privacy_unit: protect persons instead of rows: the column of their ids, or its values if data is a single column.
        Rows without an id are left out.
    max_rows: with privacy_unit=, this many rows of a person count in a cell.
    max_groups: with privacy_unit=, how many cells a person counts in: those with most of their rows.
        Between cells with equally many, a hash of the id and the cell decides.
    relation: when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order),
        "change_one" or "hamming" (one row changed; the number of rows is then public).
    dtype: the column's type, if it has none of its own, as in CSV; it is never taken from the values.
    noise: "laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.
    delta: with Gaussian noise and epsilon.
    rho: with Gaussian noise, instead of epsilon: the cost as zCDP.
    missing: makes no difference here, as a missing value is in no cell.
    budget: a `Budget` that is charged before any data is read, and refuses a release that would exceed it.
    name: what the data is called, if the budget is for data with a name.
    table: which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.
    engine: what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.

    Returns a mapping from cells, (edge, next edge) or categories, to Releases; with by= from pairs of group and cell.
    """
    setting = Setting(
        Relation.read(relation), missing, by, groups, privacy_unit, max_rows, max_groups, name, where, table, engine
    )
    promised = guarantee(epsilon, delta, rho, noise)
    asked = Histogram(column, edges, categories, dtype, bins=bins, lower=lower, upper=upper)
    made = release_one(data, asked, setting, promised, budget)
    assert isinstance(made, Releases)
    return made
