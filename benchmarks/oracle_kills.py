"""Kill the oracle in mid submission, again and again: nothing that was confirmed is lost, nothing is counted twice.

`python -m benchmarks.oracle_kills --kills 1000` on SQLite; with CONFIDE_ORACLE_DATABASE set, on PostgreSQL.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from sqlalchemy import select

from benchmarks.oracle_server import CONTEST, make_bundle, score_file
from confide.contest.server.administration import new_token, verify
from confide.contest.server.database import KEYS, SUBMISSIONS, Database
from confide.contest.server.home import Home, Settings, database_from_environment
from confide.ports import free_port

CLIENTS = 4
ROWS = 20_000


@dataclass
class Tally:
    """What clients were told: the submission of each key, and statuses that they did not expect."""

    confirmed: dict[str, str] = field(default_factory=dict)
    unexpected: list[int] = field(default_factory=list)
    repeated: int = 0
    stop: bool = False


@dataclass(frozen=True)
class Result:
    """Counts of a run: `lost` were confirmed and are not stored, `extra` are stored and were never confirmed."""

    kills: int
    confirmed: int
    repeated: int
    lost: int
    extra: int
    unexpected: tuple[int, ...]

    @property
    def holds(self) -> bool:
        return not (self.lost or self.extra or self.unexpected)


def run(*, quick: bool = False) -> None:
    _report(30 if quick else 1000)


def _report(kills: int) -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = kill_repeatedly(Path(folder), kills, rows=ROWS)
    place = "SQLite" if database_from_environment() is None else "PostgreSQL"
    print(
        f"{place}: {result.kills} kills in {time.perf_counter() - started:.0f} s, {result.confirmed} submissions "
        f"confirmed ({result.repeated} after a repeated request), {result.lost} lost, {result.extra} doubled, "
        f"unexpected statuses: {list(result.unexpected)}; goal: 0 lost, 0 doubled"
    )
    assert result.holds


def kill_repeatedly(folder: Path, kills: int, *, rows: int = ROWS) -> Result:
    """Let clients submit while the server is killed and started again; then look at what is stored."""
    bundle, home, port = folder / "server.zip", folder / "home", free_port()
    labels = make_bundle(bundle, rows)
    settings = Settings(home=home, bundles=(bundle,), port=port)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["confide.contest.server.run", "confide.sources.submissions", "pyarrow.parquet", "scipy.special"]
    )
    process = _started(context, settings)
    organiser = new_token(home, CONTEST, "organiser", "organiser")
    assert _post(port, "state", organiser, b'{"state": "open"}', "application/json")[0] == 200
    tally = Tally()
    content = score_file(labels, 0)
    tokens = [new_token(home, CONTEST, f"team {number}") for number in range(CLIENTS)]
    clients = [threading.Thread(target=_submit, args=(tally, port, token, content)) for token in tokens]
    for client in clients:
        client.start()
    chance = random.Random(1)  # noqa: S311  # moments of kills
    for _ in range(kills):
        time.sleep(chance.uniform(0.0, 0.6))
        process.kill()
        process.join()
        process = _started(context, settings)
    tally.stop = True
    for client in clients:
        client.join()
    process.terminate()
    process.join()
    return _compared(home, kills, tally)


def _started(context: multiprocessing.context.ForkServerContext, settings: Settings) -> BaseProcess:
    process = context.Process(target=_serve, args=(settings,))
    process.start()
    for _ in range(3000):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", settings.port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return process
        except (OSError, http.client.HTTPException):
            assert process.is_alive(), "the server does not start"
            time.sleep(0.01)
        finally:
            connection.close()
    raise AssertionError("the server does not answer")


def _serve(settings: Settings) -> None:
    import logging

    from confide.contest.server.run import serve

    logging.disable(logging.INFO)
    serve(settings)


def _submit(tally: Tally, port: int, token: str, content: bytes) -> None:
    """Send file after file. A request without an answer is sent again, with the same key, until there is one."""
    head, _, last = content.rstrip(b"\n").rpartition(b"\n")
    number = 0
    while not tally.stop:
        key, number, tries = uuid.uuid4().hex, number + 1, 0
        body = head + b"\n%s,%.6f\n" % (last.split(b",")[0], number / 1e6)
        while True:
            try:
                status, answer = _post(port, "submissions", token, body, "text/csv", key)
            except (OSError, http.client.HTTPException):
                tries += 1
                time.sleep(0.02)
                continue
            if status in (200, 201):
                tally.confirmed[key] = json.loads(answer)["id"]
                tally.repeated += tries > 0
            else:
                tally.unexpected.append(status)
            break


def _post(port: int, name: str, token: str, body: bytes, kind: str, key: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        connection.request(
            "POST", f"/v1/contests/{CONTEST}/{name}", body, headers | ({} if key is None else {"Idempotency-Key": key})
        )
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _compared(home: Path, kills: int, tally: Tally) -> Result:
    """Compare what was confirmed with what is stored. Seals and score files are checked too."""
    assert verify(home).submissions == len(set(tally.confirmed.values()))
    database = Database.at(Home(home).database, database_from_environment())
    with database.reading() as connection:
        keys = {row.key: row.submission for row in connection.execute(select(KEYS))}
        stored = set(connection.execute(select(SUBMISSIONS.c.id)).scalars())
    database.close()
    lost = [key for key, identity in tally.confirmed.items() if keys.get(key) != identity or identity not in stored]
    return Result(
        kills=kills,
        confirmed=len(tally.confirmed),
        repeated=tally.repeated,
        lost=len(lost),
        extra=len(stored) - len(set(tally.confirmed.values())),
        unexpected=tuple(tally.unexpected),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    _report(parser.parse_args().kills)
