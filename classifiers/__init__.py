"""Room ``corpusmill.classifiers``."""

if __name__ != "corpusmill.classifiers":
    raise ImportError(
        f"this folder is the package 'corpusmill.classifiers', imported here as {__name__!r}; "
        "hint: write 'import corpusmill.classifiers'"
    )
