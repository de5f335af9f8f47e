"""The compiled kernels (src/kernels), under a name that tools which read only Python can follow.

Arguments are not checked here: everybody but the rooms that do so goes through `soundsum.kernels`.
"""

from soundsum._kernels import *  # noqa: F403
