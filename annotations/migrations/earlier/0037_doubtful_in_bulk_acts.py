"""The number of doubtful suggestions that a bulk act skips."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0036_majority_votes'),
    ]

    operations = [
        migrations.AddField(
            model_name='bulkact',
            name='doubtful',
            field=models.PositiveIntegerField(default=0, help_text='Skipped doubtful suggestions in other notes.'),
        ),
    ]
