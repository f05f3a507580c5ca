"""Files of invented patients."""

import json

CSV = (
    b"patient_id,nome,cognome,data di nascita,telefono,shoe size\n"
    b"P-1,Mario,Brambillaschi,12/01/1970,333 1234567,43\n"
    b"P-2,Lucrezia,Pontevecchio,31/02/1980,333 7654321,37\n"
)
SECRETS = ("Mario", "Brambillaschi", "1234567", "Lucrezia", "Pontevecchio", "7654321")
PATIENTS = [
    {"resourceType": "Patient", "id": "P-1", "name": [{"family": "Brambillaschi", "given": ["Mario"]}],
     "birthDate": "1970-01-12"},
    {"resourceType": "Patient", "id": "P-3", "birthDate": "secret"},
]  # fmt: skip
FHIR = "\n".join(map(json.dumps, PATIENTS)).encode()
