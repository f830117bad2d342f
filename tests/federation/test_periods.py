"""Numbers of editions stand for periods, and are shown as these."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from confide.federation.question_terms import PERIODS, Period, edition_words, next_edition_words

DAYS = st.dates(date(2000, 1, 1), date(2199, 12, 31)).map(lambda day: datetime.combine(day, time(12), UTC))


@given(DAYS, st.sampled_from(PERIODS))
def test_the_number_of_a_period_names_it_again(day: datetime, kind: str) -> None:
    period = Period.at(kind, day)
    assert Period.of_edition(period.number) == period
    assert edition_words(period.number).startswith(str(day.year))


@given(DAYS)
def test_no_number_is_that_of_two_kinds(day: datetime) -> None:
    numbers = {Period.at(kind, day).number for kind in PERIODS}
    assert {Period.of_edition(number).kind for number in numbers} == set(PERIODS)  # type: ignore[union-attr]


def test_periods_are_those_of_utc() -> None:
    behind, ahead = (timezone(timedelta(hours=hours)) for hours in (-5, 9))
    assert Period.at("month", datetime(2026, 10, 31, 20, tzinfo=behind)).name == "2026-11"
    assert Period.at("year", datetime(2027, 1, 1, 8, tzinfo=ahead)).name == "2026"


def test_editions_that_people_number_keep_their_numbers() -> None:
    assert all(edition_words(number) == str(number) for number in (1, 2, 12, 999))
    assert edition_words(24322) == "2026-11 (number 24322)"
    assert edition_words(8107) == "2026-q4 (number 8107)"
    assert edition_words(2026) == "2026"
    assert next_edition_words(1) == "as a new edition (`edition=2`)"
    assert "next quarter" in next_edition_words(8107)
