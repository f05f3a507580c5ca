import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0012_merged_lists"),
    ]

    operations = [
        migrations.AddField(
            model_name="review",
            name="drawn",
            field=models.CharField(
                blank=True,
                choices=[("information", "By expected information"), ("chance", "At random")],
                default="",
                help_text="How the note was chosen; empty: in the order of the notes.",
                max_length=11,
            ),
            preserve_default=False,
        ),
        migrations.CreateModel(
            name="ProposedNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("information", models.FloatField()),
                ("place", models.FloatField(help_text="A random number from 0 to 1.")),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotations.author",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["author", "-information", "id"], name="note_by_information"),
                    models.Index(fields=["author", "place", "id"], name="note_by_chance"),
                ],
                "constraints": [models.UniqueConstraint(fields=("author", "document"), name="proposed_note_once")],
            },
        ),
    ]
