from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_runtime", "0005_calibrations")]

    operations = [
        migrations.AddField(
            model_name="trainedmodel",
            name="hold_out",
            field=models.JSONField(
                default=list, help_text="F1 of exact spans on the held-out notes after each epoch so far."
            ),
        ),
        migrations.AddField(
            model_name="trainedmodel",
            name="enough",
            field=models.BooleanField(
                default=False, help_text="A person asked to end the training early and keep the model."
            ),
        ),
    ]
