"""The page's words: the paper's labels as places a reader can find, and powers as they are written by hand."""

from __future__ import annotations

import re

PLACES = {
    "table:lowerbounds": "Table 1, lower bounds",
    "table:upperbounds": "Table 2, upper bounds",
    "sec:prior": "Section on prior work",
    "sec:attacks": "Section on the attacks",
    "sec:concreteattack": "Section on attacks against libraries",
    "sec:ideal-sens-libraries": "Section on libraries and their sensitivities",
    "sec:roadmap": "Section on the roadmap",
    "sec:lowerbounds": "Section on lower bounds",
    "sec:floats2ints": "Section on floats as integers",
    "sec:modularnoise": "Section on modular noise",
    "sec:61floats": "Section on checking parameters, floats",
    "ea:modular-sum": "Example Attack: overflow",
    "ea:saturation": "Example Attack: saturation reordering",
    "ea:32-nonassoc": "Example Attack: reordering, 32-bit floats",
    "ea:64-nonassoc": "Example Attack: reordering, 64-bit floats",
    "ea:ham-round-once": "Example Attack: rounding",
    "ea:32-ham-round-accum": "Example Attack: repeated rounding 1, 32-bit floats",
    "ea:rr2": "Example Attack: repeated rounding 2",
    "al:ibm-overflow": "Attack on IBM diffprivlib: overflow",
    "al:ibm-sized-64": "Attack on IBM diffprivlib: rounding",
    "fig:ibm-ham-round": "Figure: rounding on IBM diffprivlib",
    "fig:google-attack-nonassoc-64": "Figure: reordering on Google DP",
    "fig:opendp-attack-nonassoc-32": "Figure: reordering on SmartNoise",
    "fig:google-dp-ham": "Figure: the mean of Google DP",
    "fig:pinq-code": "Figure: the query to PINQ",
    "thrm:mod-attack": "Theorem on overflow",
    "thrm:sens-ints-sat-unknown": "Theorem on saturation",
    "prop:non-assoc-floats": "Property on the order of additions",
    "prop:rounding-ham-floats": "Property on rounding",
    "prop:rounding-id-floats": "Property on repeated rounding 1",
    "thrm:acc-upper-bounds": "Theorem on the accuracy of sums",
    "thrm:quadratic-round-attack": "Theorem on repeated rounding 2",
    "thrm:overflow-unlikely": "Theorem on the room above n records",
    "thrm:splitsummation": "Theorem on split summation",
    "thrm:modular-arith-known": "Theorem on modular sums of known size",
    "thrm:ideal-trunc-sens": "Theorem on truncation",
    "thm:modularnoise": "Theorem on modular noise",
    "thm:dsymtoid": "Theorem on conversions",
    "thm:accuracy2": "Theorem on accuracy with an offset",
    "cor:trunc-sens": "Corollary on truncation",
    "cor:coupling-known-n": "Corollary on couplings of known size",
    "lemma:metrics-path-prop": "Lemma on paths between datasets",
    "lemma:dhamtodid": "Lemma on Hamming and insert-delete distance",
    "defn:roundto0": "Definition of rounding toward zero",
    "defn:rand-round-to-nearest-int": "Definition of randomised rounding",
}
"""Where in the paper each label of its LaTeX source is."""

KINDS = {
    "thrm": "Theorem",
    "thm": "Theorem",
    "cor": "Corollary",
    "lemma": "Lemma",
    "defn": "Definition",
    "prop": "Property",
}

RAISED = str.maketrans("0123456789+-()abdijkmnw", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵃᵇᵈⁱʲᵏᵐⁿʷ")

POWER = re.compile(r"\^(?:\(([0-9a-z+\- ]+)\)|(-?[0-9]+|-?[a-z]))")


def place(reference: str) -> str:
    """A label as a place in the paper; what is no label as it is.

    >>> place("thrm:acc-upper-bounds"), place("thm:new-one"), place("<b>")
    ('Theorem on the accuracy of sums', 'Theorem (new one)', '<b>')
    """
    kind, colon, name = reference.partition(":")
    if reference in PLACES or not colon or kind not in KINDS:
        return PLACES.get(reference, reference)
    return f"{KINDS[kind]} ({name.replace('-', ' ')})"


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
