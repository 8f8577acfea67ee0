"""bmv2's JSON, as p4c writes it, as a second front end onto the IR."""
