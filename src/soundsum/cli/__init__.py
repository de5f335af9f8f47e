"""The command line: one file per group of commands. All printing and all progress bars are here."""

from soundsum.cli.app import app, main

__all__ = ["app", "main"]
