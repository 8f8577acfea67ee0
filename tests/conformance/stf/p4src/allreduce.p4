/* The aggregation program that ships with netsum, 64 lanes: a sum for two children. */
#define SLOTS 128
#include "../../../../p4src/allreduce.p4"
