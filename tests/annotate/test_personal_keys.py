"""Personal keys: a label's key as one person uses it."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse

from annotations.annotate.selectors.personal import PROGRAM_KEYS, key_lines, own_labels
from annotations.annotate.services.personal import reset_keys, set_keys
from annotations.core.access import enter
from annotations.core.services import ServiceError
from annotations.models import Event, Label, PersonalKey, User
from annotations.projects.services.labels import merge_labels, update_label
from annotations.text.labels import RESERVED_HOTKEYS
from tests import factories as make
from tests.worlds.pages import signed_in

# The project's: PATIENT 1, DOCTOR 2, DATE d, CITY c, HOSPITAL h, AGE none.


def choose(world: SimpleNamespace, user: User | None = None, **keys: str) -> list[str]:
    access = enter(user or world.ann, "covid")
    return set_keys(access=access, keys={world.labels[name]: key for name, key in keys.items()})


def keys(world: SimpleNamespace, user: User | None = None) -> dict[str, str]:
    found = {line.label["id"]: line.key for line in key_lines(world.project.pk, (user or world.ann).pk)}
    names = {pk: name for name, pk in world.labels.items()}
    assert {label["id"]: label["key"] for label in own_labels(world.project.pk, (user or world.ann).pk)} == found
    return {names[pk]: key for pk, key in found.items()}


def test_a_key_is_lost_by_the_label_that_had_it_and_comes_back(world: SimpleNamespace) -> None:
    assert choose(world, AGE="c") == ["CITY"]
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("c", "")
    assert choose(world, AGE="q") == []
    assert keys(world)["CITY"] == "c"
    assert choose(world, CITY="q") == ["AGE"]
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("", "q")


def test_two_labels_swap_their_keys(world: SimpleNamespace) -> None:
    assert choose(world, PATIENT="2", DOCTOR="1") == []
    assert (keys(world)["PATIENT"], keys(world)["DOCTOR"]) == ("2", "1")
    choose(world, PATIENT="1", DOCTOR="2")
    assert PersonalKey.objects.count() == 0


def test_keys_that_no_label_can_have(world: SimpleNamespace) -> None:
    assert set(PROGRAM_KEYS) == RESERVED_HOTKEYS
    for key in (*RESERVED_HOTKEYS, "é", "ab", "-", "N"):
        with pytest.raises(ServiceError) as caught:
            choose(world, AGE=key)
        if key.lower() in PROGRAM_KEYS:
            assert str(PROGRAM_KEYS[key.lower()]) in str(caught.value)
    with pytest.raises(ServiceError, match=r"DATE and AGE|AGE and DATE"):
        choose(world, AGE="z", DATE="z")
    other = Label.objects.get(label_set__project=make.make_project("other"), name="AGE")
    set_keys(access=enter(world.ann, "covid"), keys={other.pk: "q", 10**12: "b"})
    assert not PersonalKey.objects.exists()


def test_what_a_manager_changes_later(world: SimpleNamespace) -> None:
    choose(world, AGE="q")
    update_label(label=make.label_of(world.project, "CITY"), actor=world.mia, hotkey="q")
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("q", "")
    assert keys(world, world.ben)["CITY"] == "q"
    update_label(label=make.label_of(world.project, "CITY"), actor=world.mia, hotkey="t")
    assert keys(world)["CITY"] == "t"


def test_a_merged_labels_key_is_free_again(world: SimpleNamespace) -> None:
    choose(world, AGE="q")
    age, date = make.label_of(world.project, "AGE"), make.label_of(world.project, "DATE")
    merge_labels(source=age, target=date, actor=world.mia)
    assert not PersonalKey.objects.exists()
    assert choose(world, CITY="q") == []
    assert keys(world)["DATE"] == "d"


def test_reset(world: SimpleNamespace) -> None:
    choose(world, AGE="q", CITY="z")
    choose(world, world.ben, AGE="b")
    reset_keys(access=enter(world.ann, "covid"))
    reset_keys(access=enter(world.ann, "covid"))
    assert keys(world)["AGE"] == "" and keys(world, world.ben)["AGE"] == "b"
    assert Event.objects.filter(verb="keys.changed").count() == 3


def form(world: SimpleNamespace, **over: str) -> dict[str, Any]:
    return {f"key-{world.labels[name]}": over.get(name, key) for name, key in keys(world).items()}


def test_the_page(world: SimpleNamespace) -> None:
    ann, path = signed_in(world.ann), reverse("keys", args=["covid"])
    assert "Key of CITY" in ann.get(path).content.decode()
    for wrong, status in (({"AGE": "n"}, 422), ({"AGE": "z", "DATE": "z"}, 422), ({"AGE": "\0"}, 400)):
        assert ann.post(path, form(world, **wrong)).status_code == status
    assert ann.post(path, {}).status_code == 302  # nothing asked, nothing changed
    assert not PersonalKey.objects.exists()
    html = ann.post(path, form(world, AGE="c"), follow=True).content.decode()
    assert "no key now: CITY." in html and keys(world)["AGE"] == "c"
    ann.post(path, {"do": "reset"}, follow=True)
    assert keys(world)["AGE"] == ""


def test_the_way_back_to_the_note_that_it_was_opened_from(world: SimpleNamespace) -> None:
    ann, path = signed_in(world.ann), reverse("keys", args=["covid"])
    there, back = f"{path}?note={world.note.pk}", f'href="{reverse("annotate", args=["covid", world.note.pk])}"'
    assert back in ann.get(there).content.decode()
    assert back in ann.post(there, form(world, AGE="n")).content.decode()
    elsewhere = make.make_note(world.project, name="not-anns")
    for asked in ("", f"?note={elsewhere.pk}", "?note=x"):
        html = ann.get(path + asked).content.decode()
        assert "Back to" not in html and "not-anns" not in html


def test_a_key_from_before_it_was_reserved_stays_until_it_is_changed(world: SimpleNamespace) -> None:
    Label.objects.filter(name="CITY").update(hotkey="v")
    path = reverse("keys", args=["covid"])
    assert signed_in(world.ann).post(path, form(world, AGE="z")).status_code == 302
    assert (keys(world)["CITY"], keys(world)["AGE"]) == ("v", "z")
    assert signed_in(world.ann).post(path, form(world, AGE="v", CITY="")).status_code == 422


def test_a_choice_is_ones_own(world: SimpleNamespace) -> None:
    assert keys(world) == {"PATIENT": "1", "DOCTOR": "2", "DATE": "d", "CITY": "c", "HOSPITAL": "h", "AGE": ""}
    assert choose(world, AGE="q", CITY="") == []
    assert (keys(world)["AGE"], keys(world)["CITY"], keys(world, world.ben)["AGE"]) == ("q", "", "")
    assert Event.objects.get(verb="keys.changed").data == {"keys": {"AGE": "q", "CITY": "none"}}
