"""An upload is acknowledged after its scores, their name, the database and the anchor are on the disk.

A shim between the server and the C library writes down each write, sync and rename in their order. It needs a C
compiler; the settings behind the order are tested without one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from confide.contest.server.database import Database
from confide.contest.server.home import Home, store
from tests.contest.server.running import served, small_contest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void note(const char *what, const char *where) {
    static int log = -1;
    char line[9000];
    const char *home = getenv("TRACE_HOME");
    if (!home || !strstr(where, home)) return;
    if (log < 0) log = open(getenv("TRACE_FILE"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int size = snprintf(line, sizeof line, "%s %s\n", what, where);
    syscall(SYS_write, log, line, size);
}

static void note_file(const char *what, int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size > 0) { path[size] = 0; note(what, path); }
}

static void note_answer(const void *bytes, size_t size) {
    if (size > 12 && !memcmp(bytes, "HTTP/1.1 ", 9)) {
        char text[4096];
        snprintf(text, sizeof text, "%.3s %s", (const char *)bytes + 9, getenv("TRACE_HOME"));
        note("answer", text);
    }
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
ssize_t write(int f, const void *b, size_t n) { REAL(write); note_file("write", f); return real(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
    REAL(pwrite); note_file("write", f); return real(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
    REAL(pwrite64); note_file("write", f); return real(f, b, n, o);
}
int fsync(int f) { REAL(fsync); int done = real(f); note_file("sync", f); return done; }
int fdatasync(int f) { REAL(fdatasync); int done = real(f); note_file("sync", f); return done; }
int rename(const char *a, const char *b) { REAL(rename); int done = real(a, b); note("rename", b); return done; }
ssize_t send(int f, const void *b, size_t n, int g) { REAL(send); note_answer(b, n); return real(f, b, n, g); }
"""


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


@pytest.mark.processes
def test_an_upload_is_acknowledged_after_everything_is_on_the_disk(
    tmp_path: Path, shim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest, log, home = small_contest("heart"), tmp_path / "trace", tmp_path / "server" / "home"
    monkeypatch.setenv("TRACE_FILE", str(log))
    monkeypatch.setenv("TRACE_HOME", str(home))
    monkeypatch.setenv("LD_PRELOAD", str(shim))
    with served(tmp_path / "server", contest) as running:
        running.set_state("heart", "open")
        token = running.token("heart")
        before = len(log.read_text().splitlines())
        assert running.submit("heart", token, contest.csv(1)).status_code == 201
    events = [tuple(line.split(" ", 1)) for line in log.read_text().splitlines()[before:]]
    answer = events.index(("answer", f"201 {home}"))
    scores = next(path for what, path in events if what == "rename" and path.startswith(f"{home}/scores/heart/"))
    named = events.index(("rename", scores))
    temporary = f"{home / 'tmp'}/"
    unnamed = [event for event in events[:named] if event[1].startswith(temporary) and "upload-" not in event[1]]
    assert [what for what, path in unnamed if path == unnamed[0][1]][-2:] == ["write", "sync"]
    folder = events.index(("sync", f"{home}/scores/heart"))
    log_file = f"{home}/oracle.sqlite-wal"
    writes = [place for place, event in enumerate(events[:answer]) if event == ("write", log_file)]
    syncs = [place for place, event in enumerate(events[:answer]) if event == ("sync", log_file)]
    assert writes, "the trace sees the database"
    assert syncs, "the database syncs its log before the answer"
    anchored = events.index(("rename", f"{home}/oracle.anchor"))
    anchor_sync = max(place for place, event in enumerate(events[:anchored]) if "/.oracle.anchor-" in event[1])
    assert events[anchor_sync][0] == "sync"
    assert named < folder < writes[0], "scores are on the disk before the database mentions them"
    assert writes[-1] < syncs[-1] < anchored < answer
    assert anchored < events.index(("sync", str(home)), anchored) < answer, "the anchor's name is on the disk"


def test_the_database_syncs_each_commit(tmp_path: Path) -> None:
    database = Database.at(tmp_path / "oracle.sqlite")
    try:
        for block in (database.writing, database.reading):
            with block() as connection:
                settings = {
                    name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                    for name in ("journal_mode", "synchronous", "fullfsync")
                }
            assert settings == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1}
    finally:
        database.close()


def test_a_score_file_is_synced_then_named_then_its_folder_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, bool]] = []
    folder = tmp_path / "scores"
    folder.mkdir()
    path, sync = folder / "a.f8", os.fsync

    def recorded(handle: int) -> None:
        kind = "folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file"
        events.append((kind, path.exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    store(path, b"12345678", tmp_path)
    assert events == [("file", False), ("folder", True)]
    store(path, b"12345678", tmp_path)  # by another thread, before the first has synced the folder
    assert events[2:] == [("folder", True)]


def test_the_folders_of_a_contest_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, sync, synced = Home(tmp_path / "home"), os.fsync, []
    home.make()

    def recorded(handle: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")))
        sync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    home.make_contest("heart")
    assert synced == [home.folder / name for name in ("contests", "scores", "influences")]
