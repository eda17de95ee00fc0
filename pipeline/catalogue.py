"""`ls`: the stages, signals and recipes of this installation."""

from __future__ import annotations

from .places import configs_root
from .plugins import plugins
from .registry import stage_class, stage_names, summary


def stages() -> list[dict[str, str]]:
    """Name, version, kind, what it does and origin (a package and its version) of every stage."""
    rows = []
    others = plugins()
    for name in stage_names():
        cls = stage_class(name)
        rows.append({
            "stage": name, "version": str(cls.version), "kind": cls.kind,
            "origin": str(others[name]) if name in others else "corpusmill",
            "what": summary(name),
        })  # fmt: skip
    return rows


def signals() -> list[dict[str, str]]:
    """Signals that stages write by default, with type and writer."""
    rows = []
    for name in stage_names():
        for signal, kind in getattr(stage_class(name), "writes", {}).items():
            rows.append({"signal": signal, "type": kind, "stage": name})
    return sorted(rows, key=lambda r: (r["signal"], r["stage"]))


def recipes() -> list[dict[str, str]]:
    """Recipes that come with the package, and those that mix finished runs."""
    rows = []
    for folder in ("recipes", "mixes"):
        for path in sorted((configs_root() / folder).glob("*.yaml")):
            head = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ").strip()
            rows.append({"recipe": f"configs/{folder}/{path.name}", "what": head})
    return rows
