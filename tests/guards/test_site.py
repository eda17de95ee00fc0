"""The site of ``docs/``: every page has its place in it, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def site() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    return loaded


def pages(entry: object) -> list[str]:
    """The pages of a part of the navigation, in order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    assert isinstance(parts, list | type({}.values()))
    return [page for part in parts for page in pages(part)]


def test_every_page_has_one_place() -> None:
    placed = pages(site()["nav"])
    assert sorted(placed) == sorted(p.name for p in (ROOT / "docs").glob("*.md"))


def test_the_first_page_names_every_other() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/index.md").read_text()))
    assert linked == set(pages(site()["nav"])) - {"index.md"}


def test_no_font_and_no_script_from_elsewhere() -> None:
    assert site()["theme"]["font"] is False
    assert site()["plugins"] == ["search"]
    assert "extra_javascript" not in site()
