"""The families of attacks, one file each."""

from soundsum.attacks.family import FAMILIES
from soundsum.registry import import_all

import_all(__name__, __path__)

__all__ = ["FAMILIES"]
