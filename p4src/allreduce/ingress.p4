// The slot rule. A job owns a range of slots; chunk c uses slot c mod W and, in it, set (c div W) mod 2. A set
// remembers which chunk of which epoch it holds, who has contributed, and the sum so far.
//
// An aggregator whose job has a parent is a leaf: its sum goes up as one more contribution, and the parent's result takes
// the sum's place. What a server of weights at the root computes is no leaf's business: it adds what it is sent, and hands
// down what it gets. Child numbers are those of workers on all levels, while each level has its own bits: a leaf's frames
// keep the number of the worker that made it send, and every worker below a leaf has the leaf's bit at the parent.
//
// A job with fewer slots here than its window overflows: contributions for the slots from there on go to a server as
// they came, and its answers to the workers.
//
// Every step that touches all lanes is one action (store, clear, add, max, read): v1model has no loops over fields, and
// bmv2 no conditions in actions, so the verdict is found first, in the apply block.

#define LANE_SUM(i) register<bit<32>>(2 * SLOTS) sum##i;

#define LANE_STORE(i) sum##i.write(index, hdr.lanes.lane##i);
#define LANE_CLEAR(i) sum##i.write(index, 0);
#define LANE_ADD(i) { bit<32> held; sum##i.read(held, index); sum##i.write(index, held + hdr.lanes.lane##i); }
#define LANE_MAX(i) { \
    bit<32> held; \
    sum##i.read(held, index); \
    sum##i.write(index, (int<32>)held < (int<32>)hdr.lanes.lane##i ? hdr.lanes.lane##i : held); }
#define LANE_READ(i) sum##i.read(hdr.lanes.lane##i, index);

// What is known of the slot 2^i before: of the newest chunk there, for older ones have their results. Of a sum that has
// gone up to a parent nothing is.
#define NEARBY_READ(i) { \
    slot = (hdr.netsum.chunk - (32w1 << i)) & (meta.window - 1); \
    if (slot < meta.slots) { \
        slot = meta.first_slot + slot; \
        slot_newest.read(newest, slot); \
        index = (slot << 1) | (bit<32>)newest; \
        set_epoch.read(epoch, index); \
        set_state.read(status, index); \
        if (epoch != meta.epoch || status != SET_COMPLETE || meta.has_parent == 0) { \
            meta.nearby = meta.nearby | (NEARBY_ABSENT << (2 * i)); \
        } \
        if (epoch == meta.epoch && status == SET_FILLING) { \
            set_children.read(meta.waiting##i, index); \
        } \
    } }

control AllreduceIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // What a set remembers.
    register<epoch_t>(2 * SLOTS) set_epoch;
    register<chunk_t>(2 * SLOTS) set_chunk;
    register<bit<8>>(2 * SLOTS) set_state;
    register<children_t>(2 * SLOTS) set_children;
    register<bit<8>>(2 * SLOTS) set_operator;         // of the first contribution, as the next two
    register<bit<32>>(2 * SLOTS) set_operation;
    register<bit<16>>(2 * SLOTS) set_first_child;
    register<bit<32>>(2 * SLOTS) set_other_operation; // of the contribution that made it fail
    register<bit<16>>(2 * SLOTS) set_other_child;
    register<children_t>(2 * SLOTS) set_short_results; // who needs no lanes of the result
    register<bit<1>>(2 * SLOTS) set_marked;           // a contribution has passed a long queue (ECN)
    register<bit<1>>(SLOTS) slot_newest;                // which of its sets was opened last
    EACH_LANE(LANE_SUM)

    counter(1024, CounterType.packets_and_bytes) verdicts;
    counter(16, CounterType.packets_and_bytes) drops;

    set_index_t index = 0;
    bit<1> newest = 0;

    // --- The entries of the job and of the child -----------------------------------------------------------------

    action set_job(
            epoch_t epoch, chunk_t base, chunk_t window, bit<8> window_log2, bit<32> first_slot, children_t full,
            bit<16> group, bit<1> short_allowed, bit<16> statistics) {
        meta.epoch = epoch;
        meta.base = base;
        meta.window = window;
        meta.window_log2 = window_log2;
        meta.slots = window;
        meta.first_slot = first_slot;
        meta.full = full;
        meta.group = group;
        meta.short_allowed = short_allowed;
        meta.statistics = (bit<32>)statistics;
    }

    // The same in a leaf; "elsewhere" are bits of workers that are not below it.
    action set_leaf_job(
            epoch_t epoch, chunk_t base, chunk_t window, bit<8> window_log2, bit<32> first_slot, children_t full,
            bit<16> group, bit<1> short_allowed, bit<16> statistics, bit<9> parent_port, mac_t own_mac,
            mac_t parent_mac, ipv4_t own_ip, ipv4_t parent_ip, bit<1> parent_zero_checksum_allowed,
            children_t elsewhere) {
        set_job(epoch, base, window, window_log2, first_slot, full, group, short_allowed, statistics);
        meta.has_parent = 1;
        meta.parent_port = parent_port;
        meta.own_mac = own_mac;
        meta.parent_mac = parent_mac;
        meta.own_ip = own_ip;
        meta.parent_ip = parent_ip;
        meta.parent_zero_checksum_allowed = parent_zero_checksum_allowed;
        meta.elsewhere = elsewhere;
    }

    // The same with "slots" here, the first of the window's; a server has the others.
    action set_overflowing_job(
            epoch_t epoch, chunk_t base, chunk_t window, bit<8> window_log2, bit<32> first_slot, children_t full,
            bit<16> group, bit<1> short_allowed, bit<16> statistics, chunk_t slots, bit<9> server_port,
            mac_t server_mac, ipv4_t server_ip) {
        set_job(epoch, base, window, window_log2, first_slot, full, group, short_allowed, statistics);
        meta.slots = slots;
        meta.parent_port = server_port;
        meta.parent_mac = server_mac;
        meta.parent_ip = server_ip;
    }

    table jobs {
        key = { hdr.netsum.job: exact @name("job"); }
        actions = { set_job; set_leaf_job; set_overflowing_job; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    action set_child(children_t bit_mask, bit<1> zero_checksum_allowed) {
        meta.bit_mask = bit_mask;
        meta.zero_checksum_allowed = zero_checksum_allowed;
        meta.compute_checksum = ~zero_checksum_allowed;
    }

    // A frame that fits no child's port and addresses is a stranger's.
    table children {
        key = {
            hdr.netsum.job: exact @name("job");
            hdr.netsum.child: exact @name("child");
            standard_metadata.ingress_port: exact @name("port");
            hdr.ethernet.source: exact @name("source_mac");
            hdr.ipv4.source: exact @name("source_ip");
        }
        actions = { set_child; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    // --- Frames of one child for another ---------------------------------------------------------------------------

    action forward(
            bit<9> port, mac_t source_mac, mac_t destination_mac, ipv4_t source_ip, ipv4_t destination_ip) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.source = source_mac;
        hdr.ethernet.destination = destination_mac;
        hdr.ipv4.source = source_ip;
        hdr.ipv4.destination = destination_ip;
        meta.is_forwarded = 1;
    }

    table peers {
        key = {
            hdr.netsum.job: exact @name("job");
            hdr.netsum.peer: exact @name("child");
        }
        actions = { forward; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    // --- Lanes: one action for each verdict ----------------------------------------------------------------------

    // A reply carries lanes also when the contribution came without.
    action make_full() {
        hdr.lanes.setValid();
        hdr.udp.length_bytes = UDP_FULL_BYTES;
        hdr.ipv4.total_bytes = IPV4_BYTES + UDP_FULL_BYTES;
        hdr.netsum.lanes = LANES;
    }

    action store_lanes() {
        EACH_LANE(LANE_STORE)
    }

    action clear_lanes() {
        EACH_LANE(LANE_CLEAR)
    }

    action add_lanes() {
        EACH_LANE(LANE_ADD)
    }

    action max_lanes() {
        EACH_LANE(LANE_MAX)
    }

    action read_lanes() {
        make_full();
        EACH_LANE(LANE_READ)
    }

    // --- Where a frame goes ---------------------------------------------------------------------------------------

    action refuse(in drop_t reason) {
        drops.count((bit<32>)reason);
        mark_to_drop(standard_metadata);
    }

    action count_verdict(in verdict_t verdict) {
        verdicts.count((meta.statistics << 4) + (bit<32>)verdict);
    }

    // To all children, by multicast: egress addresses the copies.
    action answer_all(in kind_t kind) {
        hdr.netsum.kind = kind;
        hdr.netsum.flags = 0;
        standard_metadata.mcast_grp = meta.group;
    }

    // To the sender alone, with addresses swapped.
    action answer_sender(in kind_t kind) {
        mac_t own_mac = hdr.ethernet.destination;
        ipv4_t own_ip = hdr.ipv4.destination;
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = own_mac;
        hdr.ipv4.destination = hdr.ipv4.source;
        hdr.ipv4.source = own_ip;
        hdr.netsum.kind = kind;
        hdr.netsum.flags = 0;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    // The sum, to the parent, in the name of the worker whose frame this is.
    action send_up() {
        hdr.ethernet.source = meta.own_mac;
        hdr.ethernet.destination = meta.parent_mac;
        hdr.ipv4.source = meta.own_ip;
        hdr.ipv4.destination = meta.parent_ip;
        hdr.netsum.flags = 0;
        meta.compute_checksum = ~meta.parent_zero_checksum_allowed;
        standard_metadata.egress_spec = meta.parent_port;
    }

    action tell_children(in children_t who) {
        make_full();
        hdr.lanes.lane_000 = who[63:32];
        hdr.lanes.lane_001 = who[31:0];
    }

    action tell_mismatch(
            in bit<32> operation, in bit<16> child, in bit<32> other_operation, in bit<16> other_child) {
        make_full();
        hdr.lanes.lane_000 = operation;
        hdr.lanes.lane_001 = other_operation;
        hdr.lanes.lane_002 = (bit<32>)child;
        hdr.lanes.lane_003 = (bit<32>)other_child;
    }

    apply {
        // Is it a contribution, whole and unharmed, of a child that the job's entry knows, in the job's epoch?
        if (!hdr.netsum.isValid()) {
            refuse(drop_t.NOT_OURS);
            return;
        }
        if (standard_metadata.checksum_error == 1) {
            refuse(drop_t.CHECKSUM);
            return;
        }
        if (hdr.ipv4.total_bytes != IPV4_BYTES + hdr.udp.length_bytes
                || standard_metadata.packet_length != 14 + (bit<32>)hdr.ipv4.total_bytes) {
            refuse(drop_t.LENGTH);
            return;
        }
        bool no_data = (hdr.netsum.flags & FLAG_NO_DATA) != 0;
        bool is_for_peer = hdr.netsum.kind == kind_t.MESSAGE || hdr.netsum.kind == kind_t.ACKNOWLEDGEMENT;
        bool is_answer = hdr.netsum.kind == kind_t.RESULT || hdr.netsum.kind == kind_t.ERROR;
        bool is_waiting = hdr.netsum.kind == kind_t.WAITING;
        bool is_sum = hdr.netsum.operator == operator_t.SUM || hdr.netsum.operator == operator_t.SERVED;
        bool is_maximum = hdr.netsum.operator == operator_t.MAX || hdr.netsum.operator == operator_t.ANNOUNCE;
        if (hdr.netsum.version != NETSUM_VERSION
                || (!is_for_peer
                    && ((hdr.netsum.kind != kind_t.CONTRIBUTION && !is_answer && !is_waiting)
                        || (!is_sum && (!is_maximum || no_data))))) {
            refuse(drop_t.KIND);
            return;
        }
        if (!jobs.apply().hit) {
            refuse(drop_t.JOB);
            return;
        }
        if (meta.has_parent == 0 && !is_for_peer
                && hdr.netsum.operator != operator_t.SUM && hdr.netsum.operator != operator_t.MAX) {
            refuse(drop_t.KIND); // there is no server of weights above
            return;
        }
        // Contributions come from children alone, answers from a parent or a server alone, messages from a parent too.
        bool is_overflow = !is_for_peer && (hdr.netsum.chunk & (meta.window - 1)) >= meta.slots;
        bool is_from_parent = false;
        if (is_answer || is_waiting) {
            if (meta.has_parent == 0 && !is_overflow) {
                refuse(drop_t.KIND);
                return;
            }
            is_from_parent = true;
        } else if (!children.apply().hit) {
            if (meta.has_parent == 0 || !is_for_peer) {
                refuse(drop_t.CHILD);
                return;
            }
            is_from_parent = true;
        }
        if (is_from_parent) {
            if (standard_metadata.ingress_port != meta.parent_port
                    || hdr.ethernet.source != meta.parent_mac || hdr.ipv4.source != meta.parent_ip) {
                refuse(drop_t.CHILD);
                return;
            }
            meta.zero_checksum_allowed = meta.parent_zero_checksum_allowed;
        }
        if (is_for_peer || is_waiting || is_overflow) {
            if (hdr.udp.length_bytes > UDP_FULL_BYTES) {
                refuse(drop_t.LENGTH);
                return;
            }
            if (hdr.netsum.epoch != meta.epoch) {
                refuse(drop_t.EPOCH);
                return;
            }
            if (is_overflow && !is_from_parent) {
                // The server knows the worker by its addresses.
                standard_metadata.egress_spec = meta.parent_port;
                meta.is_forwarded = 1;
                count_verdict(verdict_t.OVERFLOWED);
                return;
            }
            ipv4_t old_source = hdr.ipv4.source;
            ipv4_t old_destination = hdr.ipv4.destination;
            // A parent's or a server's answer is for the child that it names.
            bit<16> peer = hdr.netsum.peer;
            if (!is_for_peer) {
                hdr.netsum.peer = hdr.netsum.child;
            }
            if (!peers.apply().hit) {
                refuse(drop_t.PEER);
                return;
            }
            if (is_from_parent && standard_metadata.egress_spec == meta.parent_port) {
                refuse(drop_t.PEER); // for nobody below: it would come back
                return;
            }
            hdr.netsum.peer = peer;
            // RFC 1624, equation 3, which is the csum16 of these: the bytes themselves are not read, and what damage
            // there was stays visible to the receiver.
            if (hdr.udp.checksum != 0) {
                bit<16> sum;
                hash(sum, HashAlgorithm.csum16, 16w0, {
                    ~hdr.udp.checksum, ~old_source, ~old_destination, hdr.ipv4.source, hdr.ipv4.destination
                }, 32w65536);
                hdr.udp.checksum = sum == 0 ? 16w0xFFFF : sum;
            }
            count_verdict(verdict_t.FORWARDED);
            return;
        }
        if (hdr.lanes.isValid()) {
            if (hdr.netsum.lanes != LANES) {
                refuse(drop_t.LENGTH);
                return;
            }
        } else if (hdr.udp.length_bytes != UDP_SHORT_BYTES
                || hdr.netsum.lanes != 0 || !no_data || meta.short_allowed == 0) {
            refuse(drop_t.LENGTH);
            return;
        }

        // The one's complement sum over a list with its own checksum is 0xFFFF, and csum16 its complement. Zero on the
        // wire means that the sender computed none.
        if (hdr.udp.checksum != 0) {
            bit<16> difference;
            if (hdr.lanes.isValid()) {
                hash(difference, HashAlgorithm.csum16, 16w0, UDP_FULL_CHECKSUM_LIST, 32w65536);
            } else {
                hash(difference, HashAlgorithm.csum16, 16w0, UDP_SHORT_CHECKSUM_LIST, 32w65536);
            }
            if (difference != 0) {
                refuse(drop_t.CHECKSUM);
                return;
            }
        } else if (meta.zero_checksum_allowed == 0) {
            refuse(drop_t.CHECKSUM);
            return;
        }
        if (hdr.netsum.epoch != meta.epoch) {
            refuse(drop_t.EPOCH);
            return;
        }

        // The switch computes the place, never the frame.
        bit<32> slot = meta.first_slot + (hdr.netsum.chunk & (meta.window - 1));
        if (slot >= SLOTS) {
            refuse(drop_t.INDEX);
            return;
        }
        index = (slot << 1) | ((hdr.netsum.chunk >> meta.window_log2) & 1);

        epoch_t epoch;
        chunk_t chunk;
        bit<8> status;
        children_t came;
        bit<8> sum_or_max;
        bit<32> operation;
        bit<16> first_child;
        set_epoch.read(epoch, index);
        set_chunk.read(chunk, index);
        set_state.read(status, index);
        set_children.read(came, index);
        set_operator.read(sum_or_max, index);
        set_operation.read(operation, index);
        set_first_child.read(first_child, index);

        // The parent's word on the sum that the set has sent up.
        if (is_answer) {
            bool same = operation == hdr.netsum.operation && sum_or_max == (bit<8>)hdr.netsum.operator;
            if (epoch != meta.epoch || chunk != hdr.netsum.chunk || status != SET_COMPLETE
                    || (hdr.netsum.kind == kind_t.RESULT ? !same : no_data)) {
                count_verdict(verdict_t.OUTSIDE_WINDOW);
                mark_to_drop(standard_metadata);
                return;
            }
            answer_all(hdr.netsum.kind);
            count_verdict(verdict_t.FROM_PARENT);
            if (hdr.netsum.kind == kind_t.RESULT) {
                set_short_results.read(meta.short_results, index);
            }
            if (hdr.netsum.kind == kind_t.RESULT && no_data) {
                set_state.write(index, SET_NO_DATA);
                clear_lanes();
                read_lanes();
                hdr.netsum.flags = FLAG_NO_DATA;
            } else if (hdr.netsum.kind == kind_t.RESULT) {
                set_state.write(index, SET_FINAL);
                store_lanes();
            } else {
                set_state.write(index, SET_FAILED);
                set_operation.write(index, hdr.lanes.lane_000);
                set_other_operation.write(index, hdr.lanes.lane_001);
                set_first_child.write(index, (bit<16>)hdr.lanes.lane_002);
                set_other_child.write(index, (bit<16>)hdr.lanes.lane_003);
                return;
            }
            NEARBY(NEARBY_READ)
            return;
        }

        // Does the frame open the set, or belong to what it holds? A set of another epoch is empty. One with the result
        // gives way to the exact successor: whoever sends that has the result.
        bool has_result = status == SET_FINAL || status == SET_NO_DATA
                || (status == SET_COMPLETE && meta.has_parent == 0);
        bool first = false;
        if (epoch != meta.epoch) {
            first = (hdr.netsum.chunk - meta.base) < (meta.window << 1);
        } else if (hdr.netsum.chunk != chunk) {
            first = has_result && (hdr.netsum.chunk == chunk + (meta.window << 1));
        }
        if (!first && (epoch != meta.epoch || hdr.netsum.chunk != chunk)) {
            count_verdict(verdict_t.OUTSIDE_WINDOW);
            mark_to_drop(standard_metadata);
            return;
        }

        if (first) {
            came = 0;
            status = SET_FILLING;
            sum_or_max = (bit<8>)hdr.netsum.operator;
            operation = hdr.netsum.operation;
            set_epoch.write(index, hdr.netsum.epoch);
            set_chunk.write(index, hdr.netsum.chunk);
            slot_newest.write(slot, (bit<1>)index);
            set_state.write(index, status);
            set_operator.write(index, sum_or_max);
            set_operation.write(index, operation);
            set_first_child.write(index, hdr.netsum.child);
        } else if (status == SET_FAILED
                || operation != hdr.netsum.operation || sum_or_max != (bit<8>)hdr.netsum.operator) {
            // Ranks that disagree on what they compute: the set stays failed for the rest of the epoch.
            bit<32> other_operation = hdr.netsum.operation;
            bit<16> other_child = hdr.netsum.child;
            if (status == SET_FAILED) {
                set_other_operation.read(other_operation, index);
                set_other_child.read(other_child, index);
                answer_sender(kind_t.ERROR);
                count_verdict(verdict_t.ERROR);
            } else {
                set_state.write(index, SET_FAILED);
                set_other_operation.write(index, other_operation);
                set_other_child.write(index, other_child);
                answer_all(kind_t.ERROR);
                count_verdict(verdict_t.MISMATCH);
            }
            tell_mismatch(operation, first_child, other_operation, other_child);
            return;
        } else if ((came & meta.bit_mask) != 0) {
            // A repeat is never added. It asks for the result, or for who is missing; where the sum has gone up, it is
            // the parent that knows.
            if (status != SET_FILLING) {
                read_lanes();
                if (has_result) {
                    answer_sender(kind_t.RESULT);
                    set_short_results.read(meta.short_results, index);
                    if (status == SET_NO_DATA) {
                        hdr.netsum.flags = FLAG_NO_DATA;
                    }
                    count_verdict(verdict_t.SERVED_AGAIN);
                } else {
                    send_up();
                    count_verdict(verdict_t.PARTIAL_AGAIN);
                }
            } else {
                tell_children(came | meta.elsewhere);
                answer_sender(kind_t.WAITING);
                count_verdict(verdict_t.WAITING);
            }
            return;
        }

        // A first copy.
        came = came | meta.bit_mask;
        set_children.write(index, came);
        bit<1> marked = 0;
        children_t short_results = 0;
        if (!first) {
            set_marked.read(marked, index);
            set_short_results.read(short_results, index);
        }
        if ((hdr.netsum.flags & FLAG_SHORT_RESULT) != 0) {
            short_results = short_results | meta.bit_mask;
        }
        set_short_results.write(index, short_results);
        if ((hdr.ipv4.dscp_ecn & ECN_FIELD) == ECN_MARKED) {
            marked = 1;
        }
        set_marked.write(index, marked);
        if (no_data) {
            count_verdict(verdict_t.ACCEPTED_NO_DATA);
            if (first) {
                clear_lanes();
            }
        } else {
            count_verdict(verdict_t.ACCEPTED);
            if (first) {
                store_lanes();
            } else if (is_maximum) {
                max_lanes();
            } else {
                add_lanes();
            }
        }
        if (came != meta.full) {
            mark_to_drop(standard_metadata);
            return;
        }
        set_state.write(index, SET_COMPLETE);
        read_lanes();
        if (marked == 1) {
            hdr.ipv4.dscp_ecn = hdr.ipv4.dscp_ecn | ECN_MARKED; // whoever was held up, all hear of it
        }
        count_verdict(verdict_t.COMPLETED);
        if (meta.has_parent == 1) {
            send_up();
        } else {
            answer_all(kind_t.RESULT);
            meta.short_results = short_results;
            NEARBY(NEARBY_READ)
        }
    }
}
