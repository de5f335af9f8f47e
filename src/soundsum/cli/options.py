"""Options that several groups of commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Epsilon = Annotated[str | None, typer.Option(help="What this release may cost, such as 1 or 1/3.")]
Rho = Annotated[str | None, typer.Option(help="With --noise gaussian: the cost as zCDP.")]
File = Annotated[
    str, typer.Argument(help="Parquet, CSV or Arrow IPC, globs too; - reads CSV from stdin; or postgresql://...")
]
Ledger = Annotated[str | None, typer.Option(help="Charge this ledger; soundsum budget create makes one.")]
Data = Annotated[str | None, typer.Option(help="What the data is called, if the ledger is for data with a name.")]
