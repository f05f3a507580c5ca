"""Rename a model and what is named after it; its table keeps its name."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("models_runtime", "0018_one_item_per_note"),
    ]

    operations = [
        # With the table's present name set first, the new name of the model leaves the table as it is.
        migrations.AlterModelTable(name="judgement", table="models_runtime_judgement"),
        migrations.RenameModel(old_name="Judgement", new_name="Judgment"),
        migrations.AlterField(
            model_name="judgment",
            name="judge",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="judgments",
                to="models_runtime.judge",
            ),
        ),
        migrations.AlterField(
            model_name="judgment",
            name="note",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="judgments",
                to="models_runtime.judgednote",
            ),
        ),
        migrations.RemoveConstraint(model_name="judgment", name="judgement_once"),
        migrations.AddConstraint(
            model_name="judgment",
            constraint=models.UniqueConstraint(fields=["judge", "note"], name="judgment_once"),
        ),
    ]
