"""Suggestions are called suggestions in the database too. Tables and columns are renamed where they lie; no row moves."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotations", "0022_jobs_from_models_runtime"),
    ]

    operations = [
        migrations.RenameModel("ProposedString", "SuggestedString"),
        migrations.RenameModel("ProposedNote", "SuggestedNote"),
        migrations.RenameModel("ProposedLabel", "SuggestedLabel"),
        migrations.RemoveIndex("plantedleak", "planted_by_result"),
        migrations.RenameField("decision", "proposal", "suggestion"),
        migrations.RenameField("plantedleak", "proposal", "suggestion"),
        migrations.AddIndex("plantedleak", models.Index(fields=["result", "suggestion"], name="planted_by_result")),
        migrations.AlterField(
            model_name='author',
            name='merged_from',
            field=models.JSONField(help_text="For merged suggestions: the author ids of the merged runs.", null=True),
        ),
        migrations.AlterField(
            model_name='plantedleak',
            name='known',
            field=models.CharField(choices=[('people', 'People accepted the same words as the same label in other notes, and nobody otherwise'), ('runs', 'Most runs that have read the note suggest exactly it')], max_length=6),
        ),
        migrations.AlterField(
            model_name='span',
            name='provenance',
            field=models.JSONField(
                help_text="For gold: who suggested and who decided. For merged suggestions: their runs.", null=True
            ),
        ),
        migrations.AlterField(
            model_name='span',
            name='string_key',
            field=models.BigIntegerField(help_text="For suggestions: a hash of the string.", null=True),
        ),
    ]
