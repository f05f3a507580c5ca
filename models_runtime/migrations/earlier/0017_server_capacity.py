"""Rename a model; its table keeps its name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("models_runtime", "0016_names_without_hidden_characters"),
    ]

    operations = [
        # With the table's present name set first, the new name of the model leaves the table as it is.
        migrations.AlterModelTable(name="serverroom", table="models_runtime_serverroom"),
        migrations.RenameModel(old_name="ServerRoom", new_name="ServerCapacity"),
    ]
