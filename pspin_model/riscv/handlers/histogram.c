#include "handler.h"

/* An atomic increment at the place that each word but the last names. */
void handler(const task_t *task)
{
    const int32_t *words = payload(task);
    int32_t *counts = task->scratchpad;
    for (uint32_t i = 0, n = payload_words(task) - 1; i < n; i++)
        atomic_add(&counts[words[i]], 1);
}
