from django.urls import URLPattern, URLResolver, include, path

from annotations.projects.views import groups, oidc, saml, scim

# The names are those by which allauth finds the pages.
_PROVIDERS = [
    path("oidc/<slug:provider_id>/", oidc.login, name="openid_connect_login"),
    path("oidc/<slug:provider_id>/callback/", oidc.callback, name="openid_connect_callback"),
    path("oidc/<slug:provider_id>/logout", oidc.back_channel_logout, name="oidc_logout"),
    path("saml/<slug:provider_id>/", saml.login, name="saml_login"),
    path("saml/<slug:provider_id>/acs/", saml.acs, name="saml_acs"),
    path("saml/<slug:provider_id>/acs/finish/", saml.finish, name="saml_finish_acs"),
    path("saml/<slug:provider_id>/sls/", saml.sls, name="saml_sls"),
    path("saml/<slug:provider_id>/metadata/", saml.metadata, name="saml_metadata"),
]
_SCIM = [
    path("Users", scim.users, name="scim_users"),
    path("Users/.search", scim.users_search, name="scim_users_search"),
    path("Users/<uuid:pk>", scim.user, name="scim_user"),
    path("Groups", scim.groups, name="scim_groups"),
    path("Groups/.search", scim.groups_search, name="scim_groups_search"),
    path("Groups/<uuid:pk>", scim.group, name="scim_group"),
    path(".search", scim.search, name="scim_search"),
    path("ServiceProviderConfig", scim.config, name="scim_config"),
    path("ResourceTypes", scim.resource_types, name="scim_resource_types"),
    path("ResourceTypes/<str:key>", scim.resource_types, name="scim_resource_type"),
    path("Schemas", scim.schemas, name="scim_schemas"),
    path("Schemas/<str:key>", scim.schemas, name="scim_schema"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", include(_PROVIDERS)),
    path("scim/v2/<slug:provider_id>/", include(_SCIM)),
    path("projects/<slug:slug>/groups/", groups.groups, name="groups"),
    path("projects/<slug:slug>/groups/<int:pk>/remove", groups.group_remove, name="group_remove"),
]
