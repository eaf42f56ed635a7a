"""The command `thalweg`."""

import os
import signal
import sys

from . import _thalweg


def main() -> None:
    """Executes the command line."""
    # The command handles Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # `--cluster` starts its helper in this Python.
    os.environ.setdefault("THALWEG_PYTHON", sys.executable)
    sys.exit(_thalweg.main(["thalweg", *sys.argv[1:]]))
