"""Page functions that misbehave, for the tests of the worker process."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from corpusmill.stages.extract.page import PageFunction


def make(config: dict[str, Any]) -> PageFunction:
    """A function that does what the page's body says."""
    if config.get("broken"):
        raise ImportError("no such library")
    if config.get("dead"):
        os.write(2, b"first words\nlast words\n")
        os._exit(3)
    print("noise on standard output")
    served = 0

    def run(head: dict[str, Any], body: bytes) -> dict[str, Any]:
        nonlocal served
        served += 1
        order = body[:32].decode("ascii", "replace").split(" ")[0]
        print("more noise")
        if order == "spin":
            while True:
                pass
        if order == "sleep":
            time.sleep(600)
        if order == "kill":
            os.kill(os.getpid(), signal.SIGSEGV)
        if order == "exit":
            os._exit(5)
        if order == "memory":
            return {"n": len(bytearray(8 * 1024**3))}
        if order == "raise":
            raise ValueError("with the text of a page in it")
        if order == "once" and not os.path.exists(head["mark"]):
            with open(head["mark"], "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        sys.stdout.flush()
        return {
            "body": len(body),
            "n": head.get("n"),
            "seed": os.environ.get("PYTHONHASHSEED"),
            "pid": os.getpid(),
            "served": served,
        }

    return run
