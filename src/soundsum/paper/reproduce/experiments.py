"""The attacks on libraries (`sec:concreteattack`) as 2x2 tables: the paper's counts against the models' intervals.

The counts are cited from the paper. The sums are computed over the datasets of the attack, the probability of each
guess follows from the model, and a new simulation draws as many runs. Chorus and PINQ have no counts in the paper:
PINQ's run of 2^28 records did not finish there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from soundsum.attacks import Attack, attack
from soundsum.numbers.formatting import text
from soundsum.numbers.types import double, float32, float64
from soundsum.paper.reproduce import libraries
from soundsum.paper.reproduce.counts import OUTSIDE, count, likelihood, log2, printed_edge
from soundsum.paper.reproduce.libraries import PaperLibrary
from soundsum.paper.reproduce.mechanisms import Mechanism
from soundsum.paper.reproduce.reproduction import DIGITS, Cell, EventCount, Experiment
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Setup:
    """Everything of an experiment but its outcome: u is the dataset with the larger sum, as in all of the paper's."""

    name: str
    reference: str
    library: PaperLibrary
    attack: Attack
    u: Runs
    v: Runs
    sums: tuple[Fraction, Fraction]
    mechanism: Mechanism
    threshold: Fraction
    epsilon: Fraction
    runs: int
    strict: bool = False
    printed: tuple[int, int] | None = None
    note: str = ""
    described: str = ""
    """The mechanism in words, where it is not the library's for floats."""

    @property
    def ideal(self) -> Fraction:
        return self.library.sensitivity(self.attack.problem)

    def run(self, *cells: Cell) -> Experiment:
        return Experiment(
            name=self.name,
            reference=self.reference,
            library=self.library.name,
            mechanism=self.described or f"{self.library.adds}; {self.library.noise}",
            attack=self.attack.name,
            records=self.u.size,
            epsilon=self.epsilon,
            runs=self.runs,
            event=f"output {'>' if self.strict else '>='} {text(self.threshold)}",
            threshold=self.threshold,
            sums=self.sums,
            ideal=self.ideal,
            left=self._count(0),
            right=self._count(1),
            cells=cells,
            note=self.note,
            source=self.library.source,
        )

    def _count(self, side: int) -> EventCount:
        total, limit = self.sums[side], double(self.threshold)
        chance = (self.mechanism.above if self.strict else self.mechanism.at_least)(total, self.threshold)
        outputs = self.mechanism.draw(total, self.runs, np.random.default_rng())
        guessed = int(np.count_nonzero(outputs > limit if self.strict else outputs >= limit))
        return count(None if self.printed is None else self.printed[side], guessed, chance, self.runs)


def of_floats(
    name: str, reference: str, library: PaperLibrary, pair: Attack, epsilon: Fraction, runs: int, v: Runs | None = None
) -> Setup:
    """The setup of a library on an attack, its threshold half way between the two sums."""
    u, v = pair.left, pair.right if v is None else v
    sums = [library.total(data, pair.problem) for data in (u, v)]
    if sums[0] < sums[1]:
        u, v, sums = v, u, sums[::-1]
    return Setup(
        name=name,
        reference=reference,
        library=library,
        attack=pair,
        u=u,
        v=v,
        sums=(sums[0], sums[1]),
        mechanism=library.mechanism(pair.problem, u.size, epsilon),
        threshold=Fraction(float64.round_up((sums[0] + sums[1]) / 2)),
        epsilon=epsilon,
        runs=runs,
    )


def chances(setup: Setup, printed_log2: int | None = None, printed: str | None = None) -> Cell:
    """The paper's bound on how likely its table is for a private mechanism, with its constraint put right."""
    assert setup.printed is not None
    a, b = setup.printed
    best = likelihood(setup.epsilon, setup.runs, a, b)
    as_printed = likelihood(setup.epsilon, setup.runs, a, b, printed_edge)
    what, at = "likelihood of the table under epsilon-DP", "constraint corrected to 1 - p_v <= e^eps (1 - p_u)"
    if printed_log2 is not None:
        also = (("log2, constraint as printed", round(log2(as_printed), 1)),)
        return Cell(f"log2 of the {what}", setup.reference, printed_log2, round(log2(best), 1), "<=", at=at, also=also)
    assert printed is not None
    also = (("constraint as printed", round(as_printed, 4)),)
    return Cell(what, setup.reference, Decimal(printed), round(best, 4), "<", at=at, also=also)


def ibm_overflow() -> Experiment:
    pair = attack("overflow", dtype="int32", relation="change_one", upper=2**24)
    lower, upper = int(pair.problem.lower), int(pair.problem.upper)
    sums = [libraries.numpy_int32_sum(side, pair.problem) for side in (pair.left, pair.right)]
    u, v = (pair.left, pair.right) if sums[0] > sums[1] else (pair.right, pair.left)
    setup = Setup(
        name="IBM diffprivlib, 32-bit integers",
        reference="al:ibm-overflow",
        library=libraries.DIFFPRIVLIB,
        described="np.sum with dtype=int32, which wraps; geometric noise that does not, cut off at n L and n U",
        attack=pair,
        u=u,
        v=v,
        sums=(max(sums), min(sums)),
        mechanism=libraries.diffprivlib_integers(lower, upper, u.size, HALF),
        threshold=Fraction(0),
        strict=True,
        epsilon=HALF,
        runs=10_000,
        printed=(10_000, 0),
    )
    private = attack("overflow", dtype="int32", relation="insert_delete", upper=2**24)
    return setup.run(
        Cell(
            "records of the smaller dataset",
            "al:ibm-overflow",
            2**7,
            min(private.left.size, private.right.size),
            at="U = 2^24, insert-delete neighbours, as in the theorem's proof",
            note="the theorem's n is the larger one's, 2^7 + 1, and that of both where the size is public",
        ),
        chances(setup, printed_log2=-12_000),
    )


