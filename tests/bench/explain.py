"""What PostgreSQL does for each statement of an action: EXPLAIN (ANALYZE, BUFFERS) of the very SQL that was sent."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import Error, connection, transaction
from django.test.utils import CaptureQueriesContext

from annotations.models import AnnotationSet, Assignment, Document, Event, GoldVersionNote, Span

# Tables that grow with the notes: a sequential scan of one takes as long as the whole project is large.
GROWING = {model._meta.db_table for model in (Document, Span, Assignment, Event, AnnotationSet, GoldVersionNote)}
# Rows that a statement may look at. Where no index holds the answer, pages look at 50,000 and offer to look further.
MANY = 60_000
EXPLAINED = re.compile(r"^(SELECT|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
TITLE = re.compile(r'^(SELECT|INSERT|UPDATE|DELETE)\b(?:(?<=UPDATE)|.*?(?:FROM|INTO))\s+"?(\w+)', re.DOTALL)


@dataclass(frozen=True)
class Plan:
    """One statement's plan. `rows` is how many rows its scans looked at, those filtered out included."""

    statement: str
    nodes: list[str]
    rows: int
    ms: float
    buffers: int
    scanned: list[str]

    @property
    def title(self) -> str:
        """Verb and table of a statement; the values in it are of no interest, and are long."""
        found = re.search(
            r'^(SELECT|INSERT|UPDATE|DELETE)\b.*?(?:FROM|INTO|UPDATE)\s+"?(\w+)', self.statement, re.DOTALL
        )
        return f"{found[1]} {found[2].removeprefix('annotations_')}" if found else self.statement[:40]


@dataclass
class Explained:
    """An action with the plans of its statements. `summary`: one that counts a whole project by intention."""

    action: str
    summary: bool
    plans: list[Plan] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        found = [f"{plan.title}: sequential scan of {table}" for plan in self.plans for table in plan.scanned]
        return found + [f"{plan.title}: looks at {plan.rows:,} rows" for plan in self.plans if plan.rows > MANY]


class _Undo(Exception):
    pass


def explain(action: str, act: Callable[[], object], *, summary: bool = False) -> Explained:
    """Do it once, take everything back, and have each different statement of it explained on the same data."""
    statements: list[str] = []
    try:
        with transaction.atomic():
            with CaptureQueriesContext(connection) as captured:
                act()
            statements = [query["sql"] for query in captured.captured_queries]
            raise _Undo
    except _Undo:
        pass
    done = Explained(action, summary)
    seen = set()
    for statement in statements:
        shape = re.sub(r"'[^']*'|\d+", "?", statement)
        if EXPLAINED.match(statement) and shape not in seen:
            seen.add(shape)
            done.plans += _explained(statement)
    return done


def _explained(statement: str) -> Iterator[Plan]:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
            found = cursor.fetchone()[0]
            raise _Undo
    except _Undo:
        pass
    except Error as error:
        raise RuntimeError(f"cannot explain {statement[:200]}: {error}") from error
    result = (json.loads(found) if isinstance(found, str) else found)[0]
    nodes = list(_walk(result["Plan"]))
    scans = [node for node in nodes if "Scan" in node["Node Type"] and "Relation Name" in node]
    yield Plan(
        statement=statement,
        nodes=[_name(node) for node in nodes],
        rows=sum(_looked_at(node) for node in scans),
        ms=result["Execution Time"],
        buffers=result["Plan"].get("Shared Hit Blocks", 0) + result["Plan"].get("Shared Read Blocks", 0),
        scanned=[n["Relation Name"] for n in scans if n["Node Type"] == "Seq Scan" and n["Relation Name"] in GROWING],
    )


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _walk(below)


def _name(node: dict[str, Any]) -> str:
    where = node.get("Index Name") or node.get("Relation Name")
    return f"{node['Node Type']} {where}" if where else str(node["Node Type"])


def _looked_at(node: dict[str, Any]) -> int:
    return int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
