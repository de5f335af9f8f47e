"""Private statistics in one line: sums, means, variances, counts, histograms; alone, by group, or several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from inspect import Signature, signature
from typing import Any, TypedDict, Unpack, cast, overload

from soundsum.budget import Budget
from soundsum.kernels import Missing
from soundsum.methods import Method
from soundsum.outcome import Release, Releases, Several
from soundsum.pipeline import carry_out
from soundsum.privacy import NoiseKind, guarantee
from soundsum.queries import Count, Histogram, Mean, Query, Setting, Sum, Variance, prepared
from soundsum.relations import Relation


def release(
    data: Any,
    statistics: Sequence[Query],
    epsilon: Any = None,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    by: Any = None,
    groups: Any = None,
    privacy_unit: Any = None,
    max_rows: int = 1,
    max_groups: int = 1,
    noise: NoiseKind = "laplace",
    delta: Any = None,
    rho: Any = None,
    missing: Missing = "zero",
    budget: Budget | None = None,
) -> Several:
    """Several statistics of a table for one charge, read in one pass; they share the promise equally.

    With `by` (a column, or its values) and `groups`, one release for each group. With `privacy_unit` (a column of ids)
    a person may have many rows: at most `max_rows` of them count in each of at most `max_groups` groups.

    >>> table = {"pay": [100.0, 250.0], "age": [41, 29]}
    >>> pay, age, n = release(table, [Sum("pay", 0, 2e5), Mean("age", 0, 120), Count()], epsilon=1)
    >>> pay.epsilon, age.statistic
    (Fraction(1, 3), 'mean')
    """
    promise = guarantee(epsilon, delta, rho, noise)
    setting = Setting(Relation(relation), missing, by, groups, privacy_unit, max_rows, max_groups)
    return Several(carry_out(*prepared(data, statistics, setting), promise, budget))


class Options(TypedDict, total=False):
    """What every statistic takes beside its own: as for `release`."""

    relation: Relation | str
    groups: Any
    privacy_unit: Any
    max_rows: int
    max_groups: int
    noise: NoiseKind
    delta: Any
    rho: Any
    missing: Missing
    budget: Budget | None


class BoundedOptions(Options, total=False):
    """And what those of bounded numbers take."""

    size: int | None
    dtype: object
    column: str | None


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
def sum(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any = None, **options: Any
) -> Release | Releases:
    """A private sum: each record clamped to [lower, upper], exact noise for what one record can move.

    Options: column (of a table), relation, size, max_size, dtype, method, and those of `release`: by and groups,
    privacy_unit, max_rows, max_groups, noise, delta, rho, missing, budget.

    >>> r = sum([1.0, 2.0, 3.0], lower=0, upper=10, epsilon=1)
    >>> r.plan.method, r.plan.sensitivity, r.epsilon
    ('grid', Fraction(10, 1), Fraction(1, 1))
    """
    return _one(Sum, (lower, upper), data, epsilon, by, options)


@overload
def mean(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: None = None, **options: Unpack[BoundedOptions]
) -> Release: ...
@overload
def mean(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
def mean(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any = None, **options: Any
) -> Release | Releases:
    """A private mean, within the bounds; the promise is shared equally by the sum and, if it is private, the count.

    Options: column (of a table), relation, size, dtype, and those of `release`.
    """
    return _one(Mean, (lower, upper), data, epsilon, by, options)


@overload
def variance(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: None = None, **options: Unpack[BoundedOptions]
) -> Release: ...
@overload
def variance(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any, **options: Unpack[BoundedOptions]
) -> Releases: ...
def variance(
    data: Any, lower: Any, upper: Any, epsilon: Any = None, *, by: Any = None, **options: Any
) -> Release | Releases:
    """A private population variance, from the sums of first and second powers and, if it is private, the count.

    Options as for `mean`.
    """
    return _one(Variance, (lower, upper), data, epsilon, by, options)


@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: None = None, **options: Unpack[Options]
) -> Release: ...
@overload
def count(
    data: Any, epsilon: Any = None, *, column: str | None = None, by: Any, **options: Unpack[Options]
) -> Releases: ...
def count(data: Any, epsilon: Any = None, *, by: Any = None, **options: Any) -> Release | Releases:
    """A private number of rows; with missing="drop", of those with a value in the column.

    Under change_one and hamming the number of all records is public, so it comes without noise. Options as for
    `release`, and column.
    """
    return _one(Count, (), data, epsilon, by, options)


def histogram(
    data: Any,
    edges: Sequence[Any] | None = None,
    epsilon: Any = None,
    *,
    categories: Sequence[Any] | None = None,
    column: str | None = None,
    dtype: object = None,
    by: Any = None,
    **options: Unpack[Options],
) -> Releases:
    """Counts of records in [edge, next edge), the last cell closed, or of each category; empty cells too.

    Records outside every cell, and missing ones, are left out. Options as for `release`.
    """
    made = _one(Histogram, (edges, categories), data, epsilon, by, {"column": column, "dtype": dtype, **options})
    assert isinstance(made, Releases)
    return made


def _one(
    query: Callable[..., Query], arguments: tuple[Any, ...], data: Any, epsilon: Any, by: Any, options: dict[str, Any]
) -> Release | Releases:
    taken = {field.name for field in fields(cast(Any, query))}
    if unknown := options.keys() - taken - Options.__annotations__.keys():
        known = sorted({*taken, "by", *Options.__annotations__} - {"edges", "categories", "lower", "upper"})
        raise TypeError(f"there is no option {min(unknown)!r}; there are {', '.join(known)}")
    own = {name: options.pop(name) for name in taken if name in options}
    (made,) = release(data, [query(own.pop("column", None), *arguments, **own)], epsilon, by=by, **options)
    return made


def _with_every_option(function: Callable[..., Any], query: Callable[..., Query]) -> None:
    """Lets help() and editors show the options by name, with their defaults."""
    shown = {name: p for name, p in signature(function).parameters.items() if p.kind is not p.VAR_KEYWORD}
    others = [*signature(query).parameters.values(), *signature(release).parameters.values()]
    for parameter in others:
        if parameter.name not in ("statistics", *shown):
            default = None if parameter.default is parameter.empty else parameter.default
            shown[parameter.name] = parameter.replace(kind=parameter.KEYWORD_ONLY, default=default)
    function.__signature__ = Signature(list(shown.values()))  # type: ignore[attr-defined]


for _function, _query in ((sum, Sum), (mean, Mean), (variance, Variance), (count, Count), (histogram, Histogram)):
    _with_every_option(_function, _query)
