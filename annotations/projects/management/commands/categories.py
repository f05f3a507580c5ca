from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, find_project
from annotations.core.errors import ServiceError
from annotations.core.forms import valid
from annotations.models import Category, LabelSet, User
from annotations.projects.forms.categories import CategoryForm, rarest_hue
from annotations.projects.services.categories import add_category, delete_category, move_category, update_category


class Command(JourneyCommand):
    help = "List the categories of a project's labels in their order; add, change, move or delete one."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--add", metavar="NAME", help="Add a category. Its code is made from the name.")
        act.add_argument("--change", metavar="CODE", help="Change a category by --name, --color or --position.")
        act.add_argument("--delete", metavar="CODE", help="Delete a category without labels.")
        parser.add_argument("--name", help="New name.")
        parser.add_argument("--color", type=int, help="Color, from 0 to 11. Default: a color that few categories have.")
        parser.add_argument("--position", type=int, help="New place in the list, counted from 1.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.MANAGE if options["add"] or options["change"] or options["delete"] else Can.SEE_PROJECT

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        label_set = LabelSet.objects.get(project=project)
        _check_options(options)
        if options["add"]:
            _add(label_set, options["add"], options["color"], actor)
        elif options["change"]:
            with transaction.atomic():
                _change(_category(label_set, options["change"]), options, actor)
        elif options["delete"]:
            delete_category(category=_category(label_set, options["delete"]), actor=actor)
        return {
            "categories": [
                {
                    "code": row.code,
                    "name": row.name,
                    "color": row.hue,
                    "position": at,
                    "labels": list(row.labels.filter(merged_into__isnull=True).values_list("code", flat=True)),
                }
                for at, row in enumerate(label_set.categories.all(), 1)
            ]
        }

    def say(self, result: dict[str, Any]) -> str:
        return "\n".join(
            f"{row['position']}  {row['code']:24} {row['name']}  (color {row['color']}): {', '.join(row['labels'])}"
            for row in result["categories"]
        )


def _check_options(options: dict[str, Any]) -> None:
    given = [name for name in ("name", "color", "position") if options[name] is not None]
    if options["change"] and not given:
        raise ServiceError("Say what to change: --name, --color or --position.", code="change")
    allowed = {"name", "color", "position"} if options["change"] else {"color"} if options["add"] else set()
    if extra := [f"--{name}" for name in given if name not in allowed]:
        raise ServiceError(f"{', '.join(extra)} can only be used with --change CODE.", code="change")


def _add(label_set: LabelSet, name: str, color: int | None, actor: User | None) -> None:
    others = list(label_set.categories.all())
    data = {"name": name, "hue": rarest_hue(others) if color is None else color}
    wanted = valid(CategoryForm(data, others=others))
    add_category(label_set=label_set, name=wanted["name"], hue=wanted["hue"], actor=actor)


def _change(category: Category, options: dict[str, Any], actor: User | None) -> None:
    if options["position"] is not None and options["position"] < 1:
        raise ServiceError("The position must be 1 or more.", code="position")
    data = {
        "name": category.name if options["name"] is None else options["name"],
        "hue": category.hue if options["color"] is None else options["color"],
    }
    others = list(category.label_set.categories.exclude(pk=category.pk))
    wanted = valid(CategoryForm(data, others=others))
    update_category(category=category, name=wanted["name"], hue=wanted["hue"], actor=actor)
    if options["position"] is not None:
        move_category(category=category, position=options["position"] - 1, actor=actor)


def _category(label_set: LabelSet, code: str) -> Category:
    rows = list(label_set.categories.select_related("label_set"))
    for row in rows:
        if row.code == code:
            return row
    known = ", ".join(row.code for row in rows)
    raise ServiceError(f"There is no category “{code[:80]}”. Categories: {known}.", code="category")
