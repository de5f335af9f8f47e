"""A standing red team: neighbouring tables, and whether what is released of them differs by no more than was claimed.

`python -m tests.neighbours` draws tables of every kind, makes a neighbour of each, and asks the package about both
with noise that is known. Claims and totals are computed here once more, from their definitions; nothing here imports
the package but `asking.py`.
"""
