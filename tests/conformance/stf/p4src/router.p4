/* The router that ships with netsum. */
#include "../../../../p4src/router.p4"
