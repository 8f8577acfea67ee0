#include "handler.h"

/* The sum of the packet's words, added to the cluster's sum at once. */
void handler(const task_t *task)
{
    const int32_t *words = payload(task);
    int32_t sum = 0;
    for (uint32_t i = 0, n = payload_words(task); i < n; i++)
        sum += words[i];
    atomic_add(task->scratchpad, sum);
}
