"""Requests as people write them, on a command line or in a file: statistics, columns, conditions, groups, periods."""
