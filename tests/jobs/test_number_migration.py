"""The migration that numbers the jobs of each project, with rows there and back."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.models import Job, Project
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
BEFORE, AFTER = "0029_labels_of_imports", "0030_numbers_of_jobs"


def migrated(name):
    executor = MigrationExecutor(connection)
    executor.migrate([("annotations", name)])
    return executor.loader.project_state([("annotations", name)]).apps


@pytest.fixture
def schema():
    yield migrated
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_jobs_are_numbered_by_project_in_the_order_of_their_ids(schema):
    covid, ward = make.make_project("covid"), make.make_project("ward")
    make.make_project("empty")
    old = schema(BEFORE).get_model("annotations", "Job")
    order = [covid, ward, ward, covid, ward]
    ids = [old.objects.create(project_id=each.pk, kind="gold", key=f"k{n}").pk for n, each in enumerate(order)]

    new = schema(AFTER)
    jobs = new.get_model("annotations", "Job").objects.order_by("pk")
    assert list(jobs.values_list("pk", "number")) == list(zip(ids, [1, 1, 2, 2, 3], strict=True))
    counters = dict(new.get_model("annotations", "Project").objects.values_list("slug", "last_job_number"))
    assert counters == {"covid": 2, "empty": 0, "ward": 3}

    old = schema(BEFORE).get_model("annotations", "Job")
    assert list(old.objects.order_by("pk").values_list("pk", flat=True)) == ids
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert Job.objects.create(project=Project.objects.get(slug="ward"), kind="gold", key="next").number == 4
    assert Job.objects.create(project=Project.objects.get(slug="empty"), kind="gold", key="first").number == 1
