"""The commands that show what goes wrong: the families of attacks, one in words and numbers, and one carried out."""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from soundsum import Attack, Relation, attack
from soundsum.attacks import FAMILIES
from soundsum.attacks.attack import MOST_WRITTEN_OUT
from soundsum.attacks.delivery import DELIVERIES, Delivery
from soundsum.attacks.ordinary import our_sum
from soundsum.cli.parameters import AsJson
from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import is_special
from soundsum.refusals import Reason, RefusedValue

attack_app = typer.Typer(no_args_is_help=True, help="Build neighbouring datasets that an ordinary sum tells apart.")

LONG = MOST_WRITTEN_OUT
"""Sums of more records than this take noticeable time, so a spinner turns meanwhile."""


@attack_app.command("list")
def list_attacks(as_json: AsJson = False) -> None:
    """List every family of attacks, with its defaults."""
    defaults = {name: attack(name) for name in FAMILIES}
    if as_json:
        typer.echo(json.dumps([_describe_family(name, made) for name, made in defaults.items()], indent=2))
        return
    console = Console()
    console.print(
        f"{'attack':<23}{'example':<9}{'records':>13}  {'moves the sum by':>24}", style="bold", highlight=False
    )
    for name, made in defaults.items():
        family = FAMILIES[name]
        moved = "not a number" if is_special(made.ratio) else f"{formatting.times(made.ratio)} the ideal"
        example = f"{made.problem.dtype.name:<9}{made.records:>13,}  {moved.removeprefix('about '):>24}"
        console.print(f"[bold]{name:<23}[/bold]{example}", highlight=False, soft_wrap=True)
        console.print(Padding(f"[dim]{family.goes_wrong}; {family.types}[/dim]", (0, 0, 0, 2)), highlight=False)
    console.print("\nThe ideal is how far one record may move a sum in theory.")
    console.print("soundsum attack show NAME explains an attack, soundsum attack deliver top_salary carries one out.")


