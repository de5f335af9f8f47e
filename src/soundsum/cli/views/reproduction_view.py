"""A reproduction for the terminal: what differs and the errata in short, or every table; the verdict last."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from soundsum.numbers.formatting import chance, rough, text
from soundsum.paper.reproduce import reproduce
from soundsum.paper.reproduce.reproduction import Agreement, Cell, Experiment, Reproduction, Section, SideBySide
from soundsum.references import place

STYLE = {
    Agreement.MATCHES: "green",
    Agreement.ERRATUM: "yellow",
    Agreement.DIFFERS: "bold red",
    Agreement.CHECKED: "cyan",
}


def watch(console: Console, full: bool, only: list[str] | None) -> Reproduction:
    """The reproduction, with a bar while it runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        return reproduce(
            full, only, lambda name, done, total: bar.update(task, description=name, completed=done, total=total)
        )


def show(console: Console, result: Reproduction, every: bool = False) -> None:
    if every:
        _show_all(console, result)
    else:
        _show_short(console, result)
    if not result.full:
        console.print("\nThe largest attacks ran at a smaller scale; --full runs them as printed.", highlight=False)
    console.print()
    console.print(_headline(result))


def _show_short(console: Console, result: Reproduction) -> None:
    """Print differences in full, and a line or two for each erratum."""
    for section in result.sections:
        if section.errata:
            console.print("[bold]Errata of the paper[/bold], each with what it prints and what holds", highlight=False)
        for e in section.errata:
            console.print(Text.assemble((e.label, STYLE[e.verdict]), f": {e.what}"), highlight=False)
            console.print(Padding(Text(f"prints: {e.printed}\n holds: {e.works}", "dim"), (0, 0, 0, 2)))
        tables = [_cells(differing)] if (differing := tuple(filter(_differs, section.all_cells))) else []
        tables += map(_experiment, filter(_differs, section.experiments))
        tables += [_side_by_side(pairs)] if (pairs := tuple(filter(_differs, section.side_by_side))) else []
        if tables:
            console.print(f"\n[bold red]Differs[/bold red] in: [bold]{section.title}[/bold]", highlight=False)
        for table in tables:
            console.print(table)
    console.print("\n--all prints every table, --only errata:kahan one erratum with its numbers.", highlight=False)


def _differs(one: Cell | Experiment | SideBySide) -> bool:
    return one.verdict is Agreement.DIFFERS


def _show_all(console: Console, result: Reproduction) -> None:
    for section in result.sections:
        title = f"\n[bold]{section.title}[/bold]  [dim]{section.seconds:.1f} s[/dim]"
        console.print(title, highlight=False)
        for table in _tables(section):
            console.print(table)
        if section.plots:
            names = ", ".join(f"{plot.name} ({len(plot.lines)} lines)" for plot in section.plots)
            console.print(f"{names}; --json writes their points", highlight=False)


def _headline(result: Reproduction) -> Text:
    tally = result.tally
    total = tally["matches"] + tally["erratum"] + tally["differs"]
    line = Text()
    line.append("reproduced" if not result.differs else f"{result.differs} DIFFER", STYLE[
        Agreement.DIFFERS if result.differs else Agreement.MATCHES])  # fmt: skip
    line.append(
        f": of {total:,} statements {tally['matches']:,} match, {tally['erratum']:,} are errata of the paper, "
        f"{tally['differs']:,} differ; {tally['checked']:,} more of ours hold; "
        f"{'full' if result.full else 'quick'} run, {result.seconds:,.1f} s"
    )
    return line


