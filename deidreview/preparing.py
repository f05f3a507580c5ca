"""Prepare a start: update the database, collect static files, load the demo if it is enabled."""

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

from annotations.core.services import ServiceError
from annotations.models import Project, User
from annotations.ops.services.backup import schema_state, too_old, write_backup
from models_runtime.runs.services.runs import start_run

Say = Callable[[str], None]
# The key of an advisory lock in PostgreSQL: “deid” in ASCII.
SERVER_LOCK = 0x64656964


@contextmanager
def alone(*, say: Say) -> Iterator[None]:
    """Let only one process prepare at a time; a second process waits and then has nothing to do.

    Static files are in the data folder, and several machines may share a database server, so both are locked.
    """
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(settings.DATA_DIR / "prepare.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(_("Another process is preparing this data folder. Waiting until it has finished."))
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
    # The lock ends with its connection, and Django may close the default connection meanwhile, so this is a copy.
    own = connection.copy()
    try:
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [SERVER_LOCK])
            if not cursor.fetchone()[0]:
                say(_("Another process is preparing this database. Waiting until it has finished."))
                cursor.execute("SELECT pg_advisory_lock(%s)", [SERVER_LOCK])
            yield
    finally:
        own.close()


def prepare_database(*, say: Say) -> None:
    """Create the tables, or back up and migrate older ones.

    Raises ServiceError for a newer database, one from before the first release, and one of PostgreSQL that does not
    store Unicode.
    """
    _require_unicode()
    state = schema_state()
    if state.before_releases:
        raise too_old(settings.DATA_DIR)
    if state.newer:
        app, name = state.unknown[-1]
        raise ServiceError(
            _(
                "The data in %(data_dir)s was written by a newer version of deidreview: version %(version)s has no "
                "migration %(app)s.%(name)s. Start the newer version, or restore a backup made by this version."
            )
            % {"data_dir": settings.DATA_DIR, "app": app, "name": name, "version": settings.VERSION},
            code="newer",
        )
    if state.older:
        file = settings.DATA_DIR / "backups" / f"{timezone.now():%Y%m%d-%H%M%S}-before-{settings.VERSION}.deidreview"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_backup(file=file)
        say(f"The database is from an older version. A backup was written to {file}.")
    if state.pending:
        call_command("migrate", interactive=False, verbosity=0)
        say("Updated the database." if state.applied else f"Created the {connection.display_name} database.")


def _require_unicode() -> None:
    """Raise ServiceError where PostgreSQL counts bytes instead of code points, or can't store every character."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), current_setting('server_encoding')")
        name, encoding = cursor.fetchone()
    if encoding != "UTF8":
        message = _(
            "The PostgreSQL database “%(name)s” has the encoding %(encoding)s, but notes need UTF8. Create another "
            "one, and name it in DATABASE_URL: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
        raise ServiceError(message % {"name": name, "encoding": encoding}, code="encoding")


def collect_static(*, say: Say) -> None:
    """Copy static files to the folder that serves them, if one has changed since the last time."""
    stamp = settings.DATA_DIR / "static.stamp"
    state = _static_state()
    if stamp.is_file() and stamp.read_text() == state and Path(settings.STATIC_ROOT, "staticfiles.json").is_file():
        return
    stamp.unlink(missing_ok=True)
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(state)
    say("Collected the static files.")


def _static_state() -> str:
    digest = hashlib.sha256(settings.VERSION.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def load_demo(*, slug: str, say: Say) -> bool:
    """Create the demo project. Return False if it already exists."""
    if Project.objects.filter(slug=slug).exists():
        return False
    call_command("load_demo", slug=slug, stdout=io.StringIO())
    project = Project.objects.get(slug=slug)
    # The worker that starts next executes this run, so that the demo has suggestions to review.
    start_run(project=project, backend="rules", actor=project.created_by, key=f"demo-{project.pk}")
    say("Loaded the demo project.")
    return True


def refuse_public_passwords(*, names: list[str], password: str) -> None:
    """Raise ServiceError if an account has the demo's public password, before other machines can sign in."""
    insecure = [
        user.username
        for user in User.objects.filter(username__in=names, is_active=True).order_by("username")
        if check_password(password, user.password)
    ]
    if insecure:
        message = _(
            "HOST: other machines could sign in as %(choices)s, because these accounts have the demo's public "
            "password. Change these passwords, or use another data folder."
        )
        raise ServiceError(message % {"choices": ", ".join(insecure)}, code="demo")


def has_people() -> bool:
    """Return whether at least one account can sign in."""
    return User.objects.filter(is_active=True).exists()
