"""Imports may move spans to the text that they quote."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotations", "0034_rewritten_notes")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="repair_offsets",
            field=models.BooleanField(
                default=False, help_text="Move a span to the text that it quotes, if that stands nearby."
            ),
        ),
    ]
