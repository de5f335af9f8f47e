"""`python -m soundsum.verify [--quick] [--json | --markdown]`: the same as `soundsum verify`, and the page's table."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from soundsum.verify.report import markdown, run, verified


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soundsum.verify", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest types and fewer bounds, within a minute")
    parser.add_argument("--json", action="store_true", help="everything, exactly, as JSON")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/verification.md")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="only these methods")
    options = parser.parse_args()
    if options.markdown:
        done = verified(Console(stderr=True), options.quick, options.only)
        print(markdown(done))
        return 1 if done.violations else 0
    return run(Console(), options.quick, options.json, options.only)


if __name__ == "__main__":
    sys.exit(main())
