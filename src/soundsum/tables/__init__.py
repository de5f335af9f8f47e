"""Data that can be summed: relations between datasets, records, columns, keys, files and tables."""
