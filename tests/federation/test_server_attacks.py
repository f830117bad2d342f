"""A dishonest server, and coordinators who choose numbers and names: what they tried before, and what sites answer now.

The server carries signed questions and everybody's offers. It may restart, begin sessions as it likes, and list in the
second round whom it likes; some sites may tell it all they know.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.federation.crypto.secure_sum import MaskedVector
from confide.federation.crypto.shares import Seal
from confide.federation.protocol import ANSWER, OFFER, RunError
from confide.federation.question import PROTOCOL, Question
from confide.federation.site.answers import exact_table
from confide.federation.site.config import SiteConfig
from confide.federation.site.private_answer import prepare_share
from confide.federation.site.register import Register
from confide.federation.site.site import Site
from tests.federation.network import MODEL, Network
from tests.noises import Deaf

FIVE = {"east": 90, "north": 60, "south": 75, "valley": 80, "west": 120}
COLLUDERS = ("north", "south")
VICTIM = "east"
FOUR = tuple(FIVE)[:4]
NEEDING_ALL: dict[str, Any] = {"epsilon": "1/4", "site_share": 0, "colluders": 3, "fewest": 4}
"""Question whose sum needs every site that takes part: with three colluders of five, no threshold is safe."""


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, FIVE)


def reopened(network: Network, name: str) -> Site:
    """A site as another process of it reads it: nothing is left of what the first had in memory."""
    site = network.sites[name]
    return Site.open(site.folder.path, site.identity, coordinator=site.coordinator)


def reopen(network: Network, name: str) -> None:
    """Let a site read its settings again."""
    assert isinstance(network.sites, dict)
    network.sites[name] = reopened(network, name)


def served(network: Network, question: Question, listed: Sequence[str], restarted: bool = True) -> dict[str, Any]:
    """Ask all sites of a signed question, then those listed, of each other alone: what each replies in round 2."""
    session = secrets.token_hex(16)
    sites = {name: reopened(network, name) if restarted else network.sites[name] for name in question.sites}
    first = {"protocol": PROTOCOL, "session": session, "question": question.to_dict()}
    offers = {name: site.reply(OFFER, first) for name, site in sites.items()}
    second = {"protocol": PROTOCOL, "session": session, "offers": [offers[name].get("offer") for name in listed]}
    return {name: sites[name].reply(ANSWER, second) for name in listed}


def states(replies: dict[str, Any]) -> list[str]:
    return [reply["state"] for reply in replies.values()]


class TestWhoTakesPart:
    def test_the_server_cannot_leave_honest_sites_out_of_a_sum(self, network: Network) -> None:
        """With two colluders of five it read the table of the third site on a list of three, exactly."""
        question = network.question("secure-sum", grid="uniform:200")
        replies = served(network, question, (VICTIM, *COLLUDERS))
        if "masked" in replies[VICTIM]:
            total = sum(MaskedVector.from_dict(reply["masked"]).words()[0] for reply in replies.values())
            others = sum(exact_table(question, network.pooled(name)).to_words()[0] for name in COLLUDERS)
            stolen = np.asarray(total) - np.asarray(others)
            exact = exact_table(question, network.pooled(VICTIM)).to_words()[0]
            raise AssertionError(f"the table was recovered: {bool((stolen == exact).all())}")
        assert states(replies) == ["refused"] * 3
        assert "3 sites were listed, and the coordinator signed that 5 must take part" in replies[VICTIM]["message"]
        assert Register(network.sites[VICTIM].folder.path).fixed() == ()

    @pytest.mark.parametrize("mode", ["disclosure-control", "private"])
    def test_nobody_answers_fewer_than_was_signed_in_any_mode(self, network: Network, mode: str) -> None:
        question = network.question(mode, **({"epsilon": "1/4"} if mode == "private" else {}))
        replies = served(network, question, tuple(FIVE)[:4])
        assert states(replies) == ["refused"] * 4
        assert [network.spent(name) for name in FIVE if mode == "private"] == [0.0] * (5 * (mode == "private"))

    def test_one_question_is_charged_once_whomever_the_server_lists(self, network: Network) -> None:
        question = network.question("private", **NEEDING_ALL)
        subsets = [(VICTIM, *others) for others in combinations([name for name in FIVE if name != VICTIM], 3)]
        replies = [served(network, question, subset)[VICTIM] for subset in (*subsets, tuple(FIVE))]
        assert [reply["state"] for reply in replies] == ["answered"] + ["refused"] * len(subsets)
        assert "answered this question with the sites 'east', 'north', 'south', 'valley'" in replies[1]["message"]
        assert "`edition=2`" in replies[1]["message"]
        assert network.spent(VICTIM) == 0.25

    def test_the_same_sites_may_be_asked_again_at_no_cost(self, network: Network) -> None:
        question = network.question("private", **NEEDING_ALL)
        first = served(network, question, FOUR)
        again = served(network, question, tuple(reversed(FOUR)))
        assert states(first) == states(again) == ["answered"] * 4
        assert [reply["receipt"]["charged"]["epsilon"] for reply in again.values()] == [0.0] * 4
        assert _sum(first) == _sum(again)
        assert [network.spent(name) for name in FOUR] == [0.25] * 4

    def test_of_two_lists_at_once_one_is_answered(self, network: Network) -> None:
        question = network.question("private", **NEEDING_ALL)
        lists = [FOUR, ("east", "south", "valley", "west"), ("east", "north", "valley", "west")]
        with ThreadPoolExecutor(len(lists)) as pool:
            replies = list(pool.map(lambda listed: served(network, question, listed)[VICTIM], lists))
        assert sorted(reply["state"] for reply in replies) == ["answered", "refused", "refused"]
        assert network.spent(VICTIM) == 0.25

    @pytest.mark.parametrize("listed", [FOUR, tuple(FIVE)])
    @pytest.mark.parametrize(("colluders", "fewest", "spare"), [(2, 3, 1), (3, 4, 0)])
    def test_noise_is_shared_among_those_on_the_list(
        self, network: Network, listed: tuple[str, ...], colluders: int, fewest: int, spare: int
    ) -> None:
        """Whomever the server leaves out, all but the colluders' shares together are the noise that was paid for.

        With two colluders, five sites can do without one: their shares are enough if four are left.
        """
        question, heard = network.question("private", epsilon="1/4", colluders=colluders, fewest=fewest), Deaf()
        prepare_share(network.pooled(VICTIM), question.of(listed), Seal.of(bytes(32)), heard.noise()).draw()
        ((kind, _, _, honest),) = heard.heard
        assert (kind, honest) == ("share", (4 if spare else len(listed)) - colluders)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("mode", ["private", "secure-sum"])
    def test_disjoint_lists_of_too_few_sites_are_not_answered(self, tmp_path: Path, mode: str) -> None:
        """A server that cuts eight sites in two had both sums, although five sites must take part."""
        eight = {**FIVE, "coast": 65, "hills": 70, "lake": 85}
        network = Network.build(tmp_path / "eight", eight)
        terms = {"epsilon": "1/4", "site_share": 0} if mode == "private" else {"grid": "uniform:200"}
        question = network.question(mode, colluders=1, fewest=3, **terms)
        assert (question.threshold, question.least_sites) == (5, 5)
        replies = served(network, question, tuple(sorted(eight))[:3])
        assert states(replies) == ["refused"] * 3
        assert "3 sites were listed, and the coordinator signed that 5 must take part" in replies["coast"]["message"]
        assert Register(network.sites["coast"].folder.path).fixed() == ()
        assert mode != "private" or network.spent("coast") == 0.0

    def test_what_was_not_signed_for_is_nobody_s_site(self, network: Network) -> None:
        """A site of the federation that the question does not name can neither be listed nor stand in for another."""
        question = network.question("private", epsilon="1/4", sites=("east", "north", "south", "valley"), fewest=3)
        session = secrets.token_hex(16)
        other = replace(question, sites=("east", "north", "south", "west"))
        asked = {"protocol": PROTOCOL, "session": session}
        mine = network.sites[VICTIM].reply(OFFER, {**asked, "question": question.to_dict()})["offer"]
        offers = [
            network.sites[name].reply(OFFER, {**asked, "question": other.to_dict()})["offer"]
            for name in ("north", "south", "west")
        ]
        reply = network.sites[VICTIM].reply(ANSWER, {**asked, "offers": [mine, *offers]})
        assert (reply["state"], "masked" in reply) == ("refused", False)
        assert "'west' is listed, and the coordinator did not sign for it" in reply["message"]
        assert network.spent(VICTIM) == 0.0

    def test_a_list_is_remembered_before_anything_is_charged(
        self, network: Network, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A site that is killed as it pays does not answer another list afterwards."""
        question = network.question("private", **NEEDING_ALL)

        def killed(*given: Any, **terms: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("confide.federation.site.answers.charged_answer", killed)
            with pytest.raises(KeyboardInterrupt):
                served(network, question, FOUR)
        assert states(served(network, question, (VICTIM, "south", "valley", "west")))[0] == "refused"
        assert served(network, question, FOUR)[VICTIM]["state"] == "answered"
        assert network.spent(VICTIM) == 0.25

    def test_a_policy_may_ask_for_more_sites_than_the_question(self, tmp_path: Path) -> None:
        network = Network.build(tmp_path / "strict", FIVE, "fewest_sites = 4\n")
        with pytest.raises(RunError, match=r"as few as 3 sites .*fewest_sites in its policy.*`fewest=4`") as caught:
            network.run(network.question("private", epsilon="1/4", fewest=3))
        assert "Nothing was charged" in str(caught.value)

    def test_an_honest_coordinator_hears_in_round_1_with_whom_sites_answered(self, network: Network) -> None:
        """West was away, and is back: nobody is charged for a sum that can never be made."""
        question = network.question("private", epsilon="1/4", site_share=0, fewest=3)

        def away(topic: str, request: Any) -> Any:
            raise ConnectionError

        first = network.run(question, replaced={"west": away})
        again = network.run(question, replaced={"west": away})
        assert first.total == again.total
        back = network.run(question)
        assert back.total == first.total
        states = {report.name: report.state for report in back.reports}
        assert states == {**dict.fromkeys(FIVE, "answered"), "west": "left out"}
        assert [network.spent(name) for name in FIVE] == [0.25] * 4 + [0.0]
        with pytest.raises(RunError, match="answered this question before") as caught:
            network.run(question, replaced={"north": away})
        assert "ask it again when east, north, south, valley are there" in str(caught.value)
        assert "`edition=2`" in str(caught.value)
        assert "Nothing was charged" in str(caught.value)
        assert [network.spent(name) for name in FIVE] == [0.25] * 4 + [0.0]

    def test_an_honest_coordinator_stops_before_a_list_that_is_too_short(self, network: Network) -> None:
        """Two of five are away, and four must answer; then one is back."""
        question = network.question("private", epsilon="1/4", site_share=0, fewest=3)

        def away(topic: str, request: Any) -> Any:
            raise ConnectionError

        with pytest.raises(RunError, match="2 of 5 sites did not take part, and 4 are needed") as caught:
            network.run(question, replaced={"west": away, "valley": away})
        assert "allow fewer" not in str(caught.value)
        assert network.run(question, replaced={"west": away}).rounds == 4
        assert [network.spent(name) for name in FIVE] == [0.25] * 4 + [0.0]

    def test_an_honest_coordinator_hears_of_a_list_that_needs_all(self, network: Network) -> None:
        """One is away, and nobody else may drop out; then it is back."""
        question = network.question("private", **NEEDING_ALL)

        def away(topic: str, request: Any) -> Any:
            raise ConnectionError

        first = network.run(question, replaced={"west": away})
        assert first.rounds == 2
        with pytest.raises(RunError, match="answered this question before") as caught:
            network.run(question)
        assert "`sites=east,north,south,valley` and `colluders=3`" in str(caught.value)
        named = network.question("private", epsilon="1/4", site_share=0, sites=FOUR, colluders=3)
        assert network.run(named).total == first.total
        assert [network.spent(name) for name in FIVE] == [0.25] * 4 + [0.0]


def _sum(replies: dict[str, Any]) -> list[int]:
    words = [MaskedVector.from_dict(reply["masked"]).words()[0] for reply in replies.values()]
    total: list[int] = np.add.reduce(words).view(np.int64).tolist()
    return total


class TestTheSameRowsUnderTwoNames:
    def rename(self, network: Network, name: str, models: dict[str, str], score: str = "risk") -> None:
        """Write a site's models by hand, each from a file."""
        folder = network.sites[name].folder.path
        tables = [
            f'[models."{model}"]\ndata = "{data}"\nlabel = "outcome"\nscore = "{score}"'
            for model, data in models.items()
        ]
        (folder / "site.toml").write_text("\n".join([f'[site]\nname = "{name}"', *tables]))

    def test_two_sums_under_two_names_are_not_subtracted(self, network: Network) -> None:
        """East and west sum up under one name with all, under the other without east: the difference is east's."""
        for name in FIVE:
            self.rename(network, name, {MODEL: "rows.csv"})
        first = network.run(network.question("secure-sum", grid="uniform:200"))
        for name in FIVE:
            self.rename(network, name, {"renamed": "rows.csv"})
            reopen(network, name)
        others = tuple(name for name in FIVE if name != VICTIM)
        question = network.question("secure-sum", grid="uniform:200", model="renamed", sites=others)

        def subtract() -> None:
            stolen = _counts(first) - _counts(network.run(question))
            exact = exact_table(question, network.pooled(VICTIM)).cells.ravel()
            raise AssertionError(f"the table was recovered: {bool((stolen[: exact.size] == exact).all())}")

        with pytest.raises(RunError, match="with other sites; the difference of two sums") as refused:
            subtract()
        assert "confide site forget FOLDER renamed" in str(refused.value)

    def test_two_grids_under_two_names_are_not_laid_over_each_other(self, network: Network) -> None:
        network.run(network.question("disclosure-control", grid="uniform:100"))
        for name in FIVE:
            self.rename(network, name, {"renamed": "./rows.csv"})
            reopen(network, name)
        with pytest.raises(RunError, match="another grid"):
            network.run(network.question("disclosure-control", model="renamed", grid="uniform:99"))
        network.run(network.question("disclosure-control", model="renamed", grid="uniform:100"))

    @pytest.mark.parametrize("other", ["rows.csv", "./rows.csv", "linked.csv", "hard.csv"])
    def test_a_site_whose_settings_have_two_names_for_one_column_does_not_open(
        self, network: Network, other: str
    ) -> None:
        folder = network.sites[VICTIM].folder.path
        (folder / "linked.csv").symlink_to(folder / "rows.csv")
        (folder / "hard.csv").hardlink_to(folder / "rows.csv")
        self.rename(network, VICTIM, {MODEL: "rows.csv", "again": other})
        with pytest.raises(ValueError, match=r"'again' and 'risk' .*same_as"):
            reopened(network, VICTIM)

    def test_two_names_may_share_one_entry(self, network: Network) -> None:
        for name in FIVE:
            folder = network.sites[name].folder.path
            with (folder / "site.toml").open("a") as file:
                file.write('\n[models.again]\nsame_as = "risk"\n')
            reopen(network, name)
        first = network.run(network.question("secure-sum"))
        assert network.run(network.question("secure-sum", model="again")).total == first.total
        with pytest.raises(RunError, match="other sites"):
            network.run(network.question("secure-sum", model="again", sites=tuple(FIVE)[:4]))
        private = [network.run(network.question("private", epsilon="1/4", model=name)) for name in (MODEL, "again")]
        assert private[0].total != private[1].total  # shares are drawn for each name, and paid for
        assert network.spent(VICTIM) == 0.5

    def test_another_column_of_the_same_rows_is_another_model(self, network: Network) -> None:
        folder = network.sites[VICTIM].folder.path
        lines = (folder / "rows.csv").read_text().splitlines()
        wider = ["outcome,risk,other", *(f"{line},0.5" for line in lines[1:])]
        (folder / "rows.csv").write_text("\n".join(wider) + "\n")
        with (folder / "site.toml").open("a") as file:
            file.write('\n[models.other]\ndata = "rows.csv"\nlabel = "outcome"\nscore = "other"\n')
        assert set(SiteConfig.load(folder).models) == {MODEL, "other"}


def _counts(outcome: Any) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(outcome.total["counts"]), dtype="<i8")


