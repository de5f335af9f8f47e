"""The auditor: runs attacks against any mechanism and reports findings.

A `Target` is a mechanism with its promise, a `Finding` the outcome of one attack on it, an `Audit` all findings. Exact
arithmetic certifies a violation, or statistics show it; no verdict says "private".
"""
