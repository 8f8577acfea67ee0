"""The loops that own sockets, rings, threads and clocks on a host.

Importing this package disables gRPC's fork handlers (before gRPC's first use, when it reads the variable), unless
the user has set the variable. With them, a child that a script forks (a DataLoader with workers) breaks while another
thread is inside gRPC, and the session's thread always is. Children do not use the session.
"""

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
