# Generated from aggregator.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
# source: hostagent/protocol/services/aggregator.proto
# Protobuf Python Version: 7.35.1
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf import symbol_database as _symbol_database
from google.protobuf.internal import builder as _builder
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()




DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n,hostagent/protocol/services/aggregator.proto\x12\x14netsum.aggregator.v1\"\x0e\n\x0cWatchRequest\"\xe1\x01\n\x0b\x44\x65scription\x12\x0c\n\x04kind\x18\x01 \x01(\t\x12\x13\n\x0bincarnation\x18\x02 \x01(\x04\x12\r\n\x05slots\x18\x03 \x01(\r\x12\r\n\x05lanes\x18\x04 \x01(\r\x12\x0c\n\x04jobs\x18\x05 \x01(\r\x12-\n\x05known\x18\x06 \x03(\x0b\x32\x1e.netsum.aggregator.v1.KnownJob\x12*\n\x05place\x18\x07 \x01(\x0b\x32\x1b.netsum.aggregator.v1.Place\x12\r\n\x05ports\x18\x08 \x03(\r\x12\x19\n\x11\x66orwards_messages\x18\t \x01(\x08\"$\n\x05Place\x12\x0c\n\x04rack\x18\x01 \x01(\r\x12\r\n\x05peers\x18\x02 \x03(\r\"&\n\x08KnownJob\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05\x65poch\x18\x02 \x01(\r\"T\n\x0eInstallRequest\x12-\n\x05terms\x18\x01 \x01(\x0b\x32\x1e.netsum.aggregator.v1.JobTerms\x12\x13\n\x0bincarnation\x18\x02 \x01(\x04\"\xf7\x02\n\x08JobTerms\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\r\n\x05\x65poch\x18\x02 \x01(\r\x12\x0c\n\x04\x62\x61se\x18\x03 \x01(\r\x12\x13\n\x0bwindow_log2\x18\x04 \x01(\r\x12\x12\n\nfirst_slot\x18\x05 \x01(\r\x12\r\n\x05lanes\x18\x06 \x01(\r\x12\x15\n\rno_data_short\x18\x07 \x01(\x08\x12\x16\n\x0e\x61ggregator_mac\x18\x08 \x01(\x04\x12\x15\n\raggregator_ip\x18\t \x01(\r\x12\x32\n\x08\x63hildren\x18\n \x03(\x0b\x32 .netsum.aggregator.v1.ChildTerms\x12\x33\n\x07service\x18\x0b \x01(\x0b\x32\".netsum.aggregator.v1.ServiceTerms\x12,\n\x06spread\x18\x0c \x01(\x0b\x32\x1c.netsum.aggregator.v1.Spread\x12,\n\x06parent\x18\r \x01(\x0b\x32\x1c.netsum.aggregator.v1.Parent\"\x80\x01\n\x06Parent\x12\x0c\n\x04port\x18\x01 \x01(\r\x12\x0b\n\x03mac\x18\x02 \x01(\x04\x12\n\n\x02ip\x18\x03 \x01(\r\x12\x0f\n\x07own_mac\x18\x04 \x01(\x04\x12\x0e\n\x06own_ip\x18\x05 \x01(\r\x12\x1d\n\x15zero_checksum_allowed\x18\x06 \x01(\x08\x12\x0f\n\x07workers\x18\x07 \x03(\r\"D\n\x06Spread\x12\x0b\n\x03way\x18\x01 \x01(\t\x12-\n\x05racks\x18\x02 \x03(\x0b\x32\x1e.netsum.aggregator.v1.RackPart\"*\n\x08RackPart\x12\x0c\n\x04rack\x18\x01 \x01(\r\x12\x10\n\x08\x63hildren\x18\x02 \x01(\x06\"\x82\x01\n\nChildTerms\x12\r\n\x05\x63hild\x18\x01 \x01(\r\x12\x0b\n\x03\x62it\x18\x02 \x01(\r\x12\x0c\n\x04port\x18\x03 \x01(\r\x12\x0b\n\x03mac\x18\x04 \x01(\x04\x12\n\n\x02ip\x18\x05 \x01(\r\x12\x1d\n\x15zero_checksum_allowed\x18\x06 \x01(\x08\x12\x12\n\nstands_for\x18\x07 \x01(\x06\"r\n\x0cServiceTerms\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\r\n\x05nonce\x18\x02 \x01(\x0c\x12\x0f\n\x07workers\x18\x03 \x01(\r\x12\x0e\n\x06weight\x18\x04 \x01(\r\x12\x13\n\x0bquota_bytes\x18\x05 \x01(\x04\x12\x0f\n\x07options\x18\x06 \x01(\t\"\x0e\n\x0cInstallReply\"1\n\rRemoveRequest\x12\x0b\n\x03job\x18\x01 \x01(\r\x12\x13\n\x0bincarnation\x18\x02 \x01(\x04\"\r\n\x0bRemoveReply\"\x11\n\x0f\x43ountersRequest\"l\n\rCountersReply\x12/\n\x04jobs\x18\x01 \x03(\x0b\x32!.netsum.aggregator.v1.JobCounters\x12*\n\x05\x64rops\x18\x02 \x03(\x0b\x32\x1b.netsum.aggregator.v1.Count\"\xaa\x01\n\x0bJobCounters\x12\x0b\n\x03job\x18\x01 \x01(\r\x12+\n\x06\x66rames\x18\x02 \x03(\x0b\x32\x1b.netsum.aggregator.v1.Count\x12*\n\x05\x62ytes\x18\x03 \x03(\x0b\x32\x1b.netsum.aggregator.v1.Count\x12\x35\n\x08\x63hildren\x18\x04 \x03(\x0b\x32#.netsum.aggregator.v1.ChildCounters\"K\n\rChildCounters\x12\r\n\x05\x63hild\x18\x01 \x01(\r\x12+\n\x06\x66rames\x18\x02 \x03(\x0b\x32\x1b.netsum.aggregator.v1.Count\"$\n\x05\x43ount\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\r\n\x05value\x18\x02 \x01(\x04\"\x13\n\x11StatisticsRequest\"\x1f\n\x0fStatisticsReply\x12\x0c\n\x04json\x18\x01 \x01(\t2\xbb\x03\n\nAggregator\x12P\n\x05Watch\x12\".netsum.aggregator.v1.WatchRequest\x1a!.netsum.aggregator.v1.Description0\x01\x12S\n\x07Install\x12$.netsum.aggregator.v1.InstallRequest\x1a\".netsum.aggregator.v1.InstallReply\x12P\n\x06Remove\x12#.netsum.aggregator.v1.RemoveRequest\x1a!.netsum.aggregator.v1.RemoveReply\x12V\n\x08\x43ounters\x12%.netsum.aggregator.v1.CountersRequest\x1a#.netsum.aggregator.v1.CountersReply\x12\\\n\nStatistics\x12\'.netsum.aggregator.v1.StatisticsRequest\x1a%.netsum.aggregator.v1.StatisticsReplyb\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'hostagent.protocol.services.aggregator_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
  _globals['_WATCHREQUEST']._serialized_start=70
  _globals['_WATCHREQUEST']._serialized_end=84
  _globals['_DESCRIPTION']._serialized_start=87
  _globals['_DESCRIPTION']._serialized_end=312
  _globals['_PLACE']._serialized_start=314
  _globals['_PLACE']._serialized_end=350
  _globals['_KNOWNJOB']._serialized_start=352
  _globals['_KNOWNJOB']._serialized_end=390
  _globals['_INSTALLREQUEST']._serialized_start=392
  _globals['_INSTALLREQUEST']._serialized_end=476
  _globals['_JOBTERMS']._serialized_start=479
  _globals['_JOBTERMS']._serialized_end=854
  _globals['_PARENT']._serialized_start=857
  _globals['_PARENT']._serialized_end=985
  _globals['_SPREAD']._serialized_start=987
  _globals['_SPREAD']._serialized_end=1055
  _globals['_RACKPART']._serialized_start=1057
  _globals['_RACKPART']._serialized_end=1099
  _globals['_CHILDTERMS']._serialized_start=1102
  _globals['_CHILDTERMS']._serialized_end=1232
  _globals['_SERVICETERMS']._serialized_start=1234
  _globals['_SERVICETERMS']._serialized_end=1348
  _globals['_INSTALLREPLY']._serialized_start=1350
  _globals['_INSTALLREPLY']._serialized_end=1364
  _globals['_REMOVEREQUEST']._serialized_start=1366
  _globals['_REMOVEREQUEST']._serialized_end=1415
  _globals['_REMOVEREPLY']._serialized_start=1417
  _globals['_REMOVEREPLY']._serialized_end=1430
  _globals['_COUNTERSREQUEST']._serialized_start=1432
  _globals['_COUNTERSREQUEST']._serialized_end=1449
  _globals['_COUNTERSREPLY']._serialized_start=1451
  _globals['_COUNTERSREPLY']._serialized_end=1559
  _globals['_JOBCOUNTERS']._serialized_start=1562
  _globals['_JOBCOUNTERS']._serialized_end=1732
  _globals['_CHILDCOUNTERS']._serialized_start=1734
  _globals['_CHILDCOUNTERS']._serialized_end=1809
  _globals['_COUNT']._serialized_start=1811
  _globals['_COUNT']._serialized_end=1847
  _globals['_STATISTICSREQUEST']._serialized_start=1849
  _globals['_STATISTICSREQUEST']._serialized_end=1868
  _globals['_STATISTICSREPLY']._serialized_start=1870
  _globals['_STATISTICSREPLY']._serialized_end=1901
  _globals['_AGGREGATOR']._serialized_start=1904
  _globals['_AGGREGATOR']._serialized_end=2347
# @@protoc_insertion_point(module_scope)
