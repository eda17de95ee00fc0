"""Room ``corpusmill.pipeline``."""
if __name__ != "corpusmill.pipeline":
    raise ImportError(
        f"this folder is the package 'corpusmill.pipeline', imported here as {__name__!r}; "
        "hint: write 'import corpusmill.pipeline'"
    )
