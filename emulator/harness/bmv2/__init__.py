"""simple_switch_grpc as the harness's target: processes, veth interfaces, P4Runtime, real time."""
