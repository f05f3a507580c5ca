"""Worlds that are made once for a module, in a transaction around all of its tests.

    @pytest.fixture(scope="module")
    def made(once):
        return once(build_world)

    @pytest.fixture
    def world(db, made):
        return copy.deepcopy(made)  # a test may change the rows that it holds

Each test that uses `db` is rolled back to its own savepoint, which keeps the world. A test with real transactions can't
use it: before such a test, the transaction of the module is rolled back.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

World = TypeVar("World")
OPEN: list[transaction.Atomic] = []


@pytest.fixture(scope="module")
def once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[Callable[[], World]], World]]:
    """`once(build)`: call `build`, and keep the rows that it makes until the module ends."""
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


def roll_back() -> None:
    """Roll back the transaction of the module's worlds, if one is open."""
    while OPEN:
        around = OPEN.pop()
        connection.set_rollback(True)
        around.__exit__(None, None, None)
