// In-network allreduce: the P4 aggregator of netsum's aggregation protocol, version 2.
//
// Workers cut their tensors into chunks of LANES 32-bit numbers and send each chunk as one frame. The switch adds the
// contributions of a job's children lane by lane in registers; the last one completes the chunk, and the result goes
// to all children by multicast. Duplicates, reordering and loss are answered from what the slot remembers, so a chunk
// is summed exactly once and a lost result can be asked for again.
//
// The control plane gives each job a range of slots (table jobs), names its children (table children) and says how a
// copy is addressed (table copies, multicast groups). Nothing is ever cleared by the control plane: a new epoch makes
// everything an older one left behind void.
//
// Build options: LANES (64, 256, 336, 512, 1024 or 2048; default 64), SLOTS (slots of the switch, default 2048).

#include <core.p4>
#include <v1model.p4>

#include "shared/marks.p4"
#include "allreduce/lanes.p4"
#include "allreduce/types.p4"
#include "allreduce/headers.p4"
#include "allreduce/parser.p4"
#include "allreduce/checksums.p4"
#include "allreduce/ingress.p4"
#include "allreduce/egress.p4"

V1Switch(
    AllreduceParser(),
    AllreduceVerifyChecksum(),
    AllreduceIngress(),
    AllreduceEgress(),
    AllreduceComputeChecksum(),
    AllreduceDeparser()) main;
