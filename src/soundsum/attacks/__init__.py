"""Attacks as code: neighbouring datasets that ordinary sums tell apart (`sec:bounded-sum-computers`).

One file per family; each builds its two datasets for any type and size, checks its theorem's conditions and predicts
the difference exactly. `soundsum attack list` shows them all.
"""

from soundsum.attacks.attack import Attack, Event
from soundsum.attacks.attack_arguments import families_for
from soundsum.attacks.choose import attack
from soundsum.attacks.examples import examples, mironov
from soundsum.attacks.families import FAMILIES
from soundsum.attacks.family import Family

__all__ = ["FAMILIES", "Attack", "Event", "Family", "attack", "examples", "families_for", "mironov"]
