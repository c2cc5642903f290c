"""`python -m judgepanel`: the command line."""

import sys

from judgepanel.cli import main

if __name__ == "__main__":
    sys.exit(main())
