"""How each command is written: what errors quote, and what ``netsum stf --help`` and the README list."""

from __future__ import annotations

USAGE = {
    "packet": "packet PORT NIBBLES",
    "expect": "expect PORT [NIBBLES, '*' for any, '$' at the end for nothing more]",
    "no_packet": "no_packet [PORT]",
    "wait": "wait [SECONDS]",
    "add": "add TABLE [PRIORITY] KEY:VALUE ... TARGET [= HANDLE]",
    "setdefault": "setdefault TABLE ACTION",
    "remove": "remove all | HANDLE",
    "add_member": "add_member PROFILE ACTION = HANDLE",
    "add_group": "add_group PROFILE MEMBER[*WEIGHT] ... = HANDLE",
    "add_value": "add_value VALUE_SET KEY | FIELD:KEY ...",
    "check_counter": "check_counter COUNTER(INDEX or HANDLE) [packets|bytes OPERATOR NUMBER]",
    "check_register": "check_register REGISTER(INDEX) OPERATOR NUMBER",
    "check_log": 'check_log "MESSAGE" | none',
    "check_count": 'check_count "REASON" OPERATOR NUMBER',
    "check_digest": "check_digest DIGEST VALUE ... | none",
    "check_meter": "check_meter METER(INDEX or HANDLE) RATE:BURST RATE:BURST | none",
    "mirroring_add": "mirroring_add SESSION PORT",
    "mirroring_add_mc": "mirroring_add_mc SESSION GROUP",
    "mirroring_delete": "mirroring_delete SESSION",
    "mirroring_get": "mirroring_get SESSION",
    "mc_mgrp_create": "mc_mgrp_create GROUP",
    "mc_node_create": "mc_node_create RID PORT ...",
    "mc_node_update": "mc_node_update NODE PORT ...",
    "mc_node_associate": "mc_node_associate GROUP NODE",
    "counter_read": "counter_read COUNTER INDEX",
    "counter_write": "counter_write COUNTER INDEX PACKETS BYTES",
    "register_read": "register_read REGISTER INDEX",
    "register_write": "register_write REGISTER INDEX VALUE",
    "register_reset": "register_reset REGISTER",
    "meter_get_rates": "meter_get_rates METER CELL",
    "meter_set_rates": "meter_set_rates METER CELL RATE:BURST RATE:BURST",
    "meter_array_set_rates": "meter_array_set_rates METER RATE:BURST RATE:BURST",
}
"""Rates are in units (packets or bytes) per microsecond, committed before peak, bursts in units. A CELL is an index, or
the handle of an entry that has a direct meter."""

ALIASES = {"member": "add_member", "group": "add_group"}
"""Commands that other tools write by other names."""

TARGET = """\
ACTION is NAME(PARAMETER:VALUE, ...), or NAME(VALUE, ...) in order; TARGET is an
ACTION, member M or group G. VALUE is a number, an IPv4, IPv6 or MAC address.
member and group are short for add_member and add_group."""

OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
