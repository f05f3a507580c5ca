"""Whether this instance can serve people: the database, its migrations, Redis and the workers."""

from functools import lru_cache

from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from annotations.jobs.services import doorbell
from annotations.jobs.services.status import missing
from annotations.models import Job
from annotations.ops.services.schema import Migration, SchemaState, applied_migrations, compare, too_old

OK = "ok"


class Health:
    """The state of each part: “ok”, or a word that says what is wrong. A warning alone leaves the instance ready."""

    def __init__(self) -> None:
        self.checks = {"database": OK, "migrations": OK, "redis": OK, "workers": OK}
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self._database()
        self._redis()

    @property
    def ready(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        return {
            "status": "ready" if self.ready else "not ready",
            "checks": self.checks,
            "problems": self.problems,
            "warnings": self.warnings,
        }

    def _problem(self, part: str, word: str, sentence: str) -> None:
        self.checks[part] = word
        self.problems.append(sentence)

    def _database(self) -> None:
        try:
            state = _schema(applied_migrations())
        except DatabaseError:
            self._problem("database", "down", _("The database does not answer."))
            self.checks["migrations"] = "unknown"
            # A broken connection is replaced at the next check.
            connection.close()
            return
        if state.before_releases:
            self._problem("migrations", "too-old", str(too_old(_("The database"))))
        elif state.newer:
            self._problem("migrations", "newer", _("The database belongs to a newer version of deidreview."))
        elif state.pending:
            self._problem("migrations", "pending", _("The database has no tables of this version yet: run “prepare”."))

    def _redis(self) -> None:
        try:
            doorbell.connection().ping()
            alive = [queue for queue in Job.Queue.values if doorbell.states(queue)]
        except doorbell.RedisError:
            self._problem("redis", "down", _("Redis does not answer, so no job starts."))
            self.checks["workers"] = "unknown"
            return
        if not alive:
            self.checks["workers"] = "none"
            self.warnings.append(missing(Job.Queue.CPU))


@lru_cache(maxsize=2)
def _schema(applied: frozenset[Migration]) -> SchemaState:
    """Compare only when the applied migrations have changed, since reading all migrations takes a tenth of a second."""
    return compare(applied)
