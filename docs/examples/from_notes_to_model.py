"""From notes to a trained model and an export, by the API alone.

A manager makes the project, and two people annotate the same invented notes. Each has a token: the manager's has the
scope “manage”, the others' “write”. Name the two annotators, in the order of their tokens:

    DEIDREVIEW_TOKENS="deid_… deid_… deid_…" python from_notes_to_model.py http://127.0.0.1:8000 anna bruno
"""

import os
import re
import sys
import time
import uuid
from pathlib import Path

import httpx

NAMES = ["Anna Bianchi", "Luis Otero", "Carmen Huerta", "Marco Rossi", "Eva Sanz"]
TOWNS = ["Madrid", "Burgos", "Torino", "Bari"]
NOTES = 20


class Api(httpx.Client):
    """A client that sends the token, repeats no change, and raises an error with the reason that the server gave."""

    def __init__(self, address: str, token: str) -> None:
        super().__init__(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        answer = self.request(method, path, json=body, headers=headers)
        if answer.is_error:
            problem = answer.json()
            reasons = [f"{one['field']}: {one['reason']}" for one in problem.get("errors", [])]
            raise SystemExit(f"{method} {path}: {problem['detail']} {' '.join(reasons)}")
        return answer

    def wait(self, project: str, number: int) -> dict:
        """Wait for a job. Return it with its result."""
        while (job := self.ask("GET", f"{project}/jobs/{number}").json())["state"] in ("queued", "running"):
            time.sleep(0.5)
        if job["state"] != "done":
            raise SystemExit(f"The job {number} ended as “{job['state']}”: {job['error']}")
        return job


def invented_note(number: int) -> str:
    day, month = 1 + number % 28, 1 + number % 12
    name, town, doctor = (words[number * step % len(words)] for words, step in ((NAMES, 1), (TOWNS, 3), (NAMES, 7)))
    return f"Paziente: {name}. Visto il {day:02}/{month:02}/2021 a {town} dal dott. {doctor}.\nControllo e riposo.\n"


def annotate(api: Api, project: str, *, finds_doctors: bool) -> None:
    """Mark names, dates and towns in all notes, and submit each note."""
    for note in api.ask("GET", f"{project}/notes").json()["items"]:
        text = api.ask("GET", f"{project}/notes/{note['id']}").json()["text"]
        own = f"{project}/notes/{note['id']}/annotations"
        rules = [(r"Paziente: (.+?)\.", "NOMBRE_SUJETO_ASISTENCIA"), (r"(\d\d/\d\d/\d{4})", "FECHAS")]
        rules += [(r" a (\w+) dal", "TERRITORIO")]
        rules += [(r"dott\. (.+?)\.", "NOMBRE_PERSONAL_SANITARIO")] if finds_doctors else []
        etag = ""
        for pattern, label in rules:
            for match in re.finditer(pattern, text):
                span = {"start": match.start(1), "end": match.end(1), "label": label, "quote": match[1]}
                etag = api.ask("POST", f"{own}/spans", span).headers["ETag"]
        api.ask("POST", f"{own}/submit", **{"If-Match": etag})


def main(address: str, *annotators: str) -> None:
    api, first, second = (Api(address, token) for token in os.environ["DEIDREVIEW_TOKENS"].split())

    # 1. Create a project, and add the annotators.
    name = f"Example {uuid.uuid4().hex[:6]}"
    made = api.ask("POST", "/projects", {"name": name, "label_set": "meddocan", "language": "it"}).json()
    project = f"/projects/{made['slug']}"
    for person in annotators:
        api.ask("POST", f"{project}/members", {"username": person, "role": "annotator"})

    # 2. Import notes. This is a job.
    notes = [{"name": f"visit-{n:02}", "text": invented_note(n), "patient_id": f"P-{n:02}"} for n in range(NOTES)]
    api.wait(project, api.ask("POST", f"{project}/notes", {"notes": notes}).json()["number"])
    api.ask("POST", f"{project}/assignments/fill")

    # 3. Annotate.
    annotate(first, project, finds_doctors=True)
    annotate(second, project, finds_doctors=False)

    # 4. Agreement.
    figures = api.ask("GET", f"{project}/agreement?unit=token").json()
    print(f"Agreement on {figures['notes']} notes: alpha {figures['alpha']['value']:.3f}")

    # 5. Make the annotations of the first annotator gold, freeze them, and train a model on them.
    source = next(one for one in api.ask("GET", f"{project}/gold").json()["sources"] if one["name"] == annotators[0])
    api.wait(project, api.ask("POST", f"{project}/gold/make", {"author": source["author"]}).json()["number"])
    version = api.ask("POST", f"{project}/gold/versions", {"reason": "First version"}).json()
    training = {"gold": version["number"], "kind": "crf", "algorithm": "ap", "iterations": 10, "name": "first"}
    model = api.ask("POST", f"{project}/models", training).json()["items"][0]
    api.wait(project, model["job"])
    model = api.ask("GET", f"{project}/models/{model['id']}").json()
    print(f"Model “{model['name']}”: F1 {model['f1']:.3f} on {model['held_out']} held-out notes")

    # 6. Export the gold.
    job = api.ask("POST", f"{project}/exports", {"set": "gold", "format": "brat"}).json()
    file = api.wait(project, job["number"])["result"]["file_id"]
    Path("gold.zip").write_bytes(api.ask("GET", f"{project}/files/{file}").content)
    print(f"Wrote gold.zip ({Path('gold.zip').stat().st_size:,} bytes)")


if __name__ == "__main__":
    main(*sys.argv[1:])
