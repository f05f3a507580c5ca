"""Migration of accounts to the field with the project that created them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.models import Membership, User
from tests.factories import make_member, make_project, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def migrate_to(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets or executor.loader.graph.leaf_nodes())


@pytest.fixture
def before():
    """The previous migration, found by name because numbers change."""
    nodes = MigrationExecutor(connection).loader.graph.node_map
    ours = next(node for key, node in nodes.items() if key[1].endswith("_accounts_made_in_projects"))
    yield next(parent.key for parent in ours.parents if parent.key[0] == "annotations")
    migrate_to()


def test_the_project_that_added_an_account_when_it_was_new_counts_as_its_creator(before):
    first, second = make_project(), make_project()
    made = make_member(first)
    make_member(second, user=made)
    taken_in, lone = make_user("vera"), make_user("lone")
    make_member(first, user=taken_in)
    User.objects.filter(pk=taken_in.pk).update(date_joined=taken_in.date_joined - timedelta(hours=1))
    Membership.objects.filter(project=second, user=made).update(joined_at=made.date_joined + timedelta(days=2))
    migrate_to(before)
    migrate_to()
    found = dict(User.objects.values_list("pk", "created_in"))
    assert found == {made.pk: first.pk, taken_in.pk: None, lone.pk: None}
