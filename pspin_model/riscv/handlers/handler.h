/* What a handler in C is given: its packet in L1, its length, and its cluster's scratchpad. */
#pragma once

typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef int int32_t;

typedef struct task {
    uint8_t *packet;
    uint32_t packet_bytes;
    int32_t *scratchpad;
} task_t;

#define HEADER_BYTES 28

static inline const int32_t *payload(const task_t *task) { return (const int32_t *)(task->packet + HEADER_BYTES); }
static inline uint32_t payload_words(const task_t *task) { return (task->packet_bytes - HEADER_BYTES) / 4; }
static inline void atomic_add(int32_t *at, int32_t value) { __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
