"""From a table to a release: a request is planned, charged, added up, and released with noise."""
