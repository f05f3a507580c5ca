from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0011_strings_of_proposals"),
    ]

    operations = [
        migrations.AddField(
            model_name="author",
            name="merged_from",
            field=models.JSONField(help_text="A merged list of proposals: the authors of its runs, by id.", null=True),
        ),
        migrations.AddField(
            model_name="bulkact",
            name="beside",
            field=models.PositiveIntegerField(
                default=0, help_text="Suggestions in conflict with accepted ones, rejected by the same act."
            ),
        ),
        migrations.AlterField(
            model_name="span",
            name="provenance",
            field=models.JSONField(
                help_text="Gold: who proposed, who decided. Merged proposals: their runs.", null=True
            ),
        ),
    ]
