"""PipelineDP (OpenMined, Google): sums, means and variances by its engine on the local backend, one record a person.

The sum before noise is what the engine hands to its mechanism, the sensitivity is that mechanism's own. Records are
rows with NumPy's scalars, as they come out of a table: the library adds them in their own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

MOST = 1 << 19
"""More rows than this take minutes in the local backend, which handles them one by one in Python."""

RELATION = (
    'The unit is the privacy id ("privacy_id_extractor", data_extractors.py); sensitivities are those of one added or '
    "removed (max(|min_value|, |max_value|), dp_computations.py:787). Order is not spoken of; read most narrowly, kept."
)

CLAIMS = {
    "sum": "linf = max(abs(min_value), abs(max_value)) (dp_computations.py:787), read from the mechanism",
    "mean": "linf = (max_value - min_value) / 2 (dp_computations.py:812), read from the mechanism of the normalized sum",
    "variance": "abs(middle - min_value) (dp_computations.py:308), read from the call that adds noise to the normalized "
    "sum",
}


def aggregate(data: Any, lower: Any, upper: Any, epsilon: Any, metric: str) -> Any:
    import pipeline_dp as p

    accountant = p.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
    bounds = {"min_value": lower, "max_value": upper, "max_partitions_contributed": 1}
    wanted = getattr(p.Metrics, metric.upper())
    params = p.AggregateParams(
        metrics=[wanted], max_contributions_per_partition=1, noise_kind=p.NoiseKind.LAPLACE, **bounds
    )
    extract = p.DataExtractors(lambda row: row[0], lambda row: 0, lambda row: row[1])
    engine = p.DPEngine(accountant, p.LocalBackend())
    result = engine.aggregate(list(enumerate(data)), params, extract, public_partitions=[0])
    accountant.compute_budgets()
    return getattr(next(iter(result))[1], metric)


def at_mechanism(data: Any, lower: Any, upper: Any, epsilon: Any, metric: str, see: str) -> Any:
    from unittest.mock import patch

    from pipeline_dp import dp_computations

    if len(data) > MOST:
        raise NotImplementedError(f"{len(data):,} rows take too long in the local backend; {MOST:,} are the most")
    seen = []

    def add_noise(mechanism: Any, value: Any) -> Any:
        seen.append(value if see == "value" else mechanism.sensitivity)
        return value

    def laplace(value: Any, eps: Any, l1_sensitivity: Any) -> Any:
        seen.append(value if see == "value" else l1_sensitivity)
        return value

    with (
        patch.object(dp_computations.AdditiveMechanism, "add_noise", add_noise),
        patch.object(dp_computations, "apply_laplace_mechanism", laplace),
    ):
        aggregate(data, lower, upper, epsilon, metric)
    return seen[0 if metric == "sum" else 1]  # of a mean and a variance, after the count


def claimed(lower: Any, upper: Any, epsilon: Any, metric: str, dtype: str) -> Any:
    import numpy as np

    return at_mechanism(np.full(1, lower, dtype), lower, upper, epsilon, metric, "sensitivity")


def release(data: Any, lower: Any, upper: Any, epsilon: Any, runs: int, metric: str) -> Any:
    if len(data) * runs > MOST:
        raise NotImplementedError(f"{len(data):,} rows, {runs:,} times, take too long in the local backend")
    return [aggregate(data, lower, upper, epsilon, metric) for _ in range(runs)]


def targets() -> Iterator[dict[str, Any]]:
    import pipeline_dp

    for metric in ("sum", "mean", "variance"):
        for dtype in ("float64", "float32", "float16", "int64", "int32"):
            yield {
                "name": f"{metric}.{dtype}",
                "noiseless": partial(at_mechanism, metric=metric, see="value"),
                "claimed": partial(claimed, metric=metric, dtype=dtype),
                "release": partial(release, metric=metric),
                "dtype": dtype,
                "relation": "symmetric",
                "ordered": True,
                "statistic": metric,
                "noise": "laplace",
                "version": pipeline_dp.__version__,
                "source": "pipeline_dp/combiners.py",
                "claim_quote": CLAIMS[metric],
                "relation_quote": RELATION,
            }
