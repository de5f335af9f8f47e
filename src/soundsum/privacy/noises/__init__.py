"""The kinds of noise, one file each."""

from soundsum.privacy.noise import NOISES
from soundsum.registry import import_all

import_all(__name__, __path__)

__all__ = ["NOISES"]
