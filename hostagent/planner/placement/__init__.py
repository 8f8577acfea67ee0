"""Which rank runs where: the order of ranks whose collective is cheapest under measured costs between their hosts."""
