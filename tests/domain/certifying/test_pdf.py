"""The PDF of a certificate: complete, the same bytes every time, and no character lost."""

import io
from datetime import UTC, datetime

import pytest
from pypdf import PdfReader

from annotations.domain.certifying.pdf import render
from annotations.domain.certifying.scripts import joined
from annotations.domain.certifying.signatures import signed_json, signed_pdf
from tests.domain.certifying.sample import KEY, PRIVATE, content


def pdf_of(**changes):
    data = signed_json(content(**changes), PRIVATE)
    return data, signed_pdf(render(data), PRIVATE)


def text_of(pdf):
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]
    return " ".join(" ".join(pages).split())


@pytest.fixture(scope="module")
def made():
    return pdf_of()


@pytest.fixture(scope="module")
def text(made):
    return text_of(made[1])


@pytest.mark.parametrize(
    "part",
    [
        "Context",
        "Data",
        "Identifiability",
        "Governance",
        "ISO/IEC 27559:2022, Context assessment, clause 6",
        "ISO/IEC 27559:2022, De-identification governance, clause 9",
        "Certificate 1 of release 3, Ward 7",
        "45 CFR 164.514(b)(1)",
        "45 CFR 164.514(b)(2)(i)",
        "45 CFR 164.514(b)(2)(ii)",
        "actual knowledge",
        "University of Milan",
        "2018 to 2019",
        "Publication mask (mask, version 1)",
        "NAME – Name name mask (A) 2",
        "(R) Any other unique number, characteristic or code",
        "4 findings: 3 replaced, 1 allowed by Rosa Lindt",
        "90% of the original text",
        "alpha 0.71 (95% interval 0.68 to 0.74)",
        "At most 63.16% of the notes contain a leak, at 95% confidence",
        "Found 19 of 20 planted leaks",
        "Leak rate by label",
        "rules-1 against gold version 1 3 2 66.67%",
        "rules-1, language en",
        "crf-1",
        "1 note has no patient ID. Rosa Lindt 2026-11-20 10:29 UTC",
        "Anna audited the release 3",
        "Valid until 2027-11-20",
        "Nils Ahl 2 19 of 20 95%",
        "Ada Bo 1 – Not measured",
        "NAME Rosa Lindt 2026-11-19 09:05 UTC",
        "generic: 12",
        KEY,
    ],
)
def test_the_pdf_says(text, part):
    assert part in text


def test_the_pdf_holds_the_json_as_an_attachment(made):
    data, pdf = made
    assert PdfReader(io.BytesIO(pdf)).attachments == {"certificate.json": [data]}


def test_the_time_of_the_pdf_is_that_of_the_certificate(made):
    """With the clock's time, rendering again would give other bytes."""
    metadata = PdfReader(io.BytesIO(made[1])).metadata
    assert metadata.creation_date == datetime(2026, 11, 20, 10, 30, tzinfo=UTC)


def test_what_was_not_measured_is_not_invented_and_an_erasure_is_stated():
    part = content()["identifiability"] | {
        "audit": None, "scores": [], "agreement": None, "models": [], "gate": None, "utility": None,
    }  # fmt: skip
    erased = content()["data"] | {"erased": [{"on": "2026-12-24", "notes": 2, "patients": 1}], "notes": 1}
    text = text_of(pdf_of(identifiability=part, data=erased, number=2, supersedes=1)[1])
    for name in ("Leak rate", "All-or-nothing recall", "Agreement", "Utility"):
        assert f"{name} Not measured" in text
    assert "2026-12-24 2 1" in text and "supersedes certificate 1" in text


def test_measures_of_surrogates_have_names():
    measures = {"consistent": 1.0, "collisions": 2, "f1_backend": "rules", "f1_released": 0.9125, "f1_original": None}
    found = {"labels": ["NAME"], "made_by": "ward/small", "measures": measures}
    text = text_of(pdf_of(identifiability=content()["identifiability"] | {"surrogates": found})[1])
    assert "Surrogates made by the language model ward/small, and rules" in text
    assert "Its F1 on the released text 0.9125" in text and "Its F1 on the original text Not measured" in text
    assert "Surrogates that two entities share 2" in text


def test_names_in_many_scripts_are_shown():
    text = text_of(pdf_of(issued_by="Ελένη Żółć Дмитрий Ընդունիր")[1])
    assert "Ελένη Żółć Дмитрий Ընդունիր" in text
    assert "square brackets" not in text


def test_a_character_without_a_glyph_is_written_as_its_number():
    text = text_of(pdf_of(issued_by="李明 \u202eevil")[1])
    assert "[U+674E][U+660E]" in text and "[U+202E]" in text
    assert "The font of this PDF lacks some characters" in text


def test_arabic_letters_are_joined():
    # Meem initial, hah medial, meem medial, dal final: “Muhammad”.
    assert joined("محمد") == "\ufee3\ufea4\ufee4\ufeaa"
    assert joined("ab") == "ab"
    # Alef doesn't join the letter after it.
    assert joined("اب") == "\ufe8d\ufe8f"
