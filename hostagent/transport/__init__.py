"""The loops that own sockets, rings, threads and clocks on a host.

Scripts fork: a DataLoader with workers does. gRPC's fork handlers, which it reads the wish for when it is first used,
would then break the child wherever another thread is inside gRPC, as the session's thread always is. A child has no
business with our session, so they stay off unless the user has asked for them.
"""

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
