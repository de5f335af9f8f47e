"""Results of a reproduction: printed beside computed values, 2x2 tables, and plot data.

Verdicts are never stored; they follow from the numbers. A cell *matches* if the printed statement holds for the
computed value. It is an *erratum* if only the corrected statement holds. Otherwise it *differs*. A statement that the
paper does not print, and that holds here, is *checked*, not a match.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

from soundsum.numbers.formatting import Number, text
from soundsum.numbers.quoting import quote
from soundsum.pages.draw import Plot
from soundsum.refusals import Reason, RefusedValue

DIGITS = Context(prec=50, Emin=-(10**12), Emax=10**12)
"""The decimals in which probabilities are kept: 50 digits, and exponents far beyond a float's."""

Sign: TypeAlias = Literal["=", "<=", "<", ">=", ">"]


class Agreement(enum.StrEnum):
    MATCHES = "matches"
    ERRATUM = "erratum"
    DIFFERS = "differs"
    CHECKED = "checked"


def holds(found: Number, sign: Sign, stated: Number) -> bool:
    """Returns whether `found sign stated`, exactly.

    >>> holds(Fraction(33), "=", 33), holds(Fraction(1, 2), "<", Fraction(1, 2))
    (True, False)
    """
    if isinstance(found, str | bool) or isinstance(stated, str | bool):
        if sign != "=":
            raise RefusedValue(
                "sign",
                Reason.UNSUPPORTED,
                "`sign={given}`: statements are equal or not, and have no order",
                "use `sign='='`",
                given=quote(sign),
            )
        return type(found) is type(stated) and found == stated
    one, other = Fraction(found), Fraction(stated)
    return {"=": one == other, "<=": one <= other, "<": one < other, ">=": one >= other, ">": one > other}[sign]


@dataclass(frozen=True)
class Cell:
    """One printed statement (`found sign printed`) and the computed value.

    `corrected` is a value that works if the printed one does not; `at` gives the parameters, `note` the reason. With
    `ours` the statement is not the paper's, and `printed` is our expectation. `erratum` is the label of the erratum
    that a cell shows.
    """

    what: str
    reference: str
    printed: Number
    found: Number
    sign: Sign = "="
    corrected: Number | None = None
    at: str = ""
    note: str = ""
    also: tuple[tuple[str, Number], ...] = ()
    """Further figures, each with its name: measured sensitivities, sizes, results of verification."""
    ours: bool = False
    erratum: str = ""

    shown: ClassVar[tuple[str, ...]] = ("verdict",)

    @property
    def verdict(self) -> Agreement:
        if holds(self.found, self.sign, self.printed):
            return Agreement.CHECKED if self.ours else Agreement.MATCHES
        if self.corrected is not None and holds(self.found, self.sign, self.corrected):
            return Agreement.ERRATUM
        return Agreement.DIFFERS


@dataclass(frozen=True)
class Check:
    """A statement about a number that was computed: `found sign stated`."""

    found: Number
    sign: Sign
    stated: Number

    shown: ClassVar[tuple[str, ...]] = ("holds",)

    @property
    def holds(self) -> bool:
        return holds(self.found, self.sign, self.stated)

    def __str__(self) -> str:
        if self.holds:
            return f"{text(self.found)}" if self.sign == "=" else f"{text(self.found)} {self.sign} {text(self.stated)}"
        return f"{text(self.found)}, not {'' if self.sign == '=' else self.sign + ' '}{text(self.stated)}"


@dataclass(frozen=True)
class Erratum:
    """A statement of the paper that does not hold and one that does, each with the computation that decides it.

    `words` are the paper's own, in this `line` of its LaTeX source; `printed` restates them.
    """

    what: str
    reference: str
    printed: str
    works: str
    as_printed: Check
    corrected: Check
    label: str = ""
    line: int = 0
    words: str = ""

    shown: ClassVar[tuple[str, ...]] = ("command", "verdict")

    @property
    def command(self) -> str:
        """The evidence for this erratum."""
        return f"soundsum reproduce --only errata:{self.label}"

    @property
    def verdict(self) -> Agreement:
        """An erratum if the printed statement fails and the corrected one holds; if the printed one holds, the error
        is ours.
        """
        return Agreement.ERRATUM if self.corrected.holds and not self.as_printed.holds else Agreement.DIFFERS


@dataclass(frozen=True)
class EventCount:
    """The frequency of one event in `runs` runs: in the paper, in a new simulation, and in the model's interval."""

    printed: int | None
    simulated: int
    probability: Decimal
    lowest: int
    highest: int

    shown: ClassVar[tuple[str, ...]] = ("inside",)

    @property
    def inside(self) -> bool:
        """Whether the paper's count lies in the model's interval; the simulated one is fresh each time and need not."""
        return self.printed is None or self.lowest <= self.printed <= self.highest


