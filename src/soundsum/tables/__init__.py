"""What can be summed, wherever it lies: relations between datasets, records, columns, keys, files and tables."""
