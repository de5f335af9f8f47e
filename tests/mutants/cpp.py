"""`python -m tests.mutants.cpp [--only exact.cpp ...] [--sample 20]`: the C++ of src/kernels, changed in one place.

Changes are made to the text: comparisons, arithmetic, constants, conditions, and statements left out. Each is compiled
in a copy (in build/mutants/kernels) and the tests of the kernels are run with it. What does not compile is no mutant.
The rest is as in `tests.mutants`: outcomes are kept, and the exit code is 1 where a change is noticed by nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.__main__ import EQUIVALENT, FOLDER
from tests.mutants.coverage import ROOT, digest, load, save
from tests.mutants.run import FAILED, LIVED, TIME

KERNELS = ROOT / "src" / "kernels"
COPY = FOLDER / "kernels"
UNCOMPILED = "uncompiled"

OPERATORS = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "*": ["+"],
    "/": ["*"],
    "%": ["/"],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
    "^": ["&"],
    "+=": ["-="],
    "-=": ["+="],
}
"""Written with a blank on both sides, which templates and references never are."""

NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "true": "false", "false": "true"}

TESTS = {
    "gradients": ["tests/gradients/test_kernels.py"],
    "normal": ["tests/gradients/test_noise.py"],
    "noise": ["tests/privacy/test_many.py"],
    "parse": ["tests/tables/test_cells.py", "tests/tables/test_csv.py"],
    "rows": ["tests/tables/test_cells.py", "tests/tables/test_csv.py", "tests/releases/test_groups.py"],
    **{start: ["tests/engines/test_persons.py"] for start in ("lots", "texts")},
    **{
        start: ["tests/engines/test_persons.py", "tests/releases/test_partials.py"]
        for start in ("persons", "hashing", "shards")
    },
    "sha256": ["tests/kernels/test_lots.py"],
    **{start: ["tests/kernels", "tests/releases/test_groups.py"] for start in ("keys", "masks", "prepare")},
}
"""By what a file's name begins with, or what comes after `module_`; tests/kernels for the others."""

LEFT_OUT = ["tests/kernels/test_interrupts.py", "tests/kernels/test_portable.py"]

_SKIPPED = re.compile(r"^\s*(#|static_assert|template|using |namespace |//|extern )|m\.def\(|nb::")
_CODE = re.compile(r'//.*$|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'')
_TOKEN = re.compile(
    r"(?<= )(?:<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|[-+*/%&|^<>])(?= )"
    r"|(?<![\w.:])(?:std::)?(?:min|max|floor|ceil)(?=\()|\b(?:true|false)\b|(?<![\w.'])\d+(?=(?:[uUlL]+)?(?![\w.']))"
)
_CALL = re.compile(r"^\s+[A-Za-z_][\w:.]*(?:->\w+)?\([^;]*\);$")
_IF = re.compile(r"\b(?:if|while) \(")


@dataclass(frozen=True)
class Mutant:
    """One change of a line. The line and the change and the `nth` of that kind name it."""

    file: str
    row: int
    change: str
    nth: int
    line: str  # with the change made
    text: str  # without

    @property
    def name(self) -> str:
        return f"src/kernels/{self.file} {self.text.strip()}: {self.change}" + (f" #{self.nth}" if self.nth > 1 else "")


def find_mutants(file: str) -> list[Mutant]:
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for row, text in enumerate((KERNELS / file).read_text().splitlines()):
        if _SKIPPED.search(text):
            continue
        for change, line in change_line(text):
            seen[text.strip(), change] += 1
            found.append(Mutant(file, row, change, seen[text.strip(), change], line, text))
    return found


def change_line(text: str) -> Iterator[tuple[str, str]]:
    """Each change of a line by its name, and the line with it.

    >>> [line for _, line in change_line("if (x < 0) f(x);  // a + b")][1:]
    ['if (x >= 0) f(x);  // a + b', 'if (x < 1) f(x);  // a + b', 'if (!(x < 0)) f(x);  // a + b']
    """
    code = _CODE.sub(lambda found: "\x00" * len(found[0]), text)
    for found in _TOKEN.finditer(code):
        word = found[0]
        if word.isdigit():
            others = [str(int(word) + 1)]
        else:
            others = OPERATORS.get(word) or [NAMES[word.removeprefix("std::")]]
            others = [f"std::{other}" for other in others] if word.startswith("std::") else others
        for other in others:
            yield f"{word} at {found.start()} to {other}", text[: found.start()] + other + text[found.end() :]
    for found in _IF.finditer(code):
        end = _closing(code, found.end())
        if end is not None:
            inside = text[found.end() : end]
            if not inside.startswith("const") and ";" not in inside:
                yield f"{found[0]}{inside}) negated", f"{text[: found.end()]}!({inside}){text[end:]}"
    if _CALL.match(code) and not code.strip().startswith(("return", "throw")):
        yield "left out", re.match(r"^\s+", text)[0] + ";"  # type: ignore[index]


def _closing(code: str, start: int) -> int | None:
    """Where the parenthesis that is open at the start ends."""
    depth = 1
    for i in range(start, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if not depth:
            return i
    return None


def tests_of(file: str) -> list[str]:
    stem = Path(file).stem.removeprefix("module_")
    return next((tests for start, tests in TESTS.items() if stem.startswith(start)), ["tests/kernels"])


def folder_of(file: str) -> Path:
    """Where a file's mutants are built: those with code for some processors in full, others once, not for each AVX."""
    return COPY / ("native" if "SOUNDSUM_PORTABLE" in (KERNELS / file).read_text() else "portable")


def configure(folder: Path) -> None:
    """A copy of the sources, built once as it is; later builds compile only what a change concerns."""
    COPY.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "CMakeLists.txt", COPY / "CMakeLists.txt")
    inside = COPY / "src" / "kernels"
    inside.mkdir(parents=True, exist_ok=True)
    for source in KERNELS.iterdir():
        if not (inside / source.name).exists() or (inside / source.name).read_bytes() != source.read_bytes():
            shutil.copy(source, inside / source.name)
    bin = Path(sys.executable).parent
    where = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
    )
    options = {
        "CMAKE_MAKE_PROGRAM": bin / "ninja",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": where.stdout.strip(),
        "CMAKE_BUILD_TYPE": "Release",
        "SOUNDSUM_PORTABLE": "OFF" if folder.name == "native" else "ON",
    }
    given = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(
        [bin / "cmake", "-G", "Ninja", "-S", COPY, "-B", folder, *given], check=True, stdout=subprocess.DEVNULL
    )
    if not build(folder):
        raise SystemExit("the kernels cannot be built as they are: mend that first")


