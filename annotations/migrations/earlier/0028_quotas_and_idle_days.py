"""Quotas of annotators, and the release of notes after idle days. Existing projects have neither."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotations", "0027_last_words_of_the_glossary")]

    operations = [
        migrations.AddField(
            "project",
            "notes_per_annotator",
            models.PositiveIntegerField(
                blank=True, help_text="The most notes that the rule assigns to one annotator.", null=True
            ),
        ),
        migrations.AddField(
            "project",
            "idle_days",
            models.PositiveSmallIntegerField(
                blank=True, help_text="An annotator who is idle for this long loses their open notes.", null=True
            ),
        ),
    ]
