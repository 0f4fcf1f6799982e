"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from xai_mcp_agent.views.times import BadTime, moment, position_or_moment, seconds_text

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90s", timedelta(seconds=90)),
        ("30 min", timedelta(minutes=30)),
        ("3D", timedelta(days=3)),
    ],
)
def test_a_number_and_a_unit_are_so_long_ago(text: str, ago: timedelta):
    assert moment(text, NOW) == NOW - ago


def test_a_date_is_one_of_this_machine_and_may_have_a_time_and_a_zone():
    here = datetime(2026, 11, 20).astimezone()
    assert moment("2026-11-20", NOW) == here
    assert moment("2026-11-20  14:00", NOW) == here + timedelta(hours=14)
    assert moment("2026-11-20T14:00:00+02:00", NOW) == datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_day_is_its_beginning_for_what_happened_since_and_its_end_for_how_it_was():
    begin = datetime(2026, 11, 20).astimezone()
    end = position_or_moment("2026-11-20", NOW)
    assert isinstance(end, datetime)
    assert timedelta(hours=23) < end - begin < timedelta(hours=25)
    assert position_or_moment("120", NOW) == 120


@pytest.mark.parametrize("text", ["", "20x", "2026-13-01", "999999w", "0001-01-01"])
def test_what_is_no_time_is_answered_with_how_to_write_one(text: str):
    with pytest.raises(BadTime, match="Write 2h or 3d"):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.4 ms"), (0.0123, "12 ms"), (0.9996, "1.0 s"), (12.34, "12.3 s"),
        (75, "1 min 15 s"), (7320, "2 h 2 min"),
    ],
)  # fmt: skip
def test_durations_are_as_exact_as_a_person_wants_them(seconds: float, text: str):
    assert seconds_text(seconds) == text
