"""``python -m corpusmill.pipeline`` and the console script."""

from __future__ import annotations

import sys

from .cli import main


def entry() -> None:
    """Runs the command line and exits with its code."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
