"""What would be submitted: scripts, lists of tasks and the graph. Needs no Slurm."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from corpusmill.pipeline import Plan, Recipe, run
from corpusmill.pipeline.cli import main
from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.planning import Phase, make_plan
from corpusmill.pipeline.profile import PhaseProfile, Profile
from corpusmill.pipeline.slurm import dry_run, to_do
from corpusmill.pipeline.slurm_jobs import (
    Needs,
    Place,
    Round,
    check_place,
    graph_lines,
    make_round,
    options,
    spans,
)

from .conftest import DEDUP, LINES, write_corpus

PROFILE = Profile(
    schema="corpusmill/slurm-profile/1", time="02:00:00", memory="4G", partition="cpu",
    account="p-1", qos="low", cpus=2, max_running=5, scratch="/scratch/$SLURM_JOB_ID",
    setup=("module load python/3.12",), sbatch=("--constraint=avx2",),
    python="/usr/bin/python3.12",
)  # fmt: skip

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=cm-TOKEN-01-read
#SBATCH --chdir=ROOT
#SBATCH --open-mode=append
#SBATCH --partition=cpu
#SBATCH --account=p-1
#SBATCH --qos=low
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --constraint=avx2
#SBATCH --signal=B:TERM@60
# sbatch --array=0-K THIS FIRST: element I runs line FIRST + I of the list, from 0.
export CORPUSMILL_JOB_END=$(($(date +%s) + 7200))
set -eu
unset CORPUSMILL_PARENT
export TMPDIR="/scratch/$SLURM_JOB_ID"
[ -d "$TMPDIR" ] || { echo "no folder $TMPDIR on this node" >&2; exit 2; }
module load python/3.12
tasks=$(sed -n "$(($1 + SLURM_ARRAY_TASK_ID + 1))p" ROOT/slurm/round-N/01-read-KEY.tasks)
log=ROOT/slurm/round-N/logs/01-read/$(printf %06d "$1")/$SLURM_ARRAY_TASK_ID
exec /usr/bin/python3.12 -P -m corpusmill.pipeline run-tasks ROOT/plan.json --plan-id PLAN \
--workers 2 --log "$log" 01-read "$tasks"
"""

SEAL = """\
#!/bin/bash
#SBATCH --job-name=cm-TOKEN-01-read-seal
#SBATCH --chdir=ROOT
#SBATCH --open-mode=append
#SBATCH --partition=cpu
#SBATCH --account=p-1
#SBATCH --qos=low
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --constraint=avx2
set -eu
unset CORPUSMILL_PARENT
export TMPDIR="/scratch/$SLURM_JOB_ID"
[ -d "$TMPDIR" ] || { echo "no folder $TMPDIR on this node" >&2; exit 2; }
module load python/3.12
exec /usr/bin/python3.12 -P -m corpusmill.pipeline run-tasks ROOT/plan.json --plan-id PLAN \
01-read seal --wait 90
"""

