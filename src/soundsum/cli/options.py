"""Options that several groups of commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Epsilon = Annotated[str | None, typer.Option(help="What this release may cost, such as 1 or 1/3.")]
Rho = Annotated[str | None, typer.Option(help="With --noise gaussian: the cost as zCDP.")]
