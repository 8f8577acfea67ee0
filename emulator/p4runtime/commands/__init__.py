"""bmv2's runtime command language (`simple_switch_CLI`), carried out in the switch's process."""
