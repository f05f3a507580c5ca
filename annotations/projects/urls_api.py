from django.urls import URLPattern, URLResolver, path

from annotations.core.api.mount import addresses
from annotations.projects.views import api_docs as docs
from annotations.projects.views import tokens

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/docs", docs.docs, name="api_docs"),
    path("api/openapi.json", docs.openapi, name="api_openapi"),
    path("account/tokens/", tokens.tokens, name="api_tokens"),
    path("account/tokens/<int:pk>/revoke", tokens.revoke, name="api_token_revoke"),
    addresses(),
]
