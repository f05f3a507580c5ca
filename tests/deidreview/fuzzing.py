"""Malformed input for every URL: the forms of the pages, the JSON of the scripts, and values that break them."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, resolve
from lxml import html
from lxml.html import HtmlElement

from annotations.installation import CODE
from tests.deidreview.access_table import TABLE
from tests.deidreview.access_world import ROUTES, World, form_of, undone, url_of

POSTGRESQL = connection.vendor == "postgresql"
HUGE = "9" * 5_000
# A long value with few escapes, which are slow to parse, and with more bytes than characters.
LONG = "Größe " + "word " * 20_000
DEEP = "[" * 5_000
# How many of the values below are tried for each field, besides those that every field gets.
SOME = 3
# How many are tried in all for each field of the admin, whose forms and lists are Django's code.
OF_ADMIN = 3
BIDI = "a\u202eb\u2066c\u200f"
# Values for a field of a form or a part of a URL.
ALWAYS = (HUGE, str(2**31), str(2**63 - 1))
WORDS = (
    "", "-1", "1e400", "nan", "²", "٣", str(2**63),
    "a\0b", BIDI + "😀\r\nx: y", LONG, DEEP, '[1, null, ["x"], "\\ud800.txt"]', "<b>%s{0}'; --",
)  # fmt: skip
# Which of them SQLite may refuse: numbers that no column holds or whose sum none holds, long patterns, deep JSON.
FOR_SQLITE = {HUGE, str(2**63 - 1), str(2**63), "1e400", "nan", LONG, DEEP}
# Values in place of a JSON value, as JSON source.
ALWAYS_VALUES = ("null", str(2**31), str(2**63 - 1), "[]", HUGE)
VALUES = (
    "true", "-1", "1.5", "1e999", "NaN", "-Infinity", str(2**63), '""', '"1"', '"\\ud800"',
    '"a\\u0000b"', '"\U0001f600"', json.dumps(BIDI), json.dumps(LONG), "{}", "[[[1]]]", '{"a": {"b": []}}',
    "[0, 1, 2]", "[0, 11, 1e999]", '[["a", "b", "c"]]', "[" * 3_000 + "]" * 3_000,
)  # fmt: skip
# Bodies that are not a JSON object, or not a valid one.
BODIES = (
    "", "{", "[]", "1", '"x"', "null", HUGE, "[" * 100_000, '{"a":' * 50_000, '{"person": 1, "person": 2}', "\ufeff{}",
    '{"\\ud800": 1}', '{"a\\u0000": 1}',
)  # fmt: skip


def _value(control: HtmlElement) -> str:
    """Return what a field of a form sends: of a list the chosen option, else the first one with a value."""
    if control.tag == "select":
        values = control.xpath(".//option[@selected][@value != '']/@value") or control.xpath(
            ".//option[@value != '']/@value"
        )
        return str(values[0]) if values else ""
    return str(control.get("value", "on" if control.get("type") in ("radio", "checkbox") else ""))


def fields_of(form: HtmlElement) -> dict[str, str]:
    """Return the fields of a form with their values, without files."""
    fields: dict[str, str] = {}
    for control in form.xpath(".//input[@type != 'file' or not(@type)] | .//textarea | .//select | .//button"):
        if (name := control.get("name")) and name != "csrfmiddlewaretoken":
            fields[name] = _value(control) if "checked" in control.attrib else fields.get(name, _value(control))
    return fields


def _names() -> set[str]:
    """Find every parameter that a view reads from a query in the source code."""
    sources = [
        file.read_text()
        for folder in ("annotations", "models_runtime")
        for file in (CODE / folder).rglob("*.py")
        if "views" in file.with_suffix("").parts
    ]
    return set(re.findall(r"""(?:GET|data)(?:\.get|\.getlist)?[\[(,] ?"(\w+)\"""", "\n".join(sources)))


NAMES = _names()
# Parameters of Django's admin that the links and forms of its pages don't name: of lists, of forms, of the search for a
# related row; also lookups that are forbidden.
LIST_NAMES = ("q", "o", "p", "e", "all", "id", "id__in", "pk", "password__startswith", "x__y", "_facets")
FORM_NAMES = (
    "_popup", "_to_field", "_changelist_filters", "_source_model", "app_label", "model_name", "field_name", "term",
)  # fmt: skip


