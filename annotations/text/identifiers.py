"""What identifiers are, whatever a label set calls them."""

from annotations.text.wording import NamedValue, gettext_noop


class IdentifierType(NamedValue):
    """What an identifier is, whatever a label set calls it.

    `words` say it in menus; `example` is an invented identifier, and `surrogate` what could replace that.
    """

    example: str
    surrogate: str

    NAME = "name", gettext_noop("Patient or relative"), "Maria Rossi", "Laura Conti"  # patients, relatives, friends
    STAFF = "staff", gettext_noop("Staff member"), "Dr. Adam Wilson", "Dr. Kevin Chang"  # people who treat them
    USERNAME = "username", gettext_noop("Username"), "mrossi84", "lconti51"
    AGE = "age", gettext_noop("Age"), "93", "93"
    DATE = "date", gettext_noop("Date"), "12/03/2021", "29/04/2021"
    PROFESSION = "profession", gettext_noop("Profession"), "teacher", "accountant"
    HOSPITAL = "hospital", gettext_noop("Hospital"), "San Giovanni Hospital", "Santa Lucia Hospital"
    ORGANIZATION = "organization", gettext_noop("Organization"), "Northwind Ltd", "Bluewater Ltd"
    STREET = "street", gettext_noop("Street"), "12 Garden Street", "48 Mill Lane"
    ZIP = "zip", gettext_noop("ZIP code"), "10126", "40121"
    CITY = "city", gettext_noop("City"), "Torino", "Bologna"
    REGION = "region", gettext_noop("Region or state"), "Piemonte", "Emilia-Romagna"
    COUNTRY = "country", gettext_noop("Country"), "Italy", "France"
    LOCATION = "location", gettext_noop("Other place"), "Lake Orta", "Lake Iseo"  # any other or mixed place
    PHONE = "phone", gettext_noop("Phone number"), "011 555 0142", "051 555 0187"
    FAX = "fax", gettext_noop("Fax number"), "011 555 0143", "051 555 0188"
    EMAIL = "email", gettext_noop("E-mail address"), "maria.rossi@example.org", "laura.conti@example.org"
    URL = "url", gettext_noop("Web address"), "https://rossi.example.org", "https://conti.example.org"
    IP = "ip", gettext_noop("IP address"), "192.0.2.44", "198.51.100.17"
    NATIONAL_ID = "national id", gettext_noop("National ID"), "078-05-1120", "219-09-9999"
    RECORD = "medical record", gettext_noop("Medical record number"), "MRN 4471203", "MRN 8820156"
    HEALTH_PLAN = "health plan", gettext_noop("Health plan number"), "HP-55-01928", "HP-71-33408"
    ACCOUNT = "account", gettext_noop("Account number"), "ACC 7719-02", "ACC 3305-48"
    LICENSE = "license", gettext_noop("License or certificate"), "LIC 28391", "LIC 60417"
    VEHICLE = "vehicle", gettext_noop("Vehicle"), "AB 123 CD", "FE 806 KM"
    DEVICE = "device", gettext_noop("Device"), "SN 0091-A7", "SN 5520-C3"
    BIOMETRIC = "biometric", gettext_noop("Biometric identifier"), "iris template 17", "iris template 52"
    ID = "id", gettext_noop("Other number or code"), "ID 90210-7", "ID 36418-2"  # any other number or code of a person
    SEX = "sex", gettext_noop("Sex"), "woman", "woman"
    # Relatives as words, and the marital status
    FAMILY = "family", gettext_noop("Family relation"), "her brother", "her brother"
    ETHNICITY = "ethnicity", gettext_noop("Ethnicity"), "Sami", "Frisian"
    OTHER = "other", gettext_noop("Other"), "the red house", "other detail"
