"""Causes of errors, and several causes for one disagreement."""

from django.conf import settings
from django.db import migrations, models
from django.db.models.deletion import CASCADE, PROTECT

KINDS = [("AB", "Abbreviation"), ("AM", "Ambiguity"), ("D", "Debatable annotation"), ("S", "Scarcity")]


class Migration(migrations.Migration):
    dependencies = [("annotations", "0032_first_exports")]

    operations = [
        migrations.AlterModelOptions(name="cause", options={"ordering": ["start", "end", "kind"]}),
        migrations.RemoveConstraint(model_name="cause", name="cause_once"),
        migrations.AddConstraint(
            model_name="cause",
            constraint=models.UniqueConstraint(fields=("document", "start", "end", "kind"), name="cause_once"),
        ),
        migrations.CreateModel(
            name="ErrorCause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("labels_of", models.CharField(blank=True, max_length=40)),
                ("gold_start", models.PositiveIntegerField()),
                ("gold_end", models.PositiveIntegerField()),
                ("gold_label", models.CharField(blank=True, max_length=60)),
                ("predicted_start", models.PositiveIntegerField()),
                ("predicted_end", models.PositiveIntegerField()),
                ("predicted_label", models.CharField(blank=True, max_length=60)),
                ("kind", models.CharField(choices=KINDS, max_length=2)),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "author",
                    models.ForeignKey(on_delete=CASCADE, related_name="error_causes", to="annotations.author"),
                ),
                ("by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False, on_delete=CASCADE, related_name="error_causes", to="annotations.document"
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.AddConstraint(
            model_name="errorcause",
            constraint=models.UniqueConstraint(
                fields=(
                    *("document", "author", "labels_of"),
                    *("gold_start", "gold_end", "gold_label"),
                    *("predicted_start", "predicted_end", "predicted_label"),
                    "kind",
                ),
                name="error_cause_once",
            ),
        ),
    ]
