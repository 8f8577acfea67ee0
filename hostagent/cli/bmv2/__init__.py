"""simple_switch_grpc, for scripts that were written for it."""
