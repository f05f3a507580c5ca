from django.urls import URLPattern, URLResolver, include, path

from annotations.providers.views import groups, oidc, saml

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
urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", include(_PROVIDERS)),
    path("projects/<slug:slug>/groups/", groups.groups, name="groups"),
    path("projects/<slug:slug>/groups/<int:pk>/remove", groups.group_remove, name="group_remove"),
]
