"""Networks as data: nodes and links, how to build, check, read, write and draw them."""
