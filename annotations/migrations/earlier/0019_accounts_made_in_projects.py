from datetime import timedelta

import django.db.models.deletion
from django.db import migrations, models

# A project's page makes an account and its membership in one act; a person would need longer for the two.
ONE_ACT = timedelta(seconds=5)


def find_projects(apps, schema_editor):
    """Accounts from before: the project that took the account in at the moment it was made has made it."""
    User = apps.get_model("annotations", "User")
    Membership = apps.get_model("annotations", "Membership")
    for member in Membership.objects.filter(
        joined_at__gte=models.F("user__date_joined"), joined_at__lt=models.F("user__date_joined") + ONE_ACT
    ).order_by("-id"):
        User.objects.filter(pk=member.user_id).update(created_in=member.project_id)


class Migration(migrations.Migration):

    dependencies = [
        ("annotations", "0018_gold_in_bulk_acts"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="created_in",
            field=models.ForeignKey(
                blank=True,
                help_text="The project whose manager created the account.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="annotations.project",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="password_set_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Wrong passwords from before this time no longer count.",
                null=True,
            ),
        ),
        migrations.RunPython(find_projects, migrations.RunPython.noop),
    ]
