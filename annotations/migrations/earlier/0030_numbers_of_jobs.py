"""Number the jobs of each project from 1, in the order in which they were created."""

from collections import Counter

from django.db import migrations, models

BATCH = 500


def number_jobs(apps, schema_editor):
    alias = schema_editor.connection.alias
    jobs = apps.get_model("annotations", "Job").objects.using(alias)
    projects = apps.get_model("annotations", "Project").objects.using(alias)
    last = Counter()
    rows = list(jobs.order_by("id").only("project_id"))
    for row in rows:
        last[row.project_id] += 1
        row.number = last[row.project_id]
    jobs.bulk_update(rows, ["number"], batch_size=BATCH)
    for project, number in last.items():
        projects.filter(pk=project).update(last_job_number=number)


class Migration(migrations.Migration):
    dependencies = [("annotations", "0029_labels_of_imports")]

    operations = [
        migrations.AddField(
            "project",
            "last_job_number",
            models.PositiveIntegerField(
                default=0,
                help_text="The number of the project's latest job. It never decreases, so no number is given twice.",
            ),
        ),
        migrations.AddField("job", "number", models.PositiveIntegerField(editable=False, null=True)),
        migrations.RunPython(number_jobs, migrations.RunPython.noop),
        migrations.AlterField("job", "number", models.PositiveIntegerField(editable=False)),
        migrations.AddConstraint("job", models.UniqueConstraint(fields=["project", "number"], name="job_number_once")),
    ]
