"""Sections of the report page that are read: kept and dropped pages, masked data, tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .engine import RunFolder
from .html_parts import safe, table, word_diff
from .report_pii import found_by_type
from .samples import Sample, by_reason, first_rows, kept_samples, kept_texts

_MASKED, _PLACES, _AROUND = 8, 3, 70
_CUT, _CUT_CHARACTERS = 3, 400


def kept_pages(samples: Iterable[Sample]) -> str:
    """Kept documents, closed until they are opened."""
    return "".join(_details(s, "", f"<pre>{safe(s.text or '')}</pre>") for s in samples)


def dropped_pages(samples: Sequence[Sample]) -> str:
    """Dropped documents by step and reason: what decided is marked, a duplicate stands beside what
    was kept."""
    text = ""
    for step, reason, group in by_reason(samples):
        text += f"<h3>{safe(step)}: {safe(reason)}</h3>"
        for s in group:
            value = f" ({safe(s.value)})" if s.value else ""
            text += _details(s, value, _inside(s))
    return text or "<p>Nothing was dropped.</p>"


def _details(sample: Sample, value: str, inside: str) -> str:
    return (
        f"<details><summary>{safe(sample.url or sample.id)}{value}</summary>"
        f'<p class="soft"><code>{safe(sample.id)}</code></p>{inside}</details>'
    )


def _inside(s: Sample) -> str:
    if s.marked:
        return "".join(
            f'<p class="soft">{safe(said[:700])}</p><pre>… {safe(before)}<mark>{safe(span)}</mark>'
            f"{safe(behind)} …</pre>"
            for before, span, behind, said in s.marked
        )
    if s.pair is not None:
        stayed, own = s.pair
        if stayed.split() == own.split():
            return (
                f"<p>The same words as the one kept in its place:</p><pre>{safe(own[:700])}</pre>"
            )
        return (
            "<p>Against the one kept in its place: <del>only there</del>, <ins>only here</ins>.</p>"
            f"<pre>{word_diff(stayed, own)}</pre>"
        )
    inner = f"<pre>{safe(s.text)}</pre>" if s.text is not None else ""
    return inner + (f'<p class="soft">{safe(s.note)}</p>' if s.note else "")


def masked_pages(run: RunFolder, kept: Sequence[Mapping[str, Any]], base: str) -> str:
    """How much personal data of each type was found, and where its tags stand now. What stood there
    is not shown."""
    types = sorted({k for row in kept[:1] for k in row if k.startswith("pii_")} - {"pii_spans"})
    if not types:
        return "<p>No step looked for it.</p>"
    rows = [[f.type, f.policy, f.spans, f.documents] for f in found_by_type(run.plan, kept)]
    header = ["type", "policy", "found", "documents"]
    text = f'<p class="soft">{safe(base)}</p>' + table(header, rows, left=2)
    if "pii_email_role" in types:
        roles = sum(int(row["pii_email_role"] or 0) for row in kept)
        text += f"<p>{roles} of the e-mail addresses are of roles and lists.</p>"
    having = [row for row in kept if any(row[name] for name in types)]
    chosen = first_rows(run, having, _MASKED)
    texts = kept_texts(run, chosen)
    names = "|".join(n.removeprefix("pii_").upper() for n in types)
    tag = re.compile(f"<(?:{names})(?:-[a-z]{{12}})?>")
    for row in chosen:
        places = list(tag.finditer(texts.get(row["id"], "")))
        whole = texts.get(row["id"], "")
        shown = "".join(
            f"<pre>… {safe(whole[max(0, m.start() - _AROUND) : m.start()])}"
            f"<mark>{safe(m[0])}</mark>{safe(whole[m.end() : m.end() + _AROUND])} …</pre>"
            for m in places[:_PLACES]
        )
        found = ", ".join(f"{n.removeprefix('pii_')} {row[n]}" for n in types if row[n])
        title = safe(str(row.get("url") or row["id"]))
        text += f"<details><summary>{title} ({safe(found)})</summary>{shown}</details>"
    return text


def token_pages(run: RunFolder, root: Path, kept: Sequence[Mapping[str, Any]]) -> str:
    """Beginnings of kept texts, with a background that changes from token to token."""
    path = root / "tokenizer" / "tokenizer.json"
    if not path.is_file():
        return "<p>There is no tokenizer that can be drawn.</p>"
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(path))
    text = ""
    for sample in kept_samples(run, kept, _CUT):
        whole = (sample.text or "")[:_CUT_CHARACTERS]
        encoded = made.encode(whole, add_special_tokens=False)
        parts, at, shade = [], 0, 0
        for start, end in encoded.offsets:
            if end <= at:
                continue  # one of several tokens of the same character
            begin = max(start, at)
            parts.append(f'<span class="t{shade}">{safe(whole[begin:end])}</span>')
            at, shade = end, 1 - shade
        name = safe(sample.url or sample.id)
        count = f"{len(encoded.ids)} tokens for {len(whole)} characters"
        text += f"<h3>{name}</h3><p class=soft>{count}</p><pre>{''.join(parts)}</pre>"
    return text or "<p>Nothing was kept.</p>"


__all__ = ["dropped_pages", "kept_pages", "masked_pages", "token_pages"]
