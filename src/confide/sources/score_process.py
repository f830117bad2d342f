"""Read strangers' score files in child processes with limits on processor time, memory and time.

A file can hold anything: a small one may unpack to gigabytes, keep a decoder busy for minutes or end its process. So
the process that serves others never decodes one. It keeps one helper process, which has loaded the libraries and the
ids of every template. The helper forks a child for each file. The child limits itself, decodes the file, and sends the
scores in the order of the template, or the problems of the file, through a pipe. The reader believes none of it: it
checks the length and every number. A child that ends without an answer means that the file is refused.

A child shares the user of its server, and is not kept from the server's files: limits stop decoders that crash, loop
or fill the memory, not code that takes a decoder over.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from confide.counts import FloatArray
from confide.errors import ConfideError, SubmissionError, SubmissionProblem
from confide.sources.submission_rows import MOST_BYTES, ProblemCode
from confide.sources.submissions import IdIndex, Kind, ScoreLimits, read_score_file

STOP_SECONDS = 5.0
"""Seconds that a child has at most when the server is told to stop."""

_MEBIBYTE = 1 << 20
_START_SECONDS = 300.0
_TURN_SECONDS = 0.25
_PIECE = 1 << 16
_MOST_PROBLEMS_BYTES = 1 << 16
_LONGEST_TEXT = 2_000
_SCORES, _PROBLEMS, _CROWDED = b"S", b"P", b"C"
_READY = b"R"
_STOPPING = "the server is stopping; send the file again in a minute"
_NOT_NOW = "the file could not be read now; send it again in a few seconds"
_READ, _END = b"R", b"E"
_KINDS: tuple[Kind, ...] = ("csv", "parquet")
_MESSAGE = struct.Struct(">sQIB")  # what to do, the file's number, its template, its kind
_LENGTH = struct.Struct(">Q")
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # a process that forks has one thread
    "MALLOC_ARENA_MAX": "1",  # heaps of other threads would count as memory before they are used
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


class ReadingStoppedError(ConfideError):
    """A file was not read, through no fault of its own: the server stops, or the system has no room for a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the files of one contest must hold: the ids, the columns of ids and of scores, and the kind of scores."""

    ids: Sequence[str]
    columns: tuple[str, str]
    probabilities: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of one child: seconds of processor, seconds in all, and bytes beyond what the helper and the file have."""

    cpu_seconds: int
    seconds: float
    memory: int

    @classmethod
    def of(cls, rows: int, longest: int) -> ProcessLimits:
        """Return limits for files of so many rows, whose longest id has so many bytes.

        An honest file needs about half of them: a few copies of its ids and scores.
        """
        cpu = 2 + math.ceil(rows / 100_000)
        return cls(cpu_seconds=cpu, seconds=10.0 + 4.0 * cpu, memory=64 * _MEBIBYTE + rows * 8 * (longest + 32))

    def apply(self, file_bytes: int = 0) -> None:
        """Limit the process that calls, which reads a file of this size. The kernel ends it when its time is over."""
        for kind, most in (
            (resource.RLIMIT_AS, _address_space() + self.memory + 2 * file_bytes),
            (resource.RLIMIT_CPU, self.cpu_seconds),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        with suppress(OSError):  # not Linux: a machine without memory ends a child first, not the server
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _address_space() -> int:
    """Return the bytes of address space that this process has."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux
        return 4 << 30
    return pages * resource.getpagesize()


class ScoreReader:
    """Reads files of scores for one server, from several threads. Close it when the server ends."""

    def __init__(self, expected: Mapping[str, Expected], *, most_bytes: int = MOST_BYTES) -> None:
        self._expected = dict(expected)
        self._numbers = {name: number for number, name in enumerate(self._expected)}
        self._most_bytes = most_bytes
        self._limits = {name: ProcessLimits.of(len(one.ids), _longest(one.ids)) for name, one in self._expected.items()}
        self._lock = threading.Lock()
        self._files = 0
        self._stop_at = math.inf
        self._closed = False
        self._helper: _Helper | None = self._new_helper()

    def _new_helper(self) -> _Helper:
        return _Helper(list(self._expected.values()), list(self._limits.values()), self._most_bytes)

    def read(self, name: str, path: Path, kind: Kind) -> FloatArray:
        """Return the scores of a file in the order of the template of a contest.

        Raises SubmissionError with everything that is wrong in the file, and ReadingStoppedError if it was not read.
        """
        expected, limits = self._expected[name], self._limits[name]
        try:
            receiving, sending = os.pipe()
        except OSError:
            raise ReadingStoppedError(_NOT_NOW) from None
        try:
            try:
                with path.open("rb") as file:
                    helper, number = self._ask(self._numbers[name], kind, file.fileno(), sending)
            finally:
                os.close(sending)
            answer = self._answer(helper, number, receiving, limits.seconds, most=_most_bytes(len(expected.ids)))
        finally:
            os.close(receiving)
        return _scores(answer, expected)

    def stop(self) -> None:
        """Give the children that run, and those that are still started, a few seconds each."""
        self._stop_at = min(self._stop_at, time.monotonic())

    def close(self) -> None:
        """End the helper and all children at once."""
        with self._lock:
            self._closed = True
            if self._helper is not None:
                self._helper.kill()

    def _ask(self, template: int, kind: Kind, file: int, sending: int) -> tuple[_Helper, int]:
        """Ask the helper for a child; start another helper if it has ended."""
        with self._lock:
            if self._closed:
                raise ReadingStoppedError(_STOPPING)
            self._files += 1
            message = _MESSAGE.pack(_READ, self._files, template, _KINDS.index(kind))
            if self._helper is None or not self._helper.send(message, [file, sending]):
                if self._helper is not None:
                    self._helper.kill()
                    self._helper = None
                with suppress(ConfideError, OSError):
                    self._helper = self._new_helper()
                if self._helper is None or not self._helper.send(message, [file, sending]):
                    raise ReadingStoppedError(_NOT_NOW)
            return self._helper, self._files

    def _answer(self, helper: _Helper, number: int, receiving: int, seconds: float, *, most: int) -> bytes:
        """Return what a child sends until it ends; end it when its time is over, or when it sends too much."""
        begin, pieces, size = time.monotonic(), [], 0
        deadline = begin + seconds
        ready = select.poll()
        ready.register(receiving, select.POLLIN)
        while True:
            now, stop_at = time.monotonic(), max(begin, self._stop_at) + STOP_SECONDS
            if now >= min(deadline, stop_at) or size > most:
                with self._lock:
                    helper.send(_MESSAGE.pack(_END, number, 0, 0), [])
                if now >= stop_at:
                    raise ReadingStoppedError(_STOPPING)
                return b""
            if not ready.poll(1e3 * min(_TURN_SECONDS, deadline - now)):
                continue
            piece = os.read(receiving, _PIECE)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        answer = b"".join(pieces)
        if answer == _CROWDED or (not answer and (self._closed or helper.ended)):
            raise ReadingStoppedError(_NOT_NOW)
        return answer


def _most_bytes(rows: int) -> int:
    """Return how long an answer can be: a letter, then scores or a few problems."""
    return max(1 + 8 * rows, _MOST_PROBLEMS_BYTES)


def _longest(ids: Sequence[str]) -> int:
    return max((len(one.encode()) for one in ids), default=0)


def _scores(answer: bytes, expected: Expected) -> FloatArray:
    """Check the answer of a child, and return its scores or raise its problems."""
    kind, content = answer[:1], answer[1:]
    if kind == _SCORES and len(content) == 8 * len(expected.ids):
        scores: FloatArray = np.frombuffer(content, dtype="<f8").astype(np.float64) + 0.0
        outside = expected.probabilities and not ((scores >= 0.0) & (scores <= 1.0)).all()
        if np.isfinite(scores).all() and not outside:
            return scores
    if kind == _PROBLEMS:
        problems = _problems(content)
        if problems:
            raise SubmissionError(problems)
    raise SubmissionError(
        [
            SubmissionProblem(
                ProblemCode.UNREADABLE,
                "the file could not be read within the limits of time and memory",
                "write the two columns of the template alone, and write them again with usual settings, or give CSV",
            )
        ]
    )


def _problems(content: bytes) -> list[SubmissionProblem]:
    """Return the problems that a child names; none if they are not what a child sends."""
    try:
        plain = json.loads(content)
        return [SubmissionProblem(ProblemCode(code), _text(words), _text(step)) for code, words, step in plain]
    except (ValueError, TypeError, RecursionError):
        return []


def _text(words: object) -> str:
    if not isinstance(words, str) or len(words) > _LONGEST_TEXT:
        raise TypeError
    return words


class _Helper:
    """The process that forks children, seen from the server. Its methods are called by one thread at a time."""

    def __init__(self, expected: Sequence[Expected], limits: Sequence[ProcessLimits], most_bytes: int) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                [sys.executable, "-P", "-m", __name__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
                start_new_session=True,
            )
        try:
            self._control.settimeout(_START_SECONDS)
            for one, its in zip(expected, limits, strict=True):
                plain = {"ids": list(one.ids), "columns": one.columns, "probabilities": one.probabilities}
                self._tell(plain | {"limits": [its.cpu_seconds, its.seconds, its.memory], "most_bytes": most_bytes})
            self._tell(None)
            ready = self._control.recv(1)
        except OSError:
            ready = b""
        if ready != _READY:
            self.kill()
            raise ConfideError(
                "the process that reads score files cannot start or cannot limit itself; let the server start "
                "processes and set their limits (in systemd: SystemCallFilter, TasksMax)"
            )
        self._control.settimeout(None)

    def _tell(self, plain: dict[str, Any] | None) -> None:
        content = json.dumps(plain).encode()
        self._control.sendall(_LENGTH.pack(len(content)) + content)

    def send(self, message: bytes, files: Sequence[int]) -> bool:
        """Send a message and open files; return False if the helper has ended."""
        try:
            return not self.ended and socket.send_fds(self._control, [message], files) == len(message)
        except OSError:
            return False

    @property
    def ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process and all its children."""
        self._control.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


# From here on: the helper process and its children.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Template:
    index: IdIndex
    columns: tuple[str, str]
    probabilities: bool
    limits: ProcessLimits
    most_bytes: int


def main() -> None:
    """Run the helper: learn the templates, then fork a child for each file until the server closes the connection."""
    import gc

    import pyarrow.parquet  # noqa: F401  # loaded once, for all children

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the server tells when to end, by closing the connection
    with socket.socket(fileno=os.dup(0)) as control:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        templates = list(iter(lambda: _next_template(control), None))
        if not _can_limit():
            sys.exit("score files cannot be read: a process cannot set its own limits")
        gc.freeze()  # children then share memory with the helper
        control.sendall(_READY)
        _fork_for_each(control, templates)


def _next_template(control: socket.socket) -> _Template | None:
    (length,) = _LENGTH.unpack(_exactly(control, _LENGTH.size))
    plain = json.loads(_exactly(control, length))
    if plain is None:
        return None
    cpu, seconds, memory = plain["limits"]
    return _Template(
        index=IdIndex(plain["ids"]),
        columns=tuple(plain["columns"]),
        probabilities=plain["probabilities"],
        limits=ProcessLimits(cpu_seconds=cpu, seconds=seconds, memory=memory),
        most_bytes=plain["most_bytes"],
    )


def _exactly(control: socket.socket, length: int) -> bytes:
    content = bytearray()
    while len(content) < length:
        piece = control.recv(min(length - len(content), 1 << 20))
        if not piece:
            sys.exit(0)  # the server has ended
        content += piece
    return bytes(content)


def _can_limit() -> bool:
    """Try the limits in a child."""
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            ProcessLimits.of(1, 1).apply()
            os._exit(0)
        os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _fork_for_each(control: socket.socket, templates: Sequence[_Template]) -> None:
    children: dict[int, int] = {}
    while True:
        message, files, _, _ = socket.recv_fds(control, _MESSAGE.size, 2)
        for number, pid in list(children.items()):  # a child that is not waited for keeps its number
            if os.waitpid(pid, os.WNOHANG)[0]:
                del children[number]
        if not message:
            for pid in children.values():
                os.kill(pid, signal.SIGKILL)
            return
        message += _exactly(control, _MESSAGE.size - len(message))
        action, number, template, kind = _MESSAGE.unpack(message)
        if action == _END:
            if number in children:
                os.kill(children[number], signal.SIGKILL)
            continue
        file, sending = files
        try:
            pid = os.fork()
        except OSError:
            os.write(sending, _CROWDED)
        else:
            if pid == 0:
                control.close()
                _child(templates[template], _KINDS[kind], file, sending)
            children[number] = pid
        os.close(file)
        os.close(sending)


def _child(template: _Template, kind: Kind, file: int, sending: int) -> NoReturn:
    """Read one file within limits, send scores or problems, and end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)  # what a decoder says when it breaks may quote the file
        template.limits.apply(min(os.fstat(file).st_size, template.most_bytes))
        answer = memoryview(_read(template, kind, file))
        while answer:
            answer = answer[os.write(sending, answer) :]
    finally:
        os._exit(0)


def _read(template: _Template, kind: Kind, file: int) -> bytes:
    limits = ScoreLimits(most_bytes=template.most_bytes)
    try:
        found = read_score_file(
            file, kind, template.index, template.columns, probabilities=template.probabilities, limits=limits
        )
    except SubmissionError as error:
        plain = [[str(one.code), one.text[:_LONGEST_TEXT], one.next_step[:_LONGEST_TEXT]] for one in error.problems]
        return _PROBLEMS + json.dumps(plain).encode()
    return _SCORES + found.scores.astype("<f8").tobytes()


if __name__ == "__main__":
    main()
