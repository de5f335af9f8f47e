"""Plans and attacks name places in the paper in words, not by the labels of its LaTeX source."""

import re

import soundsum as ss
from soundsum.attacks import FAMILIES

LABEL = re.compile(r"\b(thrm|thm|prop|sec|rem|lemma|cor|ea|al):")
"""A label of the LaTeX source, which the printed paper does not show."""


def test_plans_and_attacks_name_places_in_the_paper_in_words():
    problems = [ss.Problem("float64", -1, 1, max_size=9), ss.Problem("int8", 0, 1, "change_one", size=9)]
    plans = [plan.explain() for problem in problems for plan in ss.plans(problem)]
    attacks = [ss.attack(name).explain() for name in FAMILIES]
    assert [said for said in plans + attacks if LABEL.search(said)] == []
