"""Who may do what, for every URL there is: a row for each. Read by test_access_matrix.py."""

PERSONAS = ["anonymous", "stranger", "viewer", "annotator", "reviewer", "manager", "rival", "administrator"]
# stranger: signed in, in no project. rival: manager of another project. administrator: staff, in no project.
# A row gives the status for each, in this order. 302 of anonymous is the way to the sign-in page; 404 keeps a project's
# existence from strangers; 403 is for members who lack the right; 405 is the wrong method.
EVERYONE_405 = "302 405 405 405 405 405 405 405"
OPEN_405 = "405 405 405 405 405 405 405 405"
MEMBERS = "302 404 200 200 200 200 404 404"
READERS = "302 404 200 403 200 200 404 404"  # all roles that read every note
ANNOTATORS = "302 404 403 200 200 200 404 404"
REVIEWERS = "302 404 403 403 200 200 404 404"
MANAGERS = "302 404 403 403 403 200 404 404"
SIGNED_IN = "302 200 200 200 200 200 200 200"
LEADS_ON = "302 302 302 302 302 302 302 302"
NOBODY = "302 404 404 404 404 404 404 404"
STAFF = "302 302 302 302 302 302 302 200"
STAFF_302 = "302 302 302 302 302 302 302 302"
STAFF_403 = "302 302 302 302 302 302 302 403"
STAFF_405 = "302 302 302 302 302 302 302 405"
STAFF_404 = "302 302 302 302 302 302 302 404"


def done(row: str, status: int = 302) -> str:
    """The row of a change: where a look gives 200, the change ends in `status`."""
    return row.replace("200", str(status))


