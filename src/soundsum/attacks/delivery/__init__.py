"""Attacks carried out (1.7 and 5.7) on a table that somebody else holds, through the queries it allows.

Each is run several times against secrets drawn at random, on an ordinary sum with exact noise for the ideal sensitivity
and on ours with the same promise.
"""

from collections.abc import Callable

from soundsum.attacks.delivery.clamping import had_covid, top_salary
from soundsum.attacks.delivery.gradient import dp_sgd_step
from soundsum.attacks.delivery.microquery import any_row, microquery
from soundsum.attacks.delivery.ordering import reordered
from soundsum.attacks.delivery.outcome import Delivery

DELIVERIES: dict[str, Callable[..., Delivery]] = {
    function.__name__: function for function in (microquery, any_row, had_covid, top_salary, reordered, dp_sgd_step)
}

__all__ = ["DELIVERIES", "Delivery", "any_row", "dp_sgd_step", "had_covid", "microquery", "reordered", "top_salary"]
