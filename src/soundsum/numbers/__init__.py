"""Exact numbers, and every sum as a definition. No float decides anything here."""
