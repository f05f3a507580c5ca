"""Who may do what: a row for every URL. Used by test_access_matrix.py."""

from itertools import groupby

PERSONAS = ["anonymous", "stranger", "viewer", "annotator", "reviewer", "manager", "other_manager", "administrator"]
# stranger: signed in, in no project. other_manager: of another project. administrator: staff, in no project.
# A row gives the status for each, in this order. 302 for anonymous redirects to the sign-in page; 404 hides a project's
# existence from strangers; 403 is for members without the right; 405 is for the wrong method.
EVERYONE_405 = "302 405 405 405 405 405 405 405"
OPEN_405 = "405 405 405 405 405 405 405 405"
MEMBERS = "302 404 200 200 200 200 404 404"
ALL_NOTES = "302 404 200 403 200 200 404 404"  # all roles that see every note
ANNOTATORS = "302 404 403 200 200 200 404 404"
REVIEWERS = "302 404 403 403 200 200 404 404"
MANAGERS = "302 404 403 403 403 200 404 404"
NO_TOKEN = "401 401 401 401 401 401 401 401"
SIGNED_IN = "302 200 200 200 200 200 200 200"
LEADS_ON = "302 302 302 302 302 302 302 302"
NOBODY = "302 404 404 404 404 404 404 404"
STAFF = "302 302 302 302 302 302 302 200"
STAFF_302 = "302 302 302 302 302 302 302 302"
STAFF_403 = "302 302 302 302 302 302 302 403"
STAFF_405 = "302 302 302 302 302 302 302 405"
STAFF_404 = "302 302 302 302 302 302 302 404"


def asking(row: str, nightly: bool, turn: int) -> dict[str, str]:
    """Return by persona the statuses that a run checks: at night all; else one of each group of neighbors alike.

    Of those from whom the project is hidden it is one in turn, otherwise the one with the most access.
    """
    statuses = dict(zip(PERSONAS, row.split(), strict=True))
    if nightly:
        return statuses
    groups = [(status, list(group)) for status, group in groupby(PERSONAS, key=lambda persona: statuses[persona])]
    return {group[turn % len(group) if status == "404" else -1]: status for status, group in groups}


def status_in(row: str, persona: str) -> str:
    return row.split()[PERSONAS.index(persona)]


def done(row: str, status: int = 302) -> str:
    """Return the row of a change, with `status` in place of 200."""
    return row.replace("200", str(status))