def smartnoise_reordering() -> Experiment:
    pair = attack("reordering", dtype="float32", relation="symmetric", a=0, d=1, j=0, drop_last=True)
    reference = "fig:opendp-attack-nonassoc-32"
    setup = replace(
        of_floats("SmartNoise, 32-bit floats, reordering", reference, libraries.OPENDP, pair, HALF, 100),
        printed=(100, 0),
    )
    u, v = setup.sums
    least = Fraction(float32.next_up(Fraction(33_554_400)))  # float32 has no value between
    largest = Fraction(float32.round_up(Fraction(16_777_230)))
    all_above = DIGITS.power(setup.mechanism.at_least(u, least), 100)
    all_below = DIGITS.power(1 - setup.mechanism.at_least(v, largest), 100)
    return setup.run(
        Cell("difference of the sums", reference, 2**24, u - v),
        Cell("threshold", reference, 25_165_824, setup.threshold),
        chances(setup, printed_log2=-127),
        Cell(
            "chance that all 100 on u exceed 33,554,400", reference, OUTSIDE / 2, round(all_above, 4), ">=", ours=True
        ),
        Cell(
            "chance that all 100 on v stay below 16,777,230",
            reference,
            OUTSIDE / 2,
            round(all_below, 4),
            ">=",
            ours=True,
        ),
    )


def google_reordering() -> Experiment:
    pair = attack("reordering", dtype="float64", relation="symmetric", a=26, d=26, j=-26, drop_last=True)
    reference = "fig:google-attack-nonassoc-64"
    made = of_floats("Google DP, 64-bit floats, reordering", reference, libraries.GOOGLE, pair, Fraction(1), 10)
    printed = Fraction("134217729.5")
    setup = replace(
        made, threshold=printed, printed=(9, 0), note="counted with the paper's threshold, not the midpoint"
    )
    u, v = setup.sums
    return setup.run(
        Cell("difference of the sums", reference, 3, u - v, corrected=2, erratum="reordering-dropped"),
        Cell(
            "midpoint of the sums",
            reference,
            printed,
            (u + v) / 2,
            corrected=134_217_729,
            erratum="reordering-dropped",
        ),
        chances(setup, printed="0.015"),
    )


def ibm_rounding() -> Experiment:
    pair = attack("rounding", dtype="float64", relation="hamming", j=5, m=-1)
    reference = "fig:ibm-ham-round"
    made = of_floats("IBM diffprivlib, 64-bit floats, rounding", reference, libraries.DIFFPRIVLIB, pair, HALF, 10_000)
    threshold = Fraction(float64.round(33 * pair.problem.lower))
    setup = replace(made, threshold=threshold, strict=True, printed=(9_999, 2))
    return setup.run(
        Cell("records", reference, 33, setup.u.size),
        chances(setup, printed_log2=-100),
    )


def google_mean_rounding() -> Experiment:
    pair = attack("rounding", dtype="float64", relation="hamming", j=7, m=-1)
    reference = "fig:google-dp-ham"
    made = of_floats("Google DP, 64-bit floats, mean", reference, libraries.GOOGLE_MEAN, pair, HALF, 10_000)
    setup = replace(made, threshold=pair.problem.lower, strict=True, printed=(10_000, 0))
    return setup.run(
        Cell("records", reference, 33, setup.u.size, corrected=2**7 + 1, at="j = 7", erratum="google-mean"),
        chances(setup, printed_log2=-12_000),
    )


def repeat(library: PaperLibrary, j: int, reference: str, note: str) -> Experiment:
    """Repeated rounding 2 on doubles, n = 2^j; for a public size a 0 is appended, as the paper did for Chorus."""
    pair = attack("repeated_rounding_2", dtype="float64", relation="insert_delete", j=j, upper=1)
    v = pair.right + Runs("float64", [(0, 1)]) if library.sized else pair.right
    relation = Relation.CHANGE_ONE if library.sized else Relation.INSERT_DELETE
    made = of_floats(
        f"{library.name}, 64-bit floats, repeated rounding 2", reference, library, pair, Fraction(1), 10_000, v
    )
    setup = replace(made, note=note)
    grown = Fraction(2 ** (2 * j), 2 ** (float64.k + 3)) + 1
    return setup.run(
        Cell("difference of the sums", "thrm:quadratic-round-attack", grown, abs(setup.sums[0] - setup.sums[1])),
        Cell("distance of the datasets", reference, 1, int(relation.distance(setup.u, setup.v)), at=str(relation)),
    )


def chorus_rounding() -> Experiment:
    pair = attack("rounding", dtype="float64", relation="change_one", j=5, m=-1)
    return of_floats("Chorus, 64-bit floats, rounding", "sec:attacks", libraries.CHORUS, pair, HALF, 10_000).run()


def experiments() -> list[Experiment]:
    return [
        ibm_overflow(),
        smartnoise_reordering(),
        google_reordering(),
        ibm_rounding(),
        google_mean_rounding(),
        chorus_rounding(),
        repeat(
            libraries.CHORUS, 28, "sec:attacks", "a 0 is appended to the right dataset, so that both have n records"
        ),
        repeat(
            libraries.PINQ,
            28,
            "fig:pinq-code",
            "the paper's run of this size did not finish; its figure has epsilon 100",
        ),
    ]