@dataclass
class Offered:
    """Fields of the pages' forms by route and method, and parameters of the pages' links by route."""

    fields: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)

    def add(self, client: Client, world: World, names: list[str]) -> None:
        """Open the pages of the routes `names` as `client`, and collect their forms and links."""
        by_route = {resolve(url_of(name, world)).route: name for name in TABLE}
        for name in names:
            path = url_of(name, world)
            response = answered(client, "GET", path)
            if response.status_code != 200 or not response["Content-Type"].startswith("text/html"):
                continue
            page = html.fromstring(response.content.decode())
            for form in page.forms:
                if route := _route_of(urlsplit(form.action or path).path or path, by_route, name):
                    self.fields.setdefault((route, form.method), {}).update(fields_of(form))
            for link in page.xpath("//a/@href"):
                there = urlsplit(link)
                if there.query and (route := _route_of(there.path or path, by_route, name)):
                    self.names.setdefault(route, set()).update(one for one, _ in parse_qsl(there.query))


def _route_of(path: str, by_route: dict[str, str], here: str) -> str:
    try:
        return by_route.get(resolve(path).route, here)
    except Resolver404:
        return ""


def offered(manager: Client, administrator: Client, world: World) -> Offered:
    """Collect the pages of a manager and the admin pages of an administrator."""
    found = Offered()
    found.add(manager, world, [name for name in TABLE if not of_admin(name)])
    found.add(administrator, world, [name for name in TABLE if of_admin(name)])
    for name in TABLE:
        if form_of(name, world):
            found.fields.setdefault((name, "POST"), {}).update({k: str(v) for k, v in form_of(name, world).items()})
    return found


def of_admin(name: str) -> bool:
    return name.startswith("admin")


def answered(client: Client, method: str, path: str, **sent: Any) -> HttpResponse:
    """Return the complete response, and undo everything that the request wrote.

    Deferred constraints are checked before; a violation raises here.
    """

    def ask() -> HttpResponse:
        response = client.generic(method, path, **sent)
        if response.streaming:
            b"".join(response)
        if method == "POST" and response.status_code < 400:
            connection.check_constraints()
        return response

    return undone(ask, client)


def words_for(*what: str) -> list[str]:
    """Return the values that every field gets, and some of the others, always the same for the same field.

    What fails before or after the database is the same on both, so SQLite gets only values that it may refuse.
    """
    chance = random.Random("/".join(what))
    words = [*ALWAYS, *chance.sample(WORDS, SOME)]
    if of_admin(what[0]):
        words = chance.sample(words, OF_ADMIN)
    return words if POSTGRESQL else [word for word in words if word in FOR_SQLITE]


def form_cases(found: Offered, name: str) -> Iterator[str]:
    """Yield bodies of a form: one malformed field each, all fields malformed, a duplicate field, no field."""
    fields = found.fields.get((name, "POST"), {})
    for key in fields:
        for word in words_for(name, key):
            yield urlencode({**fields, key: word})
    for key in FORM_NAMES[:4] if fields and of_admin(name) else ():
        for word in ("", *words_for(name, key)):
            yield urlencode({**fields, key: word})
    for key in list(fields)[:1]:
        yield urlencode([*fields.items(), (key, "1"), (key, fields[key])])
    for word in words_for(name) if fields else ():
        yield urlencode(dict.fromkeys(fields, word))
    yield ""


def queries(found: Offered, name: str) -> Iterator[str]:
    """Yield queries of a route with the same malformed value for every parameter.

    A list of the admin stops at the first malformed parameter, so there each gets its own query.
    """
    names = sorted(found.names.get(name, set()) | set(found.fields.get((name, "GET"), {})))
    if of_admin(name):
        names = sorted({*names, *FORM_NAMES})
    else:
        names = sorted({*names, *NAMES})
    for word in words_for(name):
        # A real server limits the length of a URL, including escapes.
        yield urlencode(dict.fromkeys(names, word if word.isdigit() else word[:200]))
    if name.endswith("_changelist"):
        for one in sorted({*names, *LIST_NAMES} - set(FORM_NAMES)):
            for word in words_for(name, one):
                yield urlencode({one: word[:6_000]})
    yield "page=1&page=2&run=a&run=b&a=1&a=1&gold=%FF&%ED%A0%80"


