"""The inputs of a recipe, listed once: names, sizes, times. No file is read for it."""

from __future__ import annotations

import os
from typing import Any

from .errors import ConfigError
from .input_files import Tree, tree
from .listing import read_paths
from .object_store import Found
from .params import shown
from .places import resolve_path
from .recipe import Recipe, SourceSpec
from .registry import stage_class

Files = dict[str, tuple[int, int]]
"""(bytes, time) by name below the root."""


def list_inputs(recipe: Recipe) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Files of every source, sorted by relative path, and the sources' absolute roots. What is
    excluded is listed by name, what lies beside a file and speaks of it (`Source.beside`) by it."""
    listed, roots = [], {}
    for spec in recipe.sources:
        try:
            if stage_class(spec.stage).finished:
                from .finished import list_run  # which needs plans, and so this module

                of_run, roots[spec.name] = list_run(recipe, spec)
                listed.append(of_run)
                continue
            files = tree(spec.root, recipe.base)
            if not files.exists():
                raise ConfigError(f"the folder {shown(spec.root)} does not exist")
            paths = []
            if spec.paths_from is not None:
                where = resolve_path(spec.paths_from, recipe.base)
                paths = read_paths(where, files.root)
            found, beside, excluded = _files_of(spec, files, paths)
        except ConfigError as error:
            raise ConfigError(f"source {spec.name!r}: {error.message}", hint=error.hint) from None
        entry: dict[str, Any] = {
            "name": spec.name, "files": [[name, *found[name]] for name in sorted(found)],
        }  # fmt: skip
        if beside:
            entry["beside"] = beside
        listed.append(entry | ({"excluded": excluded} if excluded else {}))
        roots[spec.name] = files.root
    return listed, roots


def _files_of(
    spec: SourceSpec, files: Tree, listed: list[str]
) -> tuple[Files, dict[str, list[list[Any]]], list[str]]:
    """The files to read, those beside them, and the names of what is left out."""
    without: set[str] = set()
    named = set(listed)
    suffixes = stage_class(spec.stage).beside
    if spec.exclude:
        named |= {n for p in spec.paths for n in files.list_names(p)}
        named |= {f[0] for found in _beside(files, named, suffixes).values() for f in found}
    for pattern in spec.exclude:
        names = files.list_names(pattern) & named
        if not names:
            raise ConfigError(
                f"exclude: {shown(pattern)} matches none of the files that paths match",
                hint='a folder is left out by "folder/**/*"',
            )
        without |= names
    found: Files = {}
    for name, size, token in files.stat_paths([n for n in listed if n not in without]):
        found[name] = (size, token)
    for pattern in spec.paths:
        hits = files.list_files(pattern, without)
        if not hits:
            rest = " that is not excluded" if without else ""
            raise ConfigError(f"nothing matches {shown(pattern)} in {spec.root}{rest}")
        found |= {name: (size, token) for name, size, token in hits}
    if not found:
        raise ConfigError("every file that is listed is excluded")
    beside = {
        name: [list(f) for f in others if f[0] not in without]
        for name, others in _beside(files, found, suffixes).items()
    }
    # A name that is not UTF-8 is a reason to leave a file out, and must be told all the same.
    told = (os.fsencode(name).decode("utf-8", "backslashreplace") for name in without)
    return found, {name: others for name, others in beside.items() if others}, sorted(told)


def _beside(
    files: Tree, names: Files | set[str], suffixes: tuple[str, ...]
) -> dict[str, list[Found]]:
    """Files that have the name of one of `names`, with or without its own endings, and one of
    `suffixes`; by that name. Each once, and none that is one of `names`."""
    if not suffixes:
        return {}
    folders: dict[str, dict[str, Found]] = {}
    found: dict[str, list[Found]] = {}
    for name in sorted(names):
        folder = name[: name.rfind("/") + 1]
        if folder not in folders:
            here = files.beside(folder)
            folders[folder] = {f[0]: f for f in here if f[0].endswith(suffixes)}
        if there := folders[folder]:
            stems = dict.fromkeys([name, *_stems(name)])
            others = [there[s + x] for s in stems for x in suffixes if s + x in there]
            if others := [f for f in others if f[0] not in names]:
                found[name] = others
                for other in others:
                    del there[other[0]]
    return found


def _stems(name: str) -> list[str]:
    """``a/b.warc`` and ``a/b`` of ``a/b.warc.gz``."""
    stems = []
    for ending in (".gz", ".zst", ".warc", ".arc"):
        if name.endswith(ending):
            name = name.removesuffix(ending)
            stems.append(name)
    return stems


def cut_tasks(inputs: list[dict[str, Any]], task_bytes: int) -> list[list[list[int]]]:
    """Files in listed order, a new task whenever `task_bytes` is reached; a source never shares
    a task with another."""
    tasks: list[list[list[int]]] = []
    for s, source in enumerate(inputs):
        current: list[list[int]] = []
        filled = 0
        for f, (_, size, _) in enumerate(source["files"]):
            if current and filled + size > task_bytes:
                tasks.append(current)
                current, filled = [], 0
            current.append([s, f])
            filled += size
        if current:
            tasks.append(current)
    return tasks
