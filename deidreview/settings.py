"""All configuration. The environment is read and checked only here.

A malformed value stops the start with one line: ImproperlyConfigured names the variable and its valid values.
"""

import os
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import environ
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from redis.connection import parse_url

from annotations.installation import CODE, SHIPPED, data_folder
from annotations.ops.rules import read_hosts
from annotations.projects.rules import LdapDirectory, Provider, is_loopback, read
from deidreview import VERSION as VERSION
from models_runtime.backends.llm.servers import read_servers
from models_runtime.backends.remote.servers import read_remote_models

env = environ.Env()


def _yes_no(name: str) -> bool:
    """Read a switch strictly: a typing error must not silently switch HTTPS off."""
    value = str(env.str(name, default="")).strip().lower()
    if value in ("true", "yes", "on", "1"):
        return True
    if value in ("false", "no", "off", "0", ""):
        return False
    raise ImproperlyConfigured(f"{name}: “{value}” is not true or false.")


def _one_of(name: str, default: str, choices: list[str]) -> str:
    value = str(env.str(name, default=default)) or default
    if value not in choices:
        raise ImproperlyConfigured(f"{name}: “{value}” is not one of {', '.join(choices)}.")
    return value


def _time_zone() -> str:
    value = str(env.str("TZ", default="UTC")) or "UTC"
    try:
        return ZoneInfo(value).key
    except (KeyError, ValueError, OSError) as error:
        raise ImproperlyConfigured(f"TZ: “{value}” is not a time zone name such as Europe/Rome.") from error


def _number(name: str, default: int, least: int = 1) -> int:
    try:
        value: int = env.int(name, default=default)
    except (ValueError, environ.ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name}: “{env.str(name, default='')}” is not a whole number.") from error
    if value < least:
        raise ImproperlyConfigured(f"{name}: {value} is below {least}. Set it to {least} or more.")
    return value


# ── Where data lives ─────────────────────────────────────────────────────────────────────────────────────────────────
DATA_DIR = data_folder(os.environ)
DEMO = _yes_no("DEIDREVIEW_DEMO")
DEBUG = _yes_no("DEIDREVIEW_DEBUG")


def _secret_key() -> str:
    """Read the key from the environment, otherwise from the file in the data folder. There is no built-in key."""
    key = str(env.str("DEIDREVIEW_SECRET_KEY", default=""))
    file = DATA_DIR / "secret_key"
    if not key and file.is_file():
        key = file.read_text().strip()
    if len(key) < 40:
        raise ImproperlyConfigured(
            "DEIDREVIEW_SECRET_KEY: Set a random value of at least 40 characters. "
            f"Neither the environment nor {file}, where `make run` writes one, has such a value."
        )
    return key


SECRET_KEY = _secret_key()
ALLOWED_HOSTS: list[str] = env.list("DEIDREVIEW_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("DEIDREVIEW_ORIGINS", default=[])
if not all(origin.startswith(("https://", "http://")) for origin in CSRF_TRUSTED_ORIGINS):
    raise ImproperlyConfigured("DEIDREVIEW_ORIGINS: Every origin must begin with https:// or http://.")
HTTPS = _yes_no("DEIDREVIEW_HTTPS")
# How many proxies of the deployment each request passes. That many addresses at the end of X-Forwarded-For are trusted.
PROXIES = _number("DEIDREVIEW_PROXIES", 0, least=0)

# ── Database ─────────────────────────────────────────────────────────────────────────────────────────────────────────
DEFAULT_DATABASE_URL = f"sqlite:///{quote(str(DATA_DIR / 'deidreview.sqlite3'))}"


def _database() -> dict[str, Any]:
    url = str(env.str("DATABASE_URL", default=DEFAULT_DATABASE_URL))
    if not url.startswith(("postgres://", "postgresql://", "sqlite:///")):
        raise ImproperlyConfigured("DATABASE_URL: Only postgres:// and sqlite:/// are supported.")
    try:
        config: dict[str, Any] = dict(env.db_url_config(url))
    except Exception as error:
        raise ImproperlyConfigured(
            "DATABASE_URL: The value is not a database URL (postgres://… or sqlite:///…)."
        ) from error
    if url.startswith("sqlite"):
        config["ENGINE"] = "deidreview.sqlite3"
        config["OPTIONS"] = {
            # IMMEDIATE: a writing transaction waits for its turn at its start instead of failing half way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            # FULL: an acknowledged span is on disk.
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
                # A long log: a page that many changes touch is copied to the database file once for all of them.
                "PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-8000; PRAGMA mmap_size=134217728; "
                # Deleted text is overwritten in the file. One large import must not leave a log of gigabytes behind.
                "PRAGMA secure_delete=ON; PRAGMA journal_size_limit=67108864;"
            ),
        }
    else:
        config["CONN_HEALTH_CHECKS"] = True
    config["CONN_MAX_AGE"] = None
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ── Queue ────────────────────────────────────────────────────────────────────────────────────────────────────────────
REDIS_URL: str = env.str("REDIS_URL", default=f"unix://{quote(str(DATA_DIR / 'redis' / 'redis.sock'))}")


