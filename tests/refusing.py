"""What tests expect of a refusal: the option and the reason, not the words, which are in tests/refusals.txt.

`python -m tests.refusing` writes that file again; read the difference before you commit it.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from soundsum.refusals import Reason, Refusal

ROOT = Path(__file__).parent.parent
SNAPSHOT = Path(__file__).parent / "refusals.txt"


@contextmanager
def refused(
    option: str | None,
    reason: Reason | str,
    error: type[Exception] = Exception,
    /,
    **facts: str | int | type[Exception],
) -> Iterator[pytest.ExceptionInfo]:
    """Expects a refusal of this option for this reason, with these facts, and with no other error behind it.

    A class given as `kind` is the error's; `kind` is also what many refusals call the fact that a type is.
    """
    if isinstance(facts.get("kind"), type):
        error = facts.pop("kind")
    with pytest.raises(Refusal) as caught:
        yield caught
    refusal = caught.value
    assert (refusal.option, refusal.reason) == (option, Reason(reason)), str(refusal)
    assert isinstance(refusal, error)
    assert refusal.facts.items() >= facts.items()
    assert (refusal.__cause__, refusal.__context__) == (None, None)
    assert "\n" not in str(refusal)


def every_refusal() -> Iterator[str]:
    """Every refusal in the package, from its source: where, option, reason and both sentences."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
        found = {
            _describe(node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and len(node.args) >= 3 and ast.unparse(node.args[1]).startswith("Reason.")
        }
        for line in sorted(found):
            yield f"{module}: {line}"


def _describe(call: ast.Call) -> str:
    option, reason, *sentences = map(_read, call.args)
    return f"{option} {Reason[reason.removeprefix('Reason.')].value}: {' ; '.join(sentences)}"


def _read(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


if __name__ == "__main__":
    SNAPSHOT.write_text("".join(f"{line}\n" for line in every_refusal()))
