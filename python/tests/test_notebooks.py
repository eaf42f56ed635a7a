"""The example notebooks run from their first cell to the last, the long ones in short form."""

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "examples/notebooks"


def run_notebook(name: str, place: Path) -> list[Any]:
    """What the cells of a notebook show, in a copy of its folder."""
    shutil.copytree(NOTEBOOKS, place, dirs_exist_ok=True)
    notebook = nbformat.read(place / name, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": place}}).execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed_text(outputs: list[Any]) -> str:
    return "".join(output.get("text", "") for output in outputs)


def test_controllers_are_compared_over_loss_and_round_trip(tmp_path: Path) -> None:
    outputs = run_notebook("controllers.ipynb", tmp_path)
    # The progress bar, if it was shown, has been removed.
    shown = [output["data"] for output in outputs if any(output.get("data", {}).values())]
    assert "<progress" not in str(outputs)
    assert shown[0]["image/svg+xml"].count('class="heat"') == 4, "a map for each scheme"
    assert "±" in shown[1]["text/plain"] and "bbr" in shown[1]["text/plain"]
    assert "aimd" in shown[-1]["text/html"] and "8 points, 8 runs" in printed_text(outputs)


def test_a_learned_controller_has_more_power_than_aimd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPDATES", "25")
    outputs = run_notebook("learning.ipynb", tmp_path)
    power = dict(line.split() for line in printed_text(outputs).splitlines()[-3:])
    assert float(power["learned"]) > float(power["aimd"]) > 0.2, printed_text(outputs)
