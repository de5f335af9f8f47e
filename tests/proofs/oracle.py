"""The definitions the Coq theorems are about, extracted and compiled: one line in, one line out (proofs/oracle.ml)."""

import subprocess
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORACLE = ROOT / "build" / "proofs" / "oracle"


def ask(lines: Iterable[str]) -> list[str]:
    ran = subprocess.run([ORACLE], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def words(*arguments: object) -> str:
    return " ".join(_word(argument) for argument in arguments)


def _word(argument: object) -> str:
    if isinstance(argument, bool):
        return str(int(argument))
    return f"{argument.numerator}/{argument.denominator}" if isinstance(argument, Fraction) else str(argument)
