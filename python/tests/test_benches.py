"""Arguments of the benchmark programs."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"
PROGRAMS = sorted(
    str(path.relative_to(BENCHES)) for path in BENCHES.glob("**/*.py") if path.read_text(encoding="utf-8").startswith("#!")
)
PATHS = "live/difficult_paths.py"


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCHES / program), *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_starts(program: str) -> None:
    done = run(program, "--help")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((PATHS, "table", "--peers", "tcp-reno"), "there is no tcp-reno; there are tcp-cubic, tcp-bbr, quic-cubic, or none"),
        ((PATHS, "table", "--peers", "tcp-cubic,none"), "there is no none; there are"),
        ((PATHS, "table", "--peers", "quic-cubic"), "quic-cubic needs --quic PROGRAM"),
        (("peers/simulator_comparison.py", "A10", "--peers", "ns-4"), "unknown peer ns-4; there are: ns-2, ns-3, or none"),
    ],
)
def test_unknown_peers_are_errors(arguments: tuple[str, ...], error: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and error in done.stderr, done.stderr


def test_none_measures_no_peers_and_no_schemes(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    done = run(PATHS, "simulate", "--peers", "none", "--schemes", "none", "--results", results)
    assert done.returncode == 0 and not results.exists(), done.stderr
