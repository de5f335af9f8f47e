"""No x86 header is included outside its guard, and the guards give way to SOUNDSUM_PORTABLE (`make portable`)."""

import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parent.parent.parent / "src" / "kernels").glob("*.[ch]pp"))
GUARD = "#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)"
OF_X86 = re.compile(r"#include <\w*intrin\.h>|\b_mm_\w+|\b__m128i\b|__asm__|\basm\b")


def outside_guards(text):
    """Lines that name x86 where another processor would compile them."""
    found, nesting = [], []
    for line in text.splitlines():
        directive = line.strip()
        if directive.startswith("#if"):
            nesting.append(directive)
        elif directive.startswith(("#else", "#elif")):
            nesting[-1] = directive
        elif directive.startswith("#endif"):
            nesting.pop()
        if OF_X86.search(line) and GUARD not in nesting:
            found.append(line)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_x86_is_named_only_behind_its_guard(path):
    assert outside_guards(path.read_text()) == []


def test_what_is_outside_would_be_found():
    assert outside_guards("#include <immintrin.h>") != []
    assert outside_guards(f"{GUARD}\n#include <immintrin.h>\n#else\n_mm_getcsr();\n#endif") == ["_mm_getcsr();"]
    assert any(GUARD in path.read_text() for path in SOURCES)
