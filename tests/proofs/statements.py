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
    *("Relations.insert_delete", "Relations.hamming", "Relations.unordered", "Relations.symmetric"),
    *(
        "Relations.change_one",
        "Relations.sensitivity",
        "Relations.steps",
        "Permutations.inserts",
        "Permutations.orders",
    ),
    *("Permutations.times", "Permutations.coupled", "Permutations.permuted_sensitivity", "Privacy.mean"),
    *("Sums.magnitude", "Sums.within", "Sums.sum", "Sums.sumZ", "Sums.clamp", "Sums.magnitudeZ", "Sums.in_bounds"),
    *(
        "Wide.wide",
        "Checked.checked",
        "Checked.value",
        "Modular.N",
        "Modular.wrap",
        "Modular.modular",
        "Modular.circle",
    ),
    *(
        "Saturating.sat",
        "Saturating.saturating_from",
        "Saturating.saturating",
        "Split.ups",
        "Split.downs",
        "Split.split",
    ),
    *("Split.negative", "Split.split_checked", "Accuracy.records_up_to", "Accuracy.accurate_at"),
    *("Accuracy.accurate_up_to", "Accuracy.negative", "Accuracy.split_sum", "Trees.u", "Trees.tree", "Trees.leaves"),
    *("Trees.height", "Trees.computed", "Trees.evaluate", "Trees.in_order", "Trees.tree_accuracy", "Iterated.iterated"),
    *("Iterated.iterated_accuracy", "Pairwise.halves", "Pairwise.pairwise_tree", "Pairwise.pairwise"),
    *("NumpyPairwise.numpy_tree", "NumpyPairwise.H_fuel", "NumpyPairwise.safe_height", "NumpyPairwise.numpy_pairwise"),
    *("Kahan.step", "Kahan.kahan", "Kahan.kahan_accuracy", "TowardZero.held", "TowardZero.half_from"),
    *("TowardZero.half", "TowardZero.ups", "TowardZero.downs", "TowardZero.total", "TowardZero.pw", "TowardZero.pwn"),
    *("Shifted.moved", "Grid.low0", "Grid.high0", "Grid.nearer", "Grid.low", "Grid.high", "Grid.clampR", "Grid.q"),
    *("Grid.grid_sum", "GridKernel.base", "OurGrid.ideal", "OurGrid.g", "OurGrid.m", "OurGrid.q64"),
    *("Binary64.anchored64", "Binary64.block64", "Binary64.lane64", "Promises.promised"),
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


def coq(commands: list[str], names: list[str]) -> list[str]:
    """What Coq answers to each command, which it is told by a line of its own."""
    modules = sorted({name.split(".")[0] for name in names})
    body = "".join(f'Fail Check "answer {i}"%nosuchscope.\n{command}\n' for i, command in enumerate(commands))
    text = HEADER.format(requires="".join(f"From Soundsum Require {module}.\n" for module in modules)) + body
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Asked.v"
        file.write_text(text)
        ran = subprocess.run(["coqc", "-w", "none", "-Q", PROOFS, "Soundsum", file], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answers = re.split(r"^The command has indeed failed with message:\n.*\n", ran.stdout, flags=re.MULTILINE)[1:]
    assert len(answers) == len(commands)
    return [answer.strip() for answer in answers]


def statements() -> str:
    names = [name for names in named().values() for name in names]
    names = list(dict.fromkeys(names))
    commands = [f"Print {name}." for name in DEFINITIONS] + [f"Check {name}." for name in names]
    return "\n\n".join(coq(commands, DEFINITIONS + names)) + "\n"


def assumptions() -> str:
    """The axioms all theorems of a page rest on together, by page."""
    pages = named()
    commands, names = [], []
    for page, found in pages.items():
        commands.append(
            f"Definition of_{page} := ({', '.join('@' + name for name in found)}). Print Assumptions of_{page}."
        )
        names += found
    answers = coq(commands, names)
    lists = [re.findall(r"^([\w.]+) ?:", re.sub(r"\n +", " ", answer), re.MULTILINE) for answer in answers]
    told = [", ".join(sorted(names)) or "nothing" for names in lists]
    for answer, names in zip(answers, lists, strict=True):
        assert names or "Closed under the global context" in answer, answer
    return "".join(f"{page}: {axioms}\n" for page, axioms in zip(pages, told, strict=True))


if __name__ == "__main__":
    STATEMENTS.write_text(statements())
    ASSUMPTIONS.write_text(assumptions())
