"""Room ``corpusmill.stages``."""

if __name__ != "corpusmill.stages":
    raise ImportError(
        f"this folder is the package 'corpusmill.stages', imported here as {__name__!r}; "
        "hint: write 'import corpusmill.stages'"
    )
