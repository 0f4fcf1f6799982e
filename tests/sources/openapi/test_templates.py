"""Templates of plans, and the limits of templates in settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xai_mcp_agent.core.errors import BadSetting, InvalidArguments
from xai_mcp_agent.settings.openapi import OperationSettings
from xai_mcp_agent.sources.openapi.plan import Body, Placement, RequestPlan
from xai_mcp_agent.sources.openapi.request import RequestParts, request_parts
from xai_mcp_agent.sources.openapi.templates import override, templates_of

BASE = "https://api.example.com/v1"
PLAN = RequestPlan(
    "POST",
    "/things/{id}/x y?beta=true",
    BASE,
    (
        Placement("id", "path", "id", is_required=True),
        Placement("q", "query", "q", "form", True),
        Placement("deep__query", "query", "deep", "deepObject", True),
        Placement('we"ird }}{%', "query", 'we"ird }}{%', "form", True),
        Placement("h", "header", "X-H"),
        Placement("c", "cookie", "c", "form"),
        Placement("name__body", "body", "name"),
    ),
    Body("application/json", is_required=True),
)
ARGUMENTS = {
    "id": "a/b ü", "q": [1, "&"], "deep__query": {"a": {"b": "{{ 1 }}"}}, 'we"ird }}{%': "{{ x }}",
    "h": "v", "c": "a b", "name__body": {"x": 'é"'},
}  # fmt: skip


def over(arguments: dict[str, Any], plan: RequestPlan = PLAN, **templates: Any) -> RequestParts:
    parts = request_parts(plan, {"id": "1", **arguments})
    return override(parts, OperationSettings(**templates), arguments, BASE)


@pytest.mark.parametrize("arguments", [ARGUMENTS, {"id": "1"}, {"id": "1", "q": ["x"]}])
def test_the_templates_of_a_plan_give_the_same_request(arguments: dict[str, Any]):
    parts = request_parts(PLAN, arguments)
    request = override(parts, templates_of(PLAN), arguments, BASE)
    assert request.url == parts.url
    assert request.body == parts.body
    assert request.headers == parts.headers


def test_a_template_runs_in_a_sandbox_and_reports_its_errors():
    for template in (
        "{{ ().__class__.__base__.__subclasses__() }}", "{{ args.clear() }}", "{{ 1 / 0 }}",
        "{{ range(10 ** 9) }}", "{{ args.h + 1 }}", "{{ args | attr('items') }}",
    ):  # fmt: skip
        with pytest.raises(InvalidArguments, match=r"template headers\.X of the operation"):
            over({"h": "v"}, headers={"X": template})


def test_a_value_has_members_and_no_attributes():
    for template in ("{{ args.__class__ }}", "{{ args.a.items }}", "{{ args['keys'] }}"):
        with pytest.raises(InvalidArguments, match="undefined"):
            over({"name__body": 1}, url="/x" + template)


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("/x?n={{ args.b }}", "/x?n=a%2F..%2Fb%3Fc%3Dd%26e"),
        ("{{ base_url }}/x/{{ args.h }}?n=1#here", "/x/a%20b?n=1"),
        ("//evil.example.com/x", "/evil.example.com/x"),
        ("/x?{% for x in args.q %}{{ x | upper }}&{% endfor %}", "/x?A%20B&%26&"),
        ("/x?a={{ args.y.z | default('d') }}", "/x?a=d"),
        ("/x{% if args.z is defined %}/z{% endif %}?a={{ args.y | default('d') }}", "/x?a=d"),
    ],
)  # fmt: skip
def test_values_in_a_url_are_encoded_for_their_place(template: str, url: str):
    arguments = {"b": "a/../b?c=d&e", "h": "a b", "q": ["a b", "&"]}
    parts = RequestParts("GET", "", {})
    assert override(parts, OperationSettings(url=template), arguments, BASE).url == BASE + url


@pytest.mark.parametrize(
    "template", ["/x/{{ args.h }}", "/x/{{ args.h | pathsegment }}", "/x/{{ args.h | path('h') }}"]
)
def test_no_argument_can_leave_the_path_of_the_template(template: str):
    for value in ("..", "../admin", "%2e%2e", "."):
        with pytest.raises(InvalidArguments, match=r"elsewhere|another address"):
            over({"h": value}, url=template)


def test_the_url_stays_at_the_service():
    """Credentials are sent to the URL."""
    for url in ("https://evil.example.com/x", "http://api.example.com/v1"):
        with pytest.raises(BadSetting, match="another server"):
            over({}, url=url)


def test_values_in_a_json_body_cannot_become_more_than_values():
    evil = '", "admin": true, "x": "\n'
    template = '{"name": "hi {{ args.name__body }}", "n": {{ args.name__body | tojson }}}'
    request = over({"name__body": evil}, body=template)
    assert request.body
    assert json.loads(request.body[1]) == {"name": f"hi {evil}", "n": evil}
    with pytest.raises(BadSetting, match="the result is not JSON"):
        over({"name__body": evil}, body='{"name": {{ args.name__body }}}')


def test_headers_can_be_added_changed_and_left_out():
    request = over({"h": "v"}, headers={"x-h": "new {{ args.h }}", "X-More": "1", "Accept": ""})
    assert dict(request.headers) == {
        "x-h": "new v", "X-More": "1", "Content-Type": "application/json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "template", "content"),
    [
        ("application/x-www-form-urlencoded", "n={{ args.name__body }}", b"n=a%26b%3D%3Cc%3E"),
        ("application/xml", "<n>{{ args.name__body }}</n>", b"<n>a&amp;b=&lt;c&gt;</n>"),
    ],
)
def test_values_in_a_form_or_xml_are_encoded(kind: str, template: str, content: bytes):
    plan = RequestPlan("POST", "/f", BASE, PLAN.placements, Body(kind))
    assert over({"name__body": "a&b=<c>"}, plan, body=template).body == (kind, content)
