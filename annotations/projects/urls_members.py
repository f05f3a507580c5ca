from allauth.account import views as account
from django.urls import URLPattern, URLResolver, include, path, re_path

from annotations.projects.views import members, signing_in

# The part of django-allauth that is used: no e-mail, no open sign-up, no sign-in codes by mail.
_SIGN_IN = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("signup/", signing_in.signup_closed, name="account_signup"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", signing_in.password_change, name="account_change_password"),
    path("password/reset/", signing_in.password_forgotten, name="account_reset_password"),
    path(
        "password/reset/key/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("second-factor/", signing_in.second_factor, name="second_factor"),
    path("2fa/", include("allauth.mfa.urls")),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", include(_SIGN_IN)),
    path("projects/<slug:slug>/people/", members.people, name="people"),
    path("projects/<slug:slug>/people/<int:pk>/role", members.member_role, name="member_role"),
    path("projects/<slug:slug>/people/<int:pk>/remove/", members.member_remove, name="member_remove"),
    path("projects/<slug:slug>/people/<int:pk>/link", members.member_link, name="member_link"),
]