# fmt: off
TABLE: dict[str, dict[str, str]] = {
    "healthz": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "readyz": {"GET": "503 503 503 503 503 503 503 503", "POST": OPEN_405},  # without Redis
    "metrics": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "help": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "help_page": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "script_words": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},

    # Projects
    "projects": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "project_new": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 302 302 302"},
    "project": {"GET": MEMBERS, "POST": EVERYONE_405},
    "project_settings": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "project_archive": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "project_restore": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    # The project is open: redirects to the settings, which say that only an archived project can be deleted.
    "project_delete": {"GET": done(MANAGERS), "POST": done(MANAGERS)},
    "assign_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "fill_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "take_back_notes": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "guidelines": {"GET": MEMBERS, "POST": EVERYONE_405},
    "guidelines_edit": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "skills": {"GET": MANAGERS, "POST": EVERYONE_405},
    "skill": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "patients": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},

    # Notes
    "notes": {"GET": MEMBERS, "POST": done(MEMBERS)},
    "note": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "note_delete": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "note_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "note_gold_withdraw": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Reviewers and managers may annotate, but have no notes assigned here, and get a page that says so.
    "next_note": {"GET": "302 404 403 302 200 200 404 404", "POST": EVERYONE_405},
    "annotate": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "note_data": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "changes": {"GET": EVERYONE_405, "POST": ANNOTATORS.replace("302", "401")},
    "spans": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "start_annotations": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "submit": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "reopen": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},

    # Comments, flags, keys, search
    "talk": {"GET": MEMBERS, "POST": EVERYONE_405},
    "comments_export": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "comments": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "flag": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "guidelines_beside": {"GET": MEMBERS, "POST": EVERYONE_405},
    "keys": {"GET": ANNOTATORS, "POST": done(ANNOTATORS)},
    "search": {"GET": MEMBERS, "POST": done(MEMBERS, 303)},
    # Only the person who searched, the annotator, sees the results.
    "search_results": {"GET": "302 404 404 200 404 404 404 404", "POST": EVERYONE_405},

    # Labels, people
    "labels": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "label_edit": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    # Used labels are refused with a conflict.
    "label_delete": {"GET": MANAGERS, "POST": MANAGERS.replace("200", "409")},
    "category_add": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "category_edit": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "category_move": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    # Categories with labels are refused with a conflict.
    "category_delete": {"GET": MANAGERS, "POST": MANAGERS.replace("200", "409")},
    "label_move": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "label_merge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "people": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "member_role": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "member_remove": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "member_link": {"GET": EVERYONE_405, "POST": MANAGERS},

    # Import, gold, export, audit
    "import": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "import_preview": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "import_report": {"GET": MANAGERS, "POST": EVERYONE_405},

    "gold": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "gold_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "gold_version": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "gold_changes": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "gold_split": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 422)},
    "gold_statistics": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "statistics_start": {"GET": EVERYONE_405, "POST": done(ALL_NOTES)},
    "scores": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "score": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    # Nothing was compared here: redirects to the score, which says so.
    "score_errors": {"GET": done(ALL_NOTES), "POST": EVERYONE_405},
    "score_errors_export": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "score_error_cause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "export": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "export_preview": {"GET": EVERYONE_405, "POST": REVIEWERS},
    "label_mappings": {"GET": REVIEWERS, "POST": done(MANAGERS)},
    "label_mapping": {"GET": REVIEWERS, "POST": done(MANAGERS)},
    "label_mapping_delete": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "note_original": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "source_page": {"GET": MEMBERS, "POST": EVERYONE_405},
    "file_download": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "audit": {"GET": MANAGERS, "POST": EVERYONE_405},

    # Review of many suggestions
    # The project has a single run, so the list of runs redirects to its review.
    "reviews": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_strings": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_string": {"GET": REVIEWERS, "POST": done(REVIEWERS, 303)},
    "review_bulk_new": {"GET": REVIEWERS, "POST": done(REVIEWERS, 422)},
    "review_bulk": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "bulk_start": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "bulk_undo": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # The bulk act was small, so there is no job.
    "bulk_job": {"GET": done(REVIEWERS, 404), "POST": EVERYONE_405},
    "acceptance": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "decisions_export": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Agreement and runs
    "agreement": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "agreement_table": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "disagreements": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "disagreement_sentences": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "sentences_export": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "disagreement_cause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "disagreement_talk": {"GET": ALL_NOTES, "POST": "302 404 403 403 302 302 404 404"},
    "amendments": {"GET": MEMBERS, "POST": EVERYONE_405},
    "amend": {"GET": MANAGERS, "POST": done(MANAGERS)},
    # The note has only one submitted annotation set, so there is nothing to adjudicate or finish yet.
    "adjudications": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "adjudicate_unanimous": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "majority": {"GET": REVIEWERS, "POST": EVERYONE_405},
    # Nothing can be decided here: redirects to the page with a message.
    "majority_start": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "majority_act": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "majority_undo": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_decide": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 409).replace("302", "401")},
    "adjudicate_cause": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "adjudicate_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_finish": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Nothing is adjudicated here, so nobody sees an outcome.
    "outcome": {"GET": "302 404 403 404 404 404 404 404", "POST": EVERYONE_405},
    "runs": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "run": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "judgings": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    # Tests list no server, and the form says so.
    "judge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "judging": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "judging_entities": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "judging_again": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "injections": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "injection": {"GET": MANAGERS, "POST": EVERYONE_405},
    "injected_errors": {"GET": MANAGERS, "POST": EVERYONE_405},
    "systemic_errors": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "refinements": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "runs_compare": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "strategies": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    # A single run can't be compared: redirects to the choice, which says so.
    "compare_spans": {"GET": done(ALL_NOTES), "POST": EVERYONE_405},
    "compare_start": {"GET": EVERYONE_405, "POST": done(ALL_NOTES)},
    "run_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    # Tests list no server, and the form says so.
    "run_llm": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "runs_together": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "run_combine": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_pipeline": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_tagger": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_flair": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_zero_shot": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_remote": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_rename": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "run_retry": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "run_placeholders": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "run_rewritten": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Trained models
    "loop": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "loop_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 422)},
    "models": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "model": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "model_train": {"GET": EVERYONE_405, "POST": done(MANAGERS, 422)},
    "model_upload": {"GET": EVERYONE_405, "POST": done(MANAGERS, 422)},
    "model_rename": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_retire": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_enough": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_file": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Backends, calibrations
    "backends": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "calibration": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "calibration_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "calibration_withdraw": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Review
    "review_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "review": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_decide": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "review_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_finish": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "review_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},

    # Jobs
    "jobs": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "job": {"GET": ALL_NOTES, "POST": EVERYONE_405},
    "job_cancel": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_pause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_resume": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_retry": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_import": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "job_of_import": {"GET": "302 404 403 403 403 404 404 404", "POST": EVERYONE_405},
    "job_start_export": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_score": {"GET": EVERYONE_405, "POST": done(ALL_NOTES)},
    "job_start_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "agreement_start": {"GET": EVERYONE_405, "POST": done(ALL_NOTES)},
    "agreement_progress": {"GET": done(ALL_NOTES), "POST": EVERYONE_405},

    # The API: its description, and the tokens of a person
    "api_docs": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "api_openapi": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "api_tokens": {"GET": SIGNED_IN, "POST": done(SIGNED_IN, 422)},
    # The token of the world belongs to nobody here.
    "api_token_revoke": {"GET": EVERYONE_405, "POST": NOBODY},

    # Accounts
    "account_login": {"GET": "200 302 302 302 302 302 302 302", "POST": "200 302 302 302 302 302 302 302"},
    "account_logout": {"GET": SIGNED_IN, "POST": LEADS_ON},
    "account_inactive": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_signup": {"GET": "403 403 403 403 403 403 403 403", "POST": OPEN_405},
    "account_reauthenticate": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_change_password": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_reset_password": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_reset_password_from_key_done": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    # The key is not valid, and the page says so.
    "account_reset_password_from_key": {"GET": "200 200 200 200 200 200 200 200",
                                        "POST": "200 200 200 200 200 200 200 200"},
    # Nobody set up an authenticator app, so everybody is led to the page that does.
    "second_factor": {"GET": LEADS_ON, "POST": EVERYONE_405},
    # Tests configure no provider here; those that do are in tests/providers.
    "openid_connect_login": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "openid_connect_callback": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "oidc_logout": {"GET": OPEN_405, "POST": "404 404 404 404 404 404 404 404"},
    "saml_login": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "saml_acs": {"GET": OPEN_405, "POST": "404 404 404 404 404 404 404 404"},
    "saml_finish_acs": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "saml_sls": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "saml_metadata": {"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405},
    "groups": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "group_remove": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "mfa_index": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "mfa_authenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_reauthenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_activate_totp": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_deactivate_totp": {"GET": NOBODY, "POST": NOBODY},
    "mfa_view_recovery_codes": {"GET": NOBODY, "POST": EVERYONE_405},
    "mfa_generate_recovery_codes": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_download_recovery_codes": {"GET": NOBODY, "POST": NOBODY},

    # The admin: people without staff rights are redirected to the sign-in page, which says that the admin is closed.
    "admin:index": {"GET": STAFF, "POST": STAFF},
    "admin:login": {"GET": "302 403 403 403 403 403 403 302", "POST": "302 403 403 403 403 403 403 302"},
    "admin:logout": {"GET": done(STAFF, 405), "POST": LEADS_ON},
    "admin:password_change": {"GET": STAFF_302, "POST": STAFF_302},  # redirects to the page that counts wrong passwords
    "admin:password_change_done": {"GET": STAFF, "POST": STAFF_405},
    "admin:autocomplete": {"GET": STAFF_403, "POST": STAFF_405},
    "admin:jsi18n": {"GET": STAFF, "POST": STAFF_405},
    "admin:view_on_site": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:app_list": {"GET": STAFF, "POST": STAFF},
    "admin/(?P<url>.*)$": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:auth_user_password_change": {"GET": STAFF, "POST": STAFF},

    # Releases
    "releases": {"GET": MANAGERS, "POST": EVERYONE_405},
    # A POST without more is a preview.
    "release_new": {"GET": MANAGERS, "POST": MANAGERS},
    "release": {"GET": MANAGERS, "POST": EVERYONE_405},
    "release_export": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "release_prepare": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "release_withdraw": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "release_findings": {"GET": MANAGERS, "POST": EVERYONE_405},
    "release_decide": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "release_note": {"GET": MANAGERS, "POST": EVERYONE_405},
    "release_policies": {"GET": MANAGERS, "POST": EVERYONE_405},
    "release_policy": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "note_surrogates": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},


    # Certificates
    "certificate_sign": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "certificate_json": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "certificate_pdf": {"GET": REVIEWERS, "POST": EVERYONE_405},
    # A project archive, for managers only, also of an archived project.
    "archive_export": {"GET": MANAGERS, "POST": EVERYONE_405},
    "archive_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "archive_file": {"GET": MANAGERS, "POST": EVERYONE_405},
    "archive_import": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 422 422 422"},
    # The upload is no archive: redirects to the project, with the reason.
    # An archive brought nobody's work.
    "archive_claim": {"GET": NOBODY, "POST": NOBODY},
    "archive_confirm": {"GET": done(MANAGERS), "POST": done(MANAGERS)},

    "certificate_verify": {"GET": SIGNED_IN, "POST": done(SIGNED_IN, 422)},
    "signing_keys": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "signing_key_pem": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    # Known identifiers
    "known": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "known_lists": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "known_lists_csv": {"GET": MANAGERS, "POST": EVERYONE_405},
    "known_upload": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "known_people": {"GET": MANAGERS, "POST": EVERYONE_405},
    "known_person": {"GET": MANAGERS, "POST": MANAGERS},

    # Webhooks. The test of a POST sends no address.
    "webhooks": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "webhook": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "webhook_resend": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Audits
    "audits": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "release_audit": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "audit_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "audit_discard": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "audit_next": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Nobody reads a note yet: redirects to the page of the audit.
    "audit_read": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "audit_mark": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "audit_unmark": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "audit_finish": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "audit_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "audit_leaks": {"GET": MANAGERS, "POST": EVERYONE_405},
    "audit_decide": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
}
# fmt: on

