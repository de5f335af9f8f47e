"""No header of x86 or ARM is included outside its guard, and the guards give way to SOUNDSUM_PORTABLE."""

import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parent.parent.parent / "src" / "kernels").glob("*.[ch]pp"))
GUARD = "#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)"
OF_ARM = re.compile(r"#include <(arm_\w+|sys/auxv)\.h>|\bv\w+q_u(8|32)\w*\(|\bgetauxval\b")
ARM_GUARDS = ("#elif defined(__aarch64__)", "#elif defined(SOUNDSUM_ARM_SHA)")
OF_X86 = re.compile(r"#include <\w*intrin\.h>|\b_mm_\w+|\b__m128i\b|__asm__|\basm\b")


def outside_guards(text):
    """Lines that name x86 or ARM where another processor would compile them."""
    found, nesting = [], []
    for line in text.splitlines():
        directive = line.strip()
        if directive.startswith("#if"):
            nesting.append(directive)
        elif directive.startswith(("#else", "#elif")):
            nesting[-1] = directive
        elif directive.startswith("#endif"):
            nesting.pop()
        of_arm = any(one.startswith(ARM_GUARDS) for one in nesting)
        if (OF_X86.search(line) and GUARD not in nesting) or (OF_ARM.search(line) and not of_arm):
            found.append(line)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_processor_is_named_only_behind_its_guard(path):
    assert outside_guards(path.read_text()) == []


def test_what_is_outside_would_be_found():
    assert outside_guards("#include <immintrin.h>") != []
    assert outside_guards(f"{GUARD}\n#include <immintrin.h>\n#else\n_mm_getcsr();\n#endif") == ["_mm_getcsr();"]
    assert outside_guards(f"{GUARD}\n{ARM_GUARDS[0]}\n#include <arm_neon.h>\n#else\nvld1q_u8(p);\n#endif") == [
        "vld1q_u8(p);"
    ]
    assert any(GUARD in path.read_text() for path in SOURCES)
