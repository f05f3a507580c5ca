"""Who may do what through the API: a row for every route, by the name of its function.

The personas are those of access_table.py; each has a token with the scope `manage`. A row has the status for each
persona, and the body, headers, files and query of a request that succeeds if it is allowed. A parameter of the address
is named as the object in access_world.py that it stands for; `objects` names others.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from annotations.text.names import MAX_ID
from tests.factories import LABELS

MEMBERS = "401 404 200 200 200 200 404 404"
ALL_NOTES = "401 404 200 403 200 200 404 404"  # all roles that see every note
ANNOTATORS = "401 404 403 200 200 200 404 404"
REVIEWERS = "401 404 403 403 200 200 404 404"
MANAGERS = "401 404 403 403 403 200 404 404"
SIGNED_IN = "401 200 200 200 200 200 200 200"


@dataclass(frozen=True)
class Row:
    statuses: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    query: str = ""
    # The field of the form that takes the files.
    upload: str = "files"

    def answers(self, status: int) -> "Row":
        """The same row with `status` in place of 200."""
        return replace(self, statuses=self.statuses.replace("200", str(status)))


ANY = {"If-Match": "*"}
OPEN = {"note": "open_note"}
CITY = {"start": 13, "end": 15, "label": "CITY", "quote": "54"}
IMPORT = {"import_id": "import"}
CERTIFIED = {"release": "certified_release"}
RULES = {label[0]: {"kind": "other", "action": "mask"} for _name, labels in LABELS for label in labels}
TABLE: dict[str, Row] = {
    # Projects
    "list_projects": Row(SIGNED_IN),
    "new_project": Row("401 403 403 403 403 201 201 201", {"name": "A new one", "label_set": "meddocan"}),
    "read_project": Row(MEMBERS),
    "read_settings": Row(MANAGERS),
    "change_settings": Row(MANAGERS, {"name": "Renamed"}),
    # A job of the world waits.
    "archive_project_now": Row(MANAGERS).answers(409),
    "restore_project_now": Row(MANAGERS),
    # The project is open.
    "remove_project": Row(MANAGERS, {"name": "Ours"}).answers(409),
    # Members
    "list_members": Row(MANAGERS),
    "new_member": Row(MANAGERS, {"username": "stranger", "role": "viewer"}).answers(201),
    "read_member": Row(MANAGERS),
    "change_role": Row(MANAGERS, {"role": "viewer"}),
    "preview_removal": Row(MANAGERS),
    "remove_from_project": Row(MANAGERS, {}),
    "new_password_link": Row(MANAGERS),
    # Labels
    "list_labels": Row(MEMBERS),
    "new_label": Row(MANAGERS, {"name": "Ward", "category": "C2"}).answers(201),
    "read_label": Row(MEMBERS),
    "change_label": Row(MANAGERS, {"name": "Town"}, ANY),
    "read_uses": Row(MANAGERS),
    # A job of the world waits, and the category has labels.
    "remove_label": Row(MANAGERS).answers(409),
    "preview_label_merge": Row(MANAGERS, query="?into=AGE"),
    "move_label_to": Row(MANAGERS, {"position": 0}),
    "merge_label": Row(MANAGERS, {"into": "AGE"}),
    "list_categories": Row(MEMBERS),
    "new_category": Row(MANAGERS, {"name": "Other"}).answers(201),
    "read_category": Row(MEMBERS),
    "change_category": Row(MANAGERS, {"name": "Place"}, ANY),
    "move_category_to": Row(MANAGERS, {"position": 0}),
    "remove_category": Row(MANAGERS).answers(409),
    # Guidelines, assignments, audit log
    "read_guidelines": Row(MEMBERS),
    "write_guidelines": Row(MANAGERS, {"text": "# Names"}, ANY),
    "list_assignments": Row(MANAGERS),
    "assign_by_name": Row(MANAGERS, {"annotator": "annotator", "names": ["unknown"]}).answers(422),
    "fill_assignments": Row(MANAGERS),
    "take_notes_back": Row(ANNOTATORS),
    "list_events": Row(MANAGERS),
    # Label mappings
    "list_label_mappings": Row(REVIEWERS),
    "new_label_mapping": Row(MANAGERS, {"name": "Another"}).answers(201),
    "read_label_mapping": Row(REVIEWERS),
    "change_label_mapping": Row(MANAGERS, {"name": "Another"}, ANY),
    "remove_label_mapping": Row(MANAGERS).answers(204),
    # Patients. No note has an id.
    "read_patients": Row(MANAGERS),
    "set_patients": Row(MANAGERS, {"rows": [{"name": "visit", "patient_id": "1"}]}),
    "preview_erasure": Row(MANAGERS, {"patient_id": "1"}).answers(422),
    "erase_notes_of_patient": Row(MANAGERS, {"patient_id": "1", "again": "1"}).answers(422),
    # Notes
    "list_notes": Row(MEMBERS),
    "read_note": Row(MEMBERS),
    "search_notes": Row(MEMBERS, {"text": "Rossi"}),
    "list_sets": Row(MEMBERS),
    "read_set": Row(MEMBERS),
    "change_metadata": Row(MANAGERS, {"site": "Ward"}),
    "remove_note": Row(MANAGERS).answers(204),
    "import_notes_now": Row(MANAGERS, {"notes": [{"name": "new", "text": "A text."}]}).answers(202),
    "import_files": Row(MANAGERS, files={"new.txt": b"A text."}).answers(202),
    # Comments and flags. The annotator wrote the world's.
    "list_comments": Row(MEMBERS),
    "new_comment": Row(ANNOTATORS, {"text": "A word."}).answers(201),
    "answer_comment": Row(ANNOTATORS, {"text": "A word."}).answers(201),
    "change_comment": Row("401 404 403 200 403 403 404 404", {"text": "A word."}),
    "remove_comment": Row("401 404 403 204 403 403 404 404"),
    "resolve_comment": Row(ANNOTATORS),
    "reopen_comment": Row(ANNOTATORS),
    "export_comments": Row(REVIEWERS),
    "list_flags": Row(MEMBERS),
    "new_flag": Row(ANNOTATORS, {"reason": "unsure"}).answers(201),
    "remove_flag": Row(ANNOTATORS).answers(204),
    # Agreement. Annotators don't disagree in this world.
    "read_agreement": Row(ALL_NOTES),
    "list_agreement_of_notes": Row(ALL_NOTES),
    "compute_agreement": Row("401 404 202 403 202 202 404 404", {"unit": "token"}),
    "export_agreement": Row(REVIEWERS),
    "list_disagreements": Row(ALL_NOTES),
    "count_disagreements": Row(ALL_NOTES),
    "list_disagreement_sentences": Row(ALL_NOTES),
    "export_disagreements": Row(REVIEWERS),
    "read_disagreement": Row(ALL_NOTES).answers(404),
    "change_causes": Row(REVIEWERS, {"kind": "AB"}),
    "list_amendments": Row(MEMBERS),
    "new_amendment": Row(MANAGERS, {"text": "A ward is no name."}, ANY).answers(201),
    # Adjudication. Only one annotator has submitted, and no note is adjudicated.
    "list_adjudications": Row(REVIEWERS),
    "count_adjudications": Row(REVIEWERS),
    "next_adjudication": Row(REVIEWERS),
    # The project doesn't accept unanimous annotations.
    "finish_unanimous_notes": Row(REVIEWERS).answers(409),
    "read_adjudication": Row(REVIEWERS),
    "decide_locations": Row(REVIEWERS, {"act": "nothing"}).answers(409),
    "finish_adjudicating": Row(REVIEWERS).answers(409),
    "reopen_adjudication": Row(REVIEWERS),
    "read_outcome": Row("401 404 403 404 404 404 404 404"),
    "preview_majority_vote": Row(REVIEWERS),
    "list_majority_votes": Row(REVIEWERS),
    "start_majority_vote": Row(REVIEWERS).answers(409),
    "read_majority_vote": Row(REVIEWERS),
    "undo_majority_vote": Row(REVIEWERS).answers(202),
    # The person's own annotations. Only the annotator has some, which are submitted.
    "read_annotations": Row(ANNOTATORS),
    "start_own_annotations": Row(ANNOTATORS),
    "create_span": Row(ANNOTATORS, CITY, objects=OPEN).answers(201),
    "change_span": Row("401 404 403 409 404 404 404 404", {"label": "CITY"}, ANY),
    "delete_span": Row("401 404 403 409 404 404 404 404", headers=ANY),
    "submit_annotations": Row(ANNOTATORS, headers=ANY, objects=OPEN),
    "reopen_annotations": Row(ANNOTATORS),
    "list_imports": Row(MANAGERS),
    "stage_import_files": Row(MANAGERS, files={"new.txt": b"A text."}).answers(201),
    "read_import": Row(MANAGERS, objects=IMPORT),
    "change_import": Row(MANAGERS, {"take_duplicates": True}, objects=IMPORT),
    "start_staged_import": Row(MANAGERS, objects=IMPORT).answers(202),
    "discard_import": Row(MANAGERS, objects=IMPORT).answers(204),
    # Gold. The only version has no notes, nobody made gold of the note, and there is no author or set with such an id.
    "read_gold": Row(ALL_NOTES),
    "make_gold_of_author": Row(REVIEWERS, {"author": MAX_ID}).answers(422),
    "read_gold_of_note": Row(ALL_NOTES).answers(404),
    "make_gold_of_note": Row(REVIEWERS, {"set": MAX_ID, "version": 0}).answers(404),
    "withdraw_gold_of_note": Row(REVIEWERS, headers=ANY).answers(404),
    "list_gold_versions": Row(ALL_NOTES),
    "freeze_gold_version": Row(REVIEWERS, {}).answers(409),
    "read_gold_version": Row(ALL_NOTES),
    "list_version_notes": Row(ALL_NOTES),
    "split_gold_version": Row(REVIEWERS, {"seed": "one"}).answers(409),
    "list_gold_changes": Row(ALL_NOTES).answers(404),
    "read_statistics": Row(ALL_NOTES),
    "start_gold_statistics": Row(ALL_NOTES).answers(202),
    # Export
    "export_choices": Row(REVIEWERS),
    "preview_export": Row(REVIEWERS, {"set": "gold", "format": "brat"}),
    "new_export": Row(REVIEWERS, {"set": "gold", "format": "brat"}).answers(202),
    "list_files": Row(REVIEWERS),
    "download_file": Row(REVIEWERS),
    "download_original": Row(REVIEWERS),
    # Releases
    "list_policies": Row(MANAGERS),
    "new_policy": Row(MANAGERS, {"policy": "another", "name": "Another", "rules": RULES}).answers(201),
    "read_release_policy": Row(MANAGERS),
    "change_policy": Row(MANAGERS, {"name": "Renamed"}, ANY),
    "list_releases": Row(MANAGERS),
    "release_choices": Row(MANAGERS),
    # The newest gold version has no notes.
    "preview_release": Row(MANAGERS).answers(422),
    "new_release": Row(MANAGERS, {"sets": ["annotator:annotator"], "policy": "mask"}).answers(202),
    "read_release": Row(MANAGERS),
    "prepare_release": Row(MANAGERS).answers(202),
    "withdraw_release": Row(MANAGERS),
    "export_release": Row(MANAGERS, {"format": "text", "leave_out": True}).answers(202),
    "list_findings": Row(MANAGERS),
    "decide_findings": Row(MANAGERS, {"answer": "allow", "string": "7"}),
    "list_released": Row(MANAGERS),
    "read_released": Row(MANAGERS),
    "view_released": Row(ALL_NOTES),
    # Audits. Nobody reads a note yet.
    "list_audits": Row(REVIEWERS),
    "preview_audit": Row(MANAGERS).answers(409),
    "plan_release_audit": Row(MANAGERS, {"planted": 0}).answers(409),
    "read_audit": Row(REVIEWERS),
    "discard_audit": Row(MANAGERS).answers(204),
    "next_audit_note": Row(REVIEWERS),
    "read_audit_note": Row(REVIEWERS).answers(404),
    "mark_leak": Row(REVIEWERS, {"note": 1, "start": 0, "end": 1, "label": "CITY"}).answers(409),
    "unmark_leak": Row(REVIEWERS).answers(404),
    "finish_audit_note": Row(REVIEWERS, {"note": 1}).answers(409),
    "reopen_audit_note": Row(REVIEWERS).answers(409),
    "list_leaks": Row(MANAGERS),
    "decide_leak": Row(MANAGERS, {"answer": "accept"}).answers(404),
    # Certificates. The release has an open finding.
    "draft_certificate": Row(MANAGERS).answers(409),
    "sign_certificate": Row(
        MANAGERS, {"purpose": "A study", "recipient": "Nobody", "expires_on": "2099-01-01"}
    ).answers(409),
    "list_certificates": Row(REVIEWERS, objects=CERTIFIED),
    "download_certificate_json": Row(REVIEWERS, objects=CERTIFIED),
    "download_certificate_pdf": Row(REVIEWERS, objects=CERTIFIED),
    "verify_certificate_now": Row(SIGNED_IN, files={"certificate.json": b"{}"}, upload="certificate"),
    "list_signing_keys": Row(SIGNED_IN),
    # Surrogates
    "list_surrogates": Row(MANAGERS),
    "search_surrogates": Row(MANAGERS, {"text": "Rossi"}),
    "merge_surrogates": Row(MANAGERS, {"entities": []}).answers(422),
    "read_surrogate": Row(MANAGERS),
    "list_mentions": Row(MANAGERS),
    "split_surrogate": Row(MANAGERS, {"mentions": []}, ANY).answers(422),
    "change_surrogate": Row(MANAGERS, {"act": "lock"}, ANY),
    # Known identifiers. The upload is not read yet.
    "read_known": Row(MANAGERS),
    "upload_master": Row(MANAGERS, files={"a.csv": b"patient_id,family\nP-1,Rossi\n"}, upload="file").answers(202),
    "list_uploads": Row(MANAGERS),
    "import_master": Row(MANAGERS).answers(409),
    "discard_master": Row(MANAGERS).answers(204),
    "list_known_people": Row(MANAGERS),
    "show_known_person": Row(MANAGERS),
    "delete_known_person": Row(MANAGERS).answers(204),
    "clear_known_people": Row(MANAGERS),
    "list_terms": Row(MANAGERS),
    "add_listed_terms": Row(MANAGERS, {"kind": "deny", "terms": ["Villa Verde"], "label": "CITY"}),
    "remove_listed_term": Row(MANAGERS).answers(404),
    "import_listed_terms": Row(MANAGERS, files={"a.csv": b"list,term,label\nallow,Villa,\n"}, upload="file"),
    "export_listed_terms": Row(MANAGERS),
    # Project archives. The uploads are no archives.
    "list_archives": Row(MANAGERS),
    "write_archive": Row(MANAGERS).answers(202),
    "download_archive": Row(MANAGERS),
    "stage_archive_import": Row("401 403 403 403 403 422 422 422", files={"a.zip": b"no"}, upload="archive"),
    "read_archive_import": Row(MANAGERS).answers(422),
    "confirm_archive_import": Row(MANAGERS).answers(409),
    # An archive brought nobody's work.
    "claim_imported_work": Row(MEMBERS).answers(404),
    # Review
    "list_reviews": Row(REVIEWERS),
    "next_review": Row(REVIEWERS),
    "read_review": Row(REVIEWERS),
    "decide_suggestion": Row(REVIEWERS, {"act": "add", **CITY}),
    # A suggestion is open.
    "finish_note_review": Row(REVIEWERS, {}).answers(409),
    "reopen_note_review": Row(REVIEWERS),
    "list_bulk_acts": Row(REVIEWERS),
    # The project has no such run.
    "plan_bulk_act": Row(REVIEWERS, {"runs": [0], "least": 0}).answers(422),
    "read_bulk_act": Row(REVIEWERS),
    # Only the person who planned the act may start it, here the manager.
    "start_bulk_act": Row("401 404 403 403 409 200 404 404", {}),
    "undo_bulk_act": Row(REVIEWERS),
    "list_suggested_strings": Row(REVIEWERS),
    "list_occurrences": Row(REVIEWERS),
    "plan_string_act": Row(REVIEWERS, {"act": "accept"}).answers(201),
    "read_acceptance": Row(ALL_NOTES),
    "export_decision_log": Row(REVIEWERS),
    # Runs
    "list_backends": Row(ALL_NOTES),
    "list_runs": Row(ALL_NOTES),
    "start_backend_run": Row(MANAGERS, {"backend": "rules"}).answers(202),
    "read_run": Row(ALL_NOTES),
    "change_run": Row(MANAGERS, {"name": "Another"}),
    "list_failures": Row(ALL_NOTES),
    # The run has no unfinished note.
    "retry_run": Row(MANAGERS).answers(409),
    "list_ensemble_members": Row(MANAGERS),
    "start_ensemble_run": Row(MANAGERS, {"members": [{"member": "rules"}]}).answers(422),
    "list_external_models": Row(MANAGERS),
    "start_external_run": Row("401 404 403 403 403 404 404 404", {"backend": "spacy-pipeline", "model": "none"}),
    "list_language_model_servers": Row(MANAGERS),
    # Tests list no server.
    "start_language_model_run": Row(MANAGERS, {"server": "none", "model": "none"}).answers(422),
    "merge_runs": Row(REVIEWERS, {"runs": []}).answers(422),
    "list_placeholders": Row(MANAGERS),
    "choose_placeholders": Row(MANAGERS, {"labels": {}}),
    "export_rewritten_notes": Row(REVIEWERS),
    # Models
    "list_models": Row(ALL_NOTES),
    "read_model": Row(ALL_NOTES),
    # This is no zip file.
    "upload_model_file": Row(MANAGERS, files={"model.zip": b"x"}, upload="file").answers(422),
    "download_model": Row(REVIEWERS),
    "change_model": Row(MANAGERS, {"name": "crf-9"}),
    "retire_model_now": Row(MANAGERS),
    # The model is ready.
    "end_training_early": Row(MANAGERS).answers(409),
    "read_training_choices": Row(MANAGERS),
    # The gold version has no spans.
    "start_training_now": Row(MANAGERS, {"gold": 1}).answers(422),
    "start_ablation": Row(MANAGERS, {"gold": 1, "kind": "stacked", "settings": {"embeddings": "a"}}).answers(422),
    # Scores. Nothing was compared here.
    "list_scorable_authors": Row(ALL_NOTES),
    "read_score": Row(ALL_NOTES).answers(409),
    "start_score_job": Row(ALL_NOTES, {}).answers(202),
    "list_score_errors": Row(ALL_NOTES).answers(409),
    "export_score_errors": Row(REVIEWERS).answers(409),
    "set_error_cause": Row(REVIEWERS, {"error": "1", "cause": "AB"}).answers(409),
    "list_skills": Row(MANAGERS),
    "add_skill": Row(MANAGERS, {"name": "genes", "labels": ["*"], "text": "# Genes"}).answers(201),
    "read_skill": Row(MANAGERS),
    "list_skill_versions": Row(MANAGERS),
    "write_skill": Row(MANAGERS, {"text": "# Other"}, ANY),
    # Calibrations, comparisons, judgings, injected errors, refinements, the loop
    "list_calibrations": Row(ALL_NOTES),
    "start_calibration_job": Row(MANAGERS, {"run_author": MAX_ID, "gold": 1}).answers(422),
    "read_calibration": Row(ALL_NOTES),
    "withdraw_calibration": Row(MANAGERS),
    # Too few authors
    "read_comparison": Row(ALL_NOTES).answers(422),
    "start_comparison_job": Row(ALL_NOTES, {}).answers(422),
    "list_compared_spans": Row(ALL_NOTES).answers(422),
    "read_strategies": Row(ALL_NOTES),
    "list_judgings": Row(ALL_NOTES),
    # Tests list no server.
    "start_judging_now": Row(MANAGERS, {"author": 1, "gold": 1, "judges": ["none none"]}).answers(422),
    "read_judging": Row(ALL_NOTES),
    "list_judged_entities": Row(ALL_NOTES),
    "ask_judges_again": Row(MANAGERS).answers(202),
    "list_injections": Row(MANAGERS),
    # The gold version has no spans, and the injection no job.
    "start_injection_now": Row(MANAGERS, {"gold": 1}).answers(422),
    "read_injection": Row(MANAGERS),
    "read_injection_score": Row(MANAGERS).answers(409),
    "list_injected_errors": Row(MANAGERS).answers(409),
    "list_clusters": Row(MANAGERS),
    "list_systemic_errors": Row(MANAGERS),
    # Nothing was rejected.
    "accept_systemic_error": Row(MANAGERS, {"name": "clubs", "key": "0" * 16}).answers(409),
    "remove_systemic_error": Row(MANAGERS).answers(204),
    "list_refinements": Row(MANAGERS),
    "start_refinement_now": Row(MANAGERS, {"run": "rules-1"}).answers(202),
    "read_refinement": Row(MANAGERS),
    "read_loop": Row(ALL_NOTES),
    # The project has no gold.
    "begin_loop_round": Row(REVIEWERS, {}).answers(409),
    "start_model_scores": Row(MANAGERS, {"backend": "rules"}).answers(202),
    # Webhooks. Tests list no hosts.
    "list_webhooks": Row(MANAGERS),
    "new_webhook": Row(MANAGERS, {"url": "https://hooks.example.org/", "kinds": ["job.done"]}).answers(422),
    "read_webhook": Row(MANAGERS),
    "change_webhook_now": Row(MANAGERS, {"on": False}),
    "remove_webhook_now": Row(MANAGERS).answers(204),
    "renew_webhook_secret": Row(MANAGERS),
    "send_webhook_test": Row(MANAGERS).answers(202),
    "list_deliveries": Row(MANAGERS),
    "resend_delivery": Row(MANAGERS).answers(202),
    # Jobs
    "list_queues": Row("401 403 403 403 403 403 403 200"),
    "list_jobs": Row(ALL_NOTES),
    "read_job": Row(ALL_NOTES),
    "cancel_job": Row(REVIEWERS),
    "pause_job": Row(REVIEWERS),
    "resume_job": Row(REVIEWERS),
    "retry_job": Row(REVIEWERS),
}
