"""The tool that the offline model calls for a request, and the arguments."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.offline_talk import Call, first_calls, talk, text, tool

CLOCK = [
    tool("get_current_time", "Get current time in a specific timezone",
         timezone=text("IANA timezone name (e.g., 'America/New_York'). Use 'Etc/UTC' as local "
                       "timezone if no timezone provided by the user.")),
    tool("convert_time", "Convert time between timezones",
         source_timezone="string", time=text("Time in 24-hour format (HH:MM)"),
         target_timezone="string"),
]  # fmt: skip
SUMS = [
    tool("add", "Add two numbers.", a="number", b="number"),
    tool("subtract", "Subtract the second number from the first.", a="number", b="number"),
    tool("multiply", "Multiply two numbers.", a="number", b="number"),
    tool("average", "The mean of a list of numbers.",
         numbers={"type": "array", "items": {"type": "number"}}),
]  # fmt: skip
MAIL = [
    tool("mail_send_message", "Send an email.", to="string", subject="string", body="string"),
    tool("mail_list_messages", "List the messages of a folder, newest first.", optional="limit",
         folder={"enum": ["inbox", "sent", "archive"]}, limit="integer"),
    tool("mail_delete_message", "Delete a message for good.", message_id="string"),
]  # fmt: skip
SHOP = [
    tool("find_products", "Search the catalogue of the shop.", optional="max_price in_stock",
         query="string", max_price="number", in_stock="boolean"),
    tool("place_order", "Order a product.", product_id="integer", quantity="integer"),
    tool("track_order", "Tell where an order is.", order_number=text("Such as AB-1234.")),
]  # fmt: skip
FILES = [
    tool("read_file", "Read a text file.", path="string"),
    tool("write_file", "Write a text to a file.", path="string", content="string"),
    tool("list_directory", "List the files in a directory.", directory="string"),
    tool("move_file", "Move a file.", source="string", destination="string"),
]  # fmt: skip
WEATHER = [
    tool("getForecast", "Weather forecast for a city.", optional="days units", city="string",
         days="integer", units={"type": "string", "enum": ["metric", "imperial"]}),
    tool("getAirQuality", "How clean the air is in a city.", city="string"),
]  # fmt: skip
CANVAS = [
    # Their input is not required: many a drawn tool needs none.
    tool("shout", "Says a text loudly.", optional="input", input="string"),
    tool("calculator", "Works out an arithmetic expression.", optional="input", input="string"),
    tool("web_search", "Looks for something on the internet.", optional="input", input="string"),
    tool("company_motto", "Tells the company's motto.", optional="input", input="string"),
]  # fmt: skip
UNITS = [
    tool("convert_units", "Convert a quantity to another unit.", value="number",
         from_unit={"enum": ["km", "mi", "kg", "lb", "c", "f"]},
         to_unit={"enum": ["km", "mi", "kg", "lb", "c", "f"]}),
    tool("convert_currency", "Convert an amount of money.", amount="number",
         from_currency="string", to_currency="string"),
]  # fmt: skip
WORDS = [
    tool("translate", "Translate a text.", text="string", target_language="string"),
    tool("define_word", "Look a word up in a dictionary.", word="string"),
    tool("count_words", "Count the words of a text.", text="string"),
]  # fmt: skip
DAYS = [
    tool("days_between", "Count the days between two dates.",
         start_date="string", end_date="string"),
    tool("weekday", "Tell the day of the week.", date={"type": "string", "format": "date"}),
    tool("create_event", "Put an event into the calendar.", title="string",
         date=text("YYYY-MM-DD"), time=text("HH:MM")),
]  # fmt: skip
ROOMS = [
    tool("rooms_list_free", "List rooms that are free.", optional="floor", date="string",
         floor="integer"),
    tool("rooms_book", "Book a room for a person.", room_id="string", person="string",
         date="string"),
]  # fmt: skip
REPO = [
    tool("repo_log", "Show the commit log.", optional="max_count", max_count="integer"),
    tool("repo_commit", "Record changes to the repository.", message="string"),
    tool("repo_create_branch", "Create a branch.", branch_name="string"),
]
FORMS = [tool("rename_branch", "Rename a branch.", branch_name="string")]

CASES: list[tuple[list[Any], str, list[Call]]] = [
    # Time zones: IANA names, cities in any case, countries
    (CLOCK, "What time is it in Tokyo?", [("get_current_time", {"timezone": "Asia/Tokyo"})]),
    (CLOCK, "What's the time in S\u00e3o Paulo?",
     [("get_current_time", {"timezone": "America/Sao_Paulo"})]),
    (CLOCK, "What time is it?", [("get_current_time", {"timezone": "Etc/UTC"})]),
    (CLOCK, "current time america/new_york? I mean America/New_York",
     [("get_current_time", {"timezone": "America/New_York"})]),
    (CLOCK, "tell me the time in los angeles please",
     [("get_current_time", {"timezone": "America/Los_Angeles"})]),
    (CLOCK, "Convert 2:30 pm from London to Sydney",
     [("convert_time", {"source_timezone": "Europe/London", "time": "14:30",
                        "target_timezone": "Australia/Sydney"})]),
    (CLOCK, "If it is 9am in Paris, what time is it in Kolkata?",
     [("convert_time", {"source_timezone": "Europe/Paris", "time": "09:00",
                        "target_timezone": "Asia/Kolkata"})]),
    (CLOCK, "What time is it in Cairo, Lima and Oslo?",
     [("get_current_time", {"timezone": x})
      for x in ("Africa/Cairo", "America/Lima", "Europe/Oslo")]),
    # Numbers: digits, words, decimals, signs, thousands, order
    (SUMS, "Add 2 and 3", [("add", {"a": 2, "b": 3})]),
    (SUMS, "Multiply 1,200.5 by -3", [("multiply", {"a": 1200.5, "b": -3})]),
    (SUMS, "7 * 6", [("multiply", {"a": 7, "b": 6})]),
    (SUMS, "What is the average of 4, 8 and 15?", [("average", {"numbers": [4, 8, 15]})]),
    # Quoted strings, addresses, named values
    (MAIL, "Send an email to ada@example.org with subject 'Lunch' and body 'At noon?'",
     [("mail_send_message", {"to": "ada@example.org", "subject": "Lunch", "body": "At noon?"})]),
    (MAIL, "Show the last 5 messages in my inbox",
     [("mail_list_messages", {"folder": "inbox", "limit": 5})]),
    (MAIL, "list sent messages", [("mail_list_messages", {"folder": "sent"})]),
    (MAIL, "delete message #a17", [("mail_delete_message", {"message_id": "a17"})]),
    (MAIL, "show deleted messages from the archive",
     [("mail_list_messages", {"folder": "archive"})]),
    # What to search for, and what limits it
    (SHOP, "Search for red shoes", [("find_products", {"query": "red shoes"})]),
    (SHOP, 'find products matching "garden hose" with max price 30',
     [("find_products", {"query": "garden hose", "max_price": 30})]),
    (SHOP, "Order three of product 12", [("place_order", {"product_id": 12, "quantity": 3})]),
    (SHOP, "where is my order AB-1234?", [("track_order", {"order_number": "AB-1234"})]),
    # Paths
    (FILES, "Read the file notes/today.md", [("read_file", {"path": "notes/today.md"})]),
    (FILES, "what files are in /var/log", [("list_directory", {"directory": "/var/log"})]),
    (FILES, "Write 'hello' to ~/out.txt",
     [("write_file", {"path": "~/out.txt", "content": "hello"})]),
    (FILES, "open C:\\data\\x.csv", [("read_file", {"path": "C:\\data\\x.csv"})]),
    # Places, enums, counts; camelCase names
    (WEATHER, "What's the weather in Paris?", [("getForecast", {"city": "Paris"})]),
    (WEATHER, "forecast for New York for 3 days in imperial units",
     [("getForecast", {"city": "New York", "days": 3, "units": "imperial"})]),
    (WEATHER, "air quality in lyon", [("getAirQuality", {"city": "lyon"})]),
    # Tools drawn on the canvas take one text
    (CANVAS, "Shout hello world!", [("shout", {"input": "hello world"})]),
    (CANVAS, "What is the motto of the company?", [("company_motto", {})]),
    (CANVAS, 'please shout "do not sit and wait"', [("shout", {"input": "do not sit and wait"})]),
    (CANVAS, "What is (2 + 3) * 4?", [("calculator", {"input": "(2 + 3) * 4"})]),
    # Units and money
    (UNITS, "How many miles are 42.2 kilometres?",
     [("convert_units", {"value": 42.2, "from_unit": "km", "to_unit": "mi"})]),
    (UNITS, "convert 70 degrees fahrenheit to celsius",
     [("convert_units", {"value": 70, "from_unit": "f", "to_unit": "c"})]),
    # Words
    (WORDS, "Translate 'good morning' into French",
     [("translate", {"text": "good morning", "target_language": "French"})]),
    (WORDS, "define serendipity", [("define_word", {"word": "serendipity"})]),
    (WORDS, 'how many words are in "to be or not to be"?',
     [("count_words", {"text": "to be or not to be"})]),
    # Dates
    (DAYS, "What weekday is 12 March 2026?", [("weekday", {"date": "2026-03-12"})]),
    (DAYS, "which day of the week is tomorrow", [("weekday", {"date": "2026-03-13"})]),
    (DAYS, "how many days from 2026-01-01 until March 1, 2026?",
     [("days_between", {"start_date": "2026-01-01", "end_date": "2026-03-01"})]),
    (DAYS, "how many days until 24 December?",
     [("days_between", {"start_date": "2026-03-12", "end_date": "2026-12-24"})]),
    (DAYS, "create an event called Dentist on 2026-04-01 at 3pm",
     [("create_event", {"title": "Dentist", "date": "2026-04-01", "time": "15:00"})]),
    # People and ids
    (ROOMS, "Book room B12 for Ada on 3 April 2026",
     [("rooms_book", {"room_id": "B12", "person": "Ada", "date": "2026-04-03"})]),
    (ROOMS, "which rooms are free next Friday on floor 2?",
     [("rooms_list_free", {"date": "2026-03-13", "floor": 2})]),
    # A change is made only where one is asked for
    (REPO, "show the last 3 commits", [("repo_log", {"max_count": 3})]),
    (REPO, "which commits were made today?", [("repo_log", {})]),
    (REPO, "commit with message 'Fix the door'", [("repo_commit", {"message": "Fix the door"})]),
    (REPO, "create the branch demo", [("repo_create_branch", {"branch_name": "demo"})]),
    (REPO[:1], "commit everything with message 'x'", []),
    # Bare words after a parameter's name
    (FORMS, "rename the branch with branch name = fix-1",
     [("rename_branch", {"branch_name": "fix-1"})]),
    # Several requests at once
    (CLOCK + SUMS, "1. What time is it in Rome?\n2. Multiply 3 by 4",
     [("get_current_time", {"timezone": "Europe/Rome"})]),
    # Nothing fits, or too little is said
    (SHOP, "What is the capital of France?", []),
    (MAIL, "Who wrote Hamlet?", []),
    (CLOCK, "Convert 14:30", []),
    (FILES, "read the file", []),
    (MAIL, "Should I ever delete messages?", []),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize(("tools", "request_text", "expected"), CASES, ids=[x[1] for x in CASES])
async def test_a_request_becomes_these_calls(
    tools: list[Any], request_text: str, expected: list[Call]
):
    assert await first_calls(request_text, tools) == expected


@pytest.mark.anyio
async def test_the_same_request_gives_the_same_calls_among_tools_of_other_sources():
    """The words decide, not how many tools there are: every case once more, with all tools."""
    everything = [*CLOCK, *SUMS, *MAIL, *SHOP, *FILES, *WEATHER, *UNITS, *WORDS, *DAYS, *ROOMS]
    everything += REPO
    wrong: list[str] = []
    for tools, request, expected in CASES:
        if tools not in (CANVAS, FORMS) and await first_calls(request, everything) != expected:
            wrong.append(request)
    assert len(wrong) <= len(CASES) // 8, wrong


@pytest.mark.anyio
@pytest.mark.parametrize("tools", [SUMS, SHOP, FILES, UNITS, DAYS])
async def test_example_requests_that_are_offered_are_understood(tools: list[Any]):
    answer = (await talk("Paint the fence", tools)).answer
    examples = re.findall(r'"([^"\n]+)"', answer)[1:]
    assert len(examples) == 3
    for example in examples:
        assert await first_calls(example, tools), example
