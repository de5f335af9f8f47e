"""Audits of every library there is an adapter for, by `make audit-all`; what they found is `docs/audits.md`."""
