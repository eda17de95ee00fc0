"""The pages say what is there: links lead somewhere, commands exist, the example works."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_spans(text: str) -> list[str]:
    """Every piece of code on a page: lines of blocks (fenced or indented), and inline spans."""
    fenced = [line for _, block in FENCE.findall(text) for line in block.splitlines()]
    rest = FENCE.sub("", text)
    indented = [line[4:] for line in rest.splitlines() if line.startswith("    ")]
    inline = re.findall(r"`([^`\n]+)`", rest)
    return [*fenced, *indented, *inline]


def commands(program: str) -> list[tuple[str, list[str]]]:
    """Page and words of every piece of code that calls `program`."""
    found = []
    for page in PAGES:
        for span in code_spans(page.read_text()):
            span = span.strip().removeprefix("$ ").split("  #")[0]
            if span.startswith(program + " "):
                found.append((page.name, shlex.split(span.replace("…", ""))[1:]))
    return found


def verbs() -> dict[str, set[str]]:
    """The options of every verb of the command line."""
    from corpusmill.pipeline.cli import parser

    (action,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {verb: set(sub._option_string_actions) for verb, sub in action.choices.items()}


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name) if name else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_paths_in_code_exist() -> None:
    """Paths into the tree that a page names as code (run folders and examples excepted)."""
    wrong = []
    for page in PAGES:
        for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text())):
            rooted = re.fullmatch(r"(?:pipeline|stages|classifiers|tokenizers|configs|docs|tests|"
                                  r"requirements)/[\w./-]*", span)  # fmt: skip
            if rooted and "shouting" not in span and not (ROOT / span).exists():
                wrong.append(f"{page.name}: {span}")
    assert [w for w in wrong if not w.endswith("tokenizers/__init__.py")] == []


def test_every_verb_in_the_docs_exists_with_its_options() -> None:
    known = verbs()
    assert {"run", "report", "why"} <= known.keys()
    wrong = []
    for page, (verb, *words) in commands("corpusmill"):
        if verb in ("--help", "--version"):
            continue
        if verb not in known:
            wrong.append(f"{page}: corpusmill {verb}")
            continue
        options = {w.split("=")[0] for w in words if w.startswith("--")}
        wrong += [f"{page}: {verb} {option}" for option in sorted(options - known[verb])]
    assert wrong == []
    assert len(commands("corpusmill")) > 10


def test_every_make_target_in_the_docs_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    named = {
        (page, word)
        for page, words in commands("make")
        for word in words
        if "=" not in word and word not in ("|",)
    }
    assert {(page, word) for page, word in named if word not in targets} == set()
    assert {word for _, word in named} >= {"sample", "test"}


def test_every_stage_in_the_docs_exists() -> None:
    from corpusmill.pipeline.registry import stage_names

    rooms = r"(?:sources|extract|measure|filters|dedup|decontaminate|clean|classifiers|tokenizers)"
    spelled = {
        (page.name, name)
        for page in PAGES
        for span in code_spans(page.read_text())
        for name in re.findall(rf"(?<![\w./]){rooms}\.[a-z0-9_]+(?![\w.(/])", span)
    }
    known = {*stage_names(), "filters.shouting", "filters.hardly_words"}
    assert {(page, name) for page, name in spelled if name not in known} == set()
    assert len(spelled) > 10


def test_recipe_of_the_page_is_valid(tmp_path: Path) -> None:
    from corpusmill.pipeline.recipe import Recipe

    page = (ROOT / "docs/recipe.md").read_text()
    ((_, text),) = [(k, t) for k, t in FENCE.findall(page) if t.startswith("schema:")]
    recipe = Recipe.parse(text, tmp_path)
    assert recipe.name == "my-crawl"
    assert [step.id for step in recipe.steps].count("same_url") == 1


def test_top_level_keys_of_the_page_are_those_of_the_code() -> None:
    from corpusmill.pipeline import recipe

    page = (ROOT / "docs/recipe.md").read_text().split("## Top-level keys")[1].split("##")[0]
    assert tuple(re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE)) == recipe._TOP


def test_example_filter_works_as_printed(tmp_path: Path) -> None:
    """The page's files and test, in a copy of the package that has nothing else added."""
    page = (ROOT / "docs/adding-a-filter.md").read_text()
    code, test, rules = (text for kind, text in FENCE.findall(page) if kind == "python")
    package = tmp_path / "corpusmill"
    package.mkdir()
    for room in ("pipeline", "configs", "classifiers", "tokenizers"):
        (package / room).symlink_to(ROOT / room)
    for folder in ("stages", "stages/filters"):
        (package / folder).mkdir()
        for entry in (ROOT / folder).iterdir():
            if entry.name not in ("filters", "__pycache__"):
                (package / folder / entry.name).symlink_to(entry)
    (package / "stages/filters/shouting.py").write_text(code)
    (package / "stages/filters/hardly_words.py").write_text(rules)
    (tmp_path / "test_shouting.py").write_text(test)
    look = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import pytest\n"
        "from corpusmill.pipeline.registry import build\n"
        "stage = build('filters.shouting', {'max_share': 0.4}, 'here')\n"
        "assert stage.params.max_share == 0.4 and stage.params.min_letters == 20\n"
        "rules = build('filters.hardly_words', {'min_words': 3}, 'here')\n"
        "assert rules.thresholds()[0] == ('hardly_few', 'gopher_words', 3.0, 'low')\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(tmp_path)!r}]))\n"
    )
    command = [sys.executable, "-I", "-c", look]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_readme_shows_use_before_prose() -> None:
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.strip()]
    assert lines[0].startswith("# ")
    assert lines[1].startswith("    make sample")
