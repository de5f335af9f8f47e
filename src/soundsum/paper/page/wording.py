"""Powers on the page, as they are written by hand: 2⁻⁵³ for 2^-53."""

from __future__ import annotations

import re

RAISED = str.maketrans("0123456789+-()abdijkmnw", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵃᵇᵈⁱʲᵏᵐⁿʷ")

POWER = re.compile(r"\^(?:\(([0-9a-z+\- ]+)\)|(-?[0-9]+|-?[a-z]))")


def raise_powers(words: str) -> str:
    """Powers in print.

    >>> raise_powers("2^-53, n^2/2^(k+3), 2^-k, x^y")
    '2⁻⁵³, n²/2ᵏ⁺³, 2⁻ᵏ, x^y'
    """

    def raised(match: re.Match[str]) -> str:
        power = (match[1] or match[2]).replace(" ", "")
        over = power.translate(RAISED)
        return match[0] if any(sign in over for sign in "cefghlopqrstuvxyz") else over

    return POWER.sub(raised, words)


def raise_powers_in(page: str) -> str:
    """A page of HTML with the powers in its text raised; commands, styles and tags stay as they are."""
    pieces = re.split(r"(<style>.*?</style>|<code>.*?</code>|<[^>]*>)", page, flags=re.DOTALL)
    return "".join(piece if i % 2 else raise_powers(piece) for i, piece in enumerate(pieces))
