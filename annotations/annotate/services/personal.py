"""A person's own keys for labels."""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.annotate.events import KEYS_CHANGED, KeysChanged
from annotations.annotate.selectors.personal import PROGRAM_KEYS, combined, key_lines
from annotations.core.access import Access
from annotations.core.services import ServiceError
from annotations.models import Membership, PersonalKey
from annotations.projects.services.labels import check_hotkey


def set_keys(*, access: Access, keys: Mapping[int, str]) -> list[str]:
    """Give labels these keys for this person: `keys` maps a label's id to a key, or to "" for no key.

    Labels that aren't in `keys` keep their key, unless another label gets it now. Returns the names of the labels that
    lost their key. Raises ServiceError (`hotkey`, `taken`) with the key and who has it.
    """
    project, user = access.project.pk, access.user.pk
    with transaction.atomic():
        # Two tabs of one person change keys one after the other.
        Membership.objects.select_for_update().filter(pk=access.membership.pk).first()
        lines = {line.label["id"]: line for line in key_lines(project, user)}
        names = {pk: line.label["name"] for pk, line in lines.items()}
        defaults = {pk: line.default for pk, line in lines.items()}
        chosen = {pk: line.chosen for pk, line in lines.items() if line.chosen is not None}
        before = {pk: line.key for pk, line in lines.items()}
        # A key from before it was reserved stays until it is changed.
        wanted = {pk: key if key == before[pk] else check_key(key) for pk, key in keys.items() if pk in lines}
        changed = {pk: key for pk, key in wanted.items() if key != before[pk]}
        _check_twice(changed, names)
        taken = {key for key in changed.values() if key}
        lost = [pk for pk, key in before.items() if key in taken and pk not in changed]
        # A label that lost the project's key, and for which no key was chosen, gets it back once it is free.
        chosen |= changed | {pk: "" for pk in lost if pk in chosen}
        after = combined(defaults, chosen)
        if after != before:
            _write(user, {pk: key for pk, key in chosen.items() if key != defaults[pk]}, after)
            data: KeysChanged = {"keys": {names[pk]: after[pk] or "none" for pk in after if after[pk] != before[pk]}}
            KEYS_CHANGED.record(actor=access.user, project_id=project, data=data)
    return [names[pk] for pk in lost]


def reset_keys(*, access: Access) -> None:
    """Delete the person's own keys: the project's keys apply again."""
    with transaction.atomic():
        rows = PersonalKey.objects.filter(user=access.user, label__label_set__project=access.project)
        if rows.delete()[0]:
            KEYS_CHANGED.record(actor=access.user, project_id=access.project.pk, data={"keys": "the project's"})


def check_key(key: str) -> str:
    """The key in lower case. Raises ServiceError where a label can't have it, with the action that it belongs to."""
    wanted = key.strip().lower()
    if wanted in PROGRAM_KEYS:
        message = _("The key “%(wanted)s” is reserved by the program (%(program_keys)s). Choose another key.")
        raise ServiceError(message % {"wanted": wanted, "program_keys": PROGRAM_KEYS[wanted]}, code="hotkey")
    return check_hotkey(wanted)


def _check_twice(changed: Mapping[int, str], names: Mapping[int, str]) -> None:
    for key in sorted({key for key in changed.values() if key}):
        wanting = [names[pk] for pk, wanted in changed.items() if wanted == key]
        if len(wanting) > 1:
            message = _("%(choices)s can't have the same key “%(key)s”. Choose different keys.")
            raise ServiceError(message % {"choices": " and ".join(wanting), "key": key}, code="taken")


def _write(user: int, chosen: Mapping[int, str], labels: Iterable[int]) -> None:
    PersonalKey.objects.filter(user_id=user, label_id__in=labels).delete()
    PersonalKey.objects.bulk_create(PersonalKey(user_id=user, label_id=pk, key=key) for pk, key in chosen.items())
