"""Worlds that are made once for a module, in a transaction around all of its tests.

    @pytest.fixture(scope="module")
    def made(once):
        return once(build_world)

    @pytest.fixture
    def world(db, made):
        return fresh(made, build_world)

Each test that uses `db` is rolled back to its own savepoint, which keeps the world. A test with real transactions can't
use it: before such a test, the transaction of the module is rolled back, and `fresh` builds the world anew.
"""

import copy
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

World = TypeVar("World")
OPEN: list[transaction.Atomic] = []


@pytest.fixture(scope="module")
def once(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[[Callable[[], World]], World | None]]:
    """`once(build)`: call `build`, and keep the rows that it makes until the module ends.

    It makes nothing if the first test that asks for it has real transactions.
    """
    if has_transactions(request._pyfuncitem):
        yield lambda build: None
        return
    with django_db_blocker.unblock():
        around = transaction.atomic()
        # Django marks the transactions of its own tests so. Without the mark it refuses a durable block inside.
        around._from_testcase = True  # type: ignore[attr-defined]
        around.__enter__()
        OPEN.append(around)

    def make(build: Callable[[], World]) -> World:
        with django_db_blocker.unblock():
            return build()

    yield make
    with django_db_blocker.unblock():
        roll_back()


def fresh(made: World | None, build: Callable[[], World]) -> World:
    """Return a copy of the module's world, whose rows a test may change, or a new one if no transaction holds it."""
    return copy.deepcopy(made) if OPEN and made is not None else build()


def made_once(build: Callable[[], World], *needs: str, name: str = "made") -> tuple[Callable[..., Any], ...]:
    """Return both fixtures. The module must give the first one this name: `made, world = made_once(build_world)`.

    The world's fixture also asks for the fixtures `needs`.
    """

    @pytest.fixture(scope="module")
    def made(once: Callable[[Callable[[], World]], World | None]) -> World | None:
        return once(build)

    def world(**fixtures: Any) -> World:
        return fresh(fixtures[name], build)

    # pytest asks for the fixtures that the signature names.
    asked = [Parameter(one, Parameter.KEYWORD_ONLY) for one in (name, "db", *needs)]
    world.__signature__ = Signature(asked)  # type: ignore[attr-defined]
    return made, pytest.fixture(world)


def has_transactions(item: pytest.Item) -> bool:
    fixtures = {"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures) or any(mark.kwargs.get("transaction") for mark in item.iter_markers("django_db"))


def roll_back() -> None:
    """Roll back the transaction of the module's worlds, if one is open."""
    while OPEN:
        around = OPEN.pop()
        connection.set_rollback(True)
        around.__exit__(None, None, None)
