from django.db import migrations, models


def store_plainly(apps, schema_editor):
    """A search reads few rows of a table of signatures, so PostgreSQL must not compress it as a whole."""
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute('ALTER TABLE annotations_noteindex ALTER COLUMN bits SET STORAGE EXTERNAL')


class Migration(migrations.Migration):

    dependencies = [('annotations', '0003_gold_and_events')]

    operations = [
        migrations.CreateModel(
            'NoteIndex',
            [
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('last', models.BigIntegerField()),
                ('notes', models.JSONField(help_text='The ids of up to SIZE notes.')),
                ('shift', models.PositiveSmallIntegerField()),
                ('bits', models.BinaryField(help_text='SIZE bits for each hash: which notes have it.')),
                ('project', models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name='+', to='annotations.project')),
            ],
            {'ordering': ['last'], 'constraints': [models.UniqueConstraint(fields=('project', 'last'), name='index_once')]},
        ),
        migrations.RunPython(store_plainly, migrations.RunPython.noop),
    ]
