"""The verbs that speak to Slurm: `submit`, `retry`, `cancel`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from . import slurm
from .errors import ConfigError
from .profile import Profile, load_profile
from .progress import to_stderr
from .slurm_calls import have_slurm
from .uploading import bucket_of
from .verbs import recipe_of, show_json, show_lines


def profile(options: Namespace) -> Profile:
    """The profile that the command line names. Raises ConfigError if it names none."""
    if options.profile is None:
        raise ConfigError("the Slurm backend needs --profile FILE", hint="see docs/slurm.md")
    return load_profile(options.profile)


def submit(options: Namespace) -> int:
    given, recipe = profile(options), recipe_of(options)
    if options.upload is not None:
        bucket_of(options.upload)
    if not options.dry_run:
        made = slurm.submit(recipe, options.out, given, to_stderr, upload=options.upload)
        return _submitted(options, made)
    limit = slurm.array_limit(given) if have_slurm() else given.array_limit
    planned = slurm.dry_run(recipe, options.out, given, limit, options.upload)
    if options.json:
        show_json({"jobs": planned.lines(), "files": planned.files})
        return 0
    for name, text in sorted(planned.files.items()):
        print(f"==> {name} <==\n{text}")
    print("==> jobs, in the order of submission <==")
    show_lines(planned.lines())
    return 0


def _submitted(options: Namespace, made: slurm.Submission) -> int:
    if options.json:
        show_json({"run": str(made.root), "round": made.number, "jobs": made.ids})
        return 0
    show_lines(made.lines())
    print(f"\nnext: corpusmill status {made.root}")
    return 0


def retry(options: Namespace) -> int:
    given = None if options.profile is None else load_profile(options.profile)
    root = Path(options.run).resolve()
    return _submitted(options, slurm.retry(root, given, force=options.force, say=to_stderr))


def cancel(options: Namespace) -> int:
    ids = slurm.cancel_run(Path(options.run).resolve())
    if options.json:
        show_json({"cancelled": ids})
    else:
        print(f"{len(ids)} jobs cancelled")
    return 0


VERBS: Mapping[str, Callable[[Namespace], int]] = {
    "submit": submit, "retry": retry, "cancel": cancel,
}  # fmt: skip
