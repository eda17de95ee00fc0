"""Profiles are read strictly: what is wrong is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpusmill.pipeline.errors import ConfigError
from corpusmill.pipeline.params import decode_dataclass, encode
from corpusmill.pipeline.profile import (
    Profile,
    load_profile,
    memory_kilobytes,
    memory_text,
    time_seconds,
    time_text,
)

PROFILE = 'schema: corpusmill/slurm-profile/1\ntime: "01:00:00"\nmemory: 2G\n'


def load(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "profile.yaml"
    path.write_text(text)
    return load_profile(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "partitions: x",
            r"profile.yaml: unknown key 'partitions'\nhint: did you mean 'partition'",
        ),
        ("partition: a b", r"partition: 'a b' is not a name"),
        ("account: --wrap=x", r"account: '--wrap=x' is not a name"),
        ("cpus: 0", r"cpus: 0 is below 1"),
        ("cpus: two", r"profile.yaml.cpus: a whole number is needed"),
        ("array_limit: 0", r"array_limit: 0 is below 1"),
        ("max_running: 0", r"max_running: 0 is below 1"),
        ("stop_seconds: 1900", r"stop_seconds 1900 is more than half"),
        ("max_memory: 1G", r"max_memory 1G is below memory 2G"),
        ("max_time: '00:30:00'", r"max_time 00:30:00 is below time 01:00:00"),
        ("python: python3", r"python: 'python3' is not an absolute path"),
        ("scratch: $(rm x)", r"scratch: .* is not a plain path"),
        ("setup: ['']", r"setup: '' is not one line"),
        ("sbatch: [-p x]", r"sbatch: '-p x' is not one long option"),
        ("sbatch: ['--mem=3G']", r"sbatch: --mem is set by Corpusmill"),
        ("sbatch: ['--array=0-9']", r"sbatch: --array is set by Corpusmill"),
        ("sbatch: ['--constraint=a b']", r"is not one long option"),
        ("phases: {01-read: {memory: lots}}", r"phases.01-read: 'lots' is not an amount of memory"),
        ("phases: {01-read: {time: '30'}}\nstop_seconds: 1000", r"stop_seconds 1000 is more than"),
        ("phases: {01-read: {partition: x}}", r"unknown key 'partition'"),
    ],
)
def test_what_is_refused(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(tmp_path, PROFILE + line + "\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            PROFILE.replace("profile/1", "profile/2"),
            "schema 'corpusmill/slurm-profile/2' is unknown",
        ),
        (PROFILE.replace('time: "01:00:00"\n', ""), "the key 'time' is missing"),
        (PROFILE.replace("memory: 2G\n", ""), "the key 'memory' is missing"),
        (PROFILE.replace("2G", "2GB"), "'2GB' is not an amount of memory"),
        (PROFILE.replace('"01:00:00"', "'0:30'"), "less than a minute"),
        ("- a list", "a mapping of keys is needed"),
    ],
)
def test_what_is_missing_or_unknown(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(tmp_path, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the profile"):
        load_profile(tmp_path / "none.yaml")


def test_phases_fall_back_to_the_profile(tmp_path: Path) -> None:
    more = "cpus: 2\nphases: {02-x: {memory: 8G, tasks_per_element: 4}, 03-y: {time: 1-00}}\n"
    made = load(tmp_path, PROFILE + more)
    assert [made.kilobytes(n) for n in ("01-read", "02-x")] == [2 << 20, 8 << 20]
    assert [made.group(n) for n in ("01-read", "02-x")] == [1, 4]
    assert [made.seconds(n) for n in ("02-x", "03-y")] == [3600, 86400]
    assert made.workers("03-y") == 2
    assert decode_dataclass(Profile, encode(made), "again") == made


@pytest.mark.parametrize(
    ("text", "seconds", "back"),
    [
        ("90", 5400, "01:30:00"),
        ("01:30", 90, "00:01:30"),
        ("02:00:00", 7200, "02:00:00"),
        ("36:00:00", 129600, "1-12:00:00"),
        ("2-12", 216000, "2-12:00:00"),
        ("0-01:30", 5400, "01:30:00"),
        ("1-02:03:04", 93784, "1-02:03:04"),
    ],
)
def test_time_limits(text: str, seconds: int, back: str) -> None:
    assert time_seconds(text) == seconds
    assert time_text(seconds) == back
    assert time_seconds(back) == seconds


@pytest.mark.parametrize("text", ["", "1h", "1:2:3:4", "-5", "1-", "UNLIMITED", "٣:00:00"])
def test_no_time_limits(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a time limit"):
        time_seconds(text)


def test_memory() -> None:
    for text, kilobytes, back in (
        ("500", 512000, "500M"), ("500M", 512000, "500M"), ("1G", 1 << 20, "1G"),
        ("1024M", 1 << 20, "1G"), ("3K", 3, "3K"), ("2T", 2 << 30, "2T"),
    ):  # fmt: skip
        assert memory_kilobytes(text) == kilobytes
        assert memory_text(kilobytes) == back
    for text in ("0", "1.5G", "G", "1 G", "1g", "-1"):
        with pytest.raises(ConfigError, match="is not an amount of memory"):
            memory_kilobytes(text)


def test_the_profiles_that_come_with_the_package() -> None:
    found = sorted((Path(__file__).parents[2] / "configs" / "slurm").glob("*.yaml"))
    assert [p.name for p in found] == ["large.yaml", "small.yaml"]
    for path in found:
        load_profile(path)
