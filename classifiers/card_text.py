"""The model card for readers."""

from __future__ import annotations

from typing import Any


def _languages(heldout: dict[str, Any]) -> list[str]:
    """A table of thresholds by language, where the rows say theirs."""
    if not heldout["languages"]:
        return []
    return [
        "", f"Thresholds that keep {heldout['keep_rate']} of the texts of a language:", "",
        "| language | texts | good | threshold |", "| --- | --- | --- | --- |",
        *(f"| {name} | {row['texts']} | {row['good']} | {row['threshold']} |"
          for name, row in heldout["languages"].items()),
    ]  # fmt: skip


def as_markdown(card: dict[str, Any]) -> str:
    """The card for readers."""
    h = card["heldout"]
    lines = [
        f"# {card['name']}", "",
        f"Quality classifier ({card['kind']}), class of good texts `{card['label']}`, languages: "
        f"{', '.join(card['languages']) or 'not stated'}.", "",
        f"- File: `{card['model']['file']}`, {card['model']['size']:,} bytes, "
        f"sha256 `{card['model']['sha256']}`",
        f"- Trained with {card['library']['name']} {card['library']['version']} on "
        f"{card['training']['texts']:,} texts ({card['training']['good']:,} good)",
        "- Licences of the texts: "
        + ", ".join(f"{name} ({n:,})" for name, n in card["licences"].items()),
        "", "## On groups held out", "",
        f"{h['texts']:,} texts, {h['good']:,} good. AUC {h['auc']}. Keeping scores of "
        f"{h['threshold']} and above keeps {h['share_kept']} of them "
        f"(asked: {h['keep_rate']}) with precision {h['precision']} and recall {h['recall']}.", "",
        "| group | texts | good | mean score | kept |", "| --- | --- | --- | --- | --- |",
        *(f"| {n} | {g['texts']} | {g['good']} | {g['mean_score']} | {g['kept']} |"
          for n, g in h["groups"].items()),
        "", "| score | texts | mean score | share good |", "| --- | --- | --- | --- |",
        *(f"| {b['low']} to {b['high']} | {b['count']} | {b['mean_score']} | {b['share_good']} |"
          for b in h["reliability"]),
        "", f"Expected calibration error: {h['calibration_error']} (mean gap between score and "
        "share good, by texts).",
        *_languages(h),
        "", "## What it beats", "",
        "AUC on the held-out texts; matched: only good and poor texts of one source are compared "
        f"({h['ablation']['matched_texts']} texts).", "",
        "| scorer | all | matched |", "| --- | --- | --- |",
        *(f"| {name} | {h['ablation'][key]} | {h['ablation']['matched_' + key]} |"
          for name, key in (("this model", "model"), ("source alone", "source_only"),
                            ("length alone", "length_only"))),
        "", "## What it goes by", "",
        "Words of ten training texts or more that it gives the highest and the lowest score by "
        "themselves:", "",
        *(f"- {side}: " + ", ".join(f"`{word}` {score}" for word, score in words)
          for side, words in card["telling_words"].items()),
        "", "## Known failures", "", *(f"- {line}" for line in card["known_failures"]),
        "", "## Data", "",
        *(f"- `{d['file']}`: {d['texts']:,} texts, sha256 `{d['sha256']}`" for d in card["data"]),
        "",
    ]  # fmt: skip
    return "\n".join(lines)
