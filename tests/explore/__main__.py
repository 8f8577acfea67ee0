"""``python -m tests.explore``; see `tests.explore.command`."""

import sys

from tests.explore.command import main

sys.exit(main())
