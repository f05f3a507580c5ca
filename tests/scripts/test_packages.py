"""`.ci/apt-install` and `.ci/dev-packages` on machines without some packages: what they install and print."""

import pytest

pytestmark = pytest.mark.product


def log_apt(bare, status=0):
    bare.add("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>"$CALLS"; case "$*" in *install*) exit {status};; esac')


def test_root_installs_without_questions(bare):
    bare.add("id", "echo 0")
    log_apt(bare)
    done = bare.run(".ci/apt-install", "chromium", "nodejs")

    assert (done.returncode, done.stdout) == (0, "Installing chromium nodejs (apt)\n")
    calls = bare.calls.read_text().splitlines()
    assert all(call.startswith("noninteractive ") for call in calls)
    assert calls[-1].endswith("install -y --no-install-recommends chromium nodejs")


def test_others_install_by_sudo_without_a_password(bare):
    bare.add("sudo", 'shift; exec "$@"')
    bare.add("true", "exit 0")
    log_apt(bare)

    assert bare.run(".ci/apt-install", "nodejs").returncode == 0
    assert "install -y" in bare.calls.read_text()


def test_without_the_right_to_install_the_packages_are_named(bare):
    bare.add("sudo", "exit 1")
    log_apt(bare)
    done = bare.run(".ci/apt-install", "chromium", "nodejs")

    assert done.returncode == 1
    assert done.stderr == (
        "Some packages are missing, and only root can install them. On Debian: apt-get install chromium nodejs\n"
    )
    assert not bare.calls.exists()


def test_an_apt_that_fails_is_said(bare):
    bare.add("id", "echo 0")
    log_apt(bare, status=100)
    done = bare.run(".ci/apt-install", "chromium")

    assert done.returncode == 1
    assert done.stderr.endswith("apt could not install the packages. On Debian: apt-get install chromium\n")


def test_where_nothing_is_missing_nothing_is_called(bare):
    for name in ("chromium", "node", "npm", "initdb", "nginx", "slapd", "ldapmodify", "openssl", "pdftoppm"):
        bare.add(name, "exit 0")
    bare.add("tesseract", "printf 'eng\\nspa\\nita\\n'")
    done = bare.run(".ci/dev-packages")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_only_what_is_missing_is_asked_for(bare):
    for name in ("initdb", "nginx", "slapd"):
        bare.add(name, "exit 0")
    bare.add("node", "exit 1")  # too old
    done = bare.run(".ci/dev-packages")

    assert done.returncode == 1
    assert done.stderr.endswith(
        "On Debian: apt-get install chromium-headless-shell nodejs npm ldap-utils openssl "
        "tesseract-ocr-eng tesseract-ocr-spa tesseract-ocr-ita tesseract-ocr poppler-utils\n"
    )
