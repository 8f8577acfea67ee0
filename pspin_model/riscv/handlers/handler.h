/* What a handler in C is given, and what it may call: the calls of `pspin_model.handlers`, by the same names.
 *
 * A handler is `void handler(const task_t *task)`. Its pointers may go to the packet, the scratchpads of its context, the
 * context's handler memory, its own variables (in L2, the same for all cores) and its stack (4 KiB in L1); any other
 * address ends it with an error. Views of the Python calls are here a pointer and a length in bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct task {
    uint8_t *packet; /* its copy in L1 */
    uint32_t packet_bytes;
    int32_t *scratchpad; /* of the cluster that the handler runs in */
    uint32_t scratchpad_bytes;
    uint8_t *packet_l2; /* the packet in L2 */
    uint8_t *handler_memory; /* L2 memory of the context */
    uint32_t handler_memory_bytes;
    uint8_t *scratchpads; /* of cluster 0; see scratchpad_of */
    uint32_t scratchpad_stride;
    uint32_t cluster, clusters, core, core_in_cluster;
    uint32_t home_cluster; /* of the message */
    uint64_t message, tag, source; /* as given to Machine.inject */
} task_t;

#define INLINE static inline __attribute__((always_inline))
#define HEADER_BYTES 28 /* IP and UDP headers */

INLINE const int32_t *payload(const task_t *task) { return (const int32_t *)(task->packet + HEADER_BYTES); }
INLINE uint32_t payload_words(const task_t *task) { return (task->packet_bytes - HEADER_BYTES) / 4; }
INLINE void *scratchpad_of(const task_t *task, uint32_t cluster)
{
    return task->scratchpads + cluster * task->scratchpad_stride;
}

/* Atomic memory operations: one instruction each. They return what was there. */
INLINE int32_t atomic_add(int32_t *at, int32_t value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
INLINE int32_t atomic_or(int32_t *at, int32_t value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }
INLINE int32_t atomic_and(int32_t *at, int32_t value) { return __atomic_fetch_and(at, value, __ATOMIC_RELAXED); }
INLINE int32_t atomic_swap(int32_t *at, int32_t value)
{
    return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
INLINE int32_t atomic_max(int32_t *at, int32_t value)
{
    int32_t old;
    __asm__ volatile("amomax.w %0, %2, (%1)" : "=r"(old) : "r"(at), "r"(value) : "memory");
    return old;
}
INLINE int32_t atomic_min(int32_t *at, int32_t value)
{
    int32_t old;
    __asm__ volatile("amomin.w %0, %2, (%1)" : "=r"(old) : "r"(at), "r"(value) : "memory");
    return old;
}

/* A call of the machine is an `ecall`; its number is in the instruction behind it, which is not executed. It costs what
 * the Python call costs; the instructions that bring its arguments into registers cost what they cost. */
INLINE uint64_t netsum_call(uint32_t number, uint32_t a)
{
    register uint32_t a0 __asm__("a0") = a;
    register uint32_t a1 __asm__("a1");
    __asm__ volatile("ecall\n\tlui zero, %2" : "+r"(a0), "=r"(a1) : "i"(number) : "memory");
    return (uint64_t)a1 << 32 | a0;
}
INLINE uint32_t netsum_call3(uint32_t number, uint32_t a, uint32_t b, uint32_t c)
{
    register uint32_t a0 __asm__("a0") = a;
    register uint32_t a1 __asm__("a1") = b;
    register uint32_t a2 __asm__("a2") = c;
    __asm__ volatile("ecall\n\tlui zero, %2" : "+r"(a0), "+r"(a1) : "i"(number), "r"(a2) : "memory");
    return a0;
}
INLINE uint32_t netsum_call5(uint32_t number, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)
{
    register uint32_t a0 __asm__("a0") = a;
    register uint32_t a1 __asm__("a1") = b;
    register uint32_t a2 __asm__("a2") = c;
    register uint32_t a3 __asm__("a3") = d;
    register uint32_t a4 __asm__("a4") = e;
    __asm__ volatile("ecall\n\tlui zero, %2"
                     : "+r"(a0), "+r"(a1)
                     : "i"(number), "r"(a2), "r"(a3), "r"(a4)
                     : "memory");
    return a0;
}

typedef uint32_t handle_t; /* of a copy or a command, for its wait or test */

/* Locks of the context (locks= at Machine.context), first come, first served. */
INLINE void lock(uint32_t index) { netsum_call(1, index); }
INLINE bool try_lock(uint32_t index) { return (uint32_t)netsum_call(2, index) != 0; }
INLINE void unlock(uint32_t index) { netsum_call(3, index); }
INLINE void write_lock(uint32_t index) { netsum_call(1, index); }
INLINE void write_unlock(uint32_t index) { netsum_call(3, index); }
INLINE void read_lock(uint32_t index) { netsum_call(4, index); }
INLINE void read_unlock(uint32_t index) { netsum_call(5, index); }

/* Copies between L2 and L1; bytes move when they complete. */
INLINE handle_t dma(void *target, const void *source, uint32_t bytes)
{
    return netsum_call3(6, (uint32_t)target, (uint32_t)source, bytes);
}
INLINE void dma_wait(handle_t handle) { netsum_call(7, handle); }
INLINE bool dma_test(handle_t handle) { return (uint32_t)netsum_call(8, handle) != 0; }

/* Commands. `tag` and `port` go with a packet; offsets are into the context's host memory. */
INLINE handle_t send_packet(const void *data, uint32_t bytes, uint64_t tag, uint32_t port)
{
    return netsum_call5(9, (uint32_t)data, bytes, (uint32_t)tag, (uint32_t)(tag >> 32), port);
}
INLINE handle_t copy_to_host(const void *data, uint32_t bytes, uint32_t host_offset)
{
    return netsum_call3(10, (uint32_t)data, bytes, host_offset);
}
INLINE handle_t copy_from_host(void *data, uint32_t bytes, uint32_t host_offset)
{
    return netsum_call3(11, (uint32_t)data, bytes, host_offset);
}
INLINE handle_t write_to_host(uint32_t host_offset, uint64_t value)
{
    return netsum_call3(12, host_offset, (uint32_t)value, (uint32_t)(value >> 32));
}
INLINE void wait(handle_t handle) { netsum_call(13, handle); }
INLINE bool test(handle_t handle) { return (uint32_t)netsum_call(14, handle) != 0; }

INLINE void yield_core(void) { netsum_call(15, 0); } /* let the cycles so far pass */
INLINE uint64_t now(void) { return netsum_call(16, 0); } /* the cycle */
INLINE void fail(uint32_t code) { netsum_call(17, code); } /* end with an error */
