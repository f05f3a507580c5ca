"""nginx with a certificate of its own before the web server, without root."""

import shutil
import subprocess
from pathlib import Path


def configured(folder: Path, server: str, name: str = "127.0.0.1") -> list[str]:
    """Write a certificate for `name`, and a configuration with this server. Return the command that starts nginx."""
    asked = ["-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run(["openssl", "req", "-x509", *asked, *files], check=True, capture_output=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr error;\n"
        f"events {{ worker_connections 64; }}\nhttp {{ access_log off;\n{folders}\n{server} }}\n"
    )
    return [shutil.which("nginx") or "/usr/sbin/nginx", "-p", str(folder), "-e", "stderr", "-c", str(config)]
