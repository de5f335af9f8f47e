"""PipelineDP (OpenMined, Google): sums, means and variances by its engine on the local backend, one record a person.

The sum before noise is the input of the engine's mechanism, the sensitivity that mechanism's own. Records are
rows with NumPy's scalars, as they come out of a table: the library adds them in their own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

MOST = 1 << 19
"""More rows than this take minutes in the local backend, which handles them one by one in Python."""

RELATION = (
    "The unit is the privacy id, here one record; the sensitivity is what one id added or removed can do "
    '("max_abs_values(params.min_value, params.max_value)" (dp_computations.py:787)). Order is not spoken of; read '
    "most narrowly, the others keep theirs."
)

CLAIMS = {
    "sum": '"max_abs_val * params.max_contributions_per_partition" (dp_computations.py:791), read from the mechanism',
    "mean": '"(params.max_value - params.min_value) / 2" (dp_computations.py:812), read from the mechanism',
    "variance": '"max_contributions_per_partition * abs(middle - min_value)" (dp_computations.py:343), read in its use',
}

PROGRAM = """\
import pipeline_dp as p, unittest.mock as mock; columns = lambda x: x[0], lambda x: 0, lambda x: x[1]
def release(data):
    accountant = p.NaiveBudgetAccountant(epsilon, 0); \
once = dict(max_partitions_contributed=1, max_contributions_per_partition=1, min_value=lower, max_value=upper); \
engine, what = p.DPEngine(accountant, p.LocalBackend()), p.AggregateParams([p.Metrics.{name}], **once)
    result = engine.aggregate(list(enumerate(data)), what, p.DataExtractors(*columns), [0])
    accountant.compute_budgets(); return next(iter(result))[1].{metric}
def given(data, seen=[]):  # the sensitivity of the mechanism and what it is given{which}
    with mock.patch.object({patched}): seen.clear(); release(data); return seen[{place}]
def noiseless(data): return given(data)[1]
def claimed(data): return given(data)[0]
"""

BY_OBJECT = 'p.dp_computations.AdditiveMechanism, "add_noise", lambda self, x: seen.append((self.sensitivity, x)) or x'
BY_CALL = (
    'p.dp_computations, "apply_laplace_mechanism", lambda x, epsilon, sensitivity: seen.append((sensitivity, x)) or x'
)


def feed(data: Any) -> Any:
    if not data.size:
        raise NotImplementedError("the local backend takes no empty list")
    if data.size > MOST:
        raise NotImplementedError(f"{data.size:,} rows take too long in the local backend; {MOST:,} are the most")
    return data.array()


def claimed(lower: Any, upper: Any, epsilon: Any, program: str, dtype: str) -> Any:
    """The sensitivity that the library's mechanism has."""
    import numpy as np

    space: dict[str, Any] = {"np": np, "lower": lower, "upper": upper, "epsilon": epsilon}
    exec(program, space)
    return space["claimed"](np.full(1, lower, dtype))


def targets() -> Iterator[dict[str, Any]]:
    import pipeline_dp

    for metric in ("sum", "mean", "variance"):
        of_sum = metric == "sum"
        patched = BY_CALL if metric == "variance" else BY_OBJECT
        which = "" if of_sum else ", after the count"
        program = PROGRAM.format(
            name=metric.upper(), metric=metric, patched=patched, place=0 if of_sum else 1, which=which
        )
        for dtype in ("float64", "float32", "float16", "int64", "int32"):
            yield {
                "name": f"{metric}.{dtype}",
                "repro": program,
                "claimed": partial(claimed, program=program, dtype=dtype),
                "feed": feed,
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
