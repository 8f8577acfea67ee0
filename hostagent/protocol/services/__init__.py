"""The gRPC services of netsum: generated messages and stubs, and the script that regenerates them.

`session.proto` (ranks and their controller) and `aggregator.proto` (a controller and an aggregator of ours) are the
sources; the `*_pb2*` files are made from them by `python -m hostagent.protocol.services.generate` and committed, so
that installing netsum needs no compiler. `aggregator.py` says what an aggregator is, `aggregator_messages.py` puts it
into messages and back, `aggregator_server.py` serves it.
"""
