"""Points to draw: what a page makes pictures of. Floats, as they decide nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Points to draw; x and y of equal length."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    name: str
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
