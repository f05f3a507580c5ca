from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('annotations', '0002_tables')]

    operations = [
        migrations.AddField('goldversionnote', 'gold', models.BigIntegerField(null=True)),
        migrations.AddField('goldversionnote', 'gold_number', models.PositiveIntegerField(null=True)),
        migrations.RemoveIndex('event', 'event_by_actor'),
        migrations.AddIndex('event', models.Index(fields=['actor', 'project_id', 'at'], name='event_by_person')),
        migrations.AddIndex('event', models.Index(fields=['project_id', 'verb', 'id'], name='event_by_verb')),
    ]
