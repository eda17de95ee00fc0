from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
MAPPED = """
import mmap, sys
from corpusmill.pipeline.peak import own_peak_bytes, peak_bytes
before = own_peak_bytes(), peak_bytes()
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
    sum(whole[i] for i in range(0, len(whole), 4096))
    print(own_peak_bytes() - before[0], peak_bytes() - before[1])
held = b"x" * (50 << 20)
print(own_peak_bytes() - before[0], 0)
"""


def test_the_peak_is_of_the_time_since() -> None:
    said = subprocess.check_output([sys.executable, "-c", CODE], text=True)
    high, low = map(int, said.split())
    assert high > 200 << 20
    assert low < high - (150 << 20)


def test_a_mapped_file_is_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(60 << 20))
    said = subprocess.check_output([sys.executable, "-c", MAPPED, str(path)], text=True)
    own, whole, held, _ = map(int, said.split())
    assert own < 5 << 20 < 55 << 20 < whole
    assert held > 45 << 20
