"""Jobs and their shares become models of this app. Only what Django believes changes: the tables stay as they are."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0021_erasures'),
        ('models_runtime', '0014_losses_by_note_id'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Job',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('kind', models.CharField(help_text='One of the registered kinds (annotations.jobs.registry).', max_length=40)),
                        ('params', models.JSONField(default=dict)),
                        ('key', models.CharField(
                help_text="Idempotency key: a second request with it returns the same job.", max_length=120, unique=True
            )),
                        ('queue', models.CharField(choices=[('cpu', 'cpu'), ('gpu', 'gpu'), ('llm', 'llm')], default='cpu', max_length=4)),
                        ('state', models.CharField(
                choices=[
                    ("queued", "Waiting for a worker"),
                    ("running", "Running"),
                    ("paused", "Paused"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("cancelled", "Canceled"),
                ],
                default="queued",
                max_length=10,
            )),
                        ('done', models.PositiveIntegerField(default=0)),
                        ('total', models.PositiveIntegerField(default=0)),
                        ('attempt', models.PositiveSmallIntegerField(default=0)),
                        ('lease_token', models.UUIDField(null=True)),
                        ('lease_until', models.DateTimeField(null=True)),
                        ('pushed_at', models.DateTimeField(null=True)),
                        ('cancel_requested', models.BooleanField(default=False)),
                        ('pause_requested', models.BooleanField(default=False)),
                        ('error', models.TextField(blank=True, help_text="A sentence for people, without note text.")),
                        ('result', models.JSONField(default=dict)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('started_at', models.DateTimeField(null=True)),
                        ('claimed_at', models.DateTimeField(
                help_text="When the present workers began. With `claimed_done` it gives the rate.", null=True
            )),
                        ('claimed_done', models.PositiveIntegerField(default=0, help_text="How much was done at `claimed_at`.")),
                        ('finished_at', models.DateTimeField(null=True)),
                        ('no_help_until', models.DateTimeField(help_text="A helper failed; no other helper joins before this time.", null=True)),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='annotations.project')),
                    ],
                    options={
                        'db_table': 'models_runtime_job',
                        'ordering': ['-id'],
                        'indexes': [models.Index(fields=['project', '-id'], name='job_by_project'), models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state', 'id'], name='job_live')],
                    },
                ),
                migrations.CreateModel(
                    name='Share',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('token', models.UUIDField(
                help_text="The worker's token; for the leading worker, that of the job.", unique=True
            )),
                        ('first', models.BigIntegerField()),
                        ('last', models.BigIntegerField()),
                        ('lease_until', models.DateTimeField()),
                        ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='annotations.job')),
                    ],
                    options={
                        'db_table': 'models_runtime_share',
                        'ordering': ['id'],
                    },
                ),
            ],
        ),
    ]
