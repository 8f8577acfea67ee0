"""Networks frame by frame in virtual time: links, queues, compiled switches and hosts under one compiled event loop."""
