"""Users and groups that a provider pushes by SCIM."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from annotations.migrations._tables import CreateTables


class Migration(migrations.Migration):
    dependencies = [("annotations", "0001_squashed_0048_sign_in_by_providers")]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name="ProvisionedUser",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                        (
                            "account",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="provisioned",
                                to="annotations.provideraccount",
                            ),
                        ),
                        ("provider", models.CharField(max_length=40)),
                        ("user_name", models.CharField(max_length=255)),
                        ("name_key", models.CharField(max_length=255)),
                        ("external_id", models.CharField(blank=True, db_index=True, max_length=255)),
                        ("active", models.BooleanField()),
                        ("said", models.JSONField(default=dict)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("changed_at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("provider", "name_key"), name="one_provisioned_user_per_name"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ProvisionedGroup",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                        ("provider", models.CharField(max_length=40)),
                        ("name", models.CharField(max_length=255)),
                        ("external_id", models.CharField(blank=True, max_length=255)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("changed_at", models.DateTimeField()),
                        (
                            "members",
                            models.ManyToManyField(related_name="groups", to="annotations.provisioneduser"),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("provider", "name"), name="one_provisioned_group_per_name"
                            )
                        ],
                    },
                ),
            ]
        )
    ]
