"""Cached answers of language models may hold rewritten texts."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('models_runtime', '0019_judgment'),
    ]

    operations = [
        migrations.AlterField(
            model_name='llmanswer',
            name='found',
            field=models.JSONField(help_text="[start, end, label] in code points of the piece, a judge's verdicts, or the piece rewritten."),
        ),
    ]
