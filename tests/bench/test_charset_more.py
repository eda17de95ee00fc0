"""Which pages of a package are taken for `bench.charset`."""

from __future__ import annotations

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from bench import charset_more

THAI = "<p>ไม่พบหน้าที่คุณต้องการ กรุณาตรวจสอบที่อยู่แล้วลองใหม่อีกครั้ง ขอบคุณที่ใช้บริการของเรา</p>" * 3
ENGLISH = "<p>The page that you asked for was not found on this server. Please try again.</p>" * 6


def test_pages_in_the_language_of_their_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {
        "./usr/share/squid-langpack/th/ERR_URN": THAI,
        "./usr/share/squid-langpack/th/ERR_DNS": ENGLISH,  # not translated
        "./usr/share/squid-langpack/th/README": THAI,
        "./usr/share/help/zh-TW/a.html": ENGLISH,
        "./usr/share/help/af/a.html": ENGLISH,  # no encoding of the bench is for it
    }

    def unpack(command: list[str], stdout: BytesIO, check: bool) -> None:
        assert command == ["dpkg-deb", "--fsys-tarfile", "x.deb"]
        with tarfile.open(fileobj=stdout, mode="w") as made:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text.encode())
                made.addfile(entry, BytesIO(text.encode()))

    monkeypatch.setattr("bench.charset_more.subprocess.run", unpack)
    found = [(lang, path.name, body) for lang, path, body in charset_more.pages(Path("x.deb"))]
    assert found == [("th", "ERR_URN", THAI.encode())]


def test_reads_as() -> None:
    assert charset_more.reads_as(ENGLISH.encode(), "en")
    assert not charset_more.reads_as(ENGLISH[:90].encode(), "en")
    assert not charset_more.reads_as(THAI.encode("cp874"), "th")
