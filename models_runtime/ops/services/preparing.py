"""What must hold before the product answers: a schema that fits, static files in place, the demo if it is wanted."""

import fcntl
import hashlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from annotations.ops.services.backup import write_backup
from annotations.ops.services.schema import schema_state
from models_runtime.runs.services.runs import start_run

Say = Callable[[str], None]
# The lock that PostgreSQL knows by a number: "deid" in ASCII.
SERVER_LOCK = 0x64656964


@contextmanager
def alone(*, say: Say) -> Iterator[None]:
    """Let one process prepare at a time: the second waits, and finds all of it done.

    Static files lie in the data folder, tables perhaps on a server that several machines share, so both are locked.
    """
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(settings.DATA_DIR / "prepare.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(_("Another process prepares this data folder; waiting for it to end"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        with _alone_on_the_server(say):
            yield
    finally:
        os.close(lock)


@contextmanager
def _alone_on_the_server(say: Say) -> Iterator[None]:
    if connection.vendor != "postgresql":
        yield
        return
    # A connection of its own: the lock ends with the connection, and the other one may be closed in the meantime.
    own = connection.copy()
    try:
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [SERVER_LOCK])
            if not cursor.fetchone()[0]:
                say(_("Another process prepares this database; waiting for it to end"))
                cursor.execute("SELECT pg_advisory_lock(%s)", [SERVER_LOCK])
            yield
    finally:
        own.close()


def prepare_database(*, say: Say) -> None:
    """Make the tables, or bring older ones up to date after a backup. Raises ServiceError for a newer database."""
    state = schema_state()
    if state.newer:
        app, name = state.unknown[-1]
        raise ServiceError(
            _(
                "The data in %(data_dir)s was written by a newer version of deidreview (it has "
                "%(app)s.%(name)s, version %(version)s does not); start that version, or restore a "
                "backup made by this one"
            )
            % {"data_dir": settings.DATA_DIR, "app": app, "name": name, "version": settings.VERSION},
            code="newer",
        )
    if state.older:
        file = settings.DATA_DIR / "backups" / f"{timezone.now():%Y%m%d-%H%M%S}-before-{settings.VERSION}.deidreview"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_backup(file=file)
        say(f"The database is from an older version; a backup lies in {file}")
    if state.pending:
        call_command("migrate", interactive=False, verbosity=0)
        say("Database updated" if state.applied else f"Database made ({connection.display_name})")


def collect_static(*, say: Say) -> None:
    """Copy static files to where they are served from, only when one of them changed since the last time."""
    stamp = settings.DATA_DIR / "static.stamp"
    state = _static_state()
    if stamp.is_file() and stamp.read_text() == state and Path(settings.STATIC_ROOT, "staticfiles.json").is_file():
        return
    stamp.unlink(missing_ok=True)
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(state)
    say("Static files collected")


def _static_state() -> str:
    digest = hashlib.sha256(settings.VERSION.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def load_demo(*, slug: str, say: Say) -> bool:
    """The demo project, once. False when it was there already."""
    if Project.objects.filter(slug=slug).exists():
        return False
    call_command("load_demo", slug=slug, stdout=io.StringIO())
    project = Project.objects.get(slug=slug)
    # The worker that starts next does it: its proposals then wait for review.
    start_run(project=project, backend="rules", actor=project.created_by, key=f"demo-{project.pk}")
    say("Demo project loaded")
    return True


def refuse_public_passwords(*, names: list[str], password: str) -> None:
    """Before other machines can reach the product: no account may still have the demo's published password."""
    open_doors = [
        user.username
        for user in User.objects.filter(username__in=names, is_active=True).order_by("username")
        if check_password(password, user.password)
    ]
    if open_doors:
        raise ServiceError(
            _(
                "HOST: other machines could sign in with the demo's public password as %(choices)s; "
                "change those passwords or use another data folder"
            )
            % {"choices": ", ".join(open_doors)},
            code="demo",
        )


def has_people() -> bool:
    """Whether anybody could sign in."""
    return User.objects.filter(is_active=True).exists()
