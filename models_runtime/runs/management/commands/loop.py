from typing import Any

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.models import Project, User
from models_runtime.runs.services.loop import loop_answer


class Command(ProjectCommand):
    help = "Show the loop of a project by round: gold, model, F1 on the hold-out, actions per span, seconds per note."
    needs = Can.READ_NOTES

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        return loop_answer(project)
