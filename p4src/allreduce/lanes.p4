// Repetition over lanes. v1model has no arrays of fields, so the preprocessor writes each lane out: EACH_LANE(M) is
// M(_000) M(_001) ... with as many hexadecimal suffixes as there are lanes.

#ifndef LANES
#define LANES 64
#endif

#define LANES_16(M, p) \
    M(p##0) M(p##1) M(p##2) M(p##3) M(p##4) M(p##5) M(p##6) M(p##7) \
    M(p##8) M(p##9) M(p##a) M(p##b) M(p##c) M(p##d) M(p##e) M(p##f)

#define LANES_256(M, p) \
    LANES_16(M, p##0) LANES_16(M, p##1) LANES_16(M, p##2) LANES_16(M, p##3) \
    LANES_16(M, p##4) LANES_16(M, p##5) LANES_16(M, p##6) LANES_16(M, p##7) \
    LANES_16(M, p##8) LANES_16(M, p##9) LANES_16(M, p##a) LANES_16(M, p##b) \
    LANES_16(M, p##c) LANES_16(M, p##d) LANES_16(M, p##e) LANES_16(M, p##f)

#if LANES == 64
#define EACH_LANE(M) LANES_16(M, _00) LANES_16(M, _01) LANES_16(M, _02) LANES_16(M, _03)
#elif LANES == 256
#define EACH_LANE(M) LANES_256(M, _0)
#elif LANES == 336
#define EACH_LANE(M) \
    LANES_256(M, _0) LANES_16(M, _10) LANES_16(M, _11) LANES_16(M, _12) LANES_16(M, _13) LANES_16(M, _14)
#elif LANES == 512
#define EACH_LANE(M) LANES_256(M, _0) LANES_256(M, _1)
#elif LANES == 1024
#define EACH_LANE(M) LANES_256(M, _0) LANES_256(M, _1) LANES_256(M, _2) LANES_256(M, _3)
#elif LANES == 2048
#define EACH_LANE(M) \
    LANES_256(M, _0) LANES_256(M, _1) LANES_256(M, _2) LANES_256(M, _3) \
    LANES_256(M, _4) LANES_256(M, _5) LANES_256(M, _6) LANES_256(M, _7)
#else
#error "LANES must be 64, 256, 336, 512, 1024 or 2048"
#endif
