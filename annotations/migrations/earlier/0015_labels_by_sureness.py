import django.db.models.deletion
from django.db import migrations, models

# Of the runs whose notes are known already; others are completed when somebody asks for their next note.
FILL = """
    INSERT INTO annotations_proposedlabel (author_id, document_id, label_id, source, lowest, nearest)
    SELECT reading.author_id, reading.document_id, span.label_id, span.source,
        MIN(COALESCE(span.confidence, 0.5)), MIN(ABS(COALESCE(span.confidence, 0.5) - 0.5))
    FROM annotations_proposednote note
    JOIN annotations_annotationset reading
        ON reading.author_id = note.author_id AND reading.document_id = note.document_id
    JOIN annotations_span span ON span.annotation_set_id = reading.id
    GROUP BY reading.author_id, reading.document_id, span.label_id, span.source
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0014_two_person_rule"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProposedLabel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label_id", models.BigIntegerField()),
                ("source", models.CharField(blank=True, max_length=80)),
                ("lowest", models.FloatField()),
                ("nearest", models.FloatField()),
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
                    models.Index(fields=["author", "nearest", "document"], name="label_by_doubt"),
                    models.Index(
                        fields=["author", "label_id", "source", "lowest", "document"], name="label_by_sureness"
                    ),
                ],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
