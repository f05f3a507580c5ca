"""The migration that stores when a project's notes were first exported, from events and from finished jobs."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from annotations.models import Job, Project
from annotations.transfer.events import NOTES_EXPORTED
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def schema():
    def migrated(name):
        MigrationExecutor(connection).migrate([("annotations", name)])

    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_first_exports_are_found_and_the_column_is_dropped_again(schema):
    by_command, by_page, never = (make.make_project(name) for name in ("command", "page", "never"))
    events = [NOTES_EXPORTED.record(actor=None, project_id=by_command.pk, data={}) for _ in range(2)]
    now = timezone.now()
    Job.objects.create(kind="export", project=by_page, key="a", state="done", finished_at=now)
    Job.objects.create(kind="export", project=never, key="b", state="failed", finished_at=now)
    schema("0029_labels_of_imports")
    schema("0032_first_exports")
    found = dict(Project.objects.values_list("slug", "exported_at"))
    assert found == {"command": events[0].at, "page": now, "never": None}
