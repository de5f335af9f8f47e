"""The rooms that one call goes through: `python -m benchmarks.walk`, with `--trace` the whole path.

Counts how often calls enter another module, and another package, during one `ss.sum` by group and person with a budget.
Returns and comprehensions do not count, nor do helpers that only compute a number or an array. A call that wanders is
hard to read and to extend.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import soundsum as ss

HELPERS = {
    *("numbers/rationals", "numbers/types", "numbers/formatting", "numbers/quoting"),
    *("tables/arrow_arrays", "tables/identities", "tables/paths", "tables/relations", "randomness", "registry"),
}
ROOT = f"{Path(ss.__file__).parent}/"


def ask(budget: ss.Budget) -> Any:
    rows = 999
    table = pa.table({"pay": [float(i) for i in range(rows)], "dept": ["a", "b", "c"] * 333, "id": list(range(rows))})
    options: dict[str, Any] = {"column": "pay", "by": "dept", "groups": ["a", "b"], "privacy_unit": "id"}
    return ss.sum(table, 0, 1000, epsilon=1, max_rows=3, max_groups=2, budget=budget, **options)


def walk(call: Callable[[], Any]) -> list[str]:
    """List the modules that a call enters, in order."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and not frame.f_code.co_name.startswith("<"):
            module = file.removeprefix(ROOT).removesuffix(".py")
            if module not in HELPERS and entered[-1:] != [module]:
                entered.append(module)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def packages(entered: list[str]) -> list[str]:
    rooms = [module.partition("/")[0] for module in entered]
    return [room for i, room in enumerate(rooms) if i == 0 or rooms[i - 1] != room]


def main() -> None:
    ask(ss.Budget(epsilon=1))  # what is imported late is imported now
    budget = ss.Budget(epsilon=1)
    entered = walk(lambda: ask(budget))
    back = sum(a == c for a, c in zip(entered, entered[2:], strict=False))
    print(f"{len(set(entered))} modules, {len(entered) - 1} switches between them, {back} of them there and back")
    print(f"{len(set(packages(entered)))} packages, {len(packages(entered)) - 1} switches between them")
    if "--trace" in sys.argv:
        print(*entered, sep="\n")


if __name__ == "__main__":
    main()
