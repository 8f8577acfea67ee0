#include "handler.h"

/* Each word added to the cluster's vector by its own atomic. */
void handler(const task_t *task)
{
    const int32_t *words = payload(task);
    int32_t *sums = task->scratchpad;
    for (uint32_t i = 0, n = payload_words(task); i < n; i++)
        atomic_add(&sums[i], words[i]);
}
