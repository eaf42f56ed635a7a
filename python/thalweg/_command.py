"""The command `thalweg`."""

import os
import signal
import sys

from . import _thalweg


def main() -> None:
    """Does what the command line asks for."""
    # The command looks after Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What `--cluster` starts is in this Python.
    os.environ.setdefault("THALWEG_PYTHON", sys.executable)
    sys.exit(_thalweg.main(["thalweg", *sys.argv[1:]]))
