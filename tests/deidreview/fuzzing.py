"""Hostile input for every URL: the forms that the pages offer, the JSON that the scripts send, and what spoils them."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django.db import transaction
from django.test import Client
from django.urls import Resolver404, resolve

from deidreview.run.environment import ROOT
from tests.deidreview.access_table import TABLE
from tests.deidreview.access_world import ROUTES, World, form_of, url_of

HUGE = "9" * 5_000
LONG = "Größe " * 17_000
DEEP = "[" * 100_000
# Of the words below, so many for each value, besides those that each meets.
SOME = 3
BIDI = "a\u202eb\u2066c\u200f"
# What is sent in place of a form's or an address's value.
ALWAYS = (HUGE, str(2**31), str(2**63 - 1))
WORDS = (
    "", "-1", "1e400", "nan", "²", "٣", str(2**63),
    "a\0b", BIDI + "😀\r\nx: y", LONG, DEEP, '[1, null, ["x"], "\\ud800.txt"]', "<b>%s{0}'; --",
)  # fmt: skip
# What is sent in place of a JSON value; as it is written.
ALWAYS_VALUES = ("null", str(2**31), str(2**63 - 1), "[]", HUGE)
VALUES = (
    "true", "-1", "1.5", "1e999", "NaN", "-Infinity", str(2**63), '""', '"1"', '"\\ud800"',
    '"a\\u0000b"', '"\U0001f600"', json.dumps(BIDI), json.dumps(LONG), "{}", "[[[1]]]", '{"a": {"b": []}}',
    "[0, 1, 2]", "[0, 11, 1e999]", '[["a", "b", "c"]]', "[" * 3_000 + "]" * 3_000,
)  # fmt: skip
# Whole bodies that are no JSON object, or not only one.
BODIES = (
    "", "{", "[]", "1", '"x"', "null", HUGE, DEEP, '{"a":' * 50_000, '{"person": 1, "person": 2}', "\ufeff{}",
    '{"\\ud800": 1}', '{"a\\u0000": 1}',
)  # fmt: skip


class Forms(HTMLParser):
    """The forms of a page: method, address, fields with what stands in them."""

    def __init__(self, page: str, here: str) -> None:
        super().__init__()
        self.here: str = here
        self.forms: list[dict[str, Any]] = []
        self._form: dict[str, Any] | None = None
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        if tag == "form":
            action = urlsplit(about.get("action") or self.here)
            method = about.get("method", "get").upper()
            self._form = {"path": action.path or self.here, "method": method, "fields": {}, "files": set()}
            self.forms.append(self._form)
        elif self._form is not None and about.get("name"):
            self._field(tag, about)
        elif self._form is not None and tag == "option" and self._select:
            chosen = about.get("value", "") if "selected" in about else ""
            self._form["fields"][self._select] = (
                chosen or self._form["fields"].get(self._select) or about.get("value", "")
            )

    def _field(self, tag: str, about: dict[str, str]) -> None:
        name, fields = about["name"], self._form["fields"]
        self._select = name if tag == "select" else self._select
        if about.get("type") == "file":
            self._form["files"].add(name)
        elif about.get("type") in ("radio", "checkbox"):
            if "checked" in about or name not in fields:
                fields[name] = about.get("value", "on")
        elif tag in ("input", "textarea", "select", "button") and name != "csrfmiddlewaretoken":
            fields.setdefault(name, about.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""


def _names() -> set[str]:
    """Every name that a view takes from a query, by its source."""
    sources = [
        file.read_text()
        for folder in ("annotations", "models_runtime")
        for file in (ROOT / folder).rglob("*.py")
        if "views" in file.with_suffix("").parts
    ]
    return set(re.findall(r"""(?:GET|data)(?:\.get|\.getlist)?[\[(,] ?"(\w+)\"""", "\n".join(sources)))


NAMES = _names()


@dataclass
class Offered:
    """What the pages offer: fields by route and method."""

    fields: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)


def offered(client: Client, world: World) -> Offered:
    """By opening every page as `client`."""
    found = Offered()
    by_route = {resolve(path).route: name for name, path in _paths(world)}
    for name, path in _paths(world):
        response = undone(client, "GET", path)
        if response.status_code != 200 or not response["Content-Type"].startswith("text/html"):
            continue
        page = Forms(response.content.decode(), path)
        for form in page.forms:
            try:
                route = by_route.get(resolve(form["path"]).route, name)
            except Resolver404:
                continue
            found.fields.setdefault((route, form["method"]), {}).update(form["fields"])
    for name in TABLE:
        if form_of(name, world):
            found.fields.setdefault((name, "POST"), {}).update({k: str(v) for k, v in form_of(name, world).items()})
    return found


def _paths(world: World) -> Iterator[tuple[str, str]]:
    for name in TABLE:
        if name != "account_logout":
            yield name, url_of(name, world)


class Undo(Exception):
    pass


def undone(client: Client, method: str, path: str, **sent: Any) -> Any:
    """The answer, read to its end, with everything that the request wrote taken back."""
    try:
        with transaction.atomic():
            response = client.generic(method, path, **sent)
            if response.streaming:
                b"".join(response)
            raise Undo
    except Undo:
        return response


