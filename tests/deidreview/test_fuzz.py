"""No malformed input causes a server error: every URL, every field of a page, every JSON body.

At night, PostgreSQL gets every case from the persona with the most access. SQLite gets from it the values that SQLite
refuses, and one case per URL from another persona, in turn: what a persona may do is decided before a form is read.
During the day, the persona with the most access sends a few cases for each URL, always the same ones.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import cycle
from typing import Any

import pytest
from django.test import Client

from tests.deidreview import fuzzing
from tests.deidreview.access_table import PERSONAS, TABLE, status_in
from tests.deidreview.access_world import World, as_persona, build_world, url_of
from tests.deidreview.fuzzing import NAMES as QUERY_NAMES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fast_requests", "small_models", "uncounted_links")]
FORM = "application/x-www-form-urlencoded"
NAMES = list(TABLE)
# How many cases a URL gets during the day, and how many one that takes JSON.
FEW, FEW_OF_JSON = 1, 10
# Malformed headers, one request each.
HEADERS = [
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
]  # fmt: skip
Case = tuple[str, str, dict[str, Any]]


@pytest.fixture(autouse=True)
def unlimited_sign_in(settings) -> None:
    """The limits on sign-in would keep most requests away from the forms."""
    settings.ACCOUNT_RATE_LIMITS = False


def build_offered() -> tuple[World, fuzzing.Offered]:
    world = build_world()
    return world, fuzzing.offered(as_persona(world, "manager"), as_persona(world, "administrator"), world)


@pytest.fixture(scope="module")
def made(fast_requests, small_models, once) -> tuple[World, fuzzing.Offered]:
    return once(build_offered)


@pytest.fixture
def world(db, made) -> World:
    return deepcopy(made[0])


@pytest.fixture
def found(made) -> fuzzing.Offered:
    return made[1]


def broken(client: Client, cases: Iterator[Case] | list[Case]) -> Counter[str]:
    """Count the requests that ended in a server error or showed a traceback."""
    failed: Counter[str] = Counter()
    for method, path, sent in cases:
        response = fuzzing.answered(client, method, path, **sent)
        text = b"" if response.streaming else response.content
        # Without Redis, the instance says that it is not ready.
        if (response.status_code >= 500 and not path.startswith("/readyz")) or b"Traceback" in text:
            failed[f"{method} {path[:80]} {str(sent)[:160]}"] += 1
    return failed


def posts(name: str, world: World, bodies: Iterable[str], content_type: str = FORM) -> list[Case]:
    path = url_of(name, world)
    return [("POST", path, {"data": body, "content_type": content_type}) for body in bodies]


def part(name: str, content: str = "a", charset: str = "") -> tuple[str, bytes]:
    """Return the content type and body of a multipart form with one field."""
    body = f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{content}\r\n--x--'
    return f"multipart/form-data; boundary=x{charset and f'; charset={charset}'}", body.encode()


def lead(name: str) -> str:
    """Return the persona with the most access to a route."""
    return "administrator" if fuzzing.of_admin(name) else "manager"


def takes(name: str, method: str) -> bool:
    """Whether a route has a method: otherwise it reads nothing of a request."""
    return status_in(TABLE[name][method], lead(name)) != "405"


def in_full(persona: str, name: str, method: str) -> bool:
    """Return whether a persona sends all cases: the one with the most access, and those who see a page it doesn't."""
    statuses = dict(zip(PERSONAS, TABLE[name][method].split(), strict=True))
    return persona == lead(name) or (statuses[persona] == "200" != statuses[lead(name)])


POSTED = [name for name in NAMES if takes(name, "POST")]