def _check_redis(url: str) -> None:
    """Require authentication over a network: whoever writes to Redis decides which jobs workers look at, and when."""
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured("REDIS_URL: The value must begin with redis://, rediss:// or unix://.")
    try:
        parts: Any = parse_url(url)  # type: ignore[no-untyped-call]  # redis has no types there
    except ValueError as error:
        raise ImproperlyConfigured(
            "REDIS_URL: The value is not a Redis URL such as redis://:password@host:6379/0."
        ) from error
    if url.startswith("redis://") and not parts.get("password") and not is_loopback(parts.get("host", "localhost")):
        raise ImproperlyConfigured(
            "REDIS_URL: A Redis on another machine needs a password (redis://:password@host:6379/0) or TLS (rediss://)."
        )


_check_redis(REDIS_URL)
# JSON, not pickle: a second barrier, since workers read no data of RQ's jobs (annotations.jobs.services.worker).
_QUEUE = {"URL": REDIS_URL, "DEFAULT_TIMEOUT": -1, "SERIALIZER": "rq.serializers.JSONSerializer"}
RQ_QUEUES = {"cpu": _QUEUE, "gpu": _QUEUE, "llm": _QUEUE}
JOB_LEASE_SECONDS = _number("DEIDREVIEW_LEASE_SECONDS", 30)
RELAY_INTERVAL_SECONDS = 1.0
# Another worker joins a run only if the run would take longer than this, since the worker must load the model first.
JOB_JOIN_SECONDS = 10.0

# ── Language models and other models: servers to which notes may be sent ─────────────────────────────────────────────
try:
    LLM_SERVERS = read_servers(os.environ)
    REMOTE_MODELS = read_remote_models(os.environ)
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error

# ── Webhooks: hosts to which projects may send messages ──────────────────────────────────────────────────────────────
try:
    WEBHOOK_HOSTS = read_hosts(str(env.str("DEIDREVIEW_WEBHOOK_HOSTS", default="")).replace(",", " ").split())
except ValueError as error:
    raise ImproperlyConfigured(f"DEIDREVIEW_WEBHOOK_HOSTS: {error}") from error

# ── Feeds: the folder in which projects may watch folders and write to others ────────────────────────────────────────
FEED_ROOT = str(env.str("DEIDREVIEW_FEED_ROOT", default=""))
if FEED_ROOT and not Path(FEED_ROOT).is_absolute():
    raise ImproperlyConfigured(f"DEIDREVIEW_FEED_ROOT: “{FEED_ROOT}” is not an absolute path of a folder.")

# ── Limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────
UPLOAD_MAX_BYTES = _number("DEIDREVIEW_UPLOAD_MB", 200) * 1024 * 1024
NOTE_MAX_BYTES = _number("DEIDREVIEW_NOTE_MB", 5) * 1024 * 1024
# How many requests a person may make (deidreview.limits); far more than manual work needs.
REQUESTS_PER_WINDOW, ANONYMOUS_PER_WINDOW, REQUEST_WINDOW_SECONDS = 3000, 600, 10
WEB_THREADS = _number("DEIDREVIEW_WEB_THREADS", 4)
STORED_FILE_HOURS = _number("DEIDREVIEW_FILE_HOURS", 24)
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 5000
FILE_UPLOAD_TEMP_DIR = None
FILE_UPLOAD_PERMISSIONS = 0o600


# ── Metrics: for this machine only, unless addresses or a token say otherwise ────────────────────────────────────────
def _networks(name: str, default: list[str]) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(each.strip()) for each in env.list(name, default=default) if each.strip()]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}. List addresses or networks such as 10.0.0.0/24.") from error


METRICS_FROM = _networks("DEIDREVIEW_METRICS_FROM", ["127.0.0.0/8", "::1"])
METRICS_TOKEN: str = env.str("DEIDREVIEW_METRICS_TOKEN", default="")
if METRICS_TOKEN and len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("DEIDREVIEW_METRICS_TOKEN: Set a random value of at least 20 characters.")

