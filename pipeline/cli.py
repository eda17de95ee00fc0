"""The command line: arguments only; each verb calls one function of `verbs`.

Data goes to standard output, progress and errors to standard error. Exit codes: 0 done, 1 work
failed, 2 usage or configuration, 3 integrity.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

PROGRAM = "corpusmill"


def parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        description="From crawled HTML to token shards, with an account of every record.",
        epilog="First steps: run a recipe, read its report, ask why a page was kept or dropped.",
    )
    top.add_argument("--version", action="store_true", help="print the version and stop")
    verbs = top.add_subparsers(dest="verb", metavar="VERB")
    _run_verbs(verbs)
    _look_verbs(verbs)
    _stage_verbs(verbs)
    _result_verbs(verbs)
    return top


def _named_documents(sub: argparse.ArgumentParser) -> None:
    for name, text in (
        ("host", "documents of this host and its subdomains"),
        ("url", "the document of this address"),
        ("id", "the document with this id"),
        ("email-hash", "documents with the address of this sha256 (of its lower-case form)"),
    ):
        sub.add_argument(f"--{name}", action="append", default=[], help=text)


def _result_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sub = _verb(verbs, "forget", "a finished result without some documents, with the proof")
    sub.add_argument("run", metavar="RUN")
    _named_documents(sub)
    sub.add_argument("--out", required=True, metavar="DIR", help="the new result")
    sub = _verb(verbs, "tokenizer", "train a tokenizer on files, look what is wrong with one")
    sub.add_argument("what", choices=["train", "cut", "ranks", "pairs", "audit", "compare"])
    sub.add_argument("things", nargs="+", metavar="CONFIG|TOKENIZER")
    sub.add_argument("--out", metavar="PATH", help="where train, cut, ranks and pairs write")
    sub.add_argument("--size", type=int, help="tokens that cut leaves")
    sub.add_argument("--texts", action="append", default=[], metavar="FILE",
                     help="text to look with: .txt, .jsonl or .parquet (field text)")  # fmt: skip
    sub.add_argument("--by", metavar="FIELD", help="groups of rows by this field, as lang")
    sub.add_argument("--plot", metavar="FILE.html", help="write bytes per token as bars")
    sub = _verb(verbs, "reproduce", "make a result again and compare it with its lock")
    sub.add_argument("target", metavar="RUN|LOCK")
    sub.add_argument("--out", required=True, metavar="DIR", help="where to make it")
    sub.add_argument("--recipe", metavar="RECIPE", help="where no plan lies beside the lock")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
                     help="of the recipe: --set sources.web.root=DIR")  # fmt: skip
    sub.add_argument("--workers", type=int, help="worker processes (default: all cores)")
    sub = _verb(verbs, "export", "a result in the form that others read")
    sub.add_argument("target", metavar="RUN|LOCK")
    sub.add_argument(
        "--format", required=True, dest="form", metavar="FORM",
        help="croissant, hf-card, datasheet, dcat; or the shards as megatron, datatrove, olmo, "
             "llmc, mds, litdata, parquet, text",
    )  # fmt: skip
    sub.add_argument("--out", required=True, metavar="PATH", help="a file, or a folder of shards")
    sub.add_argument("--stream", metavar="NAME", help="of the shards, only this stream")
    sub.add_argument("--about", metavar="FILE", help="a text of yours for card or datasheet")
    sub = _verb(verbs, "pack", "rows of a fixed length from whole documents, as an index")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--length", type=int, required=True, metavar="TOKENS", help="of a row")
    sub.add_argument("--out", required=True, metavar="DIR")
    sub.add_argument("--stream", metavar="NAME", help="only this stream")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    *,
    json: bool = True,
) -> argparse.ArgumentParser:
    sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    if json:
        sub.add_argument("--json", action="store_true", help="print one JSON object")
    return sub


def _recipe_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recipe", metavar="RECIPE", help="the recipe, a YAML file")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
                     help="override a key: --set shards.tokens_per_shard=1000")  # fmt: skip
    sub.add_argument("--partitions", type=int, help="partitions of the later phases (power of two)")
    sub.add_argument("--task-bytes", type=int, help="input bytes of one task of the first phase")
    sub.add_argument(
        "--sample", metavar="N", help="about N documents (by keyed hash), or a share like 0.01"
    )


def _upload_argument(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--upload", metavar="s3://BUCKET/PREFIX", help="where the finished products go as well"
    )


def _run_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sub = _verb(verbs, "run", "run a recipe, or resume it, until everything is done")
    _recipe_arguments(sub)
    sub.add_argument("--out", required=True, metavar="RUN", help="the run folder")
    sub.add_argument(
        "--backend",
        choices=["local", "slurm", "ray"],
        default="local",
        help="what starts the workers",
    )
    sub.add_argument("--profile", metavar="FILE", help="how to ask Slurm for jobs, a YAML file")
    sub.add_argument("--workers", type=int, help="worker processes (default: all cores)")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    _upload_argument(sub)
    sub = _verb(verbs, "submit", "submit a recipe, or what is missing of it, to Slurm")
    _recipe_arguments(sub)
    sub.add_argument("--out", required=True, metavar="RUN", help="the run folder")
    sub.add_argument("--profile", required=True, metavar="FILE", help="how to ask for jobs")
    sub.add_argument("--dry-run", action="store_true", help="print scripts and jobs, do nothing")
    _upload_argument(sub)
    sub = _verb(verbs, "retry", "submit to Slurm again what a run misses")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--profile", metavar="FILE", help="another profile than the last")
    sub.add_argument("--force", action="store_true", help="also tasks that were tried too often")
    sub = _verb(verbs, "cancel", "cancel the Slurm jobs of a run")
    sub.add_argument("run", metavar="RUN")
    sub = _verb(verbs, "plan", "plan a recipe and write RUN/plan.json, without running it")
    _recipe_arguments(sub)
    sub.add_argument("--out", required=True, metavar="RUN", help="the run folder")
    sub = _verb(verbs, "estimate", "what a run will take, measured on a part of its input")
    _recipe_arguments(sub)
    sub.add_argument("--workers", type=int, help="worker processes (default: the cores here)")
    sub.add_argument("--bytes", type=int, default=0,
                     help="input bytes to measure on (default: 1/100, 8 MB at least)")  # fmt: skip
    sub.add_argument("--against", metavar="RUN", help="a finished run, to compare with")
    sub = _verb(verbs, "validate", "check a recipe without listing inputs")
    sub.add_argument("recipe", metavar="RECIPE")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides")
    sub = _verb(verbs, "run-tasks", "run tasks of a plan (what the backends start)", json=False)
    sub.add_argument("plan", metavar="PLAN", help="RUN/plan.json")
    sub.add_argument("phase", metavar="PHASE",
                     help="a phase, - to read PHASE I..J from stdin, or publish")  # fmt: skip
    sub.add_argument("tasks", metavar="I..J", nargs="?",
                     help="tasks, both ends included: 0..3,7; or seal")  # fmt: skip
    sub.add_argument("--plan-id", metavar="ID", help="refuse another plan")
    sub.add_argument("--workers", type=int, help="run the tasks in so many processes")
    sub.add_argument("--log", metavar="PREFIX", help="where those processes write their errors")
    sub.add_argument("--wait", type=float, default=0.0, metavar="SECONDS",
                     help="how long seal waits for records")  # fmt: skip
    _upload_argument(sub)
    sub = _verb(verbs, "clean", "remove what attempts left behind, and phases that no plan uses")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument(
        "--intermediates",
        action="store_true",
        help="also earlier phases' tables, which hold text from before PII removal",
    )
    sub = _verb(verbs, "warm", "compile the numeric kernels into their cache")
    sub = _verb(verbs, "init", "write a recipe for a folder of your own")
    sub.add_argument("folder", metavar="FOLDER")
    sub.add_argument("--out", default="recipe.yaml", metavar="FILE")
    _verb(verbs, "schema", "the JSON Schema of recipes, for editors")
    sub = _verb(verbs, "completion", "what a shell needs to complete commands", json=False)
    sub.add_argument("shell", choices=["bash", "zsh", "fish"])


def _look_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sub = _verb(verbs, "status", "phases of a run: done, running, failed")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--task", type=int, metavar="T", help="one task: its last error, log and jobs")
    sub.add_argument("--phase", metavar="PHASE", help="of --task (default: the one at work)")
    sub = _verb(verbs, "report", "the funnel of a run and where its products lie")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--html", nargs="?", const="", metavar="FILE",
                     help="write a page with plots and samples (RUN/report.html)")  # fmt: skip
    sub.add_argument("--against", metavar="BEFORE",
                     help="what became of the same records in another run")  # fmt: skip
    sub = _verb(verbs, "index", "make a run ready to be searched: all texts, signals and fates")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--remake", type=int, default=20000, metavar="N",
                     help="pages of the first phase to make again (default 20000)")  # fmt: skip
    sub = _verb(verbs, "browse", "look around in a run that is indexed, in a browser", json=False)
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--port", type=int, default=0, help="default: one that is free")
    sub = _verb(verbs, "why", "what became of one document, and why")
    sub.add_argument("document", metavar="ID|URL")
    sub.add_argument("--run", required=True, metavar="RUN")
    sub.add_argument("--raw", action="store_true", help="do not mask the text of what was dropped")
    sub.add_argument("--steps", action="store_true", help="read it again, and show every step")
    sub = _verb(verbs, "try", "take one page through the steps of a recipe and show each")
    sub.add_argument("page", metavar="FILE|URL", help="a saved page, a text (.txt), or an address")
    sub.add_argument("--recipe", metavar="RECIPE", help="whose steps (default: those of --run)")
    sub.add_argument("--run", metavar="RUN", help="FILE|URL is an id or URL of this run")
    sub.add_argument("--url", help="the address of a saved page")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides")
    sub.add_argument("--text", action="store_true", help="print the text wherever it changed")
    sub = _verb(
        verbs, "trace", "which document a token belongs to, or where a document's tokens are"
    )
    sub.add_argument("position", nargs="?", metavar="SHARD:OFFSET|ID")
    _named_documents(sub)
    sub.add_argument("--run", required=True, metavar="RUN")
    sub = _verb(verbs, "verify", "re-hash and re-add everything that a lock claims")
    sub.add_argument("target", metavar="RUN|LOCK|s3://…")
    sub.add_argument("--no-inputs", action="store_true", help="do not re-hash the input files")
    sub.add_argument("--release", action="store_true", help="also ask whether it may be given away")
    sub = _verb(verbs, "upload", "send what a lock names to an object store, the lock last")
    sub.add_argument("target", metavar="RUN|LOCK")
    sub.add_argument("address", metavar="s3://BUCKET/PREFIX")
    sub.add_argument("--replace", action="store_true", help="in the place of another result")
    sub = _verb(verbs, "diff", "what changed between two locks")
    sub.add_argument("a", metavar="A")
    sub.add_argument("b", metavar="B")
    sub.add_argument("--exit-code", action="store_true", help="exit 1 if they differ")
    sub = _verb(verbs, "mix", "mix finished runs; what a mix takes, what another changes")
    sub.add_argument("what", choices=["init", "plan", "diff", "import"])
    sub.add_argument("things", nargs="+", metavar="RUN…|RUN|RECIPE|A B|WEIGHTS RECIPE")
    sub.add_argument("--run", metavar="RUN", help="the run that a recipe's counts come from")
    sub.add_argument("--out", metavar="mix.yaml", help="init, import: the recipe to write")
    sub.add_argument("--map", action="append", default=[], metavar="NAME=DOMAIN",
                     help="import: the domain that a weight is of; repeatable")  # fmt: skip
    sub.add_argument("--overlap", action="store_true",
                     help="plan: also what sources and held-out documents share")  # fmt: skip
    sub.add_argument("--benchmarks", metavar="FOLDER", help="with --overlap")
    sub = _verb(verbs, "quantiles", "values that part a run's documents in equal shares")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--signal", action="append", default=[], metavar="NAME")
    sub.add_argument("--parts", type=int, default=20)
    sub.add_argument("--out", metavar="FILE.json", help="edges for classifiers.buckets")
    sub = _verb(verbs, "ablate", "which of two kept sets a small model learns more from")
    sub.add_argument("a", metavar="A", help="a run's folder, or a JSONL with a field text")
    sub.add_argument("b", metavar="B")
    sub.add_argument("--heldout", action="append", default=[], metavar="FILE.jsonl",
                     help="texts to judge on, in neither side; repeatable")  # fmt: skip
    sub.add_argument("--tokens", type=int, default=0,
                     help="of each side (default: half of the smaller side)")  # fmt: skip
    sub.add_argument("--seeds", type=int, default=5)
    sub.add_argument("--model", choices=["ngram", "transformer"], default="ngram",
                     help="transformer: needs the extra hf, and hours on a CPU")  # fmt: skip
    sub.add_argument("--layers", type=int, default=6, help="of the transformer")
    sub.add_argument("--width", type=int, default=384, help="of the transformer")
    sub.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of the transformer")
    sub = _verb(verbs, "ls", "list stages, signals or recipes")
    sub.add_argument("what", choices=["stages", "signals", "recipes"])


def _stage_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sub = _verb(verbs, "extract", "the text of an HTML file, or of a JSONL with a field html")
    sub.add_argument("file", nargs="?", metavar="FILE.html")
    sub.add_argument("--jsonl", nargs=2, metavar=("IN", "OUT"))
    sub.add_argument("--url")
    sub.add_argument("--tier", default="default")
    sub.add_argument("--format", choices=["text", "markdown", "json"], default="text")
    for name, text in (
        ("filter", "signals and the rules' verdict for each row of a JSONL"),
        ("pii", "personal data in each row of a JSONL, and the cleaned text"),
        ("dedup", "exact and near duplicates among the rows of a JSONL"),
        ("contamination", "benchmark items in each row of a JSONL"),
    ):
        sub = _verb(verbs, name, text)
        alone = name not in ("dedup", "pii")
        sub.add_argument("--jsonl", nargs=2, metavar=("IN", "OUT"), required=alone)
        if name == "pii":
            sub.add_argument(
                "--policy", action="append", default=[], metavar="TYPE=POLICY",
                help="tag (the default), pseudonym or annotate; repeatable",
            )  # fmt: skip
            for flag, argument, help_ in (
                ("--key", "FILE", "the secret key of the pseudonyms"),
                ("--audit", "FILE", "write what was replaced where, without the text"),
                ("--new-key", "FILE", "make a key, and print its commitment for the recipe"),
            ):
                sub.add_argument(flag, metavar=argument, help=help_)
            about = "the audit of a run, whose clean.pii has audit: true"
            sub.add_argument("--spans", nargs=2, metavar=("RUN", "OUT"), help=about)
        if name == "dedup":
            sub.add_argument("--removed", metavar="FILE", help="write the other rows here")
            about = (
                "near TEXT: what the text in a file (- for stdin) resembles in a kept set; "
                "index OUT: an index of a kept set for dedup.known; "
                "clusters: the largest groups of duplicates of a run"
            )
            kinds = "near TEXT | index OUT | clusters"
            sub.add_argument("what", nargs="*", metavar=kinds, help=about)
            sub.add_argument("--run", metavar="RUN", help="the run whose kept set is meant")
            sub.add_argument("--only", metavar="LIST",
                             help="index these alone, as documents not to come back")  # fmt: skip
            sub.add_argument("--least", type=float, default=0.1, metavar="SHARE",
                             help="how similar, or how much contained (default 0.1)")  # fmt: skip
        if name == "contamination":
            sub.add_argument("--benchmarks", metavar="DIR", required=True)
            about = "first halves count where the line goes on, too; more false alarms"
            sub.add_argument("--half-anywhere", action="store_true", help=about)
    sub = _verb(verbs, "canary", "a keyed set to put into a mix; was a model trained on it?")
    sub.add_argument("what", choices=["make", "test"])
    sub.add_argument("folder", nargs="?", metavar="DIR", help="the set")
    sub.add_argument("scores", nargs="?", metavar="SCORES.jsonl",
                     help="of test: id and logprob of each of the set's queries")  # fmt: skip
    sub.add_argument("--key", metavar="FILE", help="of make: a secret key (made if missing)")
    for name, number in (("shards", 20), ("items", 12), ("orders", 50)):
        sub.add_argument(f"--{name}", type=int, default=number, metavar="N",
                         help=f"of make: default {number}")  # fmt: skip
    sub = _verb(verbs, "train", "train a model that a stage uses")
    sub.add_argument("what", choices=["classifier", "clusters", "grade", "perplexity", "topics"])
    sub.add_argument("config", metavar="CONFIG")
    sub.add_argument("--out", required=True, metavar="DIR")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    top = parser()
    options = top.parse_args(arguments)
    if options.version:
        from importlib.metadata import version

        print(f"{PROGRAM} {version('corpusmill')}")
        return 0
    if options.verb is None:
        top.print_help(sys.stderr)
        return 2
    from . import verbs
    from .errors import CorpusmillError

    try:
        return verbs.VERBS[options.verb](options)
    except CorpusmillError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        print(
            f"{PROGRAM}: the module {error.name!r} is missing from this installation\n"
            "hint: install corpusmill again, with all its dependencies",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away; nothing is wrong
        return 0
    except KeyboardInterrupt:
        print(f"{PROGRAM}: stopped; running again resumes", file=sys.stderr)
        return 130
