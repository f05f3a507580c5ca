"""The names that no surrogate of a release may be."""

from annotations.core.sealing import project_key
from annotations.surrogates.services.originals import Originals
from tests import factories as make
from tests.surrogates.conftest import with_mentions


def test_full_names_and_whole_texts_are_originals_but_no_parts_and_no_cities(ward):
    text = "Dr. Gregory Housing, General Hospital Ebbvale, 12 Elm Street, Springfield, MRN 55-201."
    note = make.make_note(ward.project, text, "elsewhere", language="en")
    kinds = ("staff", "hospital", "street", "city", "medical record")
    forms = ("Gregory Housing", "General Hospital Ebbvale", "12 Elm Street", "Springfield", "55-201")
    found = Originals(project_key(ward.project))
    found.add([with_mentions(note, *zip(forms, kinds, strict=True))])
    assert all(name in found for name in ("gregory housing", "general hospital ebbvale", "12 elm street", "55201"))
    assert not any(name in found for name in ("housing", "gregory", "springfield", "ebbvale"))


def test_the_fields_of_a_form_are_one_name(ward):
    note = make.make_note(ward.project, "Nombre: Julia. Apellidos: Molina Bravo.", "form", language="es")
    found = Originals(project_key(ward.project))
    found.add([with_mentions(note, ("Julia", "name"), ("Molina Bravo", "name"))])
    assert "julia molina bravo" in found and "molina bravo" not in found
