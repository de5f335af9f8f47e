"""The command that releases several statistics at once, by their names, from a small TOML file.

epsilon = 1
by = "dept"
groups = ["sales", "care"]

[statistics.total]
statistic = "sum"
column = "pay"
bounds = [0, 200000]
weight = 2

[statistics.staff]
statistic = "count"
"""

from __future__ import annotations

from typing import Any

import typer

import soundsum as ss
from soundsum.cli.file_access import on_disk, watch
from soundsum.cli.parameters import read_options, take
from soundsum.cli.refusal_text import IN_REQUESTS
from soundsum.cli.views.release_view import choose_form, show
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.signatures import CALLS
from soundsum.requests.request_file import read_request, read_settings, require_few

TAKEN = ("data", "statistics", "epsilon", "table", "engine", "budget", "name")
"""Options of `soundsum.release` that the command has; the others stand in the request."""


def release_several(
    file: str,
    request: str,
    epsilon: str | None,
    table: str | None,
    engine: str | None,
    budget: str | None,
    data: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Release several statistics for one charge, as requested in a TOML file.

    Example: soundsum release pay.parquet request.toml --budget ledger.db

    with request.toml:

        epsilon = 1

        \\[statistics.total]

        statistic = "sum"

        column = "pay"

        bounds = [0, 200000]

        weight = 2  # twice the share of epsilon that staff gets

        \\[statistics.staff]

        statistic = "count"
    """
    form = choose_form(as_json, as_csv)
    settings, statistics = read_request(request)
    given = {"epsilon": epsilon, "table": table, "engine": engine}
    options = {name: value for name, value in given.items() if value is not None}
    for name, value in options.items():
        if name in settings:
            raise RefusedValue(
                name,
                Reason.REPEATED,
                "{name} is given in {request} and as `{option}={value}`",
                "give it once",
                name=name,
                request=request,
                value=quote(value),
            )
    if budget is not None:
        _refuse_sources(settings, request)
    ledger = None if budget is None else ss.Budget(path=budget)
    with on_disk(file) as path:
        try:
            with watch(path) as opened:
                settings = read_settings(settings | options, statistics, path)
                require_few(settings, statistics)  # again, as a range of periods is many groups
                outcome = ss.release(opened, statistics, name=data, budget=ledger, **settings)
        except Refusal as error:
            refusal = error
        else:
            show(outcome, form)
            return
        is_of_the_request = refusal.option in IN_REQUESTS - options.keys()
        raise refusal.within(request) if is_of_the_request and not isinstance(refusal, ss.BudgetExceeded) else refusal


def _refuse_sources(settings: dict[str, Any], request: str) -> None:
    """Refuse a table named in a request: the ledger's owner chooses the table, and may not have written the request."""
    for name in ("table", "engine"):
        if name in settings:
            raise RefusedValue(
                name,
                Reason.CONFLICT,
                "{request} sets {name}, which only the command may with `budget`: the ledger is for one table",
                "leave it out of the request and give `{option}`",
                request=request,
                name=name,
            )


def register(app: typer.Typer) -> None:
    options = CALLS["release"].options
    app.command("release")(take(release_several, read_options([options[name] for name in TAKEN])))