@attack_app.command("show")
def show_attack(
    name: Annotated[str, typer.Argument(help=f"{', '.join(FAMILIES)}.")],
    dtype: Annotated[str | None, typer.Option(help="The records' type: bfloat16, float(4,4), uint8, ...")] = None,
    relation: Annotated[str | None, typer.Option(help=f"When datasets are neighbours: {', '.join(Relation)}.")] = None,
    bounds: Annotated[
        tuple[str, str] | None, typer.Option(help="The bounds that records are clamped to.", metavar="L U")
    ] = None,
    ratio: Annotated[
        str | None, typer.Option(help="Choose the smallest attack that moves the sum by this many ideal sensitivities.")
    ] = None,
    max_records: Annotated[
        int | None, typer.Option(help="Choose the strongest attack with at most this many records.")
    ] = None,
    j: Annotated[int | None, typer.Option("-j", "--j", help="The theorem's j: about 2^j records in most.")] = None,
    m: Annotated[int | None, typer.Option("-m", "--m", help="Records are near 2^m.")] = None,
    a: Annotated[int | None, typer.Option("-a", "--a", help="reordering: 2^(k+1-a) small records.")] = None,
    d: Annotated[int | None, typer.Option("-d", "--d", help="reordering: U = 2^d L.")] = None,
    n: Annotated[int | None, typer.Option("-n", "--n", help="path: the number of records.")] = None,
    lower: Annotated[int | None, typer.Option(help="saturation_reordering: L.")] = None,
    upper: Annotated[str | None, typer.Option(help="U, where it is a parameter.")] = None,
    place: Annotated[int | None, typer.Option(help="tree_rounding: the record that changes.")] = None,
    form: Annotated[str | None, typer.Option(help="special_values: nan, inf or overflow.")] = None,
    drop_last: Annotated[
        bool | None, typer.Option(help="reordering: drop the last record, so that the distance is 1, not 0.")
    ] = None,
    others: Annotated[
        list[str] | None, typer.Option("--with", help="Any other parameter of the family.", metavar="NAME=VALUE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show one attack: its datasets, and how far they move the ideal sum, ordinary sums and ours.

    Examples:

        soundsum attack show rounding --dtype bfloat16

        soundsum attack show repeated_rounding_2 --dtype float32 --ratio 100

        soundsum attack show overflow --dtype int32 --max-records 1000
    """
    given: dict[str, Any] = {"j": j, "m": m, "a": a, "d": d, "n": n, "lower": lower, "upper": _number(upper, "upper")}
    given |= {"place": place, "form": form, "drop_last": drop_last}
    parameters = {key: value for key, value in given.items() if value is not None}
    for one in others or ():
        parameter, is_pair, value = one.partition("=")
        if not is_pair:
            raise RefusedValue(
                "others",
                Reason.MALFORMED,
                "`others={given}`:",
                "give a parameter and its value, such as `others='j=5'`",
                given=quote(one),
            )
        parameters[parameter] = _number(value, "others")
    console = Console()
    made = attack(name, dtype, relation=relation, bounds=bounds, ratio=ratio, max_records=max_records, **parameters)
    measured = FAMILIES[name].measured
    if made.records > LONG and console.is_terminal and not as_json:
        with console.status(f"adding {made.records:,} records, twice..."):
            seen = measured(made)
    else:
        seen = measured(made)
    if as_json:
        moves = {how: None if moved is None else str(moved) for how, moved in seen.items()}
        typer.echo(json.dumps(made.to_json() | {"measured": moves}, indent=2))
        return
    console.print(made.explain(), highlight=False, markup=False, soft_wrap=True)
    each = ", each at its own step" if name == "path" else ""
    console.print(f"\n  really added, left and right move{each}")
    for how, moved in seen.items():
        how = f"{how} (ours)" if how == our_sum(made.problem) else how
        console.print(f"    {how:<14}{_describe_move(made, moved)}", highlight=False, soft_wrap=True)


@attack_app.command("deliver")
def deliver(
    name: Annotated[str, typer.Argument(help=f"{', '.join(DELIVERIES)}.")],
    targets: Annotated[int | None, typer.Option(help="The number of secrets to go for.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The epsilon of each query.")] = None,
    as_json: AsJson = False,
) -> None:
    """Carry out an attack as an analyst would, on an ordinary sum and on ours, and count the secrets that each reveals.

    Examples:

        soundsum attack deliver microquery

        soundsum attack deliver top_salary --targets 20

        soundsum attack deliver had_covid --epsilon 1/100
    """
    if name not in DELIVERIES:
        raise RefusedValue(
            "name",
            Reason.UNKNOWN,
            "`name={given}` is not a delivery",
            "use one of {known}",
            given=quote(name),
            known=", ".join(DELIVERIES),
        )
    console = Console()
    options: dict[str, Any] = {} if targets is None else {"targets": targets}
    if epsilon is not None:
        if "epsilon" not in inspect.signature(DELIVERIES[name]).parameters:
            raise RefusedValue(
                "epsilon",
                Reason.CONFLICT,
                "`epsilon={given}`: {name} has Gaussian noise and promises no epsilon",
                "leave `epsilon` out",
                given=quote(epsilon),
                name=name,
            )
        options["epsilon"] = epsilon
    if console.is_terminal and not as_json:
        with console.status("asking..."):
            done = DELIVERIES[name](**options)
    else:
        done = DELIVERIES[name](**options)
    if as_json:
        typer.echo(json.dumps(done.to_json(), indent=2))
        return
    tell(console, done)


def _describe_move(made: Attack, moved: Fraction | float | None) -> str:
    if moved is None:
        return "[dim]too many records to add one by one; another --dtype or --max-records has fewer[/dim]"
    if is_special(moved):
        return f"[red]{'to NaN' if moved != moved else 'to infinity'}[/red]"
    ratio = Fraction(moved) / made.ideal
    colour = "red" if ratio > 1 or (made.distance == 0 and ratio) else "green"
    return f"[{colour}]by {formatting.binary(moved)}[/{colour}], {formatting.times(ratio)} the ideal"


def _number(text: str | None, option: str) -> int | Fraction | None:
    if text is None:
        return None
    value = None
    with suppress(ValueError, ZeroDivisionError):
        value = Fraction(text)
    if value is None:
        raise RefusedValue(
            option,
            Reason.NOT_A_NUMBER,
            "`{option}={given}` is not a number",
            "give one such as 1024 or 1/2",
            given=quote(text),
        )
    return int(value) if value.denominator == 1 else value


def _describe_family(name: str, made: Attack) -> dict[str, Any]:
    family = FAMILIES[name]
    return {
        "name": name,
        "goes_wrong": family.goes_wrong,
        "types": family.types,
        "relations": [str(relation) for relation in family.relations],
        "parameters": dict(family.parameters),
        "default": {"dtype": made.problem.dtype.name, "records": made.records, "ratio": str(made.ratio)},
    }


def register(app: typer.Typer) -> None:
    app.add_typer(attack_app, name="attack")


def tell(console: Console, done: Delivery) -> None:
    console.print(done.story, highlight=False)
    console.print(f"\n[dim]{done.query}[/dim]\n", highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("promised", f"{done.promised}")
    allowed, chance = _percent(done.allowed), _percent(float(done.chance))
    table.add_row("", f"an attacker may then be right {allowed} of the time ({chance} by guessing)")
    for name, accuracy, colour in (("an ordinary sum", done.accuracy, "red"), ("soundsum", done.our_accuracy, "green")):
        count = f"[{colour}]gave away {int(accuracy * done.targets)} of {done.targets} secrets[/{colour}]"
        likely = done.probability(accuracy)
        unlikely = (
            ""
            if likely > 0.01
            else f" (if the promise were kept, the probability of that is {formatting.rough(likely)})"
        )
        table.add_row(name, count + unlikely)
    console.print(table, highlight=False)


def _percent(share: float) -> str:
    return f"{formatting.rough(100 * share)}%"
