"""Mutation testing (`make mutants`): the code changed in one place at a time, each change to be noticed.

`generate` lists the changes, `run` tries each in a process of its own against the tests and the parts of `soundsum
verify --quick` that reach the changed line, and `equivalent.toml` argues for each one that nothing can notice.
"""
