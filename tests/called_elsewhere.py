"""Names that no Python code of ours uses, although they are needed. Only vulture reads this file (`pyproject.toml`).

Remove a name from here when it is removed from the code.
"""

# Used by templates and scripts.
_.actions
_.all_or_nothing
_.already_there
_.annotates
_.annotator
_.application
_.borrower
_.by_pass
_.can_cancel
_.can_resend
_.can_resume
_.cause_names
_.cause_rows
_.cause_total
_.cleared
_.continues
_.cut_after
_.cut_before
_.deleted
_.differs
_.edited
_.erased_notes
_.erased_patients
_.footnote
_.full_revision
_.given_agree
_.given_share
_.gold_end
_.gold_label
_.gold_start
_.has_assignments
_.has_surrogates
_.help_text
_.in_clear
_.is_first
_.is_open
_.itself
_.kept_percent
_.kind_name
_.lends
_.loose
_.may_sign
_.missed_share
_.moved_spans
_.new_name
_.new_slug
_.no_label
_.no_worker
_.ocr_confidence
_.only_gold
_.only_here
_.optional
_.outdated
_.predicted_end
_.predicted_label
_.predicted_start
_.published
_.ratios
_.reads
_.reduced_chips
_.refused_more
_.removed_at
_.requests
_.restorable
_.retries
_.role_name
_.row_head
_.same_category
_.same_spans
_.seed_from
_.source_line
_.span_shares
_.spurious_share
_.state_name
_.teaches
_.token_shares
_.unanswered
_.updated
_.warnings_more
_.withdrawn_at
_.without_cause
_.without_patient

# Columns and choices of tables: stored in rows, or named as keywords in queries.
_.began_at
_.checked_at
_.ABBREVIATION
_.AMBIGUITY
_.DEBATABLE
_.FIVE
_.new_label
_.NOT_A_NOTE
_.refinement
_.SCARCITY
_.SENSITIVE
_.TEN
_.TWENTY
_.UNSURE
_.blind_annotators
_.cleared_by
_.claimed_until
_.decided_at
_.due_at
_.edited_by
_.ended_at
_.erasures
_.finished_by
_.first_at
_.first_year
_.found_empty
_.imported_by
_.joined_at
_.last_job_number
_.last_year
_.random_order
_.raw_confidence
_.read_others_until
_.retired_at
_.revealed_at
_.second_at
_.signed_by

# Named by a dotted path in the settings or in a registry.
_.Apps
_.Directory
_.NamedAccountsOnly
_.OfflineAgent
_.Scim
_.Boundary
_.ChangePassword
_.ChoosePassword
_.ClosedSignup
_.Code
_.CodeAgain
_.ContentSecurityPolicy
_.FirstCode
_.Handler
_.JsonBody
_.LineFormatter
_.LinkTokens
_.LlmBackend
_.LlmJudge
_.agent_at
_.not_applied
_.refinement
_.OfflineAgent
_.NoNoteText
_.PasswordAgain
_.FlairBackend
_.GlinerBackend
_.PipelineBackend
_.RemoteBackend
_.Relexicalizer
_.Renderer
_.RequestLimits
_.SignIn
_.SignInRequired
_.Unsealed
_.StaticFiles
_.Unsealed
_.csrf_failure
_.idle_logoff
_.locked_out
_.lockout_parameters
_.read_servers
_.read_hosts
_.read_remote_models
_.response_headers
_.script_words_address
_.time_zone
_.tokenizer_of
_.upload_limit
_.Watched

# RQ calls or reads these attributes of its worker.
_._horse_pid
_._set_ip_address
_._stop_requested
_.burst
_.check_for_suspension
_.dequeue_job_and_maintain_ttl
_.execute_job
_.last_cleaned_at
_.log_result_lifespan
_.max_connection_wait_time
_.max_idle_time
_.perform_job
_.request_stop
_.setup_work_horse_signals
_.subscribe
_.teardown
_.unsubscribe

# Django calls or reads these of forms, fields, widgets, middleware, checks, log formatters, database wrappers and sessions.
_.SecondFactor
_._session_key
_.add_fields
_.allow_multiple_selected
_.app_configs
_.compress_type
_.create_cursor
_.exc_text
_.field_order
_.field_template_name
_.form_template_name
_.formatException
_.formatStack
_.handle_no_permission
_.key_salt
_.label_from_instance
_.process_exception
_.process_view
_.proxies_named
_.test
_.validateLink
_.value_from_datadict
_.view_func