# ── Applications ─────────────────────────────────────────────────────────────────────────────────────────────────────
# The packages of deidreview among the applications.
OWN_PACKAGES = ("annotations", "models_runtime", "deidreview")
INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # The URLs load the admin's modules, which only pages need.
    *(f"django.contrib.{app}" for app in ["auth", "contenttypes", "sessions", "messages", "staticfiles"]),
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "axes",
    "csp",
    "django_htmx",
    "django_rq",
    "annotations",
    *(f"annotations.{app}" for app in ["core", "jobs", "projects", "notes", "gold", "exchange"]),
    *(f"annotations.{app}" for app in ["annotate", "agreement", "review", "scores", "pairs", "release"]),
    *(f"annotations.{app}" for app in ["records", "audio", "ops"]),
    "models_runtime",
    *(f"models_runtime.{app}" for app in ["training", "runs", "refining", "speech", "feeds"]),
    "deidreview",
]
AUTH_USER_MODEL = "annotations.User"

MIDDLEWARE = [
    "deidreview.metrics.ViewCounter",
    "django.middleware.security.SecurityMiddleware",
    "deidreview.middleware.ContentSecurityPolicy",
    "deidreview.middleware.response_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Answers requests to the API itself: none of the following middleware, which is about sessions, sees them.
    "deidreview.api.Api",
    "deidreview.scim.Scim",
    "deidreview.boundary.Boundary",
    "deidreview.middleware.time_zone",
    "django.contrib.sessions.middleware.SessionMiddleware",
    # Before any middleware that reads a body, after the session that says who sends it.
    "deidreview.middleware.upload_limit",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "deidreview.middleware.Authentication",
    "deidreview.limits.RequestLimits",
    "deidreview.middleware.SignInRequired",
    "deidreview.boundary.JsonBody",
    "django.contrib.messages.middleware.MessageMiddleware",
    "deidreview.middleware.idle_logoff",
    "deidreview.middleware.SecondFactor",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "deidreview.urls"
WSGI_APPLICATION = "deidreview.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [SHIPPED / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "deidreview.templates.Loader",
                    [f"django.template.loaders.{kind}.Loader" for kind in ("filesystem", "app_directories")],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotations.core.requests.entered_project",
            ],
        },
    },
]
# Our templates of forms have the names of Django's (templates/django/forms).
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# ── People ───────────────────────────────────────────────────────────────────────────────────────────────────────────
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "projects"
LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "annotations.projects.services.accounts.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "annotations.projects.forms.signing_in.SignIn",
    "reauthenticate": "annotations.projects.forms.signing_in.PasswordAgain",
    "change_password": "annotations.projects.forms.signing_in.ChangePassword",
    "reset_password_from_key": "annotations.projects.forms.signing_in.ChoosePassword",
}
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "annotations.projects.services.accounts.LinkTokens"  # noqa: S105 - a class
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True  # Whoever has the link can sign in anyway; a second factor is still asked.
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = False
# django-axes locks accounts; allauth's own limit would answer first and hide the lock.
ACCOUNT_RATE_LIMITS = {"login_failed": None, "login": None}
# The app works without a mail server and never sends mail.
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "deidreview"
# A person may type a code while its half minute ends. RFC 6238, section 5.2, allows one more step for this.
MFA_TOTP_TOLERANCE = 1
MFA_FORMS = {
    "authenticate": "annotations.projects.forms.signing_in.Code",
    "reauthenticate": "annotations.projects.forms.signing_in.CodeAgain",
    "activate_totp": "annotations.projects.forms.signing_in.FirstCode",
}
AXES_HANDLER = "annotations.projects.services.accounts.LockoutHandler"
AXES_FAILURE_LIMIT = _number("DEIDREVIEW_LOGIN_ATTEMPTS", 5)
AXES_COOLOFF_TIME = _number("DEIDREVIEW_LOCKOUT_MINUTES", 15) / 60
# Attempts during a lock don't extend the lock, so that the page can say how long it lasts.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = "annotations.projects.services.accounts.lockout_parameters"
AXES_LOCKOUT_CALLABLE = "annotations.projects.services.accounts.locked_out"
AXES_USERNAME_CALLABLE = "annotations.projects.services.accounts.counted_name"
AXES_CLIENT_IP_CALLABLE = "annotations.projects.services.accounts.client_ip"
AXES_RESET_ON_SUCCESS = True
# Sign-ins and failed sign-ins are recorded (HIPAA, 45 CFR 164.308(a)(5)(ii)(C): log-in monitoring).
AXES_ENABLE_ACCESS_FAILURE_LOG = True
AXES_VERBOSE = False
PASSWORD_RESET_TIMEOUT = 24 * 3600

# ── Sign-in by an organization's provider ────────────────────────────────────────────────────────────────────────────
# Without second factor, people see nothing but the pages on which to set one up.
SECOND_FACTOR = _yes_no("DEIDREVIEW_SECOND_FACTOR")


