"""The command `thalweg`."""

import signal
import sys

from . import _thalweg


def main() -> None:
    """Does what the command line asks for."""
    # The command looks after Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_thalweg.main(["thalweg", *sys.argv[1:]]))
