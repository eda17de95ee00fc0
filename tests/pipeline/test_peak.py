from __future__ import annotations

import subprocess
import sys

CODE = """
from corpusmill.pipeline.peak import peak_bytes, start_again
held = bytearray(200 << 20)
for i in range(0, len(held), 4096):
    held[i] = 1
high = peak_bytes()
del held
start_again()
low = peak_bytes()
print(high, low)
"""


def test_the_peak_is_of_the_time_since() -> None:
    said = subprocess.check_output([sys.executable, "-c", CODE], text=True)
    high, low = map(int, said.split())
    assert high > 200 << 20
    assert low < high - (150 << 20)
