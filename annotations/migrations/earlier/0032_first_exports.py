"""When a project's notes were first exported. Until now, only exports by a page left a trace that was quick to find."""

from django.db import migrations, models
from django.db.models import Min


def fill(apps, schema_editor):
    """Take the times from the events of exports, and from finished jobs for exports without one."""
    project, event, job = (apps.get_model("annotations", name) for name in ("Project", "Event", "Job"))
    exported = event.objects.filter(verb="notes.exported", project_id__isnull=False).order_by()
    done = job.objects.filter(kind="export", state="done", finished_at__isnull=False).order_by()
    first = dict(done.values_list("project_id").annotate(at=Min("finished_at")))
    first |= dict(exported.values_list("project_id").annotate(first=Min("at")))
    for pk, at in first.items():
        project.objects.filter(pk=pk).update(exported_at=at)


class Migration(migrations.Migration):
    dependencies = [("annotations", "0031_archive_and_delete")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="exported_at",
            field=models.DateTimeField(help_text="When notes were first exported, by a page or a command.", null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
