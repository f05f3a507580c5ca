"""Majority votes over many notes, and how many locations a majority leaves open in each note."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


BATCH = 1000


def compare_again(apps, schema_editor):
    """Let notes with disagreements be compared again, so that their ties are counted."""
    comparison, stale = (apps.get_model("annotations", name) for name in ("Comparison", "Stale"))
    ids = comparison.objects.filter(disputed__gt=0).order_by().values_list("document_id", flat=True)
    rows = (stale(document_id=pk) for pk in ids)
    stale.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0035_repaired_offsets'),
    ]

    operations = [
        migrations.AddField(
            model_name='comparison',
            name='tied',
            field=models.PositiveIntegerField(default=0, help_text='Locations that a majority of the annotators leaves open.'),
        ),
        migrations.CreateModel(
            name='MajorityAct',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('working', 'Running'), ('done', 'Done'), ('undoing', 'Being undone'), ('undone', 'Undone')], default='working', max_length=8)),
                ('planned', models.PositiveIntegerField(default=0, help_text='The notes of the preview.')),
                ('gold', models.PositiveIntegerField(default=0, help_text='Notes that became gold.')),
                ('spans', models.PositiveIntegerField(default=0, help_text='Their gold spans.')),
                ('tied', models.PositiveIntegerField(default=0, help_text='Notes with ties, left for adjudication.')),
                ('ties', models.PositiveIntegerField(default=0, help_text='Their locations without a majority.')),
                ('has_gold', models.PositiveIntegerField(default=0, help_text='Skipped: notes that already had gold.')),
                ('in_review', models.PositiveIntegerField(default=0, help_text='Skipped: notes with an open review.')),
                ('begun', models.PositiveIntegerField(default=0, help_text='Skipped: notes whose adjudication was begun or finished.')),
                ('pending', models.PositiveIntegerField(default=0, help_text='Skipped: notes that an assigned annotator still has.')),
                ('left', models.PositiveIntegerField(default=0, help_text='Planned, but changed by somebody before their turn.')),
                ('undone', models.PositiveIntegerField(default=0)),
                ('kept', models.PositiveIntegerField(default=0, help_text='Not undone because they were changed since.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.project')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='MajorityNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('adjudicated_version', models.PositiveIntegerField(null=True)),
                ('gold_version', models.PositiveIntegerField(null=True)),
                ('act', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='annotations.majorityact')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
            ],
            options={
                'ordering': ['document'],
            },
        ),
        migrations.AddIndex(
            model_name='majorityact',
            index=models.Index(fields=['project', '-created_at'], name='majority_by_project'),
        ),
        migrations.AddConstraint(
            model_name='majoritynote',
            constraint=models.UniqueConstraint(fields=('act', 'document'), name='majority_note_once'),
        ),
        migrations.RunPython(compare_again, migrations.RunPython.noop),
    ]
