"""A project with a manager's program, and an annotated note."""

from dataclasses import dataclass

from annotations.models import Document, Project, User
from tests.factories import make_member, make_note, make_project
from tests.held import made_once
from tests.worlds.programs import Program


@dataclass
class ApiWorld:
    project: Project
    manager: User
    note: Document
    program: Program


def build_world() -> ApiWorld:
    project = make_project("ward")
    manager = make_member(project, "manager", "mia")
    return ApiWorld(project, manager, make_note(project, annotators=[manager]), Program(manager))


made, world = made_once(build_world)
