"""A real Slurm in a private folder: two virtual nodes on the loopback, no root, no systemd.

Everything (munge key and socket, state, spool, logs, pids) lies below one temporary folder; the
tools find it through ``SLURM_CONF``. Nothing of the machine is configured, and `stop` leaves no
process behind.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

CONF = """
ClusterName=mill
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={base}/munge/sock
CredType=cred/munge
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool-%n
SlurmctldPidFile={base}/ctld.pid
SlurmdPidFile={base}/slurmd-%n.pid
SlurmctldLogFile={base}/ctld.log
SlurmdLogFile={base}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SlurmdTimeout=10
KillWait=5
ReturnToService=2
MinJobAge=300
MaxArraySize={max_array}
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP DefMemPerCPU=500
"""


def missing_programs() -> list[str]:
    """Programs of Slurm and munge that this machine lacks."""
    return [p for p in PROGRAMS if shutil.which(p, path=SEARCH) is None]


@dataclass
class Cluster:
    """A running cluster; `environment` holds what its tools need."""

    base: Path
    max_array: int
    nodes: int = 2
    environment: dict[str, str] = field(default_factory=dict)
    daemons: list[int] = field(default_factory=list)

    def start(self) -> None:
        for name in ("munge", "state", *(f"spool-n{i}" for i in self._numbers())):
            (self.base / name).mkdir(mode=0o755)
        key = self.base / "munge" / "key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o600)
        ports = _free_ports(self.nodes + 1)
        lines = "\n".join(
            f"NodeName=n{i} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[i]} CPUs=4 "
            "RealMemory=4000 State=UNKNOWN"
            for i in self._numbers()
        )
        conf = self.base / "slurm.conf"
        conf.write_text(CONF.format(
            base=self.base, user=getpass.getuser(), controller=ports[0], nodes=lines,
            max_array=self.max_array,
        ))  # fmt: skip
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        self.environment = {**kept, "PATH": SEARCH, "SLURM_CONF": str(conf)}
        munge = self.base / "munge"
        self.call(
            "munged", f"--key-file={key}", f"--socket={munge}/sock", f"--pid-file={munge}/pid",
            f"--log-file={munge}/log", f"--seed-file={munge}/seed",
        )  # fmt: skip
        self.call("slurmctld", "-c")
        for i in self._numbers():
            self.call("slurmd", "-N", f"n{i}")
        self.wait("all nodes are idle", self._idle, 60)

    def _numbers(self) -> range:
        return range(1, self.nodes + 1)

    def _idle(self) -> bool:
        done = self.call("sinfo", "-h", "-N", "-o", "%n %T", check=False)
        return done.stdout.count(" idle\n") == self.nodes

    def call(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs one program of Slurm against this cluster."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60
        )
        if check and done.returncode:
            raise RuntimeError(
                f"{command} ended with {done.returncode}: {done.stderr}{self.logs()}"
            )
        return done

    def logs(self) -> str:
        """The ends of the daemons' logs."""
        parts = []
        for path in sorted(self.base.glob("*.log")):
            parts.append(f"\n--- {path.name}\n{path.read_text('utf-8', 'replace')[-1500:]}")
        return "".join(parts)

    def wait(self, what: str, true: object, seconds: float = 60.0) -> None:
        """Polls `true` until it holds. Raises TimeoutError with the queue and the logs."""
        assert callable(true)
        until = time.monotonic() + seconds
        while not true():
            if time.monotonic() > until:
                queue = self.call("squeue", check=False).stdout
                raise TimeoutError(f"{what}: not within {seconds} s\n{queue}{self.logs()}")
            time.sleep(0.1)

    def save_state(self, job: str) -> None:
        """Has the controller write down all that it knows. What a killed one had not written is
        forgotten: it would start a job again that runs, and find its node taken."""
        path = self.base / "state" / "job_state"
        for _ in range(2):  # the first may be of a moment before
            before = path.stat().st_mtime_ns if path.exists() else 0
            self.call("scontrol", "update", f"JobId={job}", "Comment=seen")
            self.wait(
                "the state is written",
                lambda: path.exists() and path.stat().st_mtime_ns > before,  # noqa: B023
            )

    def restart_controller(self) -> None:
        """SIGKILL for the controller, then a new one, which finds the state of the old."""
        pid = int((self.base / "ctld.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        self.wait("the controller is gone", lambda: not _alive(pid), 10)
        self.call("slurmctld")
        self.wait("it answers", lambda: self.call("squeue", check=False).returncode == 0)

    def requeue(self, job: str) -> None:
        """Ends a running job and queues it again; returns when it may be started. A node refuses
        for good what was signed within the second in which it ended the job: it was before."""
        self.call("scontrol", "requeue", job)
        self.wait("it is queued again", lambda: f"{job} PENDING" in self.queue())
        time.sleep(1.1)

    def start_now(self, job: str) -> None:
        """Takes away the two minutes that a requeued job must wait."""
        self.call("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)

    def queue(self) -> list[str]:
        """``ID STATE`` of every job in the queue, elements one by one."""
        return self.call("squeue", "-h", "-r", "-o", "%i %T").stdout.splitlines()

    def empty(self) -> bool:
        return self.queue() == []

    def processes(self) -> list[int]:
        """Living processes of this cluster: its daemons, and what runs in its jobs."""
        return sorted({*_naming(str(self.base)), *self._daemon_pids()})

    def _daemon_pids(self) -> Iterator[int]:
        for path in [*self.base.glob("*.pid"), self.base / "munge" / "pid"]:
            if path.exists() and path.read_text().strip().isdigit():
                pid = int(path.read_text())
                if _alive(pid):
                    yield pid

    def stop(self) -> None:
        """Ends every process of the cluster: first jobs, then daemons; by force what stays."""
        if self.environment:
            self.call("scancel", "--full", f"--user={getpass.getuser()}", check=False)
        found = self.processes()
        for sig, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            for pid in self.processes():
                _kill(pid, sig)
            until = time.monotonic() + seconds
            while any(map(_alive, found)) and time.monotonic() < until:
                time.sleep(0.05)
        left = self.processes()
        if left:
            raise RuntimeError(f"processes of the cluster are left: {left}")


def start_cluster(*, max_array: int) -> Cluster:
    """A new cluster; the caller stops it. The folder is short: sockets have 107 characters."""
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="mill-slurm-")), max_array)
    cluster.base.chmod(0o755)  # munged refuses a folder that only its owner can enter
    try:
        cluster.start()
    except BaseException:
        remove(cluster)
        raise
    return cluster


def remove(cluster: Cluster) -> None:
    """Stops a cluster and removes its folder."""
    try:
        cluster.stop()
    finally:
        shutil.rmtree(cluster.base, ignore_errors=True)


def _free_ports(count: int) -> Sequence[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def _naming(text: str) -> Iterator[int]:
    """Processes whose command line or SLURM_CONF names the cluster's folder."""
    wanted = re.compile(re.escape(text) + r"(?=[/\0]|$)")
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes()
            world = Path(f"/proc/{entry}/environ").read_bytes()
        except OSError:
            continue  # it has ended, or belongs to somebody else
        conf = b"\0".join(v for v in world.split(b"\0") if v.startswith(b"SLURM_CONF="))
        if wanted.search((words + b"\0" + conf).decode("utf-8", "replace")) and _alive(int(entry)):
            yield int(entry)


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _kill(pid: int, sig: signal.Signals) -> None:
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return  # it has ended
