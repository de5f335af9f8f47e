"""The owner's server: tables behind HTTP, for analysts who can ask questions but not read the data (docs/server.md).

It holds no privacy logic of its own: every answer is a call of `Private`. What it adds is who asks, when they get the
answer, and that neither the answer's time nor its words say more than the release does.
"""
