"""From a table to a release: what is asked is planned, charged for, added up, and let out with noise."""
