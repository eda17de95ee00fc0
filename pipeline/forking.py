"""Processes forked from one that is warm: each begins with all that the other has loaded.

A `ForkServer` starts such a process, whose program calls `serve_forks`, and asks it for others.
They are those of a `subprocess.Popen` to whoever asked, and end with it. Only a process with one
thread is forked, for the locks of others would stay locked in the copy: where a library has started
threads the server refuses, and whoever asked starts a process in the ordinary way.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_PR_SET_PDEATHSIG = 1
_MESSAGE_BYTES = 1 << 16
_STOP_SECONDS = 10.0
_STOPS = (signal.SIGINT, signal.SIGTERM)

Request = Mapping[str, Any]


def die_with(parent: int) -> None:
    """Makes the kernel kill this process when its parent dies, which must be `parent`."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call above
        os._exit(1)


class Forked:
    """A forked process, with as much of `subprocess.Popen` as is needed. It is killed by `close`,
    and when the process that has this object ends."""

    def __init__(self, pid: int, link: socket.socket, stdin: IO[Any], stdout: IO[Any]) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None
        self._link = link

    def poll(self) -> int | None:
        """The exit code (negative: the signal), None while it runs."""
        if self.returncode is None and _speaks(self._link, 0):
            self._hear()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not _speaks(self._link, timeout):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self._hear()
        return self.returncode if self.returncode is not None else -signal.SIGKILL

    def _hear(self) -> None:
        told = _told(self._link)
        self.returncode = -signal.SIGKILL if told is None else int(told["code"])
        self._link.close()  # no answer: the server has died, and all its processes with it

    def close(self) -> None:
        """Gives it up, and closes the pipes."""
        self._link.close()
        for stream in (self.stdin, self.stdout):
            with suppress(OSError):  # what is left for a dead process cannot be written
                stream.close()

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class ForkServer:
    """The other end of `serve_forks`, in a process of its own that ends with the one that made
    this object. Processes forked from that one may ask too."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], log: int | IO[Any]
    ) -> None:
        """`command` gets the number of a socket's descriptor as its last word."""
        self._maker = os.getpid()
        self._control, theirs = _pair()
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def prepare(self, request: Request) -> Any:
        """What the server's `prepare` returns; None if it has failed, or is gone."""
        link, answer = self._ask(request, ())
        link.close()
        return answer.get("ready")

    def begin(self, request: Request) -> None:
        """`prepare`, without waiting for its end."""
        link, theirs = _pair()
        link.close()
        self._send(request, theirs, ())

    def start(self, request: Request, stderr: int, *, text: bool) -> Forked | None:
        """A new process with pipes for its standard input and output, after `prepare`; None if
        the server refuses, or is gone."""
        (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
        link, answer = self._ask(request, (in_read, out_write, stderr))
        os.close(in_read)
        os.close(out_write)
        if "pid" not in answer:
            link.close()
            os.close(in_write)
            os.close(out_read)
            return None
        if text:
            stdin: IO[Any] = open(in_write, "w", buffering=1, encoding="utf-8")  # noqa: SIM115
            stdout: IO[Any] = open(out_read, encoding="utf-8")  # noqa: SIM115
        else:
            stdin, stdout = open(in_write, "wb"), open(out_read, "rb")  # noqa: SIM115
        return Forked(answer["pid"], link, stdin, stdout)

    def _ask(self, request: Request, files: Sequence[int]) -> tuple[socket.socket, dict[str, Any]]:
        link, theirs = _pair()
        self._send(request, theirs, files)
        return link, _told(link) or {}

    def _send(self, request: Request, link: socket.socket, files: Sequence[int]) -> None:
        """Sends a request with the end of a link; that end is closed here, so that the other one
        hears nothing where the server is gone."""
        with link, suppress(OSError):
            message = json.dumps(request).encode()
            socket.send_fds(self._control, [message], [link.fileno(), *files])

    def close(self) -> None:
        """Gives the server up; the process that made it also ends it, with all that it forked."""
        if os.getpid() != self._maker:
            self._control.close()
            return
        with suppress(OSError):  # it is gone
            self._control.shutdown(socket.SHUT_RDWR)  # also where forks hold the socket open
        self._control.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve_forks(
    control: socket.socket, prepare: Callable[[Request], Any], child: Callable[[Request], int]
) -> None:
    """Answers until nobody can ask any more: `prepare` runs in this process, then `child` in a
    fork of it, whose exit code it returns. What `prepare` raises is a refusal."""
    _Server(control, prepare, child).run()


class _Server:
    def __init__(
        self, control: socket.socket, prepare: Callable[[Request], Any],
        child: Callable[[Request], int],
    ) -> None:  # fmt: skip
        self._control = control
        self._prepare = prepare
        self._child = child
        self._links: dict[int, socket.socket] = {}
        """By process id."""
        self._selector = selectors.DefaultSelector()
        self._bell, self._wake = os.pipe()

    def run(self) -> None:
        for number in _STOPS:  # whoever asked says when it is over
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for end in (self._bell, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ, self._requested)
        self._selector.register(self._bell, selectors.EVENT_READ, self._ended)
        asked = True
        while asked or self._links:
            for key, _ in self._selector.select():
                if key.data() is False:
                    asked = False
                    self._selector.unregister(self._control)
                    for pid in self._links:
                        os.kill(pid, signal.SIGKILL)

    def _requested(self) -> bool:
        message, files, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 4)
        if not message:
            return False
        request = json.loads(message)
        link = socket.socket(fileno=files[0])
        try:
            answer = self._answer(request, link, files[1:])
        except Exception as error:  # noqa: BLE001 - whoever asked does without
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            answer = {}
        with suppress(OSError):  # whoever asked is gone: its process is killed below
            link.send(json.dumps(answer).encode())
        for file in files[1:]:
            os.close(file)
        if "pid" not in answer:
            link.close()
        return True

    def _answer(self, request: Request, link: socket.socket, files: Sequence[int]) -> Any:
        ready = self._prepare(request)
        if not files:
            return {"ready": ready}
        if threads := _other_threads():
            raise ChildProcessError(f"no process is forked beside threads: {', '.join(threads)}")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        parent = os.getpid()
        gc.freeze()  # or the first collection would copy every page
        # What the copy is sent before it has handlers of its own waits for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        pid = os.fork()
        if pid == 0:
            self._become(parent, request, link, files)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        gc.unfreeze()
        self._links[pid] = link
        self._selector.register(link, selectors.EVENT_READ, lambda: self._dropped(pid))
        return {"pid": pid}

    def _become(
        self, parent: int, request: Request, link: socket.socket, files: Sequence[int]
    ) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
            die_with(parent)
            for place, file in enumerate(files):
                os.dup2(file, place)
                os.close(file)
            self._selector.close()
            for other in (self._control, link, *self._links.values()):
                other.close()  # or nobody would see that one of them has ended
            os.close(self._bell)
            os.close(self._wake)
            code = self._child(request)
        except BaseException:  # noqa: BLE001 - nothing may go on as the server
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    def _ended(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._bell, 1 << 16)
        for pid in list(self._links):
            found, status = os.waitpid(pid, os.WNOHANG)
            if not found:
                continue
            link = self._links.pop(pid)
            with suppress(KeyError):
                self._selector.unregister(link)
            with suppress(OSError):
                link.send(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())
            link.close()

    def _dropped(self, pid: int) -> None:
        """Nobody holds the other end any more."""
        self._selector.unregister(self._links[pid])
        os.kill(pid, signal.SIGKILL)


def _other_threads() -> list[str]:
    """Names of the threads beside the one that asks."""
    found = [n for n in os.listdir("/proc/self/task") if int(n) != os.getpid()]
    return [Path(f"/proc/self/task/{n}/comm").read_text().strip() for n in sorted(found)]


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _speaks(link: socket.socket, timeout: float | None) -> bool:
    """Whether a message, or the end, comes within so many seconds."""
    poll = select.poll()  # unlike select() it takes descriptors beyond 1,024
    poll.register(link, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))


def _told(link: socket.socket) -> dict[str, Any] | None:
    """The next message; None if there will be none."""
    try:
        message = link.recv(_MESSAGE_BYTES)
    except OSError:
        return None
    return dict(json.loads(message)) if message else None
