"""Who may do what: a row for every URL. Used by test_access_matrix.py."""

from itertools import groupby
from typing import TypeVar

Row = TypeVar("Row")

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

    Of those from whom the project is hidden it is one in turn, of the others the one with the most access.
    """
    statuses = dict(zip(PERSONAS, row.split(), strict=True))
    if nightly:
        return statuses
    hidden = [persona for persona in PERSONAS if statuses[persona] == "404"]
    asked = [[*group][-1] for _status, group in groupby(PERSONAS, key=statuses.__getitem__)]
    asked = [persona for persona in asked if persona not in hidden] + [hidden[turn % len(hidden)] for _ in hidden[:1]]
    return {persona: statuses[persona] for persona in asked}


def status_in(row: str, persona: str) -> str:
    return row.split()[PERSONAS.index(persona)]


def done(row: str, status: int = 302) -> str:
    """Return the row of a change, with `status` in place of 200."""
    return row.replace("200", str(status))


def alike(row: Row, names: str) -> dict[str, Row]:
    """Give all these URLs or routes the same row."""
    return dict.fromkeys(names.split(), row)


# fmt: off
TABLE: dict[str, dict[str, str]] = {
    **alike({"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405}, """
        healthz metrics script_words api_docs api_openapi account_inactive account_reset_password
    """),
    **alike({"GET": SIGNED_IN, "POST": EVERYONE_405}, """
        help help_page projects mfa_index signing_keys signing_key_pem
    """),
    **alike({"GET": MEMBERS, "POST": EVERYONE_405}, """
        project guidelines talk guidelines_beside source_page amendments recording recording_file
    """),
    # Tests list no server of models, and send no address of a webhook: the forms say so.
    **alike({"GET": MANAGERS, "POST": done(MANAGERS, 422)}, """
        project_settings patients labels label_edit category_add category_edit label_merge people import injections
        systemic_errors refinements run_combine run_pipeline run_tagger run_flair run_zero_shot run_remote groups
        release_policy certificate_sign known pairs feeds recording_import records record_schemas judge
        run_llm webhooks
    """),
    **alike({"GET": EVERYONE_405, "POST": done(MANAGERS)}, """
        project_archive project_restore fill_notes begin_annotating notes_assign notes_delete category_move
        label_move member_role
        label_mapping_delete judging_again run_start run_rename run_retry model_rename model_retire model_enough
        calibration_start calibration_withdraw job_start_import group_remove release_export release_prepare
        release_withdraw release_decide archive_start known_lists webhook_resend audit_start audit_discard
        audit_decide gaps_judge pair_settle record_release record_export
        surrogates_merge surrogate_change surrogate_scores_start
    """),
    **alike({"GET": EVERYONE_405, "POST": done(ANNOTATORS)}, """
        take_back_notes start_annotations submit reopen comments flag
    """),
    **alike({"GET": MANAGERS, "POST": done(MANAGERS)}, """
        guidelines_edit skill note_delete member_remove import_preview amend run_placeholders known_upload webhook
        feed record_schema
    """),
    **alike({"GET": MANAGERS, "POST": EVERYONE_405}, """
        skills import_report audit injection injected_errors releases release release_findings release_note
        release_policies archive_file known_lists_csv known_people audit_leaks record surrogate
        archive_export
    """),
    **alike({"GET": ALL_NOTES, "POST": EVERYONE_405}, """
        note gold gold_version gold_changes gold_statistics scores score acceptance agreement disagreements
        disagreement_sentences runs run judgings judging judging_entities runs_compare strategies loop models model
        backends calibration jobs job recordings
    """),
    **alike({"GET": EVERYONE_405, "POST": done(REVIEWERS)}, """
        region_mark region_decide
        note_gold note_gold_withdraw gold_freeze score_error_cause bulk_start bulk_undo disagreement_cause
        adjudicate_unanimous majority_undo adjudicate_finish adjudicate_reopen runs_together review_finish
        review_reopen job_cancel job_pause job_resume job_retry job_start_export notes_export job_start_gold audit_next
        audit_finish audit_reopen majority_start
    """),
    **alike({"GET": ANNOTATORS, "POST": EVERYONE_405}, """
        annotate candidates note_data spans
    """),
    **alike({"GET": REVIEWERS, "POST": EVERYONE_405}, """
        comments_export export note_original file_download review_strings review_bulk decisions_export agreement_table
        sentences_export majority majority_act adjudicate adjudicate_state run_rewritten model_file review
        review_state certificate_json certificate_pdf audits release_audit reviews adjudications
    """),
    **alike({"GET": EVERYONE_405, "POST": done(REVIEWERS, 422)}, """
        gold_split loop_freeze
    """),
    **alike({"GET": EVERYONE_405, "POST": done(ALL_NOTES)}, """
        statistics_start compare_start job_start_score agreement_start
    """),
    **alike({"GET": done(REVIEWERS), "POST": EVERYONE_405}, """
        score_errors_export adjudicate_next review_next audit_read
    """),
    **alike({"GET": REVIEWERS, "POST": done(MANAGERS)}, """
        label_mappings label_mapping
    """),
    **alike({"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")}, """
        adjudicate_cause review_decide note_surrogates review_strings_decide audit_mark
    """),
    **alike({"GET": EVERYONE_405, "POST": done(MANAGERS, 422)}, """
        model_train model_upload
    """),
    **alike({"GET": SIGNED_IN, "POST": done(SIGNED_IN, 422)}, """
        api_tokens certificate_verify
    """),
    **alike({"GET": SIGNED_IN, "POST": SIGNED_IN}, """
        account_reauthenticate account_change_password
    """),
    # Tests configure no provider here; those that do are in tests/providers.
    **alike({"GET": "404 404 404 404 404 404 404 404", "POST": OPEN_405}, """
        openid_connect_callback openid_connect_login saml_login saml_finish_acs saml_sls saml_metadata
    """),
    **alike({"GET": OPEN_405, "POST": "404 404 404 404 404 404 404 404"}, """
        oidc_logout saml_acs
    """),
    **alike({"GET": LEADS_ON, "POST": LEADS_ON}, """
        mfa_authenticate mfa_reauthenticate mfa_activate_totp mfa_generate_recovery_codes
    """),
    **alike({"GET": NOBODY, "POST": NOBODY}, """
        mfa_deactivate_totp mfa_download_recovery_codes archive_claim
    """),
    # Nothing was compared or computed here, and no other run is there: redirects to the page that says so.
    **alike({"GET": done(ALL_NOTES), "POST": EVERYONE_405}, "score_errors compare_spans agreement_progress"),
    # The project is open, and the archive is none: redirects to the page that says so.
    **alike({"GET": done(MANAGERS), "POST": done(MANAGERS)}, "project_delete archive_confirm"),
    # Used labels and categories with labels are refused with a conflict.
    **alike({"GET": MANAGERS, "POST": done(MANAGERS, 409)}, "label_delete category_delete"),
    # A POST without more is a preview.
    **alike({"GET": MANAGERS, "POST": MANAGERS}, "release_new known_person surrogates"),
    # The bulk act was small, so there is no job; nobody reads a note of the audit.
    **alike({"GET": done(REVIEWERS, 404), "POST": EVERYONE_405}, "bulk_job audit_listen"),
    "readyz": {"GET": "503 503 503 503 503 503 503 503", "POST": OPEN_405},  # without Redis
    # Reviewers and managers may annotate, but have no notes assigned here, and get a page that says so.
    "next_note": {"GET": "302 404 403 302 200 200 404 404", "POST": EVERYONE_405},
    # Only the person who searched, the annotator, sees the results.
    "search_results": {"GET": "302 404 404 200 404 404 404 404", "POST": EVERYONE_405},
    # Nothing is adjudicated here, so nobody sees an outcome.
    "outcome": {"GET": "302 404 403 404 404 404 404 404", "POST": EVERYONE_405},
    # The token of the world belongs to nobody here.
    "api_token_revoke": {"GET": EVERYONE_405, "POST": NOBODY},
    # The key is not valid, and the page says so.
    "account_reset_password_from_key": {"GET": "200 200 200 200 200 200 200 200",
                                        "POST": "200 200 200 200 200 200 200 200"},
    # Nobody set up an authenticator app, so everybody is led to the page that does.
    "second_factor": {"GET": LEADS_ON, "POST": EVERYONE_405},
    # The admin: people without staff rights are redirected to the sign-in page, which says that the admin is closed.
    **alike({"GET": STAFF, "POST": STAFF}, "admin:index admin:app_list admin:auth_user_password_change"),
    **alike({"GET": STAFF, "POST": STAFF_405}, "admin:password_change_done admin:jsi18n"),
    **alike({"GET": STAFF_404, "POST": STAFF_404}, "admin:view_on_site admin/(?P<url>.*)$"),
    "admin:login": {"GET": "302 403 403 403 403 403 403 302", "POST": "302 403 403 403 403 403 403 302"},
    "admin:logout": {"GET": done(STAFF, 405), "POST": LEADS_ON},
    "admin:password_change": {"GET": STAFF_302, "POST": STAFF_302},  # redirects to the page that counts wrong passwords
    "admin:autocomplete": {"GET": STAFF_403, "POST": STAFF_405},
    "project_new": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 302 302 302"},
    "notes": {"GET": MEMBERS, "POST": done(MEMBERS)},
    "changes": {"GET": EVERYONE_405, "POST": ANNOTATORS.replace("302", "401")},
    "keys": {"GET": ANNOTATORS, "POST": done(ANNOTATORS)},
    "search": {"GET": MEMBERS, "POST": done(MEMBERS, 303)},
    "places": {"GET": EVERYONE_405, "POST": MEMBERS},
    "my_places": {"GET": EVERYONE_405, "POST": SIGNED_IN},
    "member_link": {"GET": EVERYONE_405, "POST": MANAGERS},
    "export_preview": {"GET": EVERYONE_405, "POST": REVIEWERS},
    "review_string": {"GET": REVIEWERS, "POST": done(REVIEWERS, 303)},
    "review_bulk_new": {"GET": REVIEWERS, "POST": done(REVIEWERS, 422)},
    "disagreement_talk": {"GET": ALL_NOTES, "POST": "302 404 403 403 302 302 404 404"},
    "adjudicate_decide": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 409).replace("302", "401")},
    "job_of_import": {"GET": "302 404 403 403 403 404 404 404", "POST": EVERYONE_405},
    "account_login": {"GET": "200 302 302 302 302 302 302 302", "POST": "200 302 302 302 302 302 302 302"},
    "account_logout": {"GET": SIGNED_IN, "POST": LEADS_ON},
    "account_signup": {"GET": "403 403 403 403 403 403 403 403", "POST": OPEN_405},
    "mfa_view_recovery_codes": {"GET": NOBODY, "POST": EVERYONE_405},
    "archive_import": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 422 422 422"},
}
# fmt: on

# Most models are read-only. Accounts can be created and changed, sign-in attempts deleted (which ends a lock).
for _model, _change, _add, _delete in (
    *((f"annotations_{name}", STAFF_403, STAFF_403, STAFF_403) for name in ("project", "membership", "labelset")),
    *((f"axes_{name}", STAFF_403, STAFF_403, STAFF_403) for name in ("accesslog", "accessfailurelog")),
    ("annotations_user", STAFF, STAFF, STAFF_403),
    ("axes_accessattempt", STAFF_302, STAFF_403, STAFF),
):
    TABLE |= {
        **alike({"GET": STAFF, "POST": STAFF}, f"admin:{_model}_changelist admin:{_model}_history"),
        f"admin:{_model}_change": {"GET": STAFF, "POST": _change},
        f"admin:{_model}_add": {"GET": _add, "POST": _add},
        f"admin:{_model}_delete": {"GET": _delete, "POST": _delete},
        f"admin/{_model.replace('_', '/')}/<path:object_id>/": {"GET": STAFF_302, "POST": STAFF_302},
    }
# SCIM needs the token of a provider, which nobody has by a session (tests/providers/scim).
for _name in (
    "users", "users_search", "user", "groups", "groups_search", "group", "search", "config", "resource_types",
    "resource_type", "schemas", "schema",
):  # fmt: skip
    TABLE[f"scim_{_name}"] = {"GET": NO_TOKEN, "POST": NO_TOKEN}