# Malformed values by the converter of a URL's part.
PARTS = {
    "int": (str(2**31), str(2**63 - 1), str(2**63), HUGE), "str": ("%00", "%ED%A0%80", "x" * 5_000, "..%2F..%E2%80%AE"),
    "path": ("%00", "%ED%A0%80", "x" * 5_000, "9" * 400, "_5f"), "slug": ("x" * 5_000, "0"),
}  # fmt: skip


def spoiled_paths(name: str, world: World) -> Iterator[str]:
    """Yield URLs of a route with one malformed part each."""
    there = url_of(name, world).split("/")
    wanted = ("/" + ROUTES[name]).split("/")
    for at, part in enumerate(wanted):
        kind = part.removeprefix("<").partition(":")[0]
        if part.startswith("<") and kind in PARTS and len(there) == len(wanted):
            for word in PARTS[kind]:
                yield "/".join([*there[:at], word, *there[at + 1 :]])
    yield url_of(name, world) + quote("\0")


def json_objects(world: World, person: int) -> dict[str, list[dict[str, Any]]]:
    """Return valid JSON objects of the scripts by route."""
    ids = world.objects["ours"]
    one = "6f0c6d5e-0000-4000-8000-000000000001"
    span = {"start": 13, "end": 15, "label": ids["label"], "quote": "54"}
    seen = [0, 11, ids["label"]]
    change = {"change_id": one, "version": 0, "person": person}
    decision = {"change_id": one, "seen": ["open"], "suggestion": ids["suggestion"], "person": person}
    act = {"change_id": one, "seen": [[0, 11, "key"]], "start": 0, "end": 11, "person": person}
    talk = {"change_id": one, "person": person}
    return {
        "changes": [
            change | span | {"kind": "create"}, change | {"kind": "create_many", "spans": [span]},
            change | {"kind": "resize", "span": 1, "seen": seen, "start": 0, "end": 2, "quote": "Ma"},
            change | {"kind": "relabel", "span": 1, "seen": seen, "label": ids["label"]}, change | {"kind": "undo"},
        ],
        "start_annotations": [{"person": person}],
        "submit": [{"version": 0, "person": person}],
        "reopen": [{"person": person}],
        "comments": [
            talk | {"act": "add", "text": "A word.", "start": 0, "end": 4},
            talk | {"act": "answer", "thread": 1, "text": "Yes."},
            talk | {"act": "resolve", "thread": 1},
        ],
        "flag": [
            talk | {"act": "raise", "reason": "unsure", "text": "x", "start": 0, "end": 4},
            talk | {"act": "resolve", "flag": 1},
        ],
        "review_decide": [
            decision | {"act": "accept"},
            decision | {"act": "correct"} | span,
            {"change_id": one, "act": "add", "person": person, "seen": []} | span,
            {"change_id": one, "act": "undo", "person": person, "event": 1},
            {"changes": [decision | {"act": "accept"}], "version": 0, "person": person},
        ],
        "review_strings_decide": [
            {"changes": [{"change_id": one, "string": "1", "runs": "1,2", "answer": "accept"}], "person": person},
            {"changes": [{"change_id": one, "string": 1, "answer": "undo", "of": one}], "person": person},
        ],
        "release_decide": [
            {
                "changes": [{"string": "-1", "finding": "1", "answer": "replace", "label": ""}],
                "state": "",
                "person": person,
            },
        ],
        "review_finish": [{"rest": [ids["suggestion"]], "stage": "first", "person": person}],
        "adjudicate_decide": [
            act | {"act": "nothing"},
            act | {"act": "own", "label": ids["label"], "quote": "Mario Rossi"},
            act | {"act": "annotator", "annotator": ids["author"]},
            {"changes": [act | {"act": "nothing"}], "person": person},
        ],
        "adjudicate_cause": [{"start": 0, "end": 11, "kind": "AB", "present": True, "person": person}],
        "adjudicate_finish": [{"person": person}],
    }  # fmt: skip


def json_cases(objects: list[dict[str, Any]]) -> Iterator[str]:
    """Yield bodies with one malformed or missing value each."""
    for number, good in enumerate(objects):
        yield json.dumps(good)
        for key in good:
            yield json.dumps({name: value for name, value in good.items() if name != key})
            for value in [*ALWAYS_VALUES, *random.Random(f"{number} {key}").sample(VALUES, SOME)]:
                yield json.dumps(good | {key: "HERE"}).replace('"HERE"', value)
