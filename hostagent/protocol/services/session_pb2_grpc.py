# Generated from session.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
"""Client and server classes corresponding to protobuf-defined services."""
import grpc

from hostagent.protocol.services import session_pb2 as hostagent_dot_protocol_dot_services_dot_session__pb2



class SessionStub:
    """Missing associated documentation comment in .proto file."""

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.Attach = channel.stream_stream(
                '/netsum.session.v1.Session/Attach',
                request_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ClientMessage.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ServerMessage.FromString)
        self.Status = channel.unary_unary(
                '/netsum.session.v1.Session/Status',
                request_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.StatusRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.StatusReply.FromString)
        self.Report = channel.unary_unary(
                '/netsum.session.v1.Session/Report',
                request_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ReportRequest.SerializeToString,
                response_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ReportReply.FromString)


class SessionServicer:
    """Missing associated documentation comment in .proto file."""

    def Attach(self, request_iterator, context):
        """Missing associated documentation comment in .proto file."""
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Status(self, request, context):
        """What `netsum status` shows. Reads memory only, never the aggregator.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def Report(self, request, context):
        """The aggregator's own counters beside those of the ranks. Asks both; what a rank has not answered in time is what it
        said before.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_SessionServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'Attach': grpc.stream_stream_rpc_method_handler(
                    servicer.Attach,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ClientMessage.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ServerMessage.SerializeToString,
            ),
            'Status': grpc.unary_unary_rpc_method_handler(
                    servicer.Status,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.StatusRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.StatusReply.SerializeToString,
            ),
            'Report': grpc.unary_unary_rpc_method_handler(
                    servicer.Report,
                    request_deserializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ReportRequest.FromString,
                    response_serializer=hostagent_dot_protocol_dot_services_dot_session__pb2.ReportReply.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'netsum.session.v1.Session', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))


 # This class is part of an EXPERIMENTAL API.
class Session:
    """Missing associated documentation comment in .proto file."""

    @staticmethod
    def Attach(request_iterator,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.stream_stream(
            request_iterator,
            target,
            '/netsum.session.v1.Session/Attach',
            hostagent_dot_protocol_dot_services_dot_session__pb2.ClientMessage.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_session__pb2.ServerMessage.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Status(request,
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
            '/netsum.session.v1.Session/Status',
            hostagent_dot_protocol_dot_services_dot_session__pb2.StatusRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_session__pb2.StatusReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)

    @staticmethod
    def Report(request,
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
            '/netsum.session.v1.Session/Report',
            hostagent_dot_protocol_dot_services_dot_session__pb2.ReportRequest.SerializeToString,
            hostagent_dot_protocol_dot_services_dot_session__pb2.ReportReply.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata)
