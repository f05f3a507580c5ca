from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.accounts.services import add_member, create_user, reset_link_path
from annotations.core.commands import JourneyCommand, find_project, find_user
from annotations.models import Assignment, Role, User


class Command(JourneyCommand):
    help = (
        "Give somebody a role in a project. With --create, make the account and print a one-time link for its password."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--create", action="store_true", help="make the account if it does not exist")
        parser.add_argument("--password-stdin", action="store_true", help="with --create: read the password from stdin")

    @transaction.atomic
    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
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
            "open_notes": Assignment.objects.filter(project=project, user=user, state=Assignment.State.OPEN).count(),
            "password_link": link,
        }

    def say(self, result: dict[str, Any]) -> str:
        line = f"{result['user']} is {result['role']} of {result['project']} ({result['open_notes']} notes to read)"
        if result["password_link"]:
            line += f"\nto choose a password, open once, on this server's address: {result['password_link']}"
        return line
