from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotations", "0028_quotas_and_idle_days")]

    operations = [
        migrations.AddField(
            model_name="import",
            name="labels_found",
            field=models.JSONField(
                null=True, help_text="Labels of the files: {name: [spans, notes]}. Null: not counted."
            ),
        ),
        migrations.AddField(
            model_name="import",
            name="label_choices",
            field=models.JSONField(
                default=dict, help_text="What to do with labels of the files, by name; complete once the import starts."
            ),
        ),
    ]
