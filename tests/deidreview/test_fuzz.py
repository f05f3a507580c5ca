"""No input, however broken, ends in an error of ours: every URL, every field that a page offers, every JSON."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.test import Client

from models_runtime.core import foreign
from tests.deidreview.access_table import TABLE
from tests.deidreview.access_world import SMALL, World, as_persona, build_world, url_of
from tests.deidreview.fuzzing import (
    BODIES,
    form_cases,
    json_cases,
    json_objects,
    offered,
    queries,
    spoiled_paths,
    undone,
)
from tests.deidreview.fuzzing import NAMES as QUERY_NAMES

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
OTHERS = ("reviewer", "annotator", "stranger")
# Of all cases of the other personas, so many of each route.
SAMPLE = 1
NAMES = [name for name in TABLE if name != "account_logout"]
Case = tuple[str, str, dict[str, Any]]


@pytest.fixture(autouse=True)
def no_logs():
    """A line for each refusal would be a fifth of the work."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def world(monkeypatch) -> World:
    for backend, model in SMALL.items():
        monkeypatch.setitem(foreign.FOUND, backend, lambda model=model: [model])
    return build_world()


def broken(client: Client, cases: Iterator[Case] | list[Case]) -> Counter[str]:
    """Where an answer was an error of ours, or showed a traceback: route by route, with how often."""
    failed: Counter[str] = Counter()
    for method, path, sent in cases:
        response = undone(client, method, path, **sent)
        text = b"" if response.streaming else response.content
        if response.status_code >= 500 or b"Traceback" in text:
            failed[f"{method} {path[:80]} {str(sent)[:160]}"] += 1
    return failed


def posts(name: str, world: World, bodies: Iterable[str], content_type: str = FORM) -> list[Case]:
    path = url_of(name, world)
    return [("POST", path, {"data": body, "content_type": content_type}) for body in bodies]


def part(name: str, content: str = "a", charset: str = "") -> tuple[str, bytes]:
    """A form of one field with a boundary: its type and its body."""
    body = f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{content}\r\n--x--'
    return f"multipart/form-data; boundary=x{charset and f'; charset={charset}'}", body.encode()


def sampled(cases: list[Case], name: str, most: int = SAMPLE) -> list[Case]:
    return random.Random(name).sample(cases, min(most, len(cases)))


def of_all(world: World, cases: Callable[[str], list[Case]], names: list[str] = NAMES) -> Counter[str]:
    """All cases as the manager, some as everybody else."""
    clients = {persona: as_persona(world, persona) for persona in ("manager", *OTHERS)}
    failed: Counter[str] = Counter()
    for name in names:
        every = cases(name)
        failed += broken(clients["manager"], every)
        for persona in OTHERS:
            failed += broken(clients[persona], sampled(every, f"{persona} {name}"))
    return failed


def test_spoiled_addresses(world):
    assert of_all(world, lambda name: [("GET", path, {}) for path in spoiled_paths(name, world)]) == {}


def test_spoiled_queries(world):
    assert len(QUERY_NAMES) > 20
    pages = [name for name in NAMES if "200" in TABLE[name]["GET"]]
    assert of_all(world, lambda name: [("GET", f"{url_of(name, world)}?{q}", {}) for q in queries(name)], pages) == {}


def test_spoiled_forms(world):
    found = offered(as_persona(world, "manager"), world)
    assert len([key for key in found.fields if key[1] == "POST"]) > 40
    assert of_all(world, lambda name: posts(name, world, form_cases(found, name))) == {}


def test_spoiled_json(world):
    objects = json_objects(world, world.people["manager"].pk)
    cases = {name: list(json_cases(good)) for name, good in objects.items()}
    assert of_all(world, lambda name: posts(name, world, cases[name], "application/json"), list(cases)) == {}


def test_bodies_that_are_not_what_they_say(world):
    def cases(name: str) -> list[Case]:
        every = posts(name, world, BODIES, "application/json") + [
            ("POST", url_of(name, world), {"data": data, "content_type": kind})
            for kind, data in (
                ("multipart/form-data", b"x"),
                ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a'),
                part("text", "a\0b"),
                part("text", "+2AA-", "utf-7"),
                part("text", "a", "rot13"),
                part("a\"; filename*=rot13''x; x=\"", "a"),
                (FORM + "; charset=rot13", b"text=a"),
                (FORM + "; charset=utf-16", b"text=a"),
                ("application/json; charset=utf-16", b"{}"),
                (FORM, b"%FF=%ED%A0%80&\xff=\xfe&text=%00"),
                ("text/plain", b"text=a"),
                ("", b"\xff\xfe"),
            )
        ]  # fmt: skip
        return every if name in json_objects(world, 0) or name == "guidelines_edit" else sampled(every, name, 4)

    assert of_all(world, cases) == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_COOKIE": 'deidreview="\\000"; deidreview-csrf="\\000"; messages="\\000"; sessionid=\xff'},
        {"HTTP_COOKIE": "deidreview=" + "x" * 5_000},
        {"HTTP_COOKIE": "messages=W10:1:a; deidreview-csrf=ä"},
        {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "http://[a"},
        {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "\0"},
        {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "/" + "x" * 10_000},
        {"CONTENT_LENGTH": "9" * 5_000},
        {"HTTP_USER_AGENT": "a\0b", "HTTP_ACCEPT": "application/json\0"},
        {"HTTP_USER_AGENT": "x" * 5_000, "HTTP_ACCEPT": "x" * 5_000, "HTTP_REFERER": "http://["},
        {"HTTP_X_FORWARDED_FOR": "\0", "HTTP_X_FORWARDED_PROTO": "https", "HTTP_ORIGIN": "http://["},
    ],
)  # fmt: skip
def test_spoiled_headers(world, headers):
    client = Client(raise_request_exception=False)
    for method, data in (("GET", ""), ("POST", "login=a&password=b&username=a")):
        cases = [(method, url_of(name, world), {"data": data, "content_type": FORM, **headers}) for name in NAMES]
        assert broken(client, cases) == {}