def words_for(*what: str) -> list[str]:
    """Those that every value meets, and some of the others: always the same ones for the same value."""
    return [*ALWAYS, *random.Random("/".join(what)).sample(WORDS, SOME)]


def form_cases(found: Offered, name: str) -> Iterator[str]:
    """Bodies of a form, each with one field spoiled, and some with all of them, with a field twice, or with none."""
    fields = found.fields.get((name, "POST"), {})
    for key in fields:
        for word in words_for(name, key):
            yield urlencode({**fields, key: word})
    for key in list(fields)[:1]:
        yield urlencode([*fields.items(), (key, "1"), (key, fields[key])])
    for word in words_for(name) if fields else ():
        yield urlencode(dict.fromkeys(fields, word))
    yield ""


def queries(name: str) -> Iterator[str]:
    """Queries of a route in which every name that an address may have is spoiled alike."""
    for word in words_for(name):
        # An address has its limits on a real server.
        yield urlencode(dict.fromkeys(sorted(NAMES), word[:6_000]))
    yield "page=1&page=2&run=a&run=b&a=1&a=1&gold=%FF&%ED%A0%80"


# What stands for a number, a word, a path of an address.
PARTS = {
    "int": (str(2**31), str(2**63 - 1), str(2**63), HUGE),
    "str": ("%00", "%ED%A0%80", "x" * 5_000, "..%2F..%E2%80%AE"),
    "path": ("%00", "%ED%A0%80", "x" * 5_000, "9" * 400, "_5f"),
    "slug": ("x" * 5_000, "0"),
}


def spoiled_paths(name: str, world: World) -> Iterator[str]:
    """Addresses of a route, each with one part spoiled."""
    there = url_of(name, world).split("/")
    wanted = ("/" + ROUTES[name]).split("/")
    for at, part in enumerate(wanted):
        kind = part.removeprefix("<").partition(":")[0]
        if part.startswith("<") and kind in PARTS and len(there) == len(wanted):
            for word in PARTS[kind]:
                yield "/".join([*there[:at], word, *there[at + 1 :]])
    yield url_of(name, world) + quote("\0")


def json_objects(world: World, person: int) -> dict[str, list[dict[str, Any]]]:
    """What the scripts post, by route; good enough to be done."""
    ids = world.objects["ours"]
    one = "6f0c6d5e-0000-4000-8000-000000000001"
    place = {"start": 13, "end": 15, "label": ids["label"], "quote": "54"}
    seen = [0, 11, ids["label"]]
    change = {"change_id": one, "version": 0, "person": person}
    decision = {"change_id": one, "seen": ["open"], "proposal": ids["proposal"], "person": person}
    act = {"change_id": one, "seen": [[0, 11, "key"]], "start": 0, "end": 11, "person": person}
    talk = {"change_id": one, "person": person}
    return {
        "changes": [
            change | place | {"kind": "create"},
            change | {"kind": "create_many", "spans": [place]},
            change | {"kind": "resize", "span": 1, "seen": seen, "start": 0, "end": 2, "quote": "Ma"},
            change | {"kind": "relabel", "span": 1, "seen": seen, "label": ids["label"]},
            change | {"kind": "undo"},
        ],
        "submit": [{"version": 0, "person": person}],
        "reopen": [{"person": person}],
        "comments": [
            talk | {"act": "add", "text": "A word.", "start": 0, "end": 4},
            talk | {"act": "answer", "thread": 1, "text": "Yes."},
            talk | {"act": "resolve", "thread": 1},
        ],
        "flag": [
            talk | {"act": "raise", "reason": "unsure", "text": "x", "start": 0, "end": 4},
            talk | {"act": "settle", "flag": 1},
        ],
        "review_decide": [
            decision | {"act": "accept"},
            decision | {"act": "correct"} | place,
            {"change_id": one, "act": "add", "person": person, "seen": []} | place,
            {"change_id": one, "act": "undo", "person": person, "event": 1},
        ],
        "review_close": [{"rest": [ids["proposal"]], "stage": "first", "person": person}],
        "adjudicate_decide": [
            act | {"act": "nothing"},
            act | {"act": "own", "label": ids["label"], "quote": "Mario Rossi"},
            act | {"act": "annotator", "reader": ids["author"]},
        ],
        "adjudicate_cause": [{"start": 0, "end": 11, "kind": "AB", "person": person}],
        "adjudicate_close": [{"person": person}],
    }


def json_cases(objects: list[dict[str, Any]]) -> Iterator[str]:
    """Bodies, each with one value spoiled or missing."""
    for number, good in enumerate(objects):
        yield json.dumps(good)
        for key in good:
            yield json.dumps({name: value for name, value in good.items() if name != key})
            for value in [*ALWAYS_VALUES, *random.Random(f"{number} {key}").sample(VALUES, SOME)]:
                yield json.dumps(good | {key: "HERE"}).replace('"HERE"', value)
