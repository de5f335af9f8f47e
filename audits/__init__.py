"""Audits of every library with an adapter, by `make audit-all`; `docs/audits.md` lists the findings."""
