"""Every name that a printed pair is made of, to look at it again."""

# ruff: noqa: F401

import datetime
import tempfile
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import numpy as np
from pandas import NA, NaT, Timestamp

from tests.neighbours.cells import ODD, inf, nan
from tests.neighbours.judging import judge
from tests.neighbours.queries import Ask, Period, Query
from tests.neighbours.relations import Pair

FOLDER = Path(tempfile.mkdtemp(prefix="soundsum-neighbours-"), "data")
