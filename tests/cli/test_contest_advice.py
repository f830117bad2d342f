"""What the commands of a contest ask for, advise and check before anything is charged or closed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.flags import find_call
from confide.cli.main import app
from confide.contest.client import OracleClient
from confide.contest.metric import KINDS
from confide.contest.server.administration import new_token
from tests.cli.commands import STRICT, confide
from tests.contest.client.real_server import MadeContest, RealServer, made_contest, real_server
from tests.noises import seeded
from tests.tasks.contest_files import IDS, LABELS, Holder, scores_for

pytestmark = pytest.mark.processes


def next_commands(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.partition("Next:")[2].splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("confide ")]


def parse(arguments: list[str]) -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    called, rest = find_call(root, arguments)
    assert isinstance(called, TyperCommand)
    with called.make_context(called.name, rest) as context:
        assert context.params


@pytest.fixture
def holder(tmp_path: Path) -> Holder:
    return Holder(tmp_path / "holder", noise=seeded(0))


def new(holder: Holder, *options: str) -> Any:
    given = holder.options()
    return confide(
        "contest", "new", "heart", holder.file, "-l", "died", "--positive", given["positive"], "-e", "2",
        "--account", "trial", "--ledger", holder.book, "-o", holder.folder, *options,
    )  # fmt: skip


def test_a_new_contest_names_every_step_to_its_final(holder: Holder) -> None:
    made = new(holder, "--final-epsilon", "1", "--final-delta", "1e-6")
    assert made.code == 0, made.err
    commands = next_commands(made.out)
    verbs = [" ".join(one[:2]) if one[0] == "contest" else one[0] for one in commands]
    assert verbs == [
        "serve",
        "contest token",
        "contest open",
        "contest check",
        "contest close",
        "contest finalists",
        "contest publish",
    ]
    for one in commands:
        parse(one)
    assert "--ledger" in commands[-1]
    assert "will cost epsilon 1 and delta 1e-06" in " ".join(made.out.split())


def test_a_dry_run_flipped_no_label(holder: Holder) -> None:
    shown = new(holder, "--final-epsilon", "1", "--dry-run")
    words = " ".join(shown.out.split())
    assert shown.code == 0, shown.err
    assert "Each label would be flipped once" in words
    assert "flipped each label" not in words


def test_a_dry_run_names_the_cap_that_lacks(holder: Holder) -> None:
    shown = new(holder, "--final-epsilon", "1", "--final-delta", "1e-3", "--dry-run")
    assert shown.code == 3
    assert "ledger new trial --delta 0.001 --change --ledger" in shown.err


def test_a_large_delta_is_noted_on_standard_error(holder: Holder) -> None:
    with holder.ledger() as ledger:
        ledger.change_caps("trial", delta="0.1")
    made = new(holder, "--final-epsilon", "1", "--final-delta", "0.01")
    assert made.code == 0, made.err
    assert "delta of the final, 0.01, is large" in made.err


def test_the_server_part_stays_where_each_answer_is_charged(holder: Holder) -> None:
    made = new(holder, "--per-answer")
    assert made.code == 0, made.err
    words = " ".join(made.out.split())
    assert "may leave: for the server" not in words
    assert "for your own server, which needs the labels" in words


def test_the_help_names_the_metrics() -> None:
    for verb in ("plan", "new"):
        words = confide("contest", verb, "--help").out
        assert all(name in words for name in KINDS)


# Publishing


@pytest.fixture
def served(holder: Holder, tmp_path: Path) -> Iterator[tuple[Holder, RealServer]]:
    """Yield a holder's contest on a real server, open and with submissions of two participants."""
    holder.make(final_delta="1e-6")
    truth = dict(zip(IDS, LABELS, strict=True))
    bundle = holder.bundle()
    made = MadeContest(bundle, np.array([truth[one] for one in bundle.template.ids]))
    with real_server(tmp_path, made) as server:
        for number in (1, 2):
            scores = scores_for(made.labels, number).tolist()
            server.client("heart", f"t{number}").submit(dict(zip(made.ids, scores, strict=True)))
        yield holder, server


@pytest.mark.long
def test_a_final_is_checked_with_the_server_before_it_is_charged(
    served: tuple[Holder, RealServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    holder, server = served
    host = server.client("heart", "host", "organiser")
    archive = tmp_path / "finalists.zip"
    publish = (
        "contest", "publish", holder.folder / "heart" / "holder", archive,
        "--labels", holder.file, "--ledger", holder.book, "--to", server.url,
    )  # fmt: skip

    def act(role: str) -> None:
        monkeypatch.setenv("CONFIDE_TOKEN", new_token(server.home, "heart", f"one {role}", role))

    archive.write_bytes(holder.finalists().read_bytes())
    act("organiser")
    early = confide(*publish)
    assert early.code == 1
    assert "is open, not closed; nothing was charged" in early.err
    host.set_state("closed")
    host.finalists_archive(archive)
    act("participant")
    stranger = confide(*publish)
    assert stranger.code == 1
    assert "organiser" in stranger.err
    assert holder.spent() == (2.0, 0.0)
    assert not (holder.folder / "heart" / "final.json").exists()

    act("organiser")
    done = confide(*publish, "--json")
    assert done.code == 0, done.err
    assert f"published: {server.url}/contests/heart/final" in done.err
    again = confide(*publish, "--json")
    assert again.code == 0, again.err
    assert "published already, with this very result" in again.err
    assert json.loads(again.out)["entries"] == json.loads(done.out)["entries"]
    assert holder.spent() == (2.0, 1e-6)
    archive.write_bytes(holder.finalists(entries=2).read_bytes())
    other = confide(*publish)
    assert other.code == 1
    assert "nothing was charged" in other.err
    assert holder.spent() == (2.0, 1e-6)


# Closing


def close_at_terminal(answer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `confide contest close` with a terminal as standard input, at which somebody typed an answer."""
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, f"{answer}\n".encode())
        command = [sys.executable, *STRICT, "-m", "confide", "contest", "close", *arguments]
        return subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=600, check=False)
    finally:
        os.close(keyboard)
        os.close(terminal)


@pytest.mark.long
def test_closing_asks_on_a_terminal_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contests = [made_contest(name, final_epsilon=Fraction(1)) for name in ("one", "two", "three")]
    with real_server(tmp_path, *contests) as server:

        def state(name: str) -> str:
            return OracleClient(server.url).contest(name).state

        def act(name: str) -> tuple[str, ...]:
            monkeypatch.setenv("CONFIDE_TOKEN", server.token(name, "host", "organiser"))
            return (name, "--to", server.url)

        piped = confide("contest", "close", *act("one"))
        assert (piped.code, state("one")) == (0, "closed"), piped.err
        assert "--ledger LEDGER" in piped.err
        for command in next_commands(piped.err):
            parse(command)
        refused = close_at_terminal("n", *act("two"))
        assert (refused.returncode, refused.stdout.strip(), state("two")) == (1, "", "open"), refused.stderr
        assert "Close two for good?" in refused.stderr
        assert "unexpected" not in refused.stderr
        told = close_at_terminal("n", *act("two"), "--yes")
        assert (told.returncode, state("two")) == (0, "closed"), told.stderr
        agreed = close_at_terminal("y", *act("three"))
        assert (agreed.returncode, state("three")) == (0, "closed"), agreed.stderr
