"""Judgings name the rules by which their verdicts count. Those of before were counted by the standard rules."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_runtime", "0020_answers_with_texts")]

    operations = [
        migrations.AddField(
            "judging",
            "rules",
            models.CharField(
                default="standard", help_text="annotations.domain.scoring.judging_rules", max_length=20
            ),
        ),
        migrations.AddField(
            "judging",
            "unit",
            models.CharField(
                default="occurrence", help_text="What one entity is: a Unit of the rules.", max_length=20
            ),
        ),
        migrations.AddField("judging", "temperature", models.FloatField(default=0.0)),
    ]
