from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_runtime", "0005_calibrations")]

    operations = [
        migrations.AddField(
            model_name="trainedmodel",
            name="hold_out",
            field=models.JSONField(default=list, help_text="F1 of exact spans on the notes held out, one per epoch so far."),
        ),
        migrations.AddField(
            model_name="trainedmodel",
            name="enough",
            field=models.BooleanField(default=False, help_text="Somebody asked to end the training with what it has learned."),
        ),
    ]
