"""The auditor: points attacks at anybody's mechanism and says what was seen.

A `Target` is a mechanism with its promise, a `Finding` what became of one attack on it, an `Audit` all of them. A
violation is certified by exact arithmetic or shown by statistics; nothing here ever says "private".
"""
