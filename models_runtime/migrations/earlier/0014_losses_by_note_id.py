"""What an export's format could not hold, in the result of its job, names notes by id: names may name a patient."""

from django.db import migrations


def by_id(apps, schema_editor):
    jobs = apps.get_model("models_runtime", "Job").objects.filter(kind="export", state="done")
    notes = apps.get_model("annotations", "Document").objects
    for job in jobs.iterator(chunk_size=50):
        losses = job.result.get("losses") or []
        names = {loss["note"] for loss in losses if isinstance(loss.get("note"), str)}
        if not names:
            continue
        ids = dict(notes.filter(project_id=job.project_id, name__in=names).values_list("name", "pk"))
        # A note that is gone has no id any more; 0 is shown as an erased note.
        job.result["losses"] = [loss | {"note": ids.get(loss["note"], 0)} for loss in losses]
        job.save(update_fields=["result"])


class Migration(migrations.Migration):
    dependencies = [("models_runtime", "0013_usage_of_runs_and_judges_gone"), ("annotations", "0021_erasures")]
    operations = [migrations.RunPython(by_id, migrations.RunPython.noop)]
