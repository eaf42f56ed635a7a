"""The guide's examples run as they stand."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pandas
import pytest

GUIDE = Path(__file__).parents[2] / "docs/guide/python.md"


def test_the_examples_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    known: dict[str, Any] = {"pandas": pandas}
    ran = 0
    for block in blocks:
        if block.startswith(">>>"):
            continue
        if importlib.util.find_spec("polars") is None:
            block = "".join(line for line in block.splitlines(keepends=True) if "polars" not in line)
        exec(compile(block, str(GUIDE), "exec"), known)
        ran += 1
    assert ran >= 8
    assert "aimd" in capsys.readouterr().out and 0.3 < known["score"].value < 3
    assert known["observations"].shape == (64, 7)
    calls = re.search(r"## Python names of commands\n(.*?)\n## ", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert calls is not None
    ran = 0
    for row in calls[1].splitlines():
        for call in re.findall(r"`(thalweg\.[^`]*\))`", row.split(" | ")[0]):
            # Those need a peer, or a file of the user.
            if not call.startswith(("thalweg.send(", "thalweg.recv(", "thalweg.infer(")):
                found = eval(call, known)
                assert found and (isinstance(found, str) or json.dumps(found)), call
                ran += 1
    assert ran >= 7
