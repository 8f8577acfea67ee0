#ifndef SHARED_TYPES
#define SHARED_TYPES
typedef bit<8> shared_byte_t;
const shared_byte_t SHARED_STEP = 3;
#include "shared_types.p4"
#endif
