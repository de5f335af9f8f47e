"""Options that several groups of commands share."""

from typing import Annotated

import typer

from soundsum.numbers.rationals import decimal, is_special

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
AsCsv = Annotated[
    bool, typer.Option("--csv", help="Print CSV instead of a table: the groups, the value, and low and high.")
]


def parse_amount(text: str) -> str:
    """A privacy parameter as it was written, once it is known to be one."""
    try:
        is_number = not is_special(decimal(text))
    except TypeError:
        is_number = False
    if not is_number:
        raise typer.BadParameter(f"{text} is not a finite number; give one such as 1, 0.5 or 1/3")
    return text


Epsilon = Annotated[
    str | None, typer.Option(help="What this release may cost, such as 1 or 1/3.", parser=parse_amount, metavar="E")
]
Rho = Annotated[str | None, typer.Option(help="With --noise gaussian: the cost as zCDP.", parser=parse_amount)]
File = Annotated[
    str,
    typer.Argument(
        help="Parquet, CSV or Arrow IPC, globs too; - reads CSV from stdin; or postgresql://...", metavar="FILE"
    ),
]
Table = Annotated[str | None, typer.Option(help="With a database: which table, such as visits or clinic.visits.")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="What adds up Parquet files: memory, duckdb, polars or spark. PostgreSQL adds up its own tables.",
        metavar="NAME",
    ),
]
Ledger = Annotated[str | None, typer.Option(help="Charge this ledger; soundsum budget create makes one.")]
Data = Annotated[str | None, typer.Option(help="What the data is called, if the ledger is for data with a name.")]