@dataclass(frozen=True)
class Experiment:
    """A library-mediated attack: the mechanism's output turned into a guess, on both datasets, `runs` times each.

    `left` and `right` count the outputs on which the guess is "left". `cells` hold the paper's other statements.
    """

    name: str
    reference: str
    library: str
    mechanism: str
    attack: str
    records: int
    epsilon: Fraction
    runs: int
    event: str
    threshold: Fraction
    sums: tuple[Fraction, Fraction]
    ideal: Fraction
    left: EventCount
    right: EventCount
    cells: tuple[Cell, ...] = ()
    note: str = ""
    source: str = ""
    """The files and the version that the model was made from."""

    shown: ClassVar[tuple[str, ...]] = ("difference", "ratio", "loss", "verdict")

    @property
    def difference(self) -> Fraction:
        return abs(self.sums[0] - self.sums[1])

    @property
    def ratio(self) -> Fraction:
        return self.difference / self.ideal

    @property
    def loss(self) -> Decimal:
        """The privacy loss of the guess alone: the larger log-ratio of its chances; at most epsilon if private."""
        return privacy_loss(self.left.probability, self.right.probability)

    @property
    def verdict(self) -> Agreement | None:
        """Matches if the paper's counts lie in the model's intervals; None if it has none. Cells have their own."""
        if self.left.printed is None:
            return None
        return Agreement.MATCHES if self.left.inside and self.right.inside else Agreement.DIFFERS


def privacy_loss(p: Decimal, q: Decimal) -> Decimal:
    """The largest |ln| of P(event on left)/P(event on right), over the event and its complement.

    A probability of 0 in 50 digits is left out, so the true loss is at least the result.

    >>> round(privacy_loss(Decimal("0.75"), Decimal("0.25")), 3)
    Decimal('1.099')
    """
    others = DIGITS.subtract(Decimal(1), p), DIGITS.subtract(Decimal(1), q)
    ratios = [DIGITS.divide(*pair) for pair in ((p, q), others) if all(pair)]
    return max((DIGITS.abs(DIGITS.ln(ratio)) for ratio in ratios), default=Decimal(0))


@dataclass(frozen=True)
class MechanismTrial:
    """Our release and a naive mechanism on the same neighbours: how often the same test guesses "left"."""

    mechanism: str
    runs: int
    left: int
    right: int
    bound: Decimal
    """The largest p_left / p_right an epsilon-private mechanism may have: e^epsilon."""
    p_value: Decimal
    """The probability that a mechanism within the bound gives counts so far apart, at most."""
    test: str = ""
    """The event taken to mean "left"."""

    shown: ClassVar[tuple[str, ...]] = ("distinguished",)

    @property
    def distinguished(self) -> bool:
        return self.p_value < Decimal("1e-6")


@dataclass(frozen=True)
class SideBySide:
    name: str
    reference: str
    records: int
    epsilon: Fraction
    sums: tuple[Fraction, Fraction]
    ours: tuple[Fraction, Fraction]
    ideal: Fraction
    naive: MechanismTrial
    release: MechanismTrial

    shown: ClassVar[tuple[str, ...]] = ("verdict",)

    @property
    def verdict(self) -> Agreement:
        """Checked, as the paper has no such table: the naive mechanism is told apart, ours is not."""
        told = self.naive.distinguished and not self.release.distinguished
        return Agreement.CHECKED if told and abs(self.ours[0] - self.ours[1]) <= self.ideal else Agreement.DIFFERS


@dataclass(frozen=True)
class Section:
    """A part of the paper, with its seconds."""

    name: str
    title: str
    cells: tuple[Cell, ...] = ()
    errata: tuple[Erratum, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    side_by_side: tuple[SideBySide, ...] = ()
    plots: tuple[Plot, ...] = ()
    seconds: float = 0.0

    shown: ClassVar[tuple[str, ...]] = ("tally",)

    def verdicts(self) -> Iterator[Agreement]:
        yield from (cell.verdict for cell in self.cells)
        yield from (erratum.verdict for erratum in self.errata)
        for experiment in self.experiments:
            if experiment.verdict is not None:
                yield experiment.verdict
            yield from (cell.verdict for cell in experiment.cells)
        yield from (pair.verdict for pair in self.side_by_side)

    @property
    def all_cells(self) -> tuple[Cell, ...]:
        """Its own, and its experiments'."""
        return (*self.cells, *(cell for experiment in self.experiments for cell in experiment.cells))

    def distinct_errata(self) -> set[str]:
        """The labels of the errata that are shown here, by themselves or in a cell."""
        of_cells = {c.erratum or f"{c.reference}: {c.what}" for c in self.all_cells if c.verdict == Agreement.ERRATUM}
        return of_cells | {e.label for e in self.errata if e.verdict == Agreement.ERRATUM}

    @property
    def tally(self) -> dict[str, int]:
        """The number of cells with each verdict."""
        every = list(self.verdicts())
        return {verdict.value: every.count(verdict) for verdict in Agreement}


@dataclass(frozen=True)
class Reproduction:
    """The whole of it; `differs` must be 0."""

    full: bool
    sections: tuple[Section, ...]
    seconds: float

    shown: ClassVar[tuple[str, ...]] = ("tally",)

    @property
    def tally(self) -> dict[str, int]:
        """The number of cells with each verdict; an erratum that shows in several places counts once."""
        together = {verdict.value: sum(s.tally[verdict.value] for s in self.sections) for verdict in Agreement}
        distinct: set[str] = set().union(*(s.distinct_errata() for s in self.sections))
        return together | {Agreement.ERRATUM.value: len(distinct)}

    @property
    def differs(self) -> int:
        return self.tally[Agreement.DIFFERS.value]

    def to_json(self) -> dict[str, Any]:
        """A plain dict: exact numbers as strings ("33", "1/3"), verdicts and other derived values beside the fields."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)] + list(getattr(value, "shown", ()))
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Fraction | Decimal) or (isinstance(value, int) and abs(value) >= 2**53):
        return f"{value:.12e}" if isinstance(value, Decimal) else str(value)
    return value
