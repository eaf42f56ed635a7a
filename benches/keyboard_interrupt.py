"""Exit of scripts on Ctrl-C: one line and the exit code that shells use, without a traceback."""

import sys

SIGINT_EXIT_CODE = 130


def run_script(main):
    """Calls `main`; exits with a line on Ctrl-C."""
    try:
        main()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(SIGINT_EXIT_CODE)