# Most models are read-only. Accounts can be created and changed, sign-in attempts deleted (which ends a lock).
for _model in (
    "annotations_project", "annotations_membership", "annotations_labelset", "axes_accesslog", "axes_accessfailurelog",
):  # fmt: skip
    TABLE |= {
        f"admin:{_model}_changelist": {"GET": STAFF, "POST": STAFF},
        f"admin:{_model}_change": {"GET": STAFF, "POST": STAFF_403},
        f"admin:{_model}_add": {"GET": STAFF_403, "POST": STAFF_403},
        f"admin:{_model}_delete": {"GET": STAFF_403, "POST": STAFF_403},
        f"admin:{_model}_history": {"GET": STAFF, "POST": STAFF},
    }
TABLE |= {
    "admin:annotations_user_changelist": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_change": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_add": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_delete": {"GET": STAFF_403, "POST": STAFF_403},
    "admin:annotations_user_history": {"GET": STAFF, "POST": STAFF},
}
TABLE |= {
    "admin:axes_accessattempt_changelist": {"GET": STAFF, "POST": STAFF},
    "admin:axes_accessattempt_change": {"GET": STAFF, "POST": STAFF_302},
    "admin:axes_accessattempt_add": {"GET": STAFF_403, "POST": STAFF_403},
    "admin:axes_accessattempt_delete": {"GET": STAFF, "POST": STAFF},
    "admin:axes_accessattempt_history": {"GET": STAFF, "POST": STAFF},
}
# SCIM needs the token of a provider, which nobody has by a session (tests/providers/scim).
for _name in (
    "users", "users_search", "user", "groups", "groups_search", "group", "search", "config", "resource_types",
    "resource_type", "schemas", "schema",
):  # fmt: skip
    TABLE[f"scim_{_name}"] = {"GET": NO_TOKEN, "POST": NO_TOKEN}
for _path in (
    "annotations/user", "annotations/project", "annotations/membership", "annotations/labelset",
    "axes/accessattempt", "axes/accesslog", "axes/accessfailurelog",
):  # fmt: skip
    TABLE[f"admin/{_path}/<path:object_id>/"] = {"GET": STAFF_302, "POST": STAFF_302}

# Surrogates
# fmt: off
TABLE |= {
    "surrogates": {"GET": MANAGERS, "POST": MANAGERS},
    "surrogates_merge": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "surrogate": {"GET": MANAGERS, "POST": EVERYONE_405},
    "surrogate_change": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "surrogate_scores_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
}
# fmt: on
