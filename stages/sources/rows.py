"""What the readers of rows (JSON lines, Parquet) share: where known layouts keep what they tell.

Names checked against the public layouts: Dolma (``id``, ``added``, ``created``, ``metadata.url``),
datatrove and FineWeb (``url``, ``date``, ``file_path``, ``metadata``), RedPajama v2 (``url``,
``date_download``, ``source_domain``), the Stack and Common Pile (``license``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpusmill.pipeline.document import META_COLUMNS, Scalar
from corpusmill.stages.dedup.urls import canonical_url

from .archive import host_of, iso_date

FIELDS: dict[str, tuple[str, ...]] = {
    "url": ("url", "source_url", "uri", "WARC-Target-URI"),
    "date": ("date", "date_download", "timestamp", "created", "WARC-Date"),
    "record_id": ("id", "doc_id", "_id", "warc_record_id", "WARC-Record-ID"),
    "licence": ("license", "licence", "license_type"),
    "title": ("title",),
    "lang_declared": ("lang_declared",),
    "content_type": ("content_type",),
}
"""Names in a row by the ``META_COLUMNS`` name, most telling first. What other pipelines measured
(language, scores) is not taken over: signals are measured anew."""

_MAX_VALUE = 8192


def find_field(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value of the first of `names` that `row` has and that is not null; else None."""
    for name in names:
        value = row.get(name)
        if value is not None:
            return value
    return None


def row_meta(row: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Scalar]:
    """The known meta of a row: `fields` (meta name to field name) before `FIELDS`, in the row
    and then in its ``metadata``. Values that are no scalar are left out."""
    inner = row.get("metadata")
    meta: dict[str, Scalar] = {}
    for column, known in FIELDS.items():
        names = (fields[column],) if column in fields else known
        value = find_field(row, names)
        where = f"field {next((n for n in names if row.get(n) is not None), '')}"
        if value is None and isinstance(inner, Mapping):
            value = find_field(inner, names)
            where = f"field metadata.{next((n for n in names if inner.get(n) is not None), '')}"
        if value is None or isinstance(value, Mapping | list | tuple):
            continue
        text = str(value)
        if has_surrogate(text) or not text.strip():
            continue
        if column == "date":
            text = iso_date(text) or text[:64]
        meta[column] = META_COLUMNS[column](text[:_MAX_VALUE])
        if column == "licence":
            meta["licence_where"] = where
    if "url" in meta:
        meta["url_canonical"] = canonical_url(str(meta["url"]))
        if host := host_of(str(meta["url"])):
            meta["host"] = host
    return meta


def has_surrogate(text: str) -> bool:
    """Whether half of a surrogate pair is in `text`, which no UTF-8 can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
