"""The gRPC services of netsum: generated messages and stubs, and the script that regenerates them.

`session.proto` is the source; `session_pb2.py`, `session_pb2.pyi` and `session_pb2_grpc.py` are made from it by
`python -m hostagent.protocol.services.generate` and committed, so that installing netsum needs no compiler.
"""