@pytest.fixture
def of_all(world, nightly) -> Callable[..., Counter[str]]:
    """Send cases to all URLs: at night all, and on SQLite one per URL as another persona; during the day a few."""
    clients = {persona: as_persona(world, persona) for persona in PERSONAS}

    def send(cases: Callable[[str], list[Case]], names: list[str] = NAMES, few: int = FEW) -> Counter[str]:
        failed: Counter[str] = Counter()
        for at, name in enumerate(names):
            every, chance = cases(name), random.Random(name)
            assert every, name
            if not nightly:
                failed += broken(clients[lead(name)], chance.sample(every, min(few, len(every))))
                continue
            full = [persona for persona in PERSONAS if in_full(persona, name, every[0][0])]
            for persona in full:
                failed += broken(clients[persona], every)
            others = [persona for persona in PERSONAS if persona not in full]
            if others and not fuzzing.POSTGRESQL:
                failed += broken(clients[others[at % len(others)]], [chance.choice(every)])
        return failed

    return send


def test_spoiled_addresses(world, of_all):
    method = {name: "GET" if takes(name, "GET") else "POST" for name in NAMES}
    assert of_all(lambda name: [(method[name], path, {}) for path in fuzzing.spoiled_paths(name, world)]) == {}


def test_spoiled_queries(world, found, of_all):
    assert len(QUERY_NAMES) > 20
    assert found.names["admin:annotations_membership_changelist"] >= {"o", "active__exact", "role__exact"}

    def cases(name: str) -> list[Case]:
        return [("GET", f"{url_of(name, world)}?{query}", {}) for query in fuzzing.queries(found, name)]

    assert of_all(cases, [name for name in NAMES if set(TABLE[name]["GET"].split()) - {"302", "405"}]) == {}


def test_spoiled_forms(world, found, of_all):
    posted = {name for name, method in found.fields if method == "POST"}
    assert len(posted) > 40
    assert {"_selected_action", "action", "is_superuser", "password1"} <= set().union(
        *(found.fields[name, "POST"] for name in posted if fuzzing.of_admin(name))
    )
    assert of_all(lambda name: posts(name, world, fuzzing.form_cases(found, name)), POSTED) == {}


def test_spoiled_json(world, of_all):
    objects = fuzzing.json_objects(world, world.people["manager"].pk)
    cases = {name: list(fuzzing.json_cases(good)) for name, good in objects.items()}
    assert of_all(lambda name: posts(name, world, cases[name], "application/json"), list(cases), FEW_OF_JSON) == {}


def test_bodies_that_are_not_what_they_say(world, of_all):
    def cases(name: str) -> list[Case]:
        every = posts(name, world, fuzzing.BODIES, "application/json") + [
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
        if name in ("guidelines_edit", "admin:annotations_user_add", *fuzzing.json_objects(world, 0)):
            return every
        return random.Random(name).sample(every, 4)

    assert of_all(cases, POSTED) == {}


def test_spoiled_headers(world, nightly):
    """At night every URL gets all headers, and on PostgreSQL the cookies: nothing else reaches a database.

    During the day each gets one header with one method, in turn.
    """
    spoiled = [headers for headers in HEADERS if "HTTP_COOKIE" in headers or not fuzzing.POSTGRESQL]
    failed: Counter[str] = Counter()
    for at, name in enumerate(NAMES):
        for headers in spoiled if nightly else [spoiled[at // 2 % len(spoiled)]]:
            sent = {"content_type": FORM, **headers}
            form = sent | {"data": "login=a&password=b&username=a"}
            client = Client(raise_request_exception=False)
            cases = [("GET", url_of(name, world), sent), ("POST", url_of(name, world), form)]
            failed += broken(client, cases if nightly else [cases[at % 2]])
    assert failed == {}


def test_spoiled_headers_of_those_who_are_signed_in(world):
    """Malformed cookies sign nobody in, so they are left out. Each URL gets one other header with each method."""
    spoiled = cycle([headers for headers in HEADERS if "HTTP_COOKIE" not in headers])
    clients = {persona: as_persona(world, persona) for persona in ("manager", "administrator")}
    failed: Counter[str] = Counter()
    for name in NAMES:
        methods = [method for method in ("GET", "POST") if takes(name, method)]
        cases = [(method, url_of(name, world), {"content_type": FORM, **next(spoiled)}) for method in methods]
        failed += broken(clients[lead(name)], cases)
    assert failed == {}
