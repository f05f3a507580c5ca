from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotations", "0040_label_mappings")]

    operations = [
        migrations.AlterField(
            model_name="storedfile",
            name="kind",
            field=models.CharField(
                choices=[
                    ("upload", "Upload"),
                    ("export", "Export"),
                    ("model", "Model"),
                    ("archive", "Project archive"),
                    ("release", "Release"),
                ],
                max_length=8,
            ),
        ),
    ]
