"""Room ``corpusmill.configs``."""

if __name__ != "corpusmill.configs":
    raise ImportError(
        f"this folder is the package 'corpusmill.configs', imported here as {__name__!r}; "
        "hint: write 'import corpusmill.configs'"
    )
