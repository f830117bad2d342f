"""The coordinator's channel, with an engine that does as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from nvflare.apis.controller_spec import Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from confide.federation.flare.channel import ABSENT, ENDED, LEFT, TEXT, WORDLESS, FlareChannel, read_reply
from confide.federation.flare.controller import ConfideController
from confide.federation.flare.session import RunProgress
from confide.federation.protocol import LATE, Patience, Silence
from confide.federation.question import Question
from confide.federation.site_state import ProgressState, SiteState

pytestmark = pytest.mark.processes


def result(text: object) -> Shareable:
    shareable = Shareable()
    shareable[TEXT] = text
    return shareable


@dataclass
class Engine:
    """Lets each site reply by a function, in a thread of its own; sites without one stay silent.

    Those that are `prompt` have replied before anybody begins to wait, however slow the machine is.
    """

    sites: dict[str, Callable[[str], Any]]
    gone: set[str] = field(default_factory=set)
    prompt: set[str] = field(default_factory=set)
    sent: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    cancelled: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def broadcast(self, task: Task, context: object, targets: list[str], min_responses: int) -> None:
        assert min_responses == len(targets)
        self.sent.append((task.data[TEXT], tuple(targets)))
        for site in targets:
            if site in self.sites:
                thread = threading.Thread(target=self._reply, args=(task, site))
                thread.start()
                if site in self.prompt:
                    thread.join()

    def _reply(self, task: Task, site: str) -> None:
        reply = self.sites[site](task.data[TEXT])
        task.result_received_cb(SimpleNamespace(client=SimpleNamespace(name=site), result=reply), None)
        self.done.set()

    def cancel_task(self, task: Task, fl_ctx: object) -> None:
        self.cancelled += 1

    def get_client_disconnect_time(self, site: str) -> float | None:
        return 1.0 if site in self.gone else None


def channel(engine: Engine, *present: str, abort: Signal | None = None) -> FlareChannel:
    return FlareChannel(controller=engine, context=None, abort=abort or Signal(), present=frozenset(present))


def echo(text: str) -> Shareable:
    return result(json.dumps({"heard": json.loads(text)}))


def test_requests_that_are_alike_are_sent_once() -> None:
    engine = Engine(dict.fromkeys("abc", echo))
    heard: list[str] = []
    requests = {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 1}}
    replies = channel(engine, *"abc").ask("topic", requests, patience=Patience(30.0), heard=heard.append)
    assert replies == {site: {"heard": request} for site, request in requests.items()}
    assert sorted(heard) == ["a", "b", "c"]
    assert sorted(engine.sent) == [('{"x": 1}', ("a", "c")), ('{"x": 2}', ("b",))]
    assert engine.cancelled == 2


@pytest.mark.long
def test_every_silence_has_its_reason() -> None:
    sites: dict[str, Callable[[str], Any]] = {
        "a": echo,
        "broken": lambda text: make_reply(ReturnCode.EXECUTION_EXCEPTION),
    }
    engine = Engine(sites, gone={"left"}, prompt={"a", "broken"})
    heard: list[str] = []
    began = time.monotonic()
    replies = channel(engine, "a", "broken", "left", "slow").ask(
        "topic",
        {site: {} for site in ("a", "absent", "broken", "left", "slow")},
        patience=Patience(5.0),
        heard=heard.append,
    )
    assert 5.0 <= time.monotonic() - began < 60.0
    assert replies == {
        "a": {"heard": {}},
        "absent": Silence(ABSENT),
        "broken": Silence(WORDLESS),
        "left": Silence(LEFT),
        "slow": Silence(LATE),
    }
    assert heard == ["a"]


def test_a_run_that_is_ended_waits_for_nobody() -> None:
    abort = Signal()
    threading.Timer(0.2, abort.trigger, args=(True,)).start()
    began = time.monotonic()
    replies = channel(Engine({}), "a", abort=abort).ask("topic", {"a": {}}, patience=Patience(600.0), heard=print)
    assert time.monotonic() - began < 60.0
    assert replies == {"a": Silence(ENDED)}


@pytest.mark.long
def test_a_reply_that_comes_late_changes_nothing() -> None:
    go, gone = threading.Event(), threading.Event()

    def late(text: str) -> Shareable:
        go.wait(60.0)
        return echo(text)

    heard: list[str] = []
    engine = Engine({"a": echo, "b": late}, done=gone, prompt={"a"})
    replies = channel(engine, "a", "b").ask("topic", {"a": {}, "b": {}}, patience=Patience(5.0), heard=heard.append)
    gone.clear()
    go.set()
    assert gone.wait(60.0)
    assert replies == {"a": {"heard": {}}, "b": Silence(LATE)}
    assert heard == ["a"]


@pytest.mark.parametrize("garbage", [None, 7, "", "no JSON", "[1, 2]", '"text"', "[" * 100_000, b"\xff"])
def test_garbage_is_nothing_that_could_be_taken_for_a_reply(garbage: object) -> None:
    assert read_reply(result(garbage)) == {}
    assert read_reply(garbage) == Silence(WORDLESS)


def test_a_run_that_left_nothing_behind_names_the_sites_that_were_not_heard() -> None:
    question = Question.checked(study="s", model="m", mode="secure-sum", sites=("a", "b", "c"))
    heard: list[tuple[str, str]] = []
    watch = RunProgress(question=question, progress=lambda site, state: heard.append((site, state)))
    assert not watch.heard({"states": {"a": "asked", "b": "replied"}})
    assert watch.heard({"states": {"a": "asked", "b": "replied", "stranger": "asked", "c": "\x1b[2J"}, "over": True})
    assert not watch.heard({"states": {"c": [], "a": {}}, "over": 1})
    assert not watch.heard({"states": ["c"]})
    watch.refused(["server: OK", "a: OK", "c: BYOC not permitted\x1b[2J"])
    assert heard == [("a", "asked"), ("b", "replied")]
    error = watch.ended("It ended.")
    assert [report.state for report in error.reports] == [SiteState.SILENT, SiteState.ANSWERED, SiteState.FAILED]
    assert "a: silent (it had not answered when the run was ended" in str(error)
    assert "c: failed (its engine did not let the run start: BYOC not permitted·[2J)" in str(error)
    assert "b:" not in str(error)


def test_a_run_tells_its_progress_in_plain_texts() -> None:
    """FLARE does not carry classes that it does not know: the session would hear nothing."""
    controller = ConfideController("", 1.0)
    controller._noted("a", ProgressState.ASKED)
    told = controller._progress("progress", {}, FLContext())
    assert [type(state) for state in told["states"].values()] == [str]
    assert told == {"states": {"a": "asked"}, "over": False}