def _tables(section: Section) -> list[Table]:
    tables = []
    if section.cells:
        tables.append(_cells(section.cells))
    if section.errata:
        table = _table("verdict", "what", "statement", "computed")
        for e in section.errata:
            table.add_row(_verdict(e.verdict), e.what, Text(f"printed: {e.printed}"), Text(str(e.as_printed)))
            table.add_row("", Text(place(e.reference), "dim"), Text(f"holds: {e.works}"), Text(str(e.corrected)))
            table.add_row("", "", Text(e.command, "dim"), "")
        tables.append(table)
    for experiment in section.experiments:
        tables.append(_experiment(experiment))
        if experiment.cells:
            tables.append(_cells(experiment.cells))
    if section.side_by_side:
        tables.append(_side_by_side(section.side_by_side))
    return tables


def _table(*columns: str, title: str | None = None) -> Table:
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.title, table.title_justify = title, "left"
    for column in table.columns:
        column.overflow = "fold"
    table.columns[0].no_wrap = True
    return table


def _verdict(verdict: Agreement) -> Text:
    return Text(verdict.value, STYLE[verdict])


def _cells(cells: tuple[Cell, ...]) -> Table:
    table = _table("verdict", "what", "printed (dim: expected)", "computed")
    for cell in cells:
        sign = "" if cell.sign == "=" else f"{cell.sign} "
        extra = [f"{name}: {text(value)}" for name, value in cell.also]
        detail = "; ".join(part for part in (place(cell.reference), cell.at, *extra, cell.note) if part)
        what = Text.assemble(cell.what, "\n", (detail, "dim"))
        stated = Text(f"{sign}{text(cell.printed)}", "dim" if cell.ours else "")
        table.add_row(_verdict(cell.verdict), what, stated, Text(text(cell.found)))
    return table


def _experiment(e: Experiment) -> Table:
    """The 2x2 table: rows are the truth, columns the guess."""
    title = (
        f"{e.name}: {e.records:,} records, epsilon {e.epsilon}, {e.runs:,} runs each\n"
        f"{e.mechanism}; sums {text(e.difference)} apart, {text(e.ratio)} x ideal; {e.event}: guess left"
    )
    table = _table("verdict", "truth", "paper: left", "right", "drawn: left", "right", "P(left)", "99.9 %", title=title)
    for name, side in (("left", e.left), ("right", e.right)):
        paper = ("-", "-") if side.printed is None else (f"{side.printed:,}", f"{e.runs - side.printed:,}")
        drawn = f"{side.simulated:,}", f"{e.runs - side.simulated:,}"
        inside = Agreement.MATCHES if side.inside else Agreement.DIFFERS
        first = _verdict(inside) if side.printed is not None else Text("not printed", "dim")
        interval = f"{side.lowest:,} to {side.highest:,}"
        table.add_row(first, name, *paper, *drawn, chance(side.probability), interval)
    return table


def _side_by_side(pairs: tuple[SideBySide, ...]) -> Table:
    table = _table("verdict", "neighbours", "by", "apart", "on left", "on right", "p-value", "told apart")
    table.columns[1].no_wrap = table.columns[6].no_wrap = True
    for pair in pairs:
        for trial, sums in ((pair.naive, pair.sums), (pair.release, pair.ours)):
            naive = trial is pair.naive
            table.add_row(
                _verdict(pair.verdict) if naive else "",
                pair.name if naive else Text(f"{pair.records:,} records", "dim"),
                trial.mechanism,
                text(abs(sums[0] - sums[1]) / pair.ideal),
                f"{trial.left:,}",
                f"{trial.right:,}",
                rough(trial.p_value),
                Text("yes", "red") if trial.distinguished else Text("no", "green"),
            )
    first = pairs[0]
    table.caption = (
        "naive: an ordinary sum and Laplace noise for the ideal. apart: the two sums, in ideals. on left, on right: of "
        f"{first.naive.runs:,} runs those with the guess 'left'; ours by the more telling of two thresholds. "
        "p-value: for 'epsilon-private' with epsilon = "
        f"{first.epsilon}, a guess being at most {first.naive.bound:.3f} times as likely on one side as on the other."
    )
    table.caption_justify = "left"
    return table