def _providers() -> tuple[Provider, ...]:
    """Read the providers. Their libraries are imported only when one of them is used."""
    path = str(env.str("DEIDREVIEW_SIGN_IN", default=""))
    try:
        found = read(path) if path else ()
    except ValueError as error:
        raise ImproperlyConfigured(f"DEIDREVIEW_SIGN_IN: {error}") from error
    if any(isinstance(one, LdapDirectory) for one in found) and find_spec("django_auth_ldap") is None:
        raise ImproperlyConfigured("DEIDREVIEW_SIGN_IN: LDAP needs more packages. Run `make setup-ldap`.")
    return found


SIGN_IN = _providers()
# The accounts that can sign in with a password of deidreview's own; None: all accounts.
PASSWORD_ACCOUNTS: list[str] | None = env.list("DEIDREVIEW_PASSWORD_ACCOUNTS", default=[]) or None
if PASSWORD_ACCOUNTS is not None:
    AUTHENTICATION_BACKENDS[1] = "annotations.projects.services.accounts.NamedAccountBackend"
if any(isinstance(one, LdapDirectory) for one in SIGN_IN):
    AUTHENTICATION_BACKENDS.append("annotations.projects.services.providers.directory.Directory")
SOCIALACCOUNT_ADAPTER = "annotations.projects.services.providers.apps.Apps"
# Seconds that a provider may take to answer.
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5

IDLE_MINUTES = _number("DEIDREVIEW_IDLE_MINUTES", 30)
# Messages are stored on the server, since a cookie would stay in the browser's folder. Messages name no notes.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SESSION_ENGINE = "deidreview.sessions"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
# Cookies ignore the port, so another tool on the same host would overwrite cookies with Django's default names.
# With the prefix __Host- the browser accepts the cookie only over HTTPS and only for this host.
SESSION_COOKIE_NAME = "__Host-deidreview" if HTTPS else "deidreview"
CSRF_COOKIE_NAME = "__Host-deidreview-csrf" if HTTPS else "deidreview-csrf"
KNOWN_BROWSER_COOKIE_NAME = "__Host-deidreview-browser" if HTTPS else "deidreview-browser"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "deidreview.views.csrf_failure"

# ── Headers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

# ── Language, time, static files ─────────────────────────────────────────────────────────────────────────────────────
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
# Where the browser's time zone is unknown (deidreview.middleware.time_zone), and in what commands print.
TIME_ZONE = _time_zone()
# To add a language, run `manage.py makemessages -l it` (and `-d djangojs` for the scripts), which writes its strings
# here, then `manage.py compilemessages`, and add ("it", "Italiano") to LANGUAGES. See docs/operations.md.
LOCALE_PATHS = [CODE / "deidreview" / "locale"]
# With one language nothing is translated: looking up translations would take a tenth of every page's time.
USE_I18N = len(LANGUAGES) > 1
if USE_I18N:
    # The language that the browser asks for: after the session, and before middleware that builds URLs.
    MIDDLEWARE.insert(
        MIDDLEWARE.index("django.middleware.common.CommonMiddleware"), "django.middleware.locale.LocaleMiddleware"
    )
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
# The page about the API uses files of ninja, which is no application here, so that only the API loads it.
_NINJA = Path(str(find_spec("ninja").origin)).parent / "static"  # type: ignore[union-attr]  # it is installed
STATICFILES_DIRS = [SHIPPED / "static", ("guide", str(SHIPPED / "docs" / "guide" / "images")), _NINJA]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "deidreview.storage.StaticFiles"},
}
# No page names a file without its hash. Each web server reads the list of all files when it starts.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
FIXTURES_DIR = SHIPPED / "fixtures"
DOCS_DIR = SHIPPED / "docs"

# ── Logs: events, never note text ────────────────────────────────────────────────────────────────────────────────────
LOG_LEVEL = _one_of("DEIDREVIEW_LOG_LEVEL", "WARNING", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
LOG_FORMAT = _one_of("DEIDREVIEW_LOG_FORMAT", "line", ["line", "json"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"no_note_text": {"()": "deidreview.logs.NoNoteText"}},
    "formatters": {"line": {"()": "deidreview.logs.LineFormatter"}, "json": {"()": "deidreview.logs.JsonFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["no_note_text"]}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "deidreview": {"level": "INFO"},
        "axes": {"level": "ERROR"},
        # At DEBUG these loggers write whole requests.
        **{name: {"level": "WARNING"} for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2")},
    },
}
# W021: preloading HSTS binds a whole domain for years, which only the owner of the domain may decide.
SILENCED_SYSTEM_CHECKS = ["security.W021", "templates.W003"]  # Our library `static` replaces Django's.
