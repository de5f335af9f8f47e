"""Printed statements that errata correct: the paper's words, with their line in its LaTeX source."""

from __future__ import annotations

from typing import NamedTuple


class Quote(NamedTuple):
    line: int
    words: str


PRINTED: dict[str, Quote] = {
    # Sums of floats
    "kahan": Quote(3190, r"(2t +O(nt^2)) \sum_{i=1}^n |v_i|"),
    "sign": Quote(2319, r"L=2^{-23}\cdot -(\frac{1}{2} + 2^{-52})"),
    "rounding-condition": Quote(683, r"$\geq (n-1) \cdot (U-L)$ & $U \geq 2^k \cdot (U-L)$"),
    "rounding-two": Quote(511, r"let $n-1$ be a power of 2 between 2 and $2^{(k+1)/2}$"),
    "rounding-upper": Quote(2179, r"$U = (1+2^{-49} + 2^{-53})/2$"),
    "reordering-ideal": Quote(2109, r"\max\{|L|,U\} = 2$"),
    "reordering-dropped": Quote(2483, r"$x\geq 134{,}217{,}729.5$"),
    "overflow-check": Quote(
        2662, r"floating-point multiplication with banker's rounding and then going to the next float"
    ),
    "toward-zero": Quote(1719, r"the floating-point value $z$ such that $|z|<|x|$"),
    "toward-zero-ratio": Quote(955, "within a small constant factor of the idealized sensitivity in all cases"),
    "truncated-bound": Quote(3261, r"&\leq \Big( 2 + \dfrac{n_{\max}^2}{2^k} \Big)\cdot \max\{|L|, U\}."),
    "roadmap": Quote(1056, r"at most $1.5 \cdot U$ for datasets of size smaller than 67 million"),
    # Floats as integers
    "randomised-rounding": Quote(3744, "maps $x$ to $y$ with probability $x-y$, and maps $x$ to $z$ otherwise"),
    "accuracy": Quote(3820, r"\leq \dfrac{D}{n^k} + \dfrac{Mn}{2^{k+1}}"),
    "accuracy-randomised": Quote(3829, r"O \Big( \dfrac{D \sqrt{n} + Mn}{2^{k+1}} \Big)"),
    "shift-exact": Quote(3764, "We see that $u_i-M$ is exactly representable as a floating-point number."),
    "overflow-room": Quote(3805, "following from the fact that $2^{m-1} - Kn > Kn$"),
    "grid-d": Quote(3856, r"$D = (U-M)\cdot n_{\max} / (2^m)$"),
    # Integers
    "modular": Quote(497, "we always get an implemented sensitivity of $2^k-1$, provided that $U>L$"),
    "overflow-size": Quote(497, r"datasets $u$ and $u'$ of size at most $n=\lceil 2^k/U\rceil$"),
    "modular-condition": Quote(666, r"Bounded DP & $\max(T)-\min(T)$ & $nU > \max(T)$"),
    "saturation": Quote(674, r"$nU > \max(T)$ \\ & & & \raisebox{0.15cm}{$U>0$ and $L<0$}"),
    "saturation-text": Quote(615, r"if $n\cdot \min\{U,-L\} \geq 2^{k+1}$"),
    "python-overflow": Quote(2845, "overflow in both Python and C++ occurs in the modular fashion"),
    "associative": Quote(2888, "Note that saturation addition is associative."),
    "least": Quote(2777, "disallowing $L=-2^k$"),
    "google-mean": Quote(2569, r"with $\len(u) = \len(v) = 33$"),
    # Elsewhere
    "likelihood": Quote(2505, r"$(1-p_v)\leq e^\varepsilon \cdot p_u$"),
    "pinq": Quote(750, "(tup.Item2 % 2 == 1) ? pos_val : neg_val)"),
    # Gaps in proofs
    "group-privacy": Quote(
        1323, r"The dataset metrics $\dsym, \dco, \dham$, and $\did$ all satisfy the path property."
    ),
    "conversions": Quote(
        1361, r"For every function $f: \mathcal{D}^n \rightarrow \mathbb{R}$, $\Delta_\mathit{CO} f \leq 2"
    ),
    "coupling": Quote(3078, r"By Theorem \ref{lemma:dhamtodid}, then, $\dham(\Pi(u), \Pi(u')) \leq 1$"),
    "truncated-neighbours": Quote(3245, r"the standard bounded sum over all pairs of datasets $u\nham u'$"),
}
"""By the erratum's label."""
