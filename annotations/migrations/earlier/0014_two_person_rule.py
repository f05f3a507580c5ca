import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0013_notes_to_offer'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='second_review',
            field=models.CharField(
                choices=[
                    ("off", "One reviewer is enough"),
                    ("open", "A second reviewer checks the first one's decisions"),
                    ("blind", "A second reviewer decides without seeing the first one's decisions"),
                ],
                default="off",
                max_length=5,
            ),
        ),
        migrations.CreateModel(
            name='Handover',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(
                choices=[
                    ("waiting", "Waiting for the second reviewer"),
                    ("settling", "The second reviewer resolves differences"),
                    ("done", "Finished by both reviewers"),
                    ("back", "Continued by the first reviewer"),
                ],
                default="waiting",
                max_length=8,
            )),
                ('blind', models.BooleanField(
                help_text="The second reviewer doesn't see the first one's decisions until both have finished."
            )),
                ('first_at', models.DateTimeField(auto_now_add=True)),
                ('outcome', models.JSONField()),
                ('kept', models.JSONField(null=True)),
                ('second_at', models.DateTimeField(null=True)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('alike', models.PositiveIntegerField(default=0)),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('people', models.ManyToManyField(
                help_text="Everybody who took part in the first review.", related_name="+", to=settings.AUTH_USER_MODEL
            )),
                ('review', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='handovers', to='annotations.review')),
                ('second', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['review', 'state'], name='handover_by_review')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'settling'])), fields=('review',), name='handed_over_once')],
            },
        ),
    ]
