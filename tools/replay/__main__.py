"""`python -m tools.replay`."""

import signal
import sys

from tools.requirements import SOURCE

if __name__ == "__main__":
    # The end of the process is an exception, so that temporary folders are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.path.insert(0, str(SOURCE))
    from tools.replay.command import main

    main()
