import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0009_raw_confidence"),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkAct",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("act", models.CharField(choices=[("accept", "Accept"), ("reject", "Reject")], max_length=8)),
                ("rule", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                choices=[
                    ("planned", "Planned"),
                    ("working", "Running"),
                    ("done", "Done"),
                    ("undoing", "Being undone"),
                    ("undone", "Undone"),
                ],
                default="planned",
                max_length=8,
            ),
                ),
                ("planned", models.PositiveIntegerField(default=0)),
                ("decided", models.PositiveIntegerField(default=0)),
                (
                    "left",
                    models.PositiveIntegerField(
                default=0, help_text="Decided by somebody else first, or in a finished review."
            ),
                ),
                ("taken_back", models.PositiveIntegerField(default=0)),
                (
                    "kept",
                    models.PositiveIntegerField(
                default=0, help_text="Not undone because they were decided again or finished since."
            ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotations.project",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [models.Index(fields=["project", "-created_at"], name="bulk_by_project")],
            },
        ),
        migrations.CreateModel(
            name="ProposedString",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("string_key", models.BigIntegerField()),
                ("label_id", models.BigIntegerField()),
                ("count", models.IntegerField(default=0)),
                ("open", models.IntegerField(default=0, help_text="Suggestions without a decision.")),
                ("scored", models.IntegerField(default=0, help_text="Suggestions with a confidence.")),
                ("confidence_sum", models.FloatField(default=0.0)),
                ("uncertainty", models.FloatField(default=1.0)),
                ("sample", models.BigIntegerField()),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotations.author",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["author", "-open", "id"], name="string_by_open"),
                    models.Index(fields=["author", "-uncertainty", "id"], name="string_by_uncertainty"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("author", "string_key", "label_id"), name="string_once")
                ],
            },
        ),
        migrations.AddField(
            model_name="decision",
            name="cause",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="decisions",
                to="annotations.bulkact",
            ),
        ),
        # The column is the same, and so is what the database knows of it: a number that is there once.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name="decision", name="proposal_id"),
                migrations.AddField(
                    model_name="decision",
                    name="proposal",
                    field=models.OneToOneField(
                        db_constraint=False,
                        default=None,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="decision",
                        to="annotations.span",
                    ),
                    preserve_default=False,
                ),
            ],
        ),
        migrations.AddField(
            model_name="span",
            name="string_key",
            field=models.BigIntegerField(help_text="Proposals: a number that equal strings share.", null=True),
        ),
        migrations.AddIndex(
            model_name="span",
            index=models.Index(
                condition=models.Q(("string_key__isnull", False)), fields=["string_key", "label"], name="span_by_string"
            ),
        ),
    ]
