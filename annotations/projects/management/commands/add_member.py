from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, find_user
from annotations.models import Assignment, AssignmentState, Project, Role, User
from annotations.projects.services.members import add_member, create_user, reset_link_path


class Command(ProjectCommand):
    help = (
        "Add a member to a project, or change the role of a member. With --create, also create the account and print "
        "a one-time link to choose a password."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name.")
        parser.add_argument("--role", required=True, choices=Role.values, help="Role in the project.")
        parser.add_argument("--create", action="store_true", help="Create the account if it does not exist.")
        parser.add_argument("--password-stdin", action="store_true", help="Read the password for --create from stdin.")

    @transaction.atomic
    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        user = User.objects.filter(username=options["user"]).first() if options["create"] else None
        created = options["create"] and user is None
        if created:
            password = input().rstrip("\n") if options["password_stdin"] else None
            user = create_user(username=options["user"], password=password, created_in=project)
        user = user or find_user(options["user"])
        member = add_member(project=project, user=user, role=options["role"], actor=actor)
        link = None
        if created and not user.has_usable_password():
            link = reset_link_path(project=project, user=user, actor=None)
        return {
            "project": project.slug,
            "user": user.username,
            "role": member.role,
            "created": bool(created),
            "open_notes": Assignment.objects.filter(project=project, user=user, state=AssignmentState.OPEN).count(),
            "password_link": link,
        }
