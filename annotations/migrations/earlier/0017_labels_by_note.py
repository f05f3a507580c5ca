from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0016_planted_leaks"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="proposedlabel",
            index=models.Index(fields=["author", "label_id", "nearest", "document"], name="label_by_own_doubt"),
        ),
        migrations.AddIndex(
            model_name="proposedlabel",
            index=models.Index(fields=["author", "label_id", "document"], name="label_by_note"),
        ),
    ]
