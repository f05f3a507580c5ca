"""A merge of labels and those who give labels to spans keep out of each other's way.

A merge changes the spans that it sees. A span that another transaction is about to commit is not among them, and would
keep a label that is gone: the check of a foreign key waits for the merge only at the commit. So whoever gives labels
takes the project's lock together with others first of all, and a merge takes it alone. On SQLite transactions that
write come one after another anyway.
"""

from django.db import connection

# Any number of our own: advisory locks share one space.
_LABELS = 0x6C61_6265


def keep_labels(project_id: int) -> None:
    """Until the transaction ends no label of the project is merged. To be called before any other lock is taken."""
    advisory_lock(_LABELS, project_id, shared=True)


def change_labels(project_id: int) -> None:
    """Until the transaction ends nobody gives labels to spans, and whoever was about to has committed."""
    advisory_lock(_LABELS, project_id, shared=False)


def advisory_lock(space: int, project_id: int, *, shared: bool) -> None:
    """A lock of a name of our own on a project, until the transaction ends. On SQLite a transaction that writes is
    alone anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # Names of our own; the key of a project has 64 bits, of which a lock takes 32.
            name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
            cursor.execute(f"SELECT {name}(%s, %s)", [space, project_id % 2**31])