# fmt: off
TABLE: dict[str, dict[str, str]] = {
    "healthz": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "script_words": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},

    # Projects
    "projects": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "project_new": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 302 302 302"},
    "project": {"GET": MEMBERS, "POST": EVERYONE_405},
    "project_settings": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "assign_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "fill_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "guidelines": {"GET": MEMBERS, "POST": EVERYONE_405},
    "guidelines_edit": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "patients": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},

    # Notes
    "notes": {"GET": MEMBERS, "POST": done(MEMBERS)},
    "note": {"GET": READERS, "POST": EVERYONE_405},
    "note_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "note_gold_withdraw": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Reviewers and managers may annotate, but have no notes given to them here: the page that says so.
    "next_note": {"GET": "302 404 403 302 200 200 404 404", "POST": EVERYONE_405},
    "annotate": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "note_data": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "changes": {"GET": EVERYONE_405, "POST": ANNOTATORS.replace("302", "401")},
    "spans": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "submit": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "reopen": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},

    # Comments, flags, keys, search
    "talk": {"GET": MEMBERS, "POST": EVERYONE_405},
    "comments": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "flag": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "guidelines_beside": {"GET": MEMBERS, "POST": EVERYONE_405},
    "keys": {"GET": ANNOTATORS, "POST": done(ANNOTATORS)},
    "search": {"GET": MEMBERS, "POST": done(MEMBERS, 303)},
    # Only who searched sees what was found: the annotator.
    "search_results": {"GET": "302 404 404 200 404 404 404 404", "POST": EVERYONE_405},

    # Labels, people
    "labels": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "label_edit": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "label_merge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "people": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "member_role": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "member_remove": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "member_link": {"GET": EVERYONE_405, "POST": MANAGERS},

    # Import, gold, export, audit
    "import": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "import_preview": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "import_report": {"GET": MANAGERS, "POST": EVERYONE_405},

    "gold": {"GET": READERS, "POST": EVERYONE_405},
    "gold_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "gold_version": {"GET": READERS, "POST": EVERYONE_405},
    "gold_changes": {"GET": READERS, "POST": EVERYONE_405},
    "gold_split": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "scores": {"GET": READERS, "POST": EVERYONE_405},
    "score": {"GET": READERS, "POST": EVERYONE_405},
    # Nothing was compared here: back to the score, which says so.
    "score_places": {"GET": done(READERS), "POST": EVERYONE_405},
    "export": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "file_download": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "audit": {"GET": MANAGERS, "POST": EVERYONE_405},

    # Review of many proposals
    "review_strings": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_string": {"GET": REVIEWERS, "POST": done(REVIEWERS, 303)},
    "review_bulk_new": {"GET": REVIEWERS, "POST": done(REVIEWERS, 422)},
    "review_bulk": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "bulk_start": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "bulk_undo": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # It was small: there is no job.
    "bulk_job": {"GET": done(REVIEWERS, 404), "POST": EVERYONE_405},
    "acceptance": {"GET": READERS, "POST": EVERYONE_405},
    "decisions_export": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Agreement and runs
    "agreement": {"GET": READERS, "POST": EVERYONE_405},
    "disagreements": {"GET": READERS, "POST": EVERYONE_405},
    "disagreement_cause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "disagreement_talk": {"GET": READERS, "POST": "302 404 403 403 302 302 404 404"},
    "amendments": {"GET": MEMBERS, "POST": EVERYONE_405},
    "amend": {"GET": MANAGERS, "POST": done(MANAGERS)},
    # The note has one submitted reading only: there is nothing to adjudicate, and to close, yet.
    "adjudications": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "adjudicate_unanimous": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_decide": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 409).replace("302", "401")},
    "adjudicate_cause": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "adjudicate_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_close": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Nothing is adjudicated here: nobody sees an outcome.
    "outcome": {"GET": "302 404 403 404 404 404 404 404", "POST": EVERYONE_405},
    "runs": {"GET": READERS, "POST": EVERYONE_405},
    "run": {"GET": READERS, "POST": EVERYONE_405},
    "judgings": {"GET": READERS, "POST": EVERYONE_405},
    # No server is listed in tests: the form says so.
    "judge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "judging": {"GET": READERS, "POST": EVERYONE_405},
    "judging_places": {"GET": READERS, "POST": EVERYONE_405},
    "judging_again": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "runs_compare": {"GET": READERS, "POST": EVERYONE_405},
    # One reader alone can't be compared: back to the choice, which says so.
    "compare_places": {"GET": done(READERS), "POST": EVERYONE_405},
    "compare_start": {"GET": EVERYONE_405, "POST": done(READERS)},
    "run_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    # No server is listed in tests: the form says so.
    "run_llm": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "runs_together": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "run_combine": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_pipeline": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_tagger": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_retry": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Trained models
    "loop": {"GET": READERS, "POST": EVERYONE_405},
    "loop_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "models": {"GET": READERS, "POST": EVERYONE_405},
    "model": {"GET": READERS, "POST": EVERYONE_405},
    "model_train": {"GET": EVERYONE_405, "POST": done(MANAGERS, 422)},
    "model_upload": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_rename": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_retire": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_enough": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_file": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Backends, calibrations
    "backends": {"GET": READERS, "POST": EVERYONE_405},
    "calibration": {"GET": READERS, "POST": EVERYONE_405},
    "calibration_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "calibration_withdraw": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Review
    "review_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "review": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_decide": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "review_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_close": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "review_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},

    # Jobs
    "jobs": {"GET": READERS, "POST": EVERYONE_405},
    "job": {"GET": READERS, "POST": EVERYONE_405},
    "job_cancel": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_pause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_resume": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_retry": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_import": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "job_of_import": {"GET": "302 404 403 403 403 404 404 404", "POST": EVERYONE_405},
    "job_start_export": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_score": {"GET": EVERYONE_405, "POST": done(READERS)},
    "job_start_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "agreement_start": {"GET": EVERYONE_405, "POST": done(READERS)},
    "agreement_progress": {"GET": done(READERS), "POST": EVERYONE_405},

    # Accounts
    "account_login": {"GET": "200 302 302 302 302 302 302 302", "POST": "200 302 302 302 302 302 302 302"},
    "account_logout": {"GET": SIGNED_IN, "POST": LEADS_ON},
    "account_inactive": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_signup": {"GET": "403 403 403 403 403 403 403 403", "POST": OPEN_405},
    "account_reauthenticate": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_change_password": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_reset_password": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_reset_password_from_key_done": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    # Without a valid key: the page that says so.
    "account_reset_password_from_key": {"GET": "200 200 200 200 200 200 200 200",
                                        "POST": "200 200 200 200 200 200 200 200"},
    "mfa_index": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "mfa_authenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_reauthenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_activate_totp": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_deactivate_totp": {"GET": NOBODY, "POST": NOBODY},
    "mfa_view_recovery_codes": {"GET": NOBODY, "POST": EVERYONE_405},
    "mfa_generate_recovery_codes": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_download_recovery_codes": {"GET": NOBODY, "POST": NOBODY},

    # The admin: a stranger to staff rights is sent to the sign-in page, which tells the signed-in that it is closed.
    "admin:index": {"GET": STAFF, "POST": STAFF},
    "admin:login": {"GET": "302 403 403 403 403 403 403 302", "POST": "302 403 403 403 403 403 403 302"},
    "admin:logout": {"GET": done(STAFF, 405), "POST": LEADS_ON},
    "admin:password_change": {"GET": STAFF_302, "POST": STAFF_302},  # to the page that counts wrong passwords
    "admin:password_change_done": {"GET": STAFF, "POST": STAFF_405},
    "admin:autocomplete": {"GET": STAFF_403, "POST": STAFF_405},
    "admin:jsi18n": {"GET": STAFF, "POST": STAFF_405},
    "admin:view_on_site": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:app_list": {"GET": STAFF, "POST": STAFF},
    "admin/(?P<url>.*)$": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:auth_user_password_change": {"GET": STAFF, "POST": STAFF},
}
# fmt: on

# Looked at only; an account can be made and changed, an attempt to sign in deleted (which unlocks).
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
for _path in (
    "annotations/user", "annotations/project", "annotations/membership", "annotations/labelset",
    "axes/accessattempt", "axes/accesslog", "axes/accessfailurelog",
):  # fmt: skip
    TABLE[f"admin/{_path}/<path:object_id>/"] = {"GET": STAFF_302, "POST": STAFF_302}
