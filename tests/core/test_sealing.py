"""Keys of projects: what is sealed, and who can read it again."""

import hmac
import json
import threading

import pytest

from annotations.core import sealing
from annotations.core.sealing import Key, OtherSecretKey, instance_fernet, opened_by_instance, project_key
from annotations.models import ProjectKey
from tests import factories as make
from tests.waiting import HANGS


@pytest.mark.django_db
def test_what_is_sealed_is_read_with_the_same_key_only(settings):
    ward, other = project_key(make.make_project("ward")), project_key(make.make_project("other"))
    sealed = ward.seal({"name": "Anné \U0001f9ec"})
    assert ward.open(sealed) == {"name": "Anné \U0001f9ec"} and b"Ann" not in sealed
    with pytest.raises(OtherSecretKey):
        other.open(sealed)
    with pytest.raises(OtherSecretKey):
        ward.open(b"damaged")


@pytest.mark.parametrize("length", [1, 32, 64, 65, 200])
def test_a_digest_is_the_hmac_of_the_parts(length):
    secret = bytes(range(256))[:length]
    message = json.dumps(["surrogate", "Añé", ""]).encode()
    assert Key(secret).digest("surrogate", "Añé", "") == hmac.digest(secret, message, "sha256")


@pytest.mark.django_db
def test_digests_depend_on_key_and_purpose_and_parts():
    ward, other = project_key(make.make_project("ward")), project_key(make.make_project("other"))
    digests = {ward.hexdigest(*parts) for parts in (("a", "b", "c"), ("a", "bc"), ("ab", "c"), ("a", "c", "b"))}
    digests.add(other.hexdigest("a", "b", "c"))
    assert len(digests) == 5 and ward.hexdigest("a", "b") == ward.hexdigest("a", "b")
    assert -(2**63) <= ward.number("a", "b") < 2**63 and "secret" not in repr(ward)


@pytest.mark.django_db
def test_another_secret_key_opens_nothing_and_makes_no_new_key(settings):
    project = make.make_project("ward")
    key = project_key(project)
    before, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 8
    with pytest.raises(OtherSecretKey, match="Restore the key that sealed it"):
        project_key(project)
    settings.SECRET_KEY = before
    assert project_key(project.pk) == key and ProjectKey.objects.count() == 1


def test_the_instance_seals_for_one_purpose():
    sealed = instance_fernet("one").encrypt(b"secret")
    assert opened_by_instance("one", sealed) == b"secret"
    with pytest.raises(OtherSecretKey):
        opened_by_instance("two", sealed)


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_first_uses_give_one_key(monkeypatch, at_once):
    """Both have seen that there is no key before one of them stores its own."""
    project, together = make.make_project("ward"), threading.Barrier(2)
    random_bytes = sealing.secrets.token_bytes

    def made(number):
        together.wait(HANGS)
        return random_bytes(number)

    monkeypatch.setattr(sealing.secrets, "token_bytes", made)
    keys = at_once(*[lambda: project_key(project)] * 2)
    assert keys[0] == keys[1] and ProjectKey.objects.count() == 1
