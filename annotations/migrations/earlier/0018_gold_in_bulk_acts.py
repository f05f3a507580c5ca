from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotations", "0017_labels_by_note")]

    operations = [
        migrations.AddField(
            model_name="bulkact",
            name="skipped",
            field=models.PositiveIntegerField(default=0, help_text="Open suggestions in notes that already have gold."),
        ),
        migrations.AddField(
            model_name="bulkact",
            name="skipped_notes",
            field=models.PositiveIntegerField(default=0, help_text="The notes with skipped suggestions."),
        ),
        migrations.AddField(
            model_name="bulkact",
            name="conflicts",
            field=models.PositiveIntegerField(
                default=0, help_text="Left open because they overlap gold or each other with different bounds."
            ),
        ),
    ]
