from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('models_runtime', '0003_feed_record_hash'),
    ]

    operations = [
        migrations.AlterField(
            model_name='tombstone',
            name='reason',
            field=models.CharField(choices=[('erased', 'The note was erased'), ('withdrawn', 'The release was withdrawn'), ('held', 'The leak gate holds the note back'), ('leak', 'A later note of the patient showed a leak in it')], max_length=9),
        ),
    ]