GRAPH = """\
01-read.0: array of 3
01-read.3: array of 3
01-read.6: array of 1
01-read.seal: one job, afterany 01-read.0, afterany 01-read.3, afterany 01-read.6
02-exact.group.0: array of 2, afterok 01-read.seal
02-exact.group.seal: one job, afterok 01-read.seal, afterany 02-exact.group.0
03-exact.tally.0: array of 1, afterok 02-exact.group.seal
03-exact.tally.seal: one job, afterok 02-exact.group.seal, afterany 03-exact.tally.0
04-docs.0: array of 2, afterok 03-exact.tally.seal
04-docs.seal: one job, afterok 03-exact.tally.seal, afterany 04-docs.0
publish: one job, afterok 04-docs.seal
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    write_corpus(tmp_path / "input", 7)
    return Recipe.parse(DEDUP, tmp_path)


def plain(text: str, plan: Plan, root: Path) -> str:
    """`text` without what differs from one test to the next."""
    for phase in plan.phases:
        text = text.replace(phase.key[:12], "KEY")
    return text.replace(plan.plan_id, "PLAN").replace(str(root), "ROOT")


def test_scripts_and_graph(recipe: Recipe, tmp_path: Path) -> None:
    root = tmp_path / "run"
    made = dry_run(recipe, root, PROFILE, 3)
    files = {plain(n, made.plan, root): plain(t, made.plan, root) for n, t in made.files.items()}
    assert files["01-read.sh"] == SCRIPT
    assert files["01-read.seal.sh"] == SEAL
    assert files["01-read-KEY.tasks"] == "0\n1\n2\n3\n4\n5\n6\n"
    assert "\n".join([*made.lines(), ""]) == GRAPH
    assert not root.exists()


def test_where_the_last_job_sends_the_products(recipe: Recipe, tmp_path: Path) -> None:
    plain_end = dry_run(recipe, tmp_path / "run", PROFILE, 3).files["publish.sh"]
    made = dry_run(recipe, tmp_path / "run", PROFILE, 3, "s3://corpora/it's")
    assert made.files["publish.sh"] == plain_end.rstrip("\n") + (
        " --upload 's3://corpora/it'\"'\"'s'\n"
    )
    assert not any("s3:" in text for name, text in made.files.items() if name != "publish.sh")


def test_what_stands_on_the_command_line(recipe: Recipe, tmp_path: Path) -> None:
    made = dry_run(recipe, tmp_path / "run", PROFILE, 3)
    ids = {job.key: str(100 + i) for i, job in enumerate(made.jobs)}
    given = {job.key: options(job, ids, PROFILE, Path("/r")) for job in made.jobs}
    assert given["01-read.3"] == [
        "--output=/r/logs/01-read/000003/%a.log", "--array=0-2%5", "--hold",
    ]  # fmt: skip
    assert given["01-read.seal"] == [
        "--output=/r/logs/01-read.seal.log", "--dependency=afterany:100:101:102",
    ]  # fmt: skip
    assert given["02-exact.group.seal"][1] == "--dependency=afterok:103,afterany:104"
    assert given["publish"][1:] == ["--dependency=afterok:109"]


def test_every_job_but_the_first_waits_for_the_seal_before(recipe: Recipe, tmp_path: Path) -> None:
    made = dry_run(recipe, tmp_path / "run", PROFILE, 1)
    seals = [j.key for j in made.jobs if j.role == "seal"]
    for job in made.jobs:
        number = len(seals) if job.role == "publish" else seals.index(f"{job.phase}.seal")
        assert job.after_ok == ((seals[number - 1],) if number else ())
        if job.role == "seal":
            arrays = [j.key for j in made.jobs if j.role == "tasks" and j.phase == job.phase]
            assert list(job.after_any) == arrays


def test_tasks_in_groups_and_only_missing_ones(recipe: Recipe, tmp_path: Path) -> None:
    plan = make_plan(recipe)
    profile = dataclasses.replace(PROFILE, phases={"01-read": PhaseProfile(tasks_per_element=3)})
    place = Place(tmp_path, tmp_path / "slurm" / "round-2", "t")
    needs = {"01-read": Needs(8 << 20, 10800)}
    todo = [(plan.phase("01-read"), [0, 1, 2, 4, 5, 6]), (plan.phase("04-docs"), [])]
    made = make_round(plan, todo, profile, 10, place, needs)
    listed = next(text for name, text in made.files.items() if name.endswith(".tasks"))
    assert listed == "0..2\n4..6\n"
    assert [j.key for j in made.jobs] == ["01-read.0", "01-read.seal", "04-docs.seal", "publish"]
    assert "#SBATCH --mem=8G\n#SBATCH --time=03:00:00\n" in made.files["01-read.sh"]
    assert "+ 10800" in made.files["01-read.sh"]
    assert "#SBATCH --mem=4G\n" in made.files["01-read.seal.sh"]


def test_a_sealed_phase_is_not_submitted(recipe: Recipe, tmp_path: Path) -> None:
    root = run(recipe, tmp_path / "run", workers=1).root
    made = dry_run(recipe, root, PROFILE, 3)
    assert made.lines() == ["publish: one job"]
    next(root.glob("phases/04-docs-*/sealed.json")).unlink()
    next(root.glob("phases/04-docs-*/commits/0000/000001.json")).unlink()
    made = dry_run(recipe, root, PROFILE, 3)
    assert made.lines() == [
        "04-docs.0: array of 1", "04-docs.seal: one job, afterany 04-docs.0",
        "publish: one job, afterok 04-docs.seal",
    ]  # fmt: skip
    assert [t for n, t in made.files.items() if n.endswith(".tasks")] == ["1\n"]


ELEMENT_BY_ELEMENT = """\
04-lines.mark.0: array of 2, afterok 03-lines.count.seal
04-lines.mark.seal: one job, afterok 03-lines.count.seal, afterany 04-lines.mark.0
05-lines.tally.0: array of 1, afterok 04-lines.mark.seal
05-lines.tally.seal: one job, afterok 04-lines.mark.seal, afterany 05-lines.tally.0
06-docs.0: array of 2, aftercorr 04-lines.mark.0
06-docs.seal: one job, afterok 05-lines.tally.seal, afterany 06-docs.0
publish: one job, afterok 06-docs.seal
"""


def last_lines(made: Round, count: int = 7) -> str:
    return "\n".join([*graph_lines(made.jobs)[-count:], ""])


def test_elements_wait_for_those_of_their_number(tmp_path: Path) -> None:
    """Only where both phases are whole, cut alike, and one array each."""
    write_corpus(tmp_path / "input", 3)
    plan = make_plan(Recipe.parse(LINES, tmp_path))
    place = Place(tmp_path, tmp_path / "slurm" / "round-1", "t")

    def made(profile: Profile, limit: int = 3, **missing: list[int]) -> Round:
        todo = [
            (p, missing.get(p.name.partition("-")[2].replace(".", "_"), [*range(p.tasks)]))
            for p in plan.phases
        ]
        return make_round(plan, todo, profile, limit, place, {})

    whole = made(PROFILE)
    assert last_lines(whole) == ELEMENT_BY_ELEMENT
    ids = {job.key: str(100 + i) for i, job in enumerate(whole.jobs)}
    docs = next(job for job in whole.jobs if job.key == "06-docs.0")
    assert (
        options(docs, ids, PROFILE, Path("/r"))[-1]
        == f"--dependency=aftercorr:{ids['04-lines.mark.0']}"
    )
    several = {"04-lines.mark": PhaseProfile(tasks_per_element=2)}
    for other in (
        made(PROFILE, lines_mark=[1]), made(PROFILE, lines_mark=[]), made(PROFILE, docs=[0]),
        made(dataclasses.replace(PROFILE, phases=several)), made(PROFILE, limit=1),
    ):  # fmt: skip
        text = last_lines(other, 9)
        assert "06-docs.0: array of" in text
        assert "aftercorr" not in text
        assert ", afterok 05-lines.tally.seal\n" in text.partition("06-docs.0: ")[2]


def test_a_tokenizer_that_is_given_waits_for_nothing_of_its_group(tmp_path: Path) -> None:
    """So that documents can be encoded as they come; the seal of what is encoded waits for all."""
    write_corpus(tmp_path / "input", 3)
    plan = make_plan(Recipe.parse(LINES, tmp_path))
    take = Phase("07-take", "aux", "t", 1, step="t", upstream=("06-docs",), reads="nothing")
    encode = Phase(
        "08-encode", "aux", "e", 2, step="e", upstream=("06-docs", "07-take"),
        reads="own documents",
    )  # fmt: skip
    more = Plan(plan.data, (*plan.phases, take, encode))
    place = Place(tmp_path, tmp_path / "slurm" / "round-1", "t")
    todo = [(p, [*range(p.tasks)]) for p in more.phases]
    assert (
        last_lines(make_round(more, todo, PROFILE, 3, place, {}), 6)
        == """\
