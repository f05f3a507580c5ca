"""Who may do what through the API: a row for every route, by the name of its function.

The personas are those of access_table.py; each has a token with the scope `manage`. A row has the status for each
persona, and the body, headers, files and query of a request that succeeds if it is allowed. A parameter of the address
is named as the object in access_world.py that it stands for; `objects` names others.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from annotations.text.names import MAX_ID
from tests.deidreview import access_table as pages
from tests.deidreview.access_table import alike
from tests.factories import LABELS

# The rights are those of pages. Where a browser is sent to the sign-in page, a program gets 401.
MEMBERS, ALL_NOTES, ANNOTATORS, REVIEWERS, MANAGERS, SIGNED_IN = (
    row.replace("302", "401")
    for row in (pages.MEMBERS, pages.ALL_NOTES, pages.ANNOTATORS, pages.REVIEWERS, pages.MANAGERS, pages.SIGNED_IN)
)


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
# fmt: off
TABLE: dict[str, Row] = {
    **alike(Row(SIGNED_IN), """
        list_projects list_signing_keys
    """),
    **alike(Row(MEMBERS), """
        read_project list_labels read_label list_categories read_category read_guidelines list_notes read_note
        list_sets read_set list_flags list_amendments list_comments
    """),
    **alike(Row(MANAGERS), """
        read_settings restore_project_now list_members read_member preview_removal new_password_link read_uses
        list_assignments fill_assignments list_events list_imports list_policies read_release_policy list_releases
        release_choices read_release withdraw_release list_findings list_released read_released list_leaks
        list_surrogates read_surrogate list_mentions list_uploads list_known_people show_known_person
        clear_known_people list_terms export_listed_terms download_archive list_ensemble_members list_external_models
        list_language_model_servers list_placeholders retire_model_now read_training_choices list_skills read_skill
        list_skill_versions withdraw_calibration list_injections read_injection list_clusters list_systemic_errors
        list_refinements read_refinement list_pairs read_pair_statistics list_pair_candidates read_webhook
        renew_webhook_secret list_deliveries list_record_schemas read_record_schema review_record_schema
        activate_record_schema list_waiting_records read_patients read_known list_archives list_feeds read_feed
        list_quarantined_files pause_feed_now continue_paused_feed list_webhooks
    """),
    # A job of the world waits; there is one annotator, and a finding is open; no note of the run is unfinished, and the
    # model is ready.
    **alike(Row(MANAGERS).answers(409), """
        remove_category preview_audit import_master confirm_archive_import read_injection_score list_injected_errors
        archive_project_now remove_label begin_pilot draft_certificate retry_run end_training_early
    """),
    # The newest gold version has no notes, and the upload is no archive.
    **alike(Row(MANAGERS).answers(422), "preview_release read_archive_import"),
    **alike(Row(ANNOTATORS), """
        take_notes_back resolve_comment reopen_comment start_own_annotations reopen_annotations read_annotations
    """),
    **alike(Row(REVIEWERS), """
        list_label_mappings read_label_mapping export_comments export_agreement export_disagreements
        count_adjudications next_adjudication read_adjudication reopen_adjudication preview_majority_vote
        list_majority_votes read_majority_vote export_choices list_files download_file download_original read_audit
        next_audit_note list_reviews next_review read_review reopen_note_review list_bulk_acts read_bulk_act
        undo_bulk_act list_suggested_strings list_occurrences export_decision_log export_rewritten_notes
        download_model cancel_job pause_job resume_job retry_job list_adjudications list_audits
    """),
    **alike(Row(MANAGERS).answers(204), """
        remove_label_mapping remove_note discard_audit discard_master delete_known_person remove_systemic_error
        remove_webhook_now
    """),
    **alike(Row(ALL_NOTES), """
        list_agreement_of_notes list_disagreements count_disagreements list_disagreement_sentences list_gold_versions
        read_gold_version list_version_notes read_statistics view_released read_acceptance list_backends list_runs
        read_run list_failures list_models read_model list_calibrations read_calibration read_strategies list_judgings
        read_judging list_judged_entities read_loop list_jobs read_job read_agreement read_gold list_scorable_authors
        list_recordings
    """),
    **alike(Row(ALL_NOTES).answers(404), """
        read_disagreement read_gold_of_note list_gold_changes
    """),
    **alike(Row(REVIEWERS).answers(409), """
        finish_adjudicating start_majority_vote reopen_audit_note export_score_errors finish_unanimous_notes
    """),
    **alike(Row(MANAGERS).answers(202), """
        export_records prepare_release write_archive ask_judges_again send_webhook_test resend_delivery start_feed
    """),
    **alike(Row(REVIEWERS).answers(404), """
        read_audit_note unmark_leak
    """),
    **alike(Row(REVIEWERS, objects=CERTIFIED), """
        list_certificates download_certificate_json download_certificate_pdf
    """),
    **alike(Row(ALL_NOTES).answers(409), """
        read_score list_score_errors
    """),
    **alike(Row(ALL_NOTES).answers(422), """
        read_comparison list_compared_spans
    """),
    "new_project": Row("401 403 403 403 403 201 201 201", {"name": "A new one", "label_set": "meddocan"}),
    "change_settings": Row(MANAGERS, {"name": "Renamed"}),
    # The project is open.
    "remove_project": Row(MANAGERS, {"name": "Ours"}).answers(409),
    "new_member": Row(MANAGERS, {"username": "stranger", "role": "viewer"}).answers(201),
    "change_role": Row(MANAGERS, {"role": "viewer"}),
    "new_label": Row(MANAGERS, {"name": "Ward", "category": "C2"}).answers(201),
    "change_label": Row(MANAGERS, {"name": "Town"}, ANY),
    "preview_label_merge": Row(MANAGERS, query="?into=AGE"),
    "move_label_to": Row(MANAGERS, {"position": 0}),
    "merge_label": Row(MANAGERS, {"into": "AGE"}),
    "new_category": Row(MANAGERS, {"name": "Other"}).answers(201),
    "change_category": Row(MANAGERS, {"name": "Place"}, ANY),
    "move_category_to": Row(MANAGERS, {"position": 0}),
    "write_guidelines": Row(MANAGERS, {"text": "# Names"}, ANY),
    "assign_by_name": Row(MANAGERS, {"annotator": "annotator", "names": ["unknown"]}).answers(422),
    "new_label_mapping": Row(MANAGERS, {"name": "Another"}).answers(201),
    "change_label_mapping": Row(MANAGERS, {"name": "Another"}, ANY),
    "set_patients": Row(MANAGERS, {"rows": [{"name": "visit", "patient_id": "1"}]}),
    "preview_erasure": Row(MANAGERS, {"patient_id": "1"}).answers(422),
    "erase_notes_of_patient": Row(MANAGERS, {"patient_id": "1", "again": "1"}).answers(422),
    "search_notes": Row(MEMBERS, {"text": "Rossi"}),
    "change_metadata": Row(MANAGERS, {"site": "Ward"}),
    "import_notes_now": Row(MANAGERS, {"notes": [{"name": "new", "text": "A text."}]}).answers(202),
    "import_files": Row(MANAGERS, files={"new.txt": b"A text."}).answers(202),
    # Comments and flags. The annotator wrote the world's.
    "new_comment": Row(ANNOTATORS, {"text": "A word."}).answers(201),
    "answer_comment": Row(ANNOTATORS, {"text": "A word."}).answers(201),
    "change_comment": Row("401 404 403 200 403 403 404 404", {"text": "A word."}),
    "remove_comment": Row("401 404 403 204 403 403 404 404"),
    "new_flag": Row(ANNOTATORS, {"reason": "unsure"}).answers(201),
    "compute_agreement": Row("401 404 202 403 202 202 404 404", {"unit": "token"}),
    "change_causes": Row(REVIEWERS, {"kind": "AB"}),
    "new_amendment": Row(MANAGERS, {"text": "A ward is no name."}, ANY).answers(201),
    "decide_locations": Row(REVIEWERS, {"act": "nothing"}).answers(409),
    "decide_many_locations": Row(REVIEWERS, {"decisions": [{"act": "nothing"}]}),
    "read_outcome": Row("401 404 403 404 404 404 404 404"),
    # Only the annotator has annotations of their own, which are submitted.
    "change_span": Row("401 404 403 409 404 404 404 404", {"label": "CITY"}, ANY),
    "delete_span": Row("401 404 403 409 404 404 404 404", headers=ANY),
    "stage_import_files": Row(MANAGERS, files={"new.txt": b"A text."}).answers(201),
    "change_import": Row(MANAGERS, {"take_duplicates": True}, objects=IMPORT),
    # Gold. The only version has no notes, nobody made gold of the note, and there is no author or set with such an id.
    "make_gold_of_author": Row(REVIEWERS, {"author": MAX_ID}).answers(422),
    "make_gold_of_note": Row(REVIEWERS, {"set": MAX_ID, "version": 0}).answers(404),
    "split_gold_version": Row(REVIEWERS, {"seed": "one"}).answers(409),
    "preview_export": Row(REVIEWERS, {"set": "gold", "format": "brat"}),
    "new_export": Row(REVIEWERS, {"set": "gold", "format": "brat"}).answers(202),
    "new_policy": Row(MANAGERS, {"policy": "another", "name": "Another", "rules": RULES}).answers(201),
    "change_policy": Row(MANAGERS, {"name": "Renamed"}, ANY),
    "new_release": Row(MANAGERS, {"sets": ["annotator:annotator"], "policy": "mask"}).answers(202),
    "export_release": Row(MANAGERS, {"format": "text", "leave_out": True}).answers(202),
    "decide_findings": Row(MANAGERS, {"answer": "allow", "string": "7"}),
    # Audits. Nobody reads a note yet.
    "plan_release_audit": Row(MANAGERS, {"planted": 0}).answers(409),
    "mark_leak": Row(REVIEWERS, {"note": 1, "start": 0, "end": 1, "label": "CITY"}).answers(409),
    "finish_audit_note": Row(REVIEWERS, {"note": 1}).answers(409),
    "decide_leak": Row(MANAGERS, {"answer": "accept"}).answers(404),
    "sign_certificate": Row(
        MANAGERS, {"purpose": "A study", "recipient": "Nobody", "expires_on": "2099-01-01"}
    ).answers(409),
    "verify_certificate_now": Row(SIGNED_IN, files={"certificate.json": b"{}"}, upload="certificate"),
    "search_surrogates": Row(MANAGERS, {"text": "Rossi"}),
    "merge_surrogates": Row(MANAGERS, {"entities": []}).answers(422),
    "split_surrogate": Row(MANAGERS, {"mentions": []}, ANY).answers(422),
    "change_surrogate": Row(MANAGERS, {"act": "lock"}, ANY),
    "upload_master": Row(MANAGERS, files={"a.csv": b"patient_id,family\nP-1,Rossi\n"}, upload="file").answers(202),
    "add_listed_terms": Row(MANAGERS, {"kind": "deny", "terms": ["Villa Verde"], "label": "CITY"}),
    "import_listed_terms": Row(MANAGERS, files={"a.csv": b"list,term,label\nallow,Villa,\n"}, upload="file"),
    "stage_archive_import": Row("401 403 403 403 403 422 422 422", files={"a.zip": b"no"}, upload="archive"),
    # An archive brought nobody's work.
    "claim_imported_work": Row(MEMBERS).answers(404),
    "decide_suggestion": Row(REVIEWERS, {"act": "add", **CITY}),
    "decide_suggestions": Row(REVIEWERS, {"decisions": [{"act": "add", **CITY}]}),
    # A suggestion is open.
    "finish_note_review": Row(REVIEWERS, {}).answers(409),
    # The project has no such run.
    "plan_bulk_act": Row(REVIEWERS, {"runs": [0], "least": 0}).answers(422),
    # Only the person who planned the act may start it, here the manager.
    "start_bulk_act": Row("401 404 403 403 409 200 404 404", {}),
    "plan_string_act": Row(REVIEWERS, {"act": "accept"}).answers(201),
    "start_backend_run": Row(MANAGERS, {"backend": "rules"}).answers(202),
    "change_run": Row(MANAGERS, {"name": "Another"}),
    "start_ensemble_run": Row(MANAGERS, {"members": [{"member": "rules"}]}).answers(422),
    "start_external_run": Row("401 404 403 403 403 404 404 404", {"backend": "spacy-pipeline", "model": "none"}),
    # Tests list no server.
    "start_language_model_run": Row(MANAGERS, {"server": "none", "model": "none"}).answers(422),
    "merge_runs": Row(REVIEWERS, {"runs": []}).answers(422),
    "choose_placeholders": Row(MANAGERS, {"labels": {}}),
    # This is no zip file.
    "upload_model_file": Row(MANAGERS, files={"model.zip": b"x"}, upload="file").answers(422),
    "change_model": Row(MANAGERS, {"name": "crf-9"}),
    # The gold version has no spans.
    "start_training_now": Row(MANAGERS, {"gold": 1}).answers(422),
    "start_ablation": Row(MANAGERS, {"gold": 1, "kind": "stacked", "settings": {"embeddings": "a"}}).answers(422),
    "set_error_cause": Row(REVIEWERS, {"error": "1", "cause": "AB"}).answers(409),
    "add_skill": Row(MANAGERS, {"name": "genes", "labels": ["*"], "text": "# Genes"}).answers(201),
    "write_skill": Row(MANAGERS, {"text": "# Other"}, ANY),
    "start_calibration_job": Row(MANAGERS, {"run_author": MAX_ID, "gold": 1}).answers(422),
    # Tests list no server.
    "start_judging_now": Row(MANAGERS, {"author": 1, "gold": 1, "judges": ["none none"]}).answers(422),
    # The gold version has no spans, and the injection no job.
    "start_injection_now": Row(MANAGERS, {"gold": 1}).answers(422),
    # Nothing was rejected.
    "accept_systemic_error": Row(MANAGERS, {"name": "clubs", "key": "0" * 16}).answers(409),
    "start_refinement_now": Row(MANAGERS, {"run": "rules-1"}).answers(202),
    # The project has no gold.
    "begin_loop_round": Row(REVIEWERS, {}).answers(409),
    "start_model_scores": Row(MANAGERS, {"backend": "rules"}).answers(202),
    # Records. The only record was not taken from a file, so that nothing labels its fields.
    "add_record_schema": Row(MANAGERS, {"text": "shipped:Patient"}).answers(201),
    "deidentify_records": Row(MANAGERS, files={"in.ndjson": b"{}"}, upload="file").answers(202),
    "release_records": Row(MANAGERS, {"policy": "mask"}).answers(409),
    # Pairs. The project has no label OMISSIS.
    "pair_decisions": Row(MANAGERS, files={"pile.zip": b"x"}, upload="file").answers(409),
    "settle_pair": Row(MANAGERS, {"note": None}),
    # Feeds. Tests allow no folder.
    "create_feed": Row(
        MANAGERS, {"name": "letters", "source": "in", "target": "out", "run": "rules", "policy": "mask"}
    ).answers(422),
    "choose_run_of_feed": Row(MANAGERS, {"run": "rules"}),
    # Recordings. Nothing can be decoded.
    "import_recording": Row(MANAGERS, files={"a.wav": b"x"}, upload="file").answers(422),
    "list_audio_regions": Row(ALL_NOTES, objects=OPEN),
    "mark_audio_region": Row(REVIEWERS, {"start": 0.1, "end": 0.2}, objects=OPEN).answers(201),
    "decide_audio_region": Row(REVIEWERS, {"start": 0.1, "end": 0.2, "decision": "accepted"}, objects=OPEN),
    "new_webhook": Row(MANAGERS, {"url": "https://hooks.example.org/", "kinds": ["job.done"]}).answers(422),
    "change_webhook_now": Row(MANAGERS, {"on": False}),
    "list_queues": Row("401 403 403 403 403 403 403 200"),
    "remove_from_project": Row(MANAGERS, {}),
    "remove_flag": Row(ANNOTATORS).answers(204),
    "remove_listed_term": Row(MANAGERS).answers(404),
    "undo_majority_vote": Row(REVIEWERS).answers(202),
    "create_span": Row(ANNOTATORS, CITY, objects=OPEN).answers(201),
    "submit_annotations": Row(ANNOTATORS, headers=ANY, objects=OPEN),
    "read_import": Row(MANAGERS, objects=IMPORT),
    "start_staged_import": Row(MANAGERS, objects=IMPORT).answers(202),
    "discard_import": Row(MANAGERS, objects=IMPORT).answers(204),
    "withdraw_gold_of_note": Row(REVIEWERS, headers=ANY).answers(404),
    "freeze_gold_version": Row(REVIEWERS, {}).answers(409),
    "start_gold_statistics": Row(ALL_NOTES).answers(202),
    "start_score_job": Row(ALL_NOTES, {}).answers(202),
    "start_comparison_job": Row(ALL_NOTES, {}).answers(422),
}