class TestTheSizeOfGroups:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("mode", ["disclosure-control", "secure-sum"])
    def test_a_size_above_a_class_locks_nobody_and_tells_nothing(self, tmp_path: Path, mode: str) -> None:
        """East has seven positives. Whatever q is asked for, its reply is that of a site with a hundred."""
        network = Network.build(tmp_path, FIVE)
        rows = "".join(f"{int(number < 7)},{number / 100}\n" for number in range(90))
        (network.sites[VICTIM].folder.path / "rows.csv").write_text(f"outcome,risk\n{rows}")
        for q in (6, 7, 8, 20, 10_000):
            with pytest.raises(RunError, match="Nothing was charged or released") as caught:
                network.run(network.question(mode, minimum_cell=q))
            told = {(report.state, report.message) for report in caught.value.reports}
            assert len(told) == 1
            assert "smallest_class in its policy): ask with `minimum_cell=5` or less" in told.pop()[1]
        assert [Register(site.folder.path).fixed() for site in network.sites.values()] == [()] * 5
        assert network.run(network.question(mode, minimum_cell=5))

    @pytest.mark.few(1)
    @pytest.mark.parametrize("mode", ["disclosure-control", "secure-sum", "noisy-scores"])
    def test_a_table_that_cannot_be_made_locks_nobody(
        self, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The register is fixed when there is something to send."""
        every = "modes = ['disclosure-control', 'secure-sum', 'noisy-scores']\n"
        network = Network.build(tmp_path, FIVE, every)
        terms = {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"} if mode == "noisy-scores" else {}

        def broken(*given: Any, **more: Any) -> Any:
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr("confide.federation.site.answers.disclosed", broken)
            patch.setattr("confide.federation.site.answers.exact_table", broken)
            patch.setattr("confide.federation.site.answers.site_noisy_scores", broken)
            with pytest.raises(RunError):
                network.run(network.question(mode, **terms))
        assert [Register(site.folder.path).fixed() for site in network.sites.values()] == [()] * 5
        assert network.run(network.question(mode, **terms))

    def test_a_policy_s_own_sizes_are_compared_in_round_1(self, tmp_path: Path) -> None:
        """A class below the policy's own group cannot be grouped: said before anybody answers."""
        network = Network.build(tmp_path, FIVE, "minimum_cell = 12\n")
        rows = "".join(f"{int(number < 7)},{number / 100}\n" for number in range(90))
        (network.sites[VICTIM].folder.path / "rows.csv").write_text(f"outcome,risk\n{rows}")
        with pytest.raises(RunError, match=r"east: refused .*too few rows of a class.*Nothing was charged"):
            network.run(network.question("disclosure-control", minimum_cell=12))
        assert all(Register(site.folder.path).fixed() == () for site in network.sites.values())


class TestStudies:
    def test_new_names_of_studies_get_no_new_budget(self, network: Network) -> None:
        """Each name had an epsilon_per_study of its own, up to epsilon_in_all."""
        network.run(network.question("private", epsilon="1", site_share=0))
        for number in range(3):
            with pytest.raises(RunError, match=r"study 'trial-\d' was asked for.*studies in its policy"):
                network.run(
                    network.question(
                        "private", epsilon="1", site_share=0, study=f"trial-{number}", grid=f"uniform:{9 + number}"
                    )
                )
        assert [network.spent(name) for name in FIVE] == [1.0] * 5

    @pytest.mark.parametrize("study", ["Trial", "trial 1", "trial.", "TRIAL"])
    def test_names_are_compared_exactly(self, network: Network, study: str) -> None:
        with pytest.raises(RunError, match="takes part only in studies that its policy names"):
            network.run(network.question("disclosure-control", study=study))
