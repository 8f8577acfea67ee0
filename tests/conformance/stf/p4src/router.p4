/* The router that ships with netsum; its test is the one of `netsum examples`. */
#include "../../../../p4src/router.p4"