def build(folder: Path) -> bool:
    command = [Path(sys.executable).with_name("cmake"), "--build", folder]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def passes(folder: Path, tests: list[str], seconds: float) -> str:
    """What became of the kernels that are built in a folder."""
    command = [sys.executable, "-m", "tests.with_kernels", str(folder), "-q", "-x", "-p", "no:cacheprovider"]
    command += ["-p", "no:xdist", *(f"--ignore={name}" for name in LEFT_OUT), *tests]

    def limit() -> None:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    try:
        code = child.wait(timeout=60 + 10 * seconds)
    except subprocess.TimeoutExpired:
        code = -signal.SIGXCPU
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return TIME
    return FAILED if code else LIVED


def try_one(mutant: Mutant, seconds: float) -> str:
    path = COPY / "src" / "kernels" / mutant.file
    original = path.read_bytes()
    lines = original.decode().splitlines(keepends=True)
    lines[mutant.row] = mutant.line + "\n"
    path.write_text("".join(lines))
    try:
        folder = folder_of(mutant.file)
        return passes(folder, tests_of(mutant.file), seconds) if build(folder) else UNCOMPILED
    finally:
        path.write_bytes(original)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants.cpp", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="files, such as exact.cpp")
    parser.add_argument("--sample", type=int, help="how many mutants of all these files to try; all if not given")
    given = parser.parse_args()
    files = given.only or sorted(path.name for path in KERNELS.iterdir() if path.suffix in (".cpp", ".hpp"))
    every = [mutant for file in files for mutant in find_mutants(file)]
    chosen = sorted(every, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())[: given.sample]
    arguments = tomllib.loads(EQUIVALENT.read_text())
    for folder in {folder_of(mutant.file) for mutant in chosen}:
        configure(folder)
    kept = FOLDER / "cpp.outcomes.json"
    outcomes, sources = load(kept), {file: digest([KERNELS / file]) for file in files}
    found, seconds = dict[Mutant, str](), dict[tuple[str, ...], float]()
    for mutant in chosen:
        known, tests = outcomes.get(mutant.name, {}), tuple(tests_of(mutant.file))
        if known.get("source") == sources[mutant.file] and (known["outcome"] != LIVED or mutant.name in arguments):
            found[mutant] = known["outcome"]
            continue
        if tests not in seconds:
            seconds[tests] = _time_unchanged(folder_of(mutant.file), list(tests))
        found[mutant] = try_one(mutant, 20 + 3 * seconds[tests])
        outcomes[mutant.name] = {"source": sources[mutant.file], "outcome": found[mutant]}
        save(kept, outcomes)
        print(f"  {found[mutant]}: {mutant.name} (line {mutant.row + 1})", flush=True)
    live = [mutant for mutant in chosen if found[mutant] == LIVED and mutant.name not in arguments]
    argued = sum(found[mutant] == LIVED for mutant in chosen) - len(live)
    counts = Counter(found.values())
    print(
        f"src/kernels: {len(chosen):,} of {len(every):,} changes, {counts[UNCOMPILED]:,} of which do not compile, "
        f"{counts[FAILED]:,} killed by tests, {counts[TIME]:,} by time alone, {argued:,} argued equivalent, "
        f"{len(live):,} live"
    )
    for mutant in live:
        print(f"  lives: {mutant.name} (line {mutant.row + 1})")
    refuted = [mutant.name for mutant in chosen if mutant.name in arguments and found[mutant] != LIVED]
    for name in refuted:
        print(f"  argued about, but noticed: {name}")
    names = {mutant.name for mutant in every}
    about = tuple(f"src/kernels/{file} " for file in files)
    stale = [name for name in arguments if name.startswith(about) and name not in names]
    for name in stale:
        print(f"  argued about, but there is no such change any more: {name}")
    return 1 if live or refuted or stale else 0


def _time_unchanged(folder: Path, tests: list[str]) -> float:
    """Seconds of computing that the tests take with the kernels as they are, which must pass."""
    build(folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if passes(folder, tests, 3600) != LIVED:
        raise SystemExit(f"unchanged kernels do not pass {' '.join(tests)}: mend that first")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
