"""The end of scripts that are stopped with Ctrl-C: a line and the exit code of shells for that, no traceback."""

import sys

STOPPED = 130


def run_script(main):
    """Calls `main`, which is the whole script."""
    try:
        main()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(STOPPED)
