"""The rules that findings are named after: the cause of each and its fix, in words for a maintainer."""

from __future__ import annotations

from dataclasses import dataclass

from soundsum.attacks import Attack
from soundsum.auditor.target import Target


@dataclass(frozen=True)
class Rule:
    """A way to go wrong, by the name of its family of attacks."""

    name: str
    title: str
    cause: str
    fix: str
    methods: tuple[str, ...] = ()  # our methods that keep their claim

    @property
    def group(self) -> str:
        """The name of the cause that several rules share: on one target they are one finding."""
        if self.name in _PLAIN:
            return "plain"
        return "rounding" if self.name in _ROUNDING else self.name


_EXACT = (
    "Round each record to a fixed grid and add the integers exactly; then any order gives the same sum, and one record "
    "moves it by no more than its own value"
)

_CLAIM = (
    "Compare the claim, the clamp, the noise and the rows that are counted with the documented relation: one record "
    "may move the sum by no more than the sensitivity that the noise is made for"
)

_PLAIN = {
    "few_records": ("The sum or the noise is wrong for few records", "No, one or two records already tell"),
    "equal_records": ("One record among equal ones shows", "One record differs among equal ones, and the output tells"),
    "one_record": ("One ordinary record shows", "One record differs among others, and the output tells"),
    "another_order": (
        "The order of ordinary records shows",
        "The same records in another order give another sum, so rows count by their place",
    ),
    "out_of_bounds": ("A record beyond the bounds is not clamped", "A record beyond the bounds moves the sum too far"),
    "coded_value": (
        "One value has a meaning of its own",
        "Records that equal a value which may stand for something else are treated apart, and move the sum too far",
    ),
    "missing_records": (
        "What replaces missing records depends on the others",
        "Nearly all records are missing, and the one that is not decides what each of them counts",
    ),
    "long_walk": (
        "The sum jumps where there are many records",
        "One record at a time from one bound to the other, the sum of many records moves too far at some step",
    ),
    "long_order": (
        "The order of many records shows",
        "Small records are lost beside the sum of many large ones, so rows count by their place",
    ),
    "walk": ("The sum jumps", "One record at a time from one bound to the other, the sum moves too far at some step"),
}

_ROUNDING = (
    *("reordering", "rounding", "tree_rounding", "repeated_rounding_1", "repeated_rounding_2"),
    *("result_rounding", "path"),
)

RULES = {
    rule.name: rule
    for rule in (
        *(Rule(name, title, f"{cause}.", _CLAIM, ("grid", "wide")) for name, (title, cause) in _PLAIN.items()),
        Rule(
            "overflow",
            "Integers wrap around",
            "The sum passes the end of its integer type, and one more record takes it to the other end.",
            "Add in a type wide enough for n times the bound, or add noise modulo the same power of two",
            ("wide", "modular"),
        ),
        Rule(
            "saturation_reordering",
            "Saturation depends on the order",
            "Values of both signs are added with saturation, so the order decides how much is cut off.",
            "Add negative and positive records separately, or in a wider type",
            ("wide", "split"),
        ),
        Rule(
            "reordering",
            "The sum depends on the order",
            "Float additions round, and another order of the same records rounds differently.",
            _EXACT,
            ("grid",),
        ),
        Rule(
            "rounding",
            "One rounding moves the sum by an ulp of the sum",
            "The bounds are closer together than two floats near the sum, so one rounding exceeds the sensitivity.",
            _EXACT,
            ("grid",),
        ),
        Rule(
            "tree_rounding",
            "Rounding grows at every level of a tree",
            "Pairwise sums round the changed record's part up at every level.",
            _EXACT,
            ("grid",),
        ),
        Rule(
            "repeated_rounding_1",
            "Every addition rounds the same way",
            "After one changed record every further addition is rounded up instead of down.",
            _EXACT,
            ("grid",),
        ),
        Rule(
            "repeated_rounding_2",
            "Every addition rounds the same way",
            "One record decides whether all the following ones are added or lost.",
            _EXACT,
            ("grid",),
        ),
        Rule(
            "result_rounding",
            "The result is rounded by more than a record",
            "The sum is so large that the floats around it lie further apart than one record can move it.",
            "Release an integer count of steps, or a float wide enough for n times the bound: add integers on a grid",
            ("grid",),
        ),
        Rule(
            "path",
            "A float result has to jump",
            "From all records at the lower bound to all at the upper, one record at a time, a result that is a float "
            "moves in steps of its own spacing, and some step is larger than the claim.",
            "Release an integer count of steps, not the nearest float of the sum: add integers on a grid",
            ("grid",),
        ),
        Rule(
            "special_values_nan",
            "NaN reaches the sum",
            "One record that is NaN passes a clamp that compares, and the sum before noise is NaN.",
            "Replace NaN by a value within the bounds before clamping",
            ("grid",),
        ),
        Rule(
            "special_values_inf",
            "Infinity reaches the sum",
            "One infinite record is not clamped, and the sum before noise is infinite or NaN.",
            "Clamp every record, infinities too",
            ("grid",),
        ),
        Rule(
            "special_values_overflow",
            "The sum overflows to infinity",
            "Records within the bounds add up to more than the largest float, and the sum before noise is infinite.",
            "Add in a type that cannot overflow, or refuse bounds whose sums can",
            ("grid",),
        ),
        Rule(
            "exception",
            "An error depends on one record",
            "One of two neighbouring datasets raises an error and the other does not, so the error tells them apart.",
            "Decide errors from public parameters alone; clamp or replace values instead of refusing them",
            ("grid", "wide"),
        ),
        Rule(
            "low_bits",
            "The low bits of the noise tell",
            "The noise is a float, so the sum decides which multiples of a small power of two an output can be.",
            "Draw noise as an integer number of steps of the sums' own grid, and add exactly",
            ("grid", "wide"),
        ),
        Rule(
            "search",
            "Neighbours found by search",
            "A search over small structured datasets found neighbours whose sums are further apart than claimed.",
            _EXACT,
            ("grid",),
        ),
    )
}
"""Every rule, by name."""


def rule_of(made: Attack) -> str:
    """The rule of an attack: its family, with the form of special values."""
    return f"{made.name}_{made.parameters['form']}" if made.name == "special_values" else made.name


def rule_for(name: str) -> Rule:
    """The rule of a family; one that was registered from outside speaks for itself."""
    return RULES.get(name) or Rule(name, name.replace("_", " "), f"The attack {name} moves the sum.", _EXACT, ("grid",))


def hint(name: str, target: Target) -> str:
    """The fix, with the method that provides it here."""
    rule = rule_for(name)
    fits = [m for m in rule.methods if (m == "grid") != target.dtype.is_integer]
    statistic = target.statistic if target.statistic in ("sum", "mean", "variance") else "sum"
    ours = f"; ss.{statistic}(data, lower, upper, epsilon) does, by {fits[0]}" if fits else ""
    return f"{rule.fix}{ours}."
