# Generated from session.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
# source: hostagent/protocol/services/session.proto
# Protobuf Python Version: 7.35.1
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf import symbol_database as _symbol_database
from google.protobuf.internal import builder as _builder
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()




DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n)hostagent/protocol/services/session.proto\x12\x11netsum.session.v1\"\xa4\x04\n\rClientMessage\x12\x0f\n\x07request\x18\x01 \x01(\x04\x12)\n\x05hello\x18\x02 \x01(\x0b\x32\x18.netsum.session.v1.HelloH\x00\x12\'\n\x04join\x18\x03 \x01(\x0b\x32\x17.netsum.session.v1.JoinH\x00\x12\x30\n\x05lease\x18\x04 \x01(\x0b\x32\x1f.netsum.session.v1.LeaseRequestH\x00\x12+\n\x06\x66rozen\x18\x05 \x01(\x0b\x32\x19.netsum.session.v1.FrozenH\x00\x12-\n\x07resumed\x18\x06 \x01(\x0b\x32\x1a.netsum.session.v1.ResumedH\x00\x12\'\n\x04\x66\x61il\x18\x07 \x01(\x0b\x32\x17.netsum.session.v1.FailH\x00\x12\x31\n\tdescribed\x18\x08 \x01(\x0b\x32\x1c.netsum.session.v1.DescribedH\x00\x12)\n\x05leave\x18\t \x01(\x0b\x32\x18.netsum.session.v1.LeaveH\x00\x12\x33\n\nstatistics\x18\n \x01(\x0b\x32\x1d.netsum.session.v1.StatisticsH\x00\x12-\n\x07goodbye\x18\x0b \x01(\x0b\x32\x1a.netsum.session.v1.GoodbyeH\x00\x12-\n\x07proceed\x18\x0c \x01(\x0b\x32\x1a.netsum.session.v1.ProceedH\x00\x42\x06\n\x04\x62ody\"\x84\x01\n\x05Hello\x12\x0f\n\x07process\x18\x01 \x01(\x04\x12\x0c\n\x04host\x18\x02 \x01(\t\x12\x0b\n\x03pid\x18\x03 \x01(\r\x12\x12\n\ntransports\x18\x04 \x03(\t\x12-\n\x04jobs\x18\x05 \x03(\x0b\x32\x1f.netsum.session.v1.Announcement\x12\x0c\n\x04port\x18\x06 \x01(\r\"{\n\x0c\x41nnouncement\x12%\n\x04join\x18\x01 \x01(\x0b\x32\x17.netsum.session.v1.Join\x12\x0b\n\x03job\x18\x02 \x01(\r\x12\'\n\x05lease\x18\x03 \x01(\x0b\x32\x18.netsum.session.v1.Lease\x12\x0e\n\x06\x66rozen\x18\x04 \x01(\x08\"\x7f\n\x04Join\x12\r\n\x05group\x18\x01 \x01(\t\x12\x0c\n\x04rank\x18\x02 \x01(\r\x12\x0c\n\x04size\x18\x03 \x01(\r\x12+\n\x07service\x18\x04 \x01(\x0b\x32\x1a.netsum.session.v1.Service\x12\r\n\x05share\x18\x05 \x01(\r\x12\x10\n\x08priority\x18\x06 \x01(\x11\"\\\n\x07Service\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\r\n\x05nonce\x18\x02 \x01(\x0c\x12\x0e\n\x06weight\x18\x03 \x01(\r\x12\x13\n\x0bquota_bytes\x18\x04 \x01(\x04\x12\x0f\n\x07workers\x18\x05 \x01(\r\"/\n\x0cLeaseRequest\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x12\n\ntimeout_ns\x18\x02 \x01(\x04\"?\n\x06\x46rozen\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05round\x18\x02 \x01(\x04\x12\x19\n\x11lowest_unfinished\x18\x03 \x01(\x04\"%\n\x07Resumed\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05round\x18\x02 \x01(\x04\"\x83\x01\n\x04\x46\x61il\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05\x63\x61use\x18\x02 \x01(\t\x12-\n\x08mismatch\x18\x03 \x01(\x0b\x32\x1b.netsum.session.v1.Mismatch\x12\x30\n\x06\x65nding\x18\x04 \x01(\x0e\x32 .netsum.session.v1.Failed.Ending\"^\n\x08Mismatch\x12\x12\n\nfirst_hash\x18\x01 \x01(\r\x12\x13\n\x0b\x66irst_child\x18\x02 \x01(\r\x12\x13\n\x0bsecond_hash\x18\x03 \x01(\r\x12\x14\n\x0csecond_child\x18\x04 \x01(\r\"9\n\tDescribed\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x11\n\toperation\x18\x02 \x01(\r\x12\x0c\n\x04text\x18\x03 \x01(\t\"(\n\x05Leave\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x12\n\nnext_chunk\x18\x02 \x01(\x04\"G\n\nStatistics\x12\x0b\n\x03job\x18\x01 \x01(\r\x12,\n\x08\x63ounters\x18\x02 \x03(\x0b\x32\x1a.netsum.session.v1.Counter\"&\n\x07\x43ounter\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\r\n\x05value\x18\x02 \x01(\x04\">\n\x07Proceed\x12\x0b\n\x03job\x18\x01 \x01(\r\x12&\n\x05units\x18\x02 \x03(\x0b\x32\x17.netsum.session.v1.Unit\"<\n\x04Unit\x12\x0e\n\x06number\x18\x01 \x01(\x04\x12$\n\x04sums\x18\x02 \x03(\x0b\x32\x16.netsum.session.v1.Sum\"q\n\x03Sum\x12\x12\n\ncollective\x18\x01 \x01(\t\x12\r\n\x05\x64type\x18\x02 \x01(\t\x12\x15\n\relement_bytes\x18\x03 \x01(\r\x12\x10\n\x08\x65lements\x18\x04 \x01(\x04\x12\x0f\n\x07\x61verage\x18\x05 \x01(\x08\x12\r\n\x05\x65xact\x18\x06 \x01(\x08\"\t\n\x07Goodbye\"\xcf\x04\n\rServerMessage\x12\x0f\n\x07request\x18\x01 \x01(\x04\x12-\n\x07welcome\x18\x02 \x01(\x0b\x32\x1a.netsum.session.v1.WelcomeH\x00\x12+\n\x06joined\x18\x03 \x01(\x0b\x32\x19.netsum.session.v1.JoinedH\x00\x12)\n\x05lease\x18\x04 \x01(\x0b\x32\x18.netsum.session.v1.LeaseH\x00\x12-\n\x07refused\x18\x05 \x01(\x0b\x32\x1a.netsum.session.v1.RefusedH\x00\x12+\n\x06\x66reeze\x18\x06 \x01(\x0b\x32\x19.netsum.session.v1.FreezeH\x00\x12+\n\x06resume\x18\x07 \x01(\x0b\x32\x19.netsum.session.v1.ResumeH\x00\x12+\n\x06\x66\x61iled\x18\x08 \x01(\x0b\x32\x19.netsum.session.v1.FailedH\x00\x12/\n\x08\x64\x65scribe\x18\t \x01(\x0b\x32\x1b.netsum.session.v1.DescribeH\x00\x12\x30\n\tpeer_left\x18\n \x01(\x0b\x32\x1b.netsum.session.v1.PeerLeftH\x00\x12\'\n\x04left\x18\x0b \x01(\x0b\x32\x17.netsum.session.v1.LeftH\x00\x12-\n\x07\x63ollect\x18\x0c \x01(\x0b\x32\x1a.netsum.session.v1.CollectH\x00\x12-\n\x07proceed\x18\r \x01(\x0b\x32\x1a.netsum.session.v1.ProceedH\x00\x42\x06\n\x04\x62ody\"!\n\x07Welcome\x12\x16\n\x0eheartbeat_port\x18\x01 \x01(\r\"\x15\n\x06Joined\x12\x0b\n\x03job\x18\x01 \x01(\r\"\xb2\x03\n\x05Lease\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05\x63hild\x18\x02 \x01(\r\x12\x10\n\x08\x63hildren\x18\x03 \x01(\r\x12\r\n\x05\x65poch\x18\x04 \x01(\r\x12\x0c\n\x04\x62\x61se\x18\x05 \x01(\x04\x12\x0e\n\x06window\x18\x06 \x01(\r\x12\r\n\x05lanes\x18\x07 \x01(\r\x12\x0c\n\x04port\x18\x08 \x01(\t\x12\x10\n\x08host_mac\x18\t \x01(\x04\x12\x0f\n\x07host_ip\x18\n \x01(\r\x12\x12\n\nswitch_mac\x18\x0b \x01(\x04\x12\x11\n\tswitch_ip\x18\x0c \x01(\r\x12\x1d\n\x15zero_checksum_allowed\x18\r \x01(\x08\x12\x15\n\rshort_no_data\x18\x0e \x01(\x08\x12\x13\n\x0bport_number\x18\x0f \x01(\r\x12\x12\n\nfirst_slot\x18\x10 \x01(\r\x12\x0b\n\x03row\x18\x11 \x01(\r\x12\x18\n\x10message_checksum\x18\x12 \x01(\x08\x12\x19\n\x11\x66orwards_messages\x18\x13 \x01(\x08\x12\x12\n\naggregator\x18\x14 \x01(\t\x12\x1a\n\x12shorter_path_slots\x18\x15 \x01(\r\x12\x16\n\x0elargest_window\x18\x16 \x01(\r\"\xfa\x01\n\x07Refused\x12\x31\n\x06reason\x18\x01 \x01(\x0e\x32!.netsum.session.v1.Refused.Reason\x12\x0c\n\x04text\x18\x02 \x01(\t\x12\x15\n\rmissing_ranks\x18\x03 \x03(\r\x12\x30\n\x06\x65nding\x18\x04 \x01(\x0e\x32 .netsum.session.v1.Failed.Ending\"e\n\x06Reason\x12\x0b\n\x07UNKNOWN\x10\x00\x12\x0b\n\x07INVALID\x10\x01\x12\x11\n\rMISSING_RANKS\x10\x02\x12\r\n\tEXHAUSTED\x10\x03\x12\x0e\n\nJOB_FAILED\x10\x04\x12\x0f\n\x0bUNAVAILABLE\x10\x05\"$\n\x06\x46reeze\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05round\x18\x02 \x01(\x04\"\x81\x01\n\x06Resume\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05round\x18\x02 \x01(\x04\x12\r\n\x05\x65poch\x18\x03 \x01(\r\x12\x0c\n\x04\x62\x61se\x18\x04 \x01(\x04\x12\x1a\n\x12shorter_path_slots\x18\x05 \x01(\r\x12\x0e\n\x06window\x18\x06 \x01(\r\x12\x12\n\nfirst_slot\x18\x07 \x01(\r\"\x92\x01\n\x06\x46\x61iled\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05\x63\x61use\x18\x02 \x01(\t\x12\x30\n\x06\x65nding\x18\x03 \x01(\x0e\x32 .netsum.session.v1.Failed.Ending\":\n\x06\x45nding\x12\x08\n\x04LOST\x10\x00\x12\x0b\n\x07REFUSED\x10\x01\x12\x0c\n\x08MISMATCH\x10\x02\x12\x0b\n\x07TIMEOUT\x10\x03\"*\n\x08\x44\x65scribe\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x11\n\toperation\x18\x02 \x01(\r\"9\n\x08PeerLeft\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x0c\n\x04rank\x18\x02 \x01(\r\x12\x12\n\nnext_chunk\x18\x03 \x01(\x04\"\x13\n\x04Left\x12\x0b\n\x03job\x18\x01 \x01(\r\"\x16\n\x07\x43ollect\x12\x0b\n\x03job\x18\x01 \x01(\r\"\x0f\n\rStatusRequest\"\xc5\x02\n\x0bStatusReply\x12\x12\n\naggregator\x18\x01 \x01(\t\x12\x18\n\x10\x61ggregator_ready\x18\x02 \x01(\x08\x12\x1a\n\x12\x61ggregator_problem\x18\x03 \x01(\t\x12\r\n\x05slots\x18\x04 \x01(\r\x12\x12\n\nslots_free\x18\x05 \x01(\r\x12\r\n\x05lanes\x18\x06 \x01(\r\x12*\n\x04jobs\x18\x07 \x03(\x0b\x32\x1c.netsum.session.v1.JobStatus\x12,\n\x05ports\x18\x08 \x03(\x0b\x32\x1d.netsum.session.v1.PortStatus\x12\x19\n\x11\x66orwards_messages\x18\t \x01(\x08\x12\x19\n\x0cswitch_slots\x18\n \x01(\rH\x00\x88\x01\x01\x12\x19\n\x11switch_slots_free\x18\x0b \x01(\rB\x0f\n\r_switch_slots\"\xa5\x02\n\tJobStatus\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05group\x18\x02 \x01(\t\x12\x0c\n\x04size\x18\x03 \x01(\r\x12\r\n\x05state\x18\x04 \x01(\t\x12\r\n\x05\x63\x61use\x18\x05 \x01(\t\x12\r\n\x05\x65poch\x18\x06 \x01(\r\x12\x0c\n\x04\x62\x61se\x18\x07 \x01(\x04\x12\x0e\n\x06window\x18\x08 \x01(\r\x12\x12\n\nfirst_slot\x18\t \x01(\r\x12\x10\n\x08restarts\x18\n \x01(\r\x12\x30\n\x07members\x18\x0b \x03(\x0b\x32\x1f.netsum.session.v1.MemberStatus\x12\x19\n\x0cswitch_slots\x18\x0c \x01(\rH\x00\x88\x01\x01\x12\r\n\x05share\x18\r \x01(\r\x12\x10\n\x08priority\x18\x0e \x01(\x11\x42\x0f\n\r_switch_slots\"[\n\x0cMemberStatus\x12\x0c\n\x04rank\x18\x01 \x01(\r\x12\x0b\n\x03pid\x18\x02 \x01(\r\x12\x0c\n\x04host\x18\x03 \x01(\t\x12\x13\n\x0bport_number\x18\x04 \x01(\r\x12\r\n\x05state\x18\x05 \x01(\t\"7\n\nPortStatus\x12\x0e\n\x06number\x18\x01 \x01(\r\x12\x0c\n\x04spec\x18\x02 \x01(\t\x12\x0b\n\x03pid\x18\x03 \x01(\r\"\x0f\n\rReportRequest\"\xaf\x01\n\x0bReportReply\x12*\n\x04jobs\x18\x01 \x03(\x0b\x32\x1c.netsum.session.v1.JobReport\x12)\n\x05\x64rops\x18\x02 \x03(\x0b\x32\x1a.netsum.session.v1.Counter\x12\x38\n\x0b\x61ggregators\x18\x03 \x03(\x0b\x32#.netsum.session.v1.AggregatorReport\x12\x0f\n\x07problem\x18\x04 \x01(\t\"4\n\x10\x41ggregatorReport\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\x12\n\nstatistics\x18\x02 \x01(\t\"\xd7\x01\n\tJobReport\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05group\x18\x02 \x01(\t\x12\x0c\n\x04size\x18\x03 \x01(\r\x12\r\n\x05lanes\x18\x04 \x01(\r\x12,\n\x08verdicts\x18\x05 \x03(\x0b\x32\x1a.netsum.session.v1.Counter\x12\x30\n\x07members\x18\x06 \x03(\x0b\x32\x1f.netsum.session.v1.MemberReport\x12\x31\n\rverdict_bytes\x18\x07 \x03(\x0b\x32\x1a.netsum.session.v1.Counter\"Z\n\x0cMemberReport\x12\x0c\n\x04rank\x18\x01 \x01(\r\x12,\n\x08\x63ounters\x18\x02 \x03(\x0b\x32\x1a.netsum.session.v1.Counter\x12\x0e\n\x06\x61ge_ns\x18\x03 \x01(\x04\x32\xf3\x01\n\x07Session\x12P\n\x06\x41ttach\x12 .netsum.session.v1.ClientMessage\x1a .netsum.session.v1.ServerMessage(\x01\x30\x01\x12J\n\x06Status\x12 .netsum.session.v1.StatusRequest\x1a\x1e.netsum.session.v1.StatusReply\x12J\n\x06Report\x12 .netsum.session.v1.ReportRequest\x1a\x1e.netsum.session.v1.ReportReplyb\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'hostagent.protocol.services.session_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
  _globals['_CLIENTMESSAGE']._serialized_start=65
  _globals['_CLIENTMESSAGE']._serialized_end=613
  _globals['_HELLO']._serialized_start=616
  _globals['_HELLO']._serialized_end=748
  _globals['_ANNOUNCEMENT']._serialized_start=750
  _globals['_ANNOUNCEMENT']._serialized_end=873
  _globals['_JOIN']._serialized_start=875
  _globals['_JOIN']._serialized_end=1002
  _globals['_SERVICE']._serialized_start=1004
  _globals['_SERVICE']._serialized_end=1096
  _globals['_LEASEREQUEST']._serialized_start=1098
  _globals['_LEASEREQUEST']._serialized_end=1145
  _globals['_FROZEN']._serialized_start=1147
  _globals['_FROZEN']._serialized_end=1210
  _globals['_RESUMED']._serialized_start=1212
  _globals['_RESUMED']._serialized_end=1249
  _globals['_FAIL']._serialized_start=1252
  _globals['_FAIL']._serialized_end=1383
  _globals['_MISMATCH']._serialized_start=1385
  _globals['_MISMATCH']._serialized_end=1479
  _globals['_DESCRIBED']._serialized_start=1481
  _globals['_DESCRIBED']._serialized_end=1538
  _globals['_LEAVE']._serialized_start=1540
  _globals['_LEAVE']._serialized_end=1580
  _globals['_STATISTICS']._serialized_start=1582
  _globals['_STATISTICS']._serialized_end=1653
  _globals['_COUNTER']._serialized_start=1655
  _globals['_COUNTER']._serialized_end=1693
  _globals['_PROCEED']._serialized_start=1695
  _globals['_PROCEED']._serialized_end=1757
  _globals['_UNIT']._serialized_start=1759
  _globals['_UNIT']._serialized_end=1819
  _globals['_SUM']._serialized_start=1821
  _globals['_SUM']._serialized_end=1934
  _globals['_GOODBYE']._serialized_start=1936
  _globals['_GOODBYE']._serialized_end=1945
  _globals['_SERVERMESSAGE']._serialized_start=1948
  _globals['_SERVERMESSAGE']._serialized_end=2539
  _globals['_WELCOME']._serialized_start=2541
  _globals['_WELCOME']._serialized_end=2574
  _globals['_JOINED']._serialized_start=2576
  _globals['_JOINED']._serialized_end=2597
  _globals['_LEASE']._serialized_start=2600
  _globals['_LEASE']._serialized_end=3034
  _globals['_REFUSED']._serialized_start=3037
  _globals['_REFUSED']._serialized_end=3287
  _globals['_REFUSED_REASON']._serialized_start=3186
  _globals['_REFUSED_REASON']._serialized_end=3287
  _globals['_FREEZE']._serialized_start=3289
  _globals['_FREEZE']._serialized_end=3325
  _globals['_RESUME']._serialized_start=3328
  _globals['_RESUME']._serialized_end=3457
  _globals['_FAILED']._serialized_start=3460
  _globals['_FAILED']._serialized_end=3606
  _globals['_FAILED_ENDING']._serialized_start=3548
  _globals['_FAILED_ENDING']._serialized_end=3606
  _globals['_DESCRIBE']._serialized_start=3608
  _globals['_DESCRIBE']._serialized_end=3650
  _globals['_PEERLEFT']._serialized_start=3652
  _globals['_PEERLEFT']._serialized_end=3709
  _globals['_LEFT']._serialized_start=3711
  _globals['_LEFT']._serialized_end=3730
  _globals['_COLLECT']._serialized_start=3732
  _globals['_COLLECT']._serialized_end=3754
  _globals['_STATUSREQUEST']._serialized_start=3756
  _globals['_STATUSREQUEST']._serialized_end=3771
  _globals['_STATUSREPLY']._serialized_start=3774
  _globals['_STATUSREPLY']._serialized_end=4099
  _globals['_JOBSTATUS']._serialized_start=4102
  _globals['_JOBSTATUS']._serialized_end=4395
  _globals['_MEMBERSTATUS']._serialized_start=4397
  _globals['_MEMBERSTATUS']._serialized_end=4488
  _globals['_PORTSTATUS']._serialized_start=4490
  _globals['_PORTSTATUS']._serialized_end=4545
  _globals['_REPORTREQUEST']._serialized_start=4547
  _globals['_REPORTREQUEST']._serialized_end=4562
  _globals['_REPORTREPLY']._serialized_start=4565
  _globals['_REPORTREPLY']._serialized_end=4740
  _globals['_AGGREGATORREPORT']._serialized_start=4742
  _globals['_AGGREGATORREPORT']._serialized_end=4794
  _globals['_JOBREPORT']._serialized_start=4797
  _globals['_JOBREPORT']._serialized_end=5012
  _globals['_MEMBERREPORT']._serialized_start=5014
  _globals['_MEMBERREPORT']._serialized_end=5104
  _globals['_SESSION']._serialized_start=5107
  _globals['_SESSION']._serialized_end=5350
# @@protoc_insertion_point(module_scope)
