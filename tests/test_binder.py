"""What Binder would build, by a dry run of repo2docker; it needs no Docker."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_repo2docker_understands_the_repository():
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    told = run.stdout + run.stderr
    assert run.returncode == 0, told
    assert 'pip install --no-cache-dir -r "binder/requirements.txt"' in told
    assert "RUN ./binder/postBuild" in told
    assert "conda environment for python=3.11" in told, "Binder would take another Python"


def test_binder_installs_the_lock_file():
    lines = (ROOT / "binder" / "requirements.txt").read_text().split()
    assert lines == ["-r", "../requirements.lock"]
    assert (ROOT / "binder" / "requirements.txt").parent.joinpath(lines[1]).resolve() == ROOT / "requirements.lock"
