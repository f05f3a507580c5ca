import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Tel. {PHONE|06 5550 1423}", "Tfno: {PHONE|967 597 100}", "Teléfono:{PHONE|915868000}", "tel {PHONE|333 5550142}",
    "Tel.: {PHONE|+39 0422 555 061}", "llamar al {PHONE|954 555 037} si fiebre",  # grouping alone
    "cellulare {PHONE|3475550966}", "ph {PHONE|216-555-0133}  fax {FAX|216-555-0134}",  # two on a line
    "Nurse line {PHONE|440-555-0148}.", "{PHONE|(216) 555-0177}", "call {PHONE|555-0148}",  # area code in brackets
    "Telfs.: {PHONE|918823884} / {PHONE|918823984} / {PHONE|619128686}",  # a list
    "Tel. {PHONE|0773 555 300 int. 412}", "{PHONE|602-555-0114 x206}",  # An extension belongs to the number.
    "Please call the clinic at {PHONE|5-0142} before the next dose, or {PHONE|x4-0172}.",  # a hospital's own lines
    "Granddaughter, RN, wants labs read to her, # {PHONE|(817) 555-0174}",
    "called the family on {DATE|3-2019}", "Please ring {PHONE|1300 975 707} to confirm.",  # a month
    "Landlord gave {PHONE|9295550103}; {PHONE|5095550113} is the only contact",  # ten digits without groups
    "Last known number {PHONE|7025550156}, letter sent", "neighbor {PHONE|814 5550171} has a key",
    "Office {PHONE|(312) 555-0188, ext. 4412}.", "tlf fam. {PHONE|610314012}",  # words before the number
    "Móvil del marido, {PHONE|685/233872} y el de casa, {PHONE|(956) 282 734}.",
    "No coge el {PHONE|643623004}; se deja recado al vecino.",  # a mobile number alone
    "Teléf.:{PHONE|+34 948356042}/urgente",
    "Busca del residente de guardia: {PHONE|4122}.",  # a line inside the hospital
    "Interno del laboratorio: {PHONE|2268}.", "Lab extension {PHONE|x3558}.",
    "No answer on {PHONE|219-6052}; message left.", "calling from home, {PHONE|011 34 616 69 45 52}",
    "tfno1 {PHONE|610057821}, tfno2 {PHONE|917 964 793}", "pgr {PHONE|3391}",
    "Ambulatorio {PHONE|(06) 49970155} lun-ven", "Per urgenze {PHONE|(+39) 340 2287715}",
    "allo {PHONE|0039 011 6335512}", "call {PHONE|(646)555-0137} or {PHONE|617/555-0148}", "Home {PHONE|773 555 0126}",
    "GP surgery {PHONE|01632 960 441}, from abroad {PHONE|0044 20 7946 0772}", "Mob: {PHONE|07700900318}",
    "allo {PHONE|(02) 482151}, poi {PHONE|(0165) 23456}",  # eight digits without groups, nine
    "surgery {PHONE|(01632) 960 441}", "call {PHONE|(212)-555-0199}",  # no postal code
    "Valladolid {PHONE|983 555 010}",  # "id" at the end of a word announces no other number
    "Numero verde {PHONE|800-447722}", "Fax: {FAX|973 70 52 63}", "(fax {FAX|201-555-0186})",  # the bracket stays out
    "Scrivere a {EMAIL|g.neri@example.org}.", "E-mail:{EMAIL|rcabrera@example.es}",
    "E-mail.{EMAIL|hleon@example.com}",  # glued to the word
    "({EMAIL|gm.fadda@pec-avvocati.example})", "{URL|https://casi.example/covid-19/caso-98}",
    "vedi {URL|www.radiologia.example/casi/57}.", "IP {IPADDRESS|192.0.2.17} kiosk",
    # Addresses with letters of any language, and their form in ASCII.
    "{EMAIL|user@xn--80ak6aa92e.com} or {EMAIL|ana@xn--kln-una.xn--p1ai} or {EMAIL|lena@klinik-köln.de},",
    "{EMAIL|jürgen.groß@müller.example}; {EMAIL|o'brien@clinic.example}",
    "or {EMAIL|j.hackett at example dot com}.", "{EMAIL|ana arroba hospital punto es}, {EMAIL|ana [at] hospital.es}",
    "Call her (t: {PHONE|06 18 34 56 78}) or {PHONE|06-12345678}.",  # France; Dutch mobile
]  # fmt: skip
LEFT = [
    "leucocitos 14.610/mm3, plaquetas 206.000", "19 x 23 mm", "17,6 x 109/l",  # counts; a size; a power of ten
    "300.1.2.999", "pressione 120 80", "10 20 30 mg", "foo@bar",  # no address has 999; no domain
    "dosis 667 mg", "L3-4-5 a 4/5", "int. 412", "(02) 123 456",  # an extension of nothing; too few digits in groups
    "(03) 12 45 67", "(012) 34 56", "DOI 617/555-0148",
    "She fell at home dot", "seen at St. Mary", "look at the dot on film",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FOUND, *LEFT])
def test_contacts(row: str) -> None:
    assert marked(row) == row
