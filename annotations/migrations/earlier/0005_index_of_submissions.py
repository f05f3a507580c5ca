from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0004_workbench_and_adjudication"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="annotationset",
            index=models.Index(fields=["author", "submitted_at"], name="set_by_submission"),
        ),
    ]
