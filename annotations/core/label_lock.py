"""A lock between merging labels and writing spans.

A merge changes the spans that it sees. A span that another transaction has not committed yet is not among them and
would keep the merged label, since the foreign key is checked only at the commit. Therefore a transaction that writes
labels of spans first takes the project's lock, shared, and a merge takes it exclusively. SQLite runs writing
transactions one after another anyway.
"""

from django.db import connection

# Any number that no other lock uses: all advisory locks share one number space.
_LABELS = 0x6C61_6265


def keep_labels(project_id: int) -> None:
    """Exclude merges of the project's labels until the transaction ends. Call it before any other lock is taken."""
    advisory_lock(_LABELS, project_id, shared=True)


def change_labels(project_id: int) -> None:
    """Wait for transactions that write labels of spans, and exclude new ones until the transaction ends."""
    advisory_lock(_LABELS, project_id, shared=False)


def advisory_lock(space: int, project_id: int, *, shared: bool) -> None:
    """Take a lock on a project until the transaction ends. SQLite needs none: its transactions write one by one."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # A project id has 64 bits; the second number of an advisory lock has 32.
            name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
            cursor.execute(f"SELECT {name}(%s, %s)", [space, project_id % 2**31])
