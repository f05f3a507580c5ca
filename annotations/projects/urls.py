from allauth.account import views as account
from django.urls import URLPattern, URLResolver, include, path, re_path

from annotations.projects.rules import OidcProvider, SamlProvider
from annotations.projects.views import help, labels, members, projects
from annotations.projects.views.providers import scim, signing_in

# The part of django-allauth that is used: no e-mail, no open sign-up, no sign-in codes by mail.
_SIGN_IN = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("signup/", members.signup_closed, name="account_signup"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", members.password_change, name="account_change_password"),
    path("password/reset/", members.password_forgotten, name="account_reset_password"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("second-factor/", members.second_factor, name="second_factor"),
    path("2fa/", include("allauth.mfa.urls")),
]
_GET, _POST = ("GET", "HEAD"), ("POST",)
# allauth finds the pages by these names.
_PROVIDERS = [
    path(address, signing_in(kind, view, *methods), name=name)
    for address, kind, view, methods, name in (
        ("oidc/<slug:provider_id>/", OidcProvider, "oidc.login", _GET, "openid_connect_login"),
        ("oidc/<slug:provider_id>/callback/", OidcProvider, "oidc.callback", _GET, "openid_connect_callback"),
        ("oidc/<slug:provider_id>/logout", OidcProvider, "oidc.back_channel_logout", _POST, "oidc_logout"),
        ("saml/<slug:provider_id>/", SamlProvider, "saml.login", _GET, "saml_login"),
        ("saml/<slug:provider_id>/acs/", SamlProvider, "saml.acs", _POST, "saml_acs"),
        ("saml/<slug:provider_id>/acs/finish/", SamlProvider, "saml.finish", _GET, "saml_finish_acs"),
        ("saml/<slug:provider_id>/sls/", SamlProvider, "saml.sls", _GET, "saml_sls"),
        ("saml/<slug:provider_id>/metadata/", SamlProvider, "saml.metadata", _GET, "saml_metadata"),
    )
]
_SCIM = [
    path("Users", scim("all_of_kind"), {"kind": "Users"}, name="scim_users"),
    path("Users/.search", scim("search"), {"kind": "Users"}, name="scim_users_search"),
    path("Users/<uuid:pk>", scim("one_of_kind"), {"kind": "Users"}, name="scim_user"),
    path("Groups", scim("all_of_kind"), {"kind": "Groups"}, name="scim_groups"),
    path("Groups/.search", scim("search"), {"kind": "Groups"}, name="scim_groups_search"),
    path("Groups/<uuid:pk>", scim("one_of_kind"), {"kind": "Groups"}, name="scim_group"),
    path(".search", scim("search"), name="scim_search"),
    path("ServiceProviderConfig", scim("config"), name="scim_config"),
    path("ResourceTypes", scim("resource_types"), name="scim_resource_types"),
    path("ResourceTypes/<str:key>", scim("resource_types"), name="scim_resource_type"),
    path("Schemas", scim("schemas"), name="scim_schemas"),
    path("Schemas/<str:key>", scim("schemas"), name="scim_schema"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", projects.projects, name="projects"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/begin", projects.begin_annotating, name="begin_annotating"),
    path("projects/<slug:slug>/audit/", projects.audit, name="audit"),
    path("projects/<slug:slug>/people/", members.people, name="people"),
    path("projects/<slug:slug>/people/<int:pk>/role", members.member_role, name="member_role"),
    path("projects/<slug:slug>/people/<int:pk>/remove/", members.member_remove, name="member_remove"),
    path("projects/<slug:slug>/people/<int:pk>/link", members.member_link, name="member_link"),
    path("projects/<slug:slug>/groups/", members.groups, name="groups"),
    path("projects/<slug:slug>/groups/<int:pk>/remove", members.group_remove, name="group_remove"),
    path("projects/<slug:slug>/labels/", labels.labels, name="labels"),
    path("projects/<slug:slug>/labels/<int:pk>/", labels.label_edit, name="label_edit"),
    path("projects/<slug:slug>/labels/<int:pk>/delete/", labels.label_delete, name="label_delete"),
    path("projects/<slug:slug>/labels/<int:pk>/move", labels.label_move, name="label_move"),
    path("projects/<slug:slug>/labels/<int:pk>/merge/", labels.label_merge, name="label_merge"),
    path("projects/<slug:slug>/categories/new", labels.category_add, name="category_add"),
    path("projects/<slug:slug>/categories/<int:pk>/", labels.category_edit, name="category_edit"),
    path("projects/<slug:slug>/categories/<int:pk>/move", labels.category_move, name="category_move"),
    path("projects/<slug:slug>/categories/<int:pk>/delete/", labels.category_delete, name="category_delete"),
    path("projects/<slug:slug>/guidelines/", projects.guidelines, name="guidelines"),
    path("projects/<slug:slug>/guidelines/edit/", projects.guidelines_edit, name="guidelines_edit"),
    path("projects/<slug:slug>/guidelines/beside", projects.guidelines_beside, name="guidelines_beside"),
    path("projects/<slug:slug>/settings/", projects.project_settings, name="project_settings"),
    path("projects/<slug:slug>/settings/archive", projects.archive, name="project_archive"),
    path("projects/<slug:slug>/settings/restore", projects.restore, name="project_restore"),
    path("projects/<slug:slug>/settings/fill", projects.fill_notes, name="fill_notes"),
    path("accounts/", include(_SIGN_IN)),
    path("accounts/", include(_PROVIDERS)),
    path("account/tokens/", members.tokens, name="api_tokens"),
    path("account/tokens/<int:pk>/revoke", members.revoke, name="api_token_revoke"),
    path("scim/v2/<slug:provider_id>/", include(_SCIM)),
    path("help/", help.page, name="help"),
    path("help/<slug:name>/", help.page, name="help_page"),
    path("api/docs", help.docs, name="api_docs"),
    path("api/openapi.json", help.openapi, name="api_openapi"),
]
