"""An attack that was carried out, for the terminal: the story, the query, and how many secrets each sum gave away."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from soundsum.attacks.delivery import Delivery
from soundsum.numbers import formatting


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
