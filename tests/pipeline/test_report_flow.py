"""The account with tokens, and the mix, as the report shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from corpusmill.pipeline.lock import Lock
from corpusmill.pipeline.report_flow import waterfall
from corpusmill.pipeline.report_mix import mix_section

PLAN: Any = SimpleNamespace(recipe={
    "sources": [
        {"name": "pages", "stage": "sources.warc"}, {"name": "texts", "stage": "sources.jsonl"},
    ],
    "steps": [
        {"id": "url", "stage": "filters.url"}, {"id": "tiers", "stage": "extract.tiers"},
        {"id": "exact", "stage": "dedup.exact"},
    ],
})  # fmt: skip


def flow(stage: str, taken: int, given: int, size: int, **lost: int) -> dict[str, Any]:
    """A step of a source; what it lost by reason, errors as ``error_…``."""
    errors = {k.removeprefix("error_"): v for k, v in lost.items() if k.startswith("error_")}
    dropped = {k: v for k, v in lost.items() if not k.startswith("error_")}
    return {
        "stage": stage, "in": taken, "out": given, "bytes_in": size * 2, "bytes_out": size,
        "dropped": dropped, "errors": errors,
    }  # fmt: skip


def ledger(**encoded: dict[str, int]) -> dict[str, Any]:
    sources = {
        "pages": [
            flow("read", 9, 8, 900, status=1), flow("url", 8, 8, 900),
            flow("tiers", 8, 6, 300, empty_text=1, error_timeout=1),
            flow("exact", 6, 4, 200, duplicate_content=2),
        ],
        "texts": [flow("read", 3, 3, 100), flow("exact", 3, 3, 100)],
    }  # fmt: skip
    return {
        "records": {"in": 12, "kept": 7, "dropped": {"a": 4}, "errors": {"b": 1}},
        "stages": [flow("read", 12, 11, 1000, status=1)],
        "sources": {
            name: {"stages": stages, **({"encoded": encoded[name]} if name in encoded else {})}
            for name, stages in sources.items()
        },
    }  # fmt: skip


def cells(page: str, heading: str) -> list[list[str]]:
    """The table after a heading."""
    table = page.partition(f"<h3>{heading}</h3>")[2].partition("</table>")[0]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[1:]]


def test_tokens_where_they_are_counted_and_about_before() -> None:
    """Of pages from the step on that makes them texts; a byte has a quarter of a token."""
    page = waterfall(ledger(pages={"documents": 3, "bytes": 160, "tokens": 40}), PLAN)
    table = cells(page, "Source pages")
    assert table[0] == [
        "step", "in", "out", "bytes in", "bytes out", "tokens out", "dropped or failed",
    ]  # fmt: skip
    assert [(row[0], row[5], row[6]) for row in table[1:]] == [
        ("read", "", "status 1"), ("url", "", ""),
        ("tiers", "≈ 75", "empty_text 1, error timeout 1"), ("exact", "≈ 50", "duplicate_content 2"),
        ("encoded", "40", ""),
    ]  # fmt: skip
    assert table[-1] == ["encoded", "3", "3", "160", "160", "40", ""]
    assert "0.2500 tokens a byte" in page
    assert len(cells(page, "Source texts")[0]) == 6  # nothing of it was encoded


def test_a_source_of_texts_has_tokens_from_the_beginning() -> None:
    page = waterfall(ledger(texts={"documents": 3, "bytes": 100, "tokens": 30}), PLAN)
    assert [row[5] for row in cells(page, "Source texts")[1:]] == ["≈ 30", "≈ 30", "30"]


def test_the_mix_as_wanted_and_as_it_came_out(tmp_path: Path) -> None:
    share = {"documents": 5, "available": 100, "copies": 9, "epochs": "1.750000"}
    manifest = {
        "domains": [
            {"stream": "one/web", "wanted": 180, "taken": 175, "shortfall": 5, **share},
            {"stream": "code", "wanted": 10, "taken": 10, "shortfall": 0, **share},
        ],
        "shards": [{"stream": "one/web"}, {"stream": "one/web"}, {"stream": "code"}],
        "warnings": ["mix: 3 documents <match> no domain"],
        "contamination_searched": True,
        "contamination": {"gsm8k": {
            "items": 8, "visible": 7, "found": 2, "documents": 3,
            "false_alarms": {"run": {"upper_95": "0.0002"}, "half": {"upper_95": "0.0015"}},
            "also_in": {"math": 4},
        }},
    }  # fmt: skip
    (tmp_path / "shards").mkdir()
    path = tmp_path / "shards/manifest.json"
    path.write_text(json.dumps(manifest))
    lock = Lock(tmp_path / "mix.lock.json", {
        "outputs": {"tokens": 185, "kept": {"documents": 5}},
        "identity": {"inputs": [{"licence": "MIT"}, {"licence": "CC0-1.0"}, {"licence": "MIT"}]},
        "decontaminated": [{"step": "ngram", "documents": {"gsm8k": {"cut": 2, "dropped": 1}}}],
    })  # fmt: skip
    page = mix_section(lock, tmp_path)
    assert cells(page, "The mix: wanted and got, in tokens")[1:] == [
        ["one/web", "5", "100", "180", "175", "5", "1.75", "9", "2"],
        ["code", "5", "100", "10", "10", "0", "1.75", "9", "1"],
    ]
    assert "<p>mix: 3 documents &lt;match&gt; no domain</p>" in page
    assert cells(page, "Benchmark items in the shards")[1:] == [
        ["gsm8k", "8", "7", "2", "3", "0.15%"]
    ]
    assert "<p>4 items of gsm8k are items of math too.</p>" in page
    assert cells(page, "Benchmark items found by ngram")[1:] == [
        ["gsm8k", "cut", "2"], ["gsm8k", "dropped", "1"],
    ]  # fmt: skip
    assert cells(page, "Licences of the sources")[1:] == [["1", "CC0-1.0"], ["2", "MIT"]]
    path.write_text(json.dumps({**manifest, "contamination_searched": False}))
    assert "They were not looked for" in mix_section(lock, tmp_path)
    path.unlink()
    assert "The mix" not in mix_section(lock, tmp_path)
    assert "not finished" in mix_section(None, tmp_path)
