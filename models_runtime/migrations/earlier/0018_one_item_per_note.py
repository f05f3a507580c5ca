"""Remove the number of a pass over the notes, which was 1 in every row: a run has one item for each note."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_runtime", "0017_server_capacity")]

    operations = [
        migrations.RemoveConstraint("runitem", "run_item_once"),
        migrations.RemoveField("runitem", "pass_number"),
        migrations.AddConstraint(
            "runitem", models.UniqueConstraint(fields=["run", "document"], name="run_item_once")
        ),
    ]
