"""Imports in formats with many notes in one file, and imports of all notes or none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0038_release'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='all_or_nothing',
            field=models.BooleanField(default=False, help_text='Import nothing if a note is refused.'),
        ),
        migrations.AddField(
            model_name='import',
            name='notes_found',
            field=models.PositiveIntegerField(default=0, help_text='Notes counted when the files were staged, for files that hold many; 0: not counted.'),
        ),
        migrations.AlterField(
            model_name='import',
            name='format',
            field=models.CharField(max_length=20),
        ),
    ]
