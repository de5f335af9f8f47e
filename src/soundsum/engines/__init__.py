"""Engines, which add up: the one that a table's data is in, or else this process."""

from soundsum.engines.engine import ENGINES, Engine, FoundGroups, Totals, find_engine, open_engine
from soundsum.engines.memory import Memory
from soundsum.engines.reading import BatchTable
from soundsum.registry import import_all

import_all(__name__, __path__)  # whatever else lies in this folder

__all__ = ["ENGINES", "BatchTable", "Engine", "FoundGroups", "Memory", "Totals", "find_engine", "open_engine"]
