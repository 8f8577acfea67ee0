"""Started in a rank's place by the launcher: binds the rank's life to its parent's, then becomes the rank.

Run as a file (``python -I -S rank_exec.py PARENT_PID PROGRAM ARGS...``), so it imports nothing of ours. The kernel
keeps PR_SET_PDEATHSIG over exec: a launcher killed with SIGKILL takes its ranks with it, whatever they are doing.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("netsum: the launcher ended before this rank had started")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
