"""The texts of notes as language models rewrote them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0033_causes_of_errors'),
    ]

    operations = [
        migrations.CreateModel(
            name='RewrittenNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('unmapped', models.JSONField(default=list, help_text='[start, end, placeholder, source, doubt or null] of spans without a label.')),
                ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rewritten_notes', to='annotations.author')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('author', 'document'), name='rewritten_note_once')],
            },
        ),
    ]
