"""The theorem gradients stand on, as every method has one."""

from __future__ import annotations

from soundsum.methods.method import Theorem

__all__ = ["THEOREM", "Theorem"]

THEOREM = Theorem(
    "gradients",
    "docs/theorems/gradients.md",
    "adding or removing an example moves the sum of clipped gradients by at most K steps in L2; with round(sigma G), "
    "sigma >= z K, added to it, it is a post-processing of the Gaussian mechanism with noise multiplier z",
)
