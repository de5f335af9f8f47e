"""Differentially private sums whose privacy proof covers the arithmetic the computer really does."""

from soundsum._version import __version__
from soundsum.numbers import FloatType, IntType, Rounding
from soundsum.relations import Relation
from soundsum.runs import Runs

__all__ = ["FloatType", "IntType", "Relation", "Rounding", "Runs", "__version__"]
