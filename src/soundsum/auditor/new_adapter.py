"""The adapter that `soundsum audit --new FILE` writes: an example that runs, with comments on what to replace."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = '''\
"""An adapter for the auditor of soundsum: replace the example by calls of your library.

    soundsum audit {file}            # as it is: the textbook sum below breaks its promise
    soundsum audit {file} --timing   # also compares times of calls on neighbours

The file is run by path in a process of its own, which needs NumPy and your library but not soundsum. To run it in an
environment with a version of your library: soundsum audit {file} --install-spec 'mylib==1.0'
"""

# Lines that define, with lower, upper, epsilon, size and np as globals:
#   noiseless(data)  your library's own code up to the noise, and nothing of your own. Of a mean, return what gets the
#                    noise: if that is a sum which is divided afterwards, return the sum. Leave it out if you cannot
#                    reach it; the auditor then judges runs of release alone.
#   claimed(data)    the sensitivity that the library scales its noise to, read from its object if there is one.
#   release(data)    one noisy output.
# The auditor runs these lines, and puts them into the program that shows a violation: keep them to 8 lines.
PROGRAM = """\\
def noiseless(data): return np.clip(data, lower, upper).sum()
def claimed(data): return upper - lower
def release(data): return noiseless(data) + np.random.default_rng().laplace(0, claimed(data) / epsilon)
"""


def claimed(lower, upper):
    """The same sensitivity, asked without data."""
    return upper - lower


def targets():
    # Import your library here, so that a missing one is reported: import mylib
    for dtype in ("float64", "float32"):  # one target for each function, type and option that takes its own path
        yield {{
            "name": f"sum.{{dtype}}",
            "repro": PROGRAM,
            "claimed": claimed,
            "dtype": dtype,
            # The documented relation: symmetric (a record more or less), change_one; insert_delete and hamming if the
            # order of records counts. Quote the documentation.
            "relation": "change_one",
            "relation_quote": "replace this by a quotation, with file and line",
            "claim_quote": "upper - lower: replace this by a quotation, with file and line",
            # The promise. For Gaussian noise also "delta", and "noise_multiplier", its standard deviation over the
            # sensitivity.
            "epsilon": 1,
            "noise": "laplace",
            "version": "0",
            "source": "mylib/sums.py:1",
            # Whether records beyond the bounds are documented to be clamped. Without it they are not tried.
            "clamps": True,
            # Quote where NaN and infinities are documented as records. Without it they are not tried. A parameter that
            # no documentation allows, such as a norm beyond the type, is unfair: raise NotImplementedError in claimed.
            # "specials_quote": '"..." (mylib/sums.py:1)',
            # Exceptions by which the library declines parameters:
            # "refuses": (ValueError,),
        }}
'''


def write_adapter(path: Path) -> str:
    """Return the text of a new adapter in a file of that name.

    >>> "soundsum audit mylib.py" in write_adapter(Path("mylib.py"))
    True
    """
    return TEMPLATE.format(file=path.name)