# allauth, axes and django-auth-ldap call or read these.
_.client_class
_.get_or_build_user
_.openid_config
_.pkce_enabled_default
_.oauth2_adapter_class
_.list_apps
_.is_open_for_signup
_.redirect_from_request
_.get_scope
_.get_redirect_url
_.axes_credentials
_.axes_locked_out
_.get_client_ip
_.get_failures
_.is_open_for_signup
_.remove_out_of_limit_failure_logs

# gunicorn calls or reads these attributes of its worker.
_.data_ready
_.murder_pending
_.on_client_socket_readable

# Django reads it of an object that a prepared statement has inserted.
_.db

# crfsuite, spaCy and pydantic call or read these.
_.d_columns
_.is_train
_.learn_rate
_.model_config
_.on_end
_.on_featgen_end
_.on_featgen_progress
_.on_iteration
_.on_optimization_end
_.on_prepare_error
_.on_prepared
_.on_start

# An enum value that is a default, and a keyword that only some learners get.
_.KEEP
_.adapting

# html.parser, expat and pdfminer.six call or read these.
_.StartDoctypeDeclHandler
_.begin_figure
_.end_figure
_.handle_data
_.handle_endtag
_.handle_startendtag
_.handle_undefined_char
_.paint_path
_.render_image

# Pages and commands that read documents will show it.
_.network_is_cut

# fpdf2 calls it on every page.
_.footer

# The settings for development.
_.ROOT_URLCONF
_.INTERNAL_IPS

# Keys of TypedDicts, which code uses as strings.
_.all_or_nothing_chosen
_.all_or_nothing_pooled
_.amendment
_.author_kind
_.character_recall
_.clopper_pearson_upper
_.confusion
_.date
_.done_at
_.due
_.from_set
_.gold_added
_.gold_is_draft
_.gold_removed
_.governance
_.handed_over
_.handed_over_to
_.hash
_.held_back
_.held_out_notes
_.identifiability
_.issued_at
_.issued_by
_.layout
_.leased_until
_.meddocan
_.met
_.missed_by_all
_.new_name
_.new_slug
_.no_interval
_.notes_without_patient
_.optional
_.own_gold_spans
_.per_note
_.project_name
_.projected
_.refused_files
_.rewritten_substring
_.same_label
_.split_of_version
_.stored_files
_.suggested_end
_.suggested_label
_.suggested_start
_.uploaded
_.with_miss

# Measures of surrogates, which are stored by their names (annotations.domain.surrogates.measures.Measures.as_dict).
_.collisions
_.consistent
_.originals_left
_.preserved

# Fields of a person of a patient master, which are read by their names (annotations.domain.knowing.person.FIELDS).
_.insurance
_.national_ids
_.phones
_.records
_.sex
_.zips

# Keys of the command's result, and counts on the page of known identifiers.
_.notes_without_row
_.patients_without_notes
_.uncovered

# socketserver and wsgiref call or read these of a server.
_.address_family
_.daemon_threads
_.handle_error
_.log_message
_.server_bind
_.server_name

# Settings of expat's parser.
_.EndElementHandler
_.ProcessingInstructionHandler
_.StartElementHandler
_.ordered_attributes

# A column that filters of SCIM name as text, and fields of its resources.
_.name_key
_.primary
_.ref

# Called by django-ninja.
_.get_openapi_operation_id
_.get_operation_url_name
_.on_exception
_.openapi_description
_.parse_body

# Fields of the API's schemas.
_.changed_at
_.confidences
_.first_review
_.found_by_hand
_.leaks_found
_.preview_with_doubtful
_.preview_with_gold
_.reviewers
_.sends_to
_.started_by
_.adjudication
_.assigned_at
_.backups
_.hidden_models
_.may_take_over
_.more_spans
_.without_gold
_.accepted_by
_.formats
_.in_two_splits
_.notes_by_state
_.release_state
_.reopens

# Fields of refinements that are read by their names, what a job loads by its path, and a relation for queries.
_.OfflineAgent
_.calls
_.not_applied
_.refinement
_.switched_off
_.masking_threshold
_.threshold_for
_.on_hold_out

# Fields of cards that templates, the API and files read by their names.
_.held_out_sha256
_.refit_most
_.refit_elsewhere

# Figures and choices that only the API and commands give, by their names.
_.errors_by_category
_.rules_as_features

# What people use with Spark (docs/bulk.md).
SPARK_SCHEMA
