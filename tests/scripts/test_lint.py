"""`.ci/lint` and the pre-commit hooks."""

import shutil

import pytest
import yaml

from annotations.domain.installation import CODE

pytestmark = pytest.mark.product


def lint(bare, tmp_path, finds="", **environ):
    """Run `.ci/lint` with stand-ins that record their calls. The tool named `finds` reports an error."""
    tools = tmp_path / "venv" / "bin"
    tools.mkdir(parents=True)
    for name in ("python", "lint-imports", "djlint", "codespell"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >>"$CALLS"\nexit {int(name == finds)}\n')
        (tools / name).chmod(0o755)
    for name in ("bash", "dirname", "xargs", "git"):
        (bare.folder / name).symlink_to(shutil.which(name))
    return bare.run(".ci/lint", str(tmp_path / "venv"), **environ)


def test_without_npm_its_linters_are_left_out_and_named(bare, tmp_path):
    done = lint(bare, tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("ESLint and TypeScript were skipped, because npm is missing.")
    calls = bare.calls.read_text()
    assert all(
        word in calls for word in ("ruff check", "ruff format", "mypy", "lint-imports", "djlint", "codespell", "size")
    )


@pytest.mark.parametrize("finds", ["python", "lint-imports", "djlint", "codespell"])
def test_what_one_linter_finds_fails_the_lint_and_the_others_run_too(bare, tmp_path, finds):
    assert lint(bare, tmp_path, finds).returncode == 1
    assert "codespell" in bare.calls.read_text()


def test_on_ci_a_lint_without_npm_fails(bare, tmp_path):
    assert lint(bare, tmp_path, CI="true").returncode == 1


def test_every_hook_runs_what_setup_installs():
    """Hooks from other repositories can't be downloaded everywhere."""
    config = yaml.safe_load((CODE / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    assert {hook["id"] for hook in hooks} >= {"ruff", "djlint", "eslint", "codespell", "tsc"}
    assert all(hook["entry"].startswith((".venv/bin/", "node_modules/.bin/")) for hook in hooks)
