# Generated from aggregator.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
"""Client and server classes corresponding to protobuf-defined services."""
import grpc

from hostagent.protocol.services import aggregator_pb2 as hostagent_dot_protocol_dot_services_dot_aggregator__pb2



class AggregatorStub:
    """Missing associated documentation comment in .proto file."""

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.Watch = channel.unary_stream(
                '/netsum.aggregator.v1.Aggregator/Watch',
                request_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.WatchRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.Description.FromString)
        self.Install = channel.unary_unary(
                '/netsum.aggregator.v1.Aggregator/Install',
                request_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallReply.FromString)
        self.Remove = channel.unary_unary(
                '/netsum.aggregator.v1.Aggregator/Remove',
                request_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveReply.FromString)
        self.Counters = channel.unary_unary(
                '/netsum.aggregator.v1.Aggregator/Counters',
                request_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersReply.FromString)
        self.Statistics = channel.unary_unary(
                '/netsum.aggregator.v1.Aggregator/Statistics',
                request_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsReply.FromString)


class AggregatorServicer:
    """Missing associated documentation comment in .proto file."""

    def Watch(self, request, context):
        """What runs there, for how long, and which jobs it knows. Sends once, then again whenever the answer has changed; the
        stream's end is how a controller notices that the aggregator went away.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Install(self, request, context):
        """Makes a job known, or replaces what is known of it: a new epoch voids all its sets. All or nothing.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Remove(self, request, context):
        """Forgets a job. One that is not known is no error.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Counters(self, request, context):
        """Missing associated documentation comment in .proto file."""
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Statistics(self, request, context):
        """What the aggregator tells about itself, as JSON: cycles, cores, memory.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_AggregatorServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'Watch': grpc.unary_stream_rpc_method_handler(
                    servicer.Watch,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.WatchRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.Description.SerializeToString,
            ),
            'Install': grpc.unary_unary_rpc_method_handler(
                    servicer.Install,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallReply.SerializeToString,
            ),
            'Remove': grpc.unary_unary_rpc_method_handler(
                    servicer.Remove,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveReply.SerializeToString,
            ),
            'Counters': grpc.unary_unary_rpc_method_handler(
                    servicer.Counters,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersReply.SerializeToString,
            ),
            'Statistics': grpc.unary_unary_rpc_method_handler(
                    servicer.Statistics,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsReply.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'netsum.aggregator.v1.Aggregator', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))


 # This class is part of an EXPERIMENTAL API.
class Aggregator:
    """Missing associated documentation comment in .proto file."""

    @staticmethod
    def Watch(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_stream(
            request,
            target,
            '/netsum.aggregator.v1.Aggregator/Watch',
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.WatchRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.Description.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Install(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/netsum.aggregator.v1.Aggregator/Install',
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.InstallReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Remove(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/netsum.aggregator.v1.Aggregator/Remove',
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.RemoveReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Counters(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/netsum.aggregator.v1.Aggregator/Counters',
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.CountersReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Statistics(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/netsum.aggregator.v1.Aggregator/Statistics',
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_aggregator__pb2.StatisticsReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)
