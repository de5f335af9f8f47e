"""What the Coq theorems say and rest on, as Coq prints it: `python -m tests.proofs.statements` stores it anew.

The theorems are those the pages name, each in the table under "Machine-checked"; with them go the definitions a reader
needs to know what is said. A change of a statement is then a change of proofs/statements.txt, which somebody reads.
"""

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
PAGES = [*sorted((ROOT / "docs" / "theorems").glob("*.md")), ROOT / "docs" / "lemmas.md", ROOT / "docs" / "attacks.md"]
STATEMENTS, ASSUMPTIONS = PROOFS / "statements.txt", PROOFS / "assumptions.txt"

DEFINITIONS = [
    f"{module}.{name}"
    for module, names in {
        "Relations": "insert_delete hamming unordered symmetric change_one sensitivity steps",
        "Permutations": "inserts orders times coupled permuted_sensitivity",
        "Privacy": "mean",
        "Sums": "magnitude within sum sumZ clamp magnitudeZ in_bounds",
        "Wide": "wide",
        "Checked": "checked value",
        "Modular": "N wrap modular circle",
        "Saturating": "sat saturating_from saturating",
        "Split": "ups downs split negative split_checked",
        "Accuracy": "records_up_to accurate_at accurate_up_to negative split_sum",
        "Trees": "u tree leaves height computed evaluate in_order tree_accuracy",
        "Iterated": "iterated iterated_accuracy",
        "Pairwise": "halves pairwise_tree pairwise pairwise_accuracy",
        "NumpyPairwise": "sequence add_row add_rows join_eight block first_part numpy numpy_tree H_fuel numpy_height "
        "safe_height numpy_pairwise",
        "Kahan": "step kahan kahan_accuracy",
        "TowardZero": "held half_from half ups downs total pw pwn",
        "Shifted": "U' moved",
        "Grid": "low0 high0 nearer low high clampR q grid_sum record_error rounded randomised_error randomised_sum",
        "GridKernel": "base",
        "OurGrid": "ideal g m grid_sensitivity e1 e2 q64",
        "Binary64": "clamp64 clamp64_from_above not_nan anchored64 block64 lane64 iterated_sum kahan_step kahan_sum "
        "toward_zero_sum pairwise_sum numpy_sum",
        "Overflow": "plus minus plus_down Omega record",
        "Statistics": "centred square count person l1 l2 share entry apart histogram_apart part part_sum",
        "Gradients": "squares shorten clip factor length2 clipped_sum difference",
        "Distances": "places counted d_Sym subsequence",
        "Attacks": "filled lower upper all_lower one_upper top_record f phases U2 x2 L2 in_turn pairs L U n",
        "Promises": "promised",
    }.items()
    for name in names.split()
]

HEADER = """From Coq Require Import List Permutation ZArith QArith Qreals Reals.
From Flocq Require Import Core IEEE754.Binary IEEE754.Bits.
{requires}
Open Scope R_scope.
Set Printing Width 110.
"""


def theorems(page: Path) -> list[str]:
    """The names in the table of a page, in order."""
    found = re.search(r"^#+ Machine-checked$(.*?)(?=^#|\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|.*\|$", found[1], re.MULTILINE) if found else []
    return [name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row)]


def named() -> dict[str, list[str]]:
    return {page.stem: names for page in PAGES if (names := theorems(page))}


def coq(commands: list[str], names: list[str], *, first: str = "") -> list[str]:
    """What Coq prints for each command."""
    modules = sorted({name.split(".")[0] for name in names})
    text = HEADER.format(requires="".join(f"From Soundsum Require {module}.\n" for module in modules)) + first
    text += "".join(f'Redirect "{i}" {command}\n' for i, command in enumerate(commands))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Asked.v").write_text(text)
        asked = ["coqc", "-w", "none", "-Q", PROOFS, "Soundsum", "Asked.v"]
        ran = subprocess.run(asked, capture_output=True, text=True, cwd=folder)
        assert ran.returncode == 0, ran.stderr
        return [(Path(folder) / f"{i}.out").read_text().strip() for i in range(len(commands))]


def statements() -> str:
    names = every_theorem()
    commands = [f"Print {name}." for name in DEFINITIONS] + [f"Check {name}." for name in names]
    return "\n\n".join(coq(commands, DEFINITIONS + names)) + "\n"


def axioms(groups: list[list[str]]) -> list[str]:
    """The axioms that the theorems of each group rest on together."""
    tuples = [f"Definition group_{i} := (@{', @'.join(names)}).\n" for i, names in enumerate(groups)]
    every = [name for names in groups for name in names]
    answers = coq([f"Print Assumptions group_{i}." for i in range(len(groups))], every, first="".join(tuples))
    lists = [re.findall(r"^(\w+\.[\w.]+) ?:", re.sub(r"\n +", " ", answer), re.MULTILINE) for answer in answers]
    for answer, found in zip(answers, lists, strict=True):
        assert found or "Closed under the global context" in answer, answer
    return [", ".join(sorted(found)) or "nothing" for found in lists]


def every_theorem() -> list[str]:
    return list(dict.fromkeys(name for names in named().values() for name in names))


if __name__ == "__main__":
    STATEMENTS.write_text(statements())
    told = zip(every_theorem(), axioms([[name] for name in every_theorem()]), strict=True)
    ASSUMPTIONS.write_text("".join(f"{name}: {found}\n" for name, found in told))