06-docs.seal: one job, afterok 05-lines.tally.seal, afterany 06-docs.0
07-take.0: array of 1, afterok 03-lines.count.seal
07-take.seal: one job, afterok 03-lines.count.seal, afterany 07-take.0
08-encode.0: array of 2, afterok 07-take.seal, aftercorr 06-docs.0
08-encode.seal: one job, afterok 06-docs.seal, afterok 07-take.seal, afterany 08-encode.0
publish: one job, afterok 08-encode.seal
"""
    )


def test_spans() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0..2,5,7..8"
    assert spans([3]) == "3"


@pytest.mark.parametrize("name", ["a b", "a%j", "a#b", "a'b", "a\\b", "a$b", "ä"])
def test_paths_that_sbatch_would_read_otherwise(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot stand in a job script"):
        check_place(Path("/x") / name)


def test_a_phase_that_the_plan_does_not_have(recipe: Recipe, tmp_path: Path) -> None:
    profile = dataclasses.replace(PROFILE, phases={"02-exakt": PhaseProfile(cpus=1)})
    with pytest.raises(
        ConfigError, match=r"a phase '02-exakt'\nhint: phases are 01-read, 02-exact"
    ):
        dry_run(recipe, tmp_path / "run", profile, 3)


def test_the_command_line_without_slurm(
    recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "recipe.yaml").write_text(DEDUP)
    profile = tmp_path / "profile.yaml"
    profile.write_text("schema: corpusmill/slurm-profile/1\ntime: '60'\nmemory: 1G\n")
    words = ["submit", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "run")]
    assert main([*words, "--profile", str(profile), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "==> 01-read.sh <==\n#!/bin/bash\n" in shown
    assert f"exec {sys.executable} -P -m" in shown
    assert shown.endswith("publish: one job, afterok 04-docs.seal\n")
    assert main([*words, "--profile", str(profile), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0] == "01-read.0: array of 7"
    assert main([*words, "--profile", str(profile)]) == 2
    assert "not on this machine" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    run_words = ["run", *words[1:]]
    assert main([*run_words, "--backend", "slurm"]) == 2
    assert "needs --profile FILE" in capsys.readouterr().err
    assert main([*run_words, "--profile", str(profile)]) == 2
    assert "add --backend slurm" in capsys.readouterr().err
    assert main(["retry", str(tmp_path / "run")]) == 2
    assert main(["cancel", str(tmp_path / "run")]) == 2


def test_guards_of_reused_phases_hold(recipe: Recipe, tmp_path: Path) -> None:
    """`submit` stops before any job where a sealed phase breaks a guard of the recipe."""
    from corpusmill.pipeline.engine import RunFolder
    from corpusmill.pipeline.errors import StageError

    root = run(recipe, tmp_path / "run", workers=1).root
    text = DEDUP.replace("licence: CC0-1.0", 'licence: CC0-1.0, max_loss: "0.01"')
    strict = make_plan(Recipe.parse(text, tmp_path))
    with pytest.raises(StageError, match="source rows lost 7 of 70 documents"):
        to_do(RunFolder(root, strict))
