"""Places in the paper, in words, for the labels of its LaTeX source."""

from __future__ import annotations

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
    "sec:shift-bounds": "Section on shifting bounds",
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
    "thrm:sens-f2i": "Theorem on the sensitivity of floats as integers",
    "thrm:sens-upper-bounds": "Theorem on upper bounds of the sensitivity",
    "thrm:ord-toward-zero-known": "Theorem on split summation of floats, in order",
    "thrm:checked-arith-known": "Theorem on checked sums",
    "thrm:ord-dist-saturation-sens": "Theorem on saturating sums, in order",
    "thrm:reals-sens": "Theorem on idealized sensitivities",
    "thm:modularnoise": "Theorem on modular noise",
    "thm:dsymtoid": "Theorem on conversions",
    "thm:accuracy2": "Theorem on accuracy with an offset",
    "cor:trunc-sens": "Corollary on truncation",
    "cor:coupling-known-n": "Corollary on couplings of known size",
    "lemma:metrics-path-prop": "Lemma on paths between datasets",
    "lemma:dhamtodid": "Lemma on Hamming and insert-delete distance",
    "rem:resist-kahan-thesis": "Remark on compensated summation",
    "rem:resist-pair": "Remark on pairwise summation",
    "defn:roundto0": "Definition of rounding toward zero",
    "defn:rand-round-to-nearest-int": "Definition of randomised rounding",
}
"""The place in the paper of each label of its LaTeX source."""

KINDS = {
    "thrm": "Theorem",
    "thm": "Theorem",
    "cor": "Corollary",
    "lemma": "Lemma",
    "defn": "Definition",
    "prop": "Property",
    "rem": "Remark",
    "sec": "Section",
}


def place(reference: str) -> str:
    """A label as a place in the paper, with any addition to it; anything else as it is.

    >>> place("thrm:acc-upper-bounds"), place("rem:resist-pair, corrected")
    ('Theorem on the accuracy of sums', 'Remark on pairwise summation, corrected')
    >>> place("thm:new-one"), place("<b>")
    ('Theorem (new one)', '<b>')
    """
    label, comma, added = reference.partition(", ")
    kind, colon, name = label.partition(":")
    if label in PLACES:
        return PLACES[label] + comma + added
    return f"{KINDS[kind]} ({name.replace('-', ' ')}){comma}{added}" if colon and kind in KINDS else reference
