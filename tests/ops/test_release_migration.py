"""The migration 0038_release on a database with rows, forward and back."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.models import Document, Event, GoldVersion, Project, ProjectKey, Release, Span
from tests.worlds.released import make_clinic, make_release

MIGRATION = import_module("annotations.migrations.0038_release").Migration
pytestmark = pytest.mark.django_db(transaction=True)


def made_by_it():
    return {one.name for one in MIGRATION.operations if one.__class__.__name__ == "CreateModel"}


def test_back_and_forth_with_rows(no_redis):
    clinic = make_clinic()
    make_release(clinic.project, clinic.mia, "surrogate")
    kept = [model.objects.order_by("pk").values() for model in (Project, Document, Span, GoldVersion)]
    before = [list(rows) for rows in kept]
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    new = {apps.get_model("annotations", name)._meta.db_table for name in made_by_it()}
    assert new >= {"annotations_release", "annotations_releasednote", "annotations_projectkey"}
    try:
        MigrationExecutor(connection).migrate(
            [(app, name) for app, name in MIGRATION.dependencies if app == "annotations"]
        )
        assert not new & set(connection.introspection.table_names())
    finally:
        MigrationExecutor(connection).migrate(leaves)
    assert [list(rows.all()) for rows in kept] == before and Event.objects.exists()
    assert not Release.objects.exists() and not ProjectKey.objects.exists()
    assert make_release(clinic.project, clinic.mia, "surrogate").note_count == len(clinic.notes)
