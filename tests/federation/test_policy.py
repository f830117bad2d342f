"""A site's policy: what it refuses, in which words, and what its file may say."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.modes.registry import MODES
from confide.federation.policy import Policy, default_policy, with_studies
from confide.federation.question import Question

SITES = ["a", "b", "c", "d"]
NOISY: dict[str, Any] = {"delta": "1e-5", "sensitivity": "0.1", "epsilon": 1}


def ask(mode: str = "private", **given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "trial", "model": "m", "mode": mode, "sites": SITES}
    usual = NOISY if mode == "noisy-scores" else {"epsilon": 1} if mode == "private" else {}
    return Question.checked(**{**fixed, **usual, **given})


def read(policy: str) -> Policy:
    """A policy that names the study, and all modes but the one for comparisons, if it says nothing of them."""
    modes = "" if "modes" in policy else 'modes = ["disclosure-control", "secure-sum", "private"]\n'
    return Policy.from_toml(modes + (policy if "studies" in policy else f'studies = ["trial"]\n{policy}'))


def refusal(policy: str, question: Question, coordinator: str | None = None) -> str:
    with pytest.raises(RefusedError) as caught:
        read(policy).check(question, coordinator=coordinator)
    return str(caught.value)


def test_a_new_site_s_file_says_what_is_the_default() -> None:
    assert Policy.from_toml(default_policy()) == Policy() == Policy.from_toml("")
    # Every rule but the optional fingerprints and allowance stands in the file, to be found and changed.
    assert set(tomllib.loads(default_policy())) == set(Policy().to_dict()) - {"peers", "allowance"}
    assert 'peers]\n# "hospital-a" = ' in default_policy()


@pytest.mark.parametrize("mode", MODES)
def test_the_default_allows_answers_with_proven_noise_alone(mode: str) -> None:
    """Also where a policy was written by hand, and says nothing of modes."""
    for text in (default_policy(studies=["trial"]), 'studies = ["trial"]'):
        policy = Policy.from_toml(text)
        if MODES[mode].private:
            policy.check(ask(mode), coordinator="anybody")
        else:
            with pytest.raises(RefusedError, match=f"mode {mode} was asked for, but this site allows private"):
                policy.check(ask(mode), coordinator="anybody")


@pytest.mark.parametrize("mode", MODES)
def test_a_new_site_takes_part_in_no_study_until_it_names_one(mode: str) -> None:
    for policy in (Policy(), Policy.from_toml(default_policy())):
        with pytest.raises(RefusedError, match="takes part only in studies that its policy names"):
            policy.check(ask(mode))
    assert Policy.from_toml(default_policy(studies=["trial", "b 2"])).studies == ("trial", "b 2")


def test_any_study_goes_without_the_private_mode_only() -> None:
    """A limit on each study limits nothing where whoever asks invents studies."""
    with pytest.raises(ParameterError, match=r"epsilon_per_study limits nothing.*Name those"):
        Policy.from_toml('studies = "any"')
    Policy.from_toml('studies = "any"\nmodes = ["secure-sum"]').check(ask("secure-sum", study="whatever"))


def test_a_study_has_one_way_of_writing() -> None:
    with pytest.raises(ParameterError, match="two names that differ in case or spaces alone"):
        Policy.from_toml('studies = ["Stroke", "stroke"]')


def test_studies_are_added_to_a_policy_as_it_was_written() -> None:
    text = default_policy().replace("minimum_cell = 5\n", "minimum_cell = 9  # our rule\n", 1)
    more = with_studies(with_studies(text, ["a"]), ["b \u00e9", "a"])
    assert Policy.from_toml(more).studies == ("a", "b \u00e9")
    assert more.replace('studies = ["a", "b \u00e9"]', "studies = []") == text
    with pytest.raises(ParameterError, match="by hand"):
        with_studies('studies = [\n"a",\n]', ["b"])
    with pytest.raises(ParameterError, match="the name of a study"):
        with_studies(text, ["a/b"])
    anyone = 'studies = "any"\nmodes = ["secure-sum"]'
    assert with_studies(anyone, ["b"]) == anyone


REFUSED: dict[str, tuple[str, Question, str]] = {
    "modes": ('modes = ["private"]', ask("secure-sum"), "ask with `mode=private`"),
    "no mode": ("modes = []", ask(), "allows no mode at present"),
    "minimum_cell": ("minimum_cell = 10", ask("disclosure-control"), "at least 10 rows .* ask with `minimum_cell=10`"),
    "noisy": ('modes = ["noisy-scores"]\nminimum_cell = 9', ask("noisy-scores"), "ask with `minimum_cell=9`"),
    "secure_sum": ("secure_sum_minimum_cell = 4", ask("secure-sum"), "ask with `minimum_cell=4`"),
    "persons": ("rows_per_person = 3", ask("disclosure-control", minimum_cell=14), "ask with `minimum_cell=15`"),
    "epsilon": ('epsilon_per_study = "1/2"', ask(), "epsilon 1 was asked for.*at most 0.5.*`epsilon=0.5` or less"),
    "colluders": ("least_colluders = 2", ask(colluders=1), "against 1 colluding site was.*ask with `colluders=2`"),
    "none collude": ("", ask(colluders=0), "against 0 colluding.*ask with `colluders=1`"),
    "fewest": ("fewest_sites = 5", ask(), "over 4 sites.*at least 5.*ask more sites"),
    "fewest exact": ("fewest_sites = 5", ask("secure-sum"), "over 4 sites"),
    "fewest signed": ("fewest_sites = 4", ask(fewest=3), "as few as 3 sites.*at least 4.*`fewest=4`"),
    "larger cells": ("smallest_class = 7", ask("disclosure-control", minimum_cell=8), "`minimum_cell=7` or less"),
    "larger sums": ("", ask("secure-sum", minimum_cell=6), "at most 5 rows.*`minimum_cell=5` or less"),
    "studies": ('studies = ["other"]', ask(), "study 'trial' was asked for.*`study`"),
    "rows": ("rows_per_person = 2", ask(), "1 row of a person.*up to 2.*`unit=person` and `rows_per_person=2`"),
    "fewer rows": ("rows_per_person = 4", ask(unit="person", rows_per_person=3), "3 rows of a person.*up to 4"),
    "cells": ("most_cells = 99", ask("disclosure-control"), "100 cells.*at most 99 cells.*`grid=uniform:99`"),
    "peers": (f'[peers]\na = "{"0" * 64}"', ask(), "a sum with site 'b'.*leave that site out"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_is_refused_is_said_with_its_rule_and_the_next_step(rule: str) -> None:
    policy, question, words = REFUSED[rule]
    message = refusal(policy, question)
    assert re.search(words, message), message
    named = re.search(r"\((\w+) in its policy\)", message)
    assert named is not None
    assert named.group(1) in Policy().to_dict()


def test_just_within_every_rule_is_allowed() -> None:
    strict = Policy.from_toml(
        'modes = ["disclosure-control", "private", "secure-sum"]\nminimum_cell = 5\nsecure_sum_minimum_cell = 2\n'
        'epsilon_per_study = 0.5\nleast_colluders = 2\nfewest_sites = 4\nrows_per_person = 3\nstudies = ["trial"]\n'
        'coordinators = ["eva@x.org"]\nmost_cells = 100'
    )
    within = (
        ask("disclosure-control", minimum_cell=15),
        ask("secure-sum", minimum_cell=6, grid="uniform:100"),
        ask(epsilon="1/2", colluders=2, unit="person", rows_per_person=3),
    )
    for question in within:
        strict.check(question, coordinator="eva@x.org")


@pytest.mark.parametrize("coordinator", [None, "mallory"])
def test_only_named_coordinators_are_heard(coordinator: str | None) -> None:
    message = refusal('coordinators = ["eva"]', ask(), coordinator)
    assert "(coordinators in its policy): ask its administrator" in message
    assert "eva" not in message  # who may ask is nobody else's business


def test_rules_of_sums_do_not_hold_where_sites_answer_for_themselves() -> None:
    read(f'fewest_sites = 9\n[peers]\na = "{"0" * 64}"').check(ask("disclosure-control", sites=["a", "b"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("minimum_cel = 3", "no key 'minimum_cel'. Did you mean 'minimum_cell'"),
        ('modes = ["secure-sums"]', "no mode 'secure-sums'. Did you mean 'secure-sum'"),
        ('modes = "private"', "modes must be a list"),
        ("modes = [1]", "modes must be a list"),
        ("minimum_cell = 0", "minimum_cell must be a whole number from 1 "),
        ("minimum_cell = true", "minimum_cell must be a whole number"),
        ("smallest_class = 2.5", "smallest_class must be a whole number"),
        ("fewest_sites = 2", "fewest_sites must be a whole number from 3 "),
        ("least_colluders = -1", "least_colluders must be a whole number from 0 "),
        ("epsilon_per_study = 0", "epsilon_per_study: epsilon must be greater than 0"),
        ("epsilon_in_all = [1]", "epsilon_in_all: epsilon must be a number"),
        ("epsilon_per_study = 1/2", 'not valid TOML in line 1; texts, and fractions such as "1/2", stand in quotes'),
        ('studies = "trial"', 'studies must be "any" or a list of names'),
        ('coordinators = ["../x"]', "coordinators: the name of a coordinator is"),
        ("[peers]", "peers must be a table of fingerprints"),
        ('[peers]\na = "0f3c"', "the fingerprint of 'a' must be 64 hexadecimal digits"),
        ("x = 1\ny = = 2", "not valid TOML in line 2"),
    ],
)
def test_a_file_that_says_something_wrong_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        Policy.from_toml(text)


def test_fractions_and_fingerprints_are_read_as_people_write_them(tmp_path: Path) -> None:
    digits = "AB" * 32
    path = tmp_path / "policy.toml"
    written = ":".join(digits[k : k + 2] for k in range(0, 64, 2))
    path.write_text(f'epsilon_per_study = 0.1\n[peers]\n"site a" = "{written}"')
    policy = Policy.load(path)
    assert policy.epsilon_per_study == Fraction(1, 10)
    assert policy.peers == {"site a": digits.lower()}
    assert policy.to_dict()["epsilon_per_study"] == "1/10"


def test_a_missing_or_unreadable_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(FederationError, match=r"there is no policy at .*confide site init"):
        Policy.load(tmp_path / "policy.toml")
    (tmp_path / "policy.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FederationError, match="not text in UTF-8"):
        Policy.load(tmp_path / "policy.toml")
    with pytest.raises(FederationError, match="cannot be read"):
        Policy.load(tmp_path)
