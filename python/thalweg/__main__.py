"""`python -m thalweg` is the command."""

from ._command import main

main()
