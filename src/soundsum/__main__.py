"""`python -m soundsum` is `soundsum`."""

from soundsum.cli import main

if __name__ == "__main__":
    main()
