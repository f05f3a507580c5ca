"""Until when somebody could read everyone's spans who now can't, from the log; their later readings aren't blind."""

from django.db import migrations, models
from django.db.models import Q

READING = {"viewer", "reviewer", "manager"}
CHANGES = ["member.added", "member.changed", "member.removed"]


def look_back(apps, schema_editor):
    Event = apps.get_model("annotations", "Event")
    Membership = apps.get_model("annotations", "Membership")
    AnnotationSet = apps.get_model("annotations", "AnnotationSet")
    until = _given_up(Event)
    for member in Membership.objects.filter(Q(role="annotator") | Q(active=False)).select_related("user"):
        moments = [until.get((member.project_id, member.user.username))]
        if not member.active and member.role in READING:
            moments.append(member.removed_at)
        last = max((moment for moment in moments if moment is not None), default=None)
        if last is None:
            continue
        member.read_others_until = last
        member.save(update_fields=["read_others_until"])
        AnnotationSet.objects.filter(
            author__project=member.project_id, author__user=member.user_id, author__kind="annotator",
            blind=True, submitted_at__gt=last, document__created_at__lte=last,
        ).update(blind=False)  # fmt: skip


def _given_up(Event):
    """By project and user name: when a role that reads every note was last given up. Events name people, not ids."""
    roles, until = {}, {}
    rows = Event.objects.filter(verb__in=CHANGES).order_by("pk").values_list("project_id", "verb", "data", "at")
    for project, verb, data, at in rows.iterator():
        who = project, data.get("user")
        role = None if verb == "member.removed" else data.get("role")
        # The first manager has no event of their own: whoever is changed without having been added was one.
        before = roles.get(who, "manager" if verb != "member.added" else None)
        if before in READING and role not in READING:
            until[who] = at
        roles[who] = role
    return until


class Migration(migrations.Migration):
    dependencies = [("annotations", "0019_accounts_made_in_projects")]
    operations = [
        migrations.AddField(
            model_name="membership",
            name="read_others_until",
            field=models.DateTimeField(
                help_text="When this person last lost a role that may read every note.", null=True
            ),
        ),
        migrations.RunPython(look_back, migrations.RunPython.noop),
    ]
