"""The ``netsum`` command: the table of its commands, each in a module that is imported only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hostagent.cli.parsing import USAGE_STATUS, WIDTH, Command, discard_output, nearest, run_command, sentence

SUMMARY = "Sum gradients in an emulated network: a P4 switch on your laptop, under an unmodified torch script."
INTERRUPTED, READER_GONE = 130, 141
"""Exit statuses after Ctrl-C, and when nobody reads what is printed: as of a shell."""


class Entry(NamedTuple):
    """Where a command is, and its line in the help."""

    place: str
    """``module:name`` below hostagent.cli."""
    help: str


class Group(NamedTuple):
    """Several commands behind one word."""

    help: str
    commands: Mapping[str, Entry]
    example: str


PSPIN = Group(
    "The model of a PsPIN switch: cores in the packet path, simulated cycle by cycle.",
    {
        "run": Entry("pspin.flare:run", "Simulate the reductions of a file, next to the cost model."),
        "sweep": Entry("pspin.flare:sweep", "Simulate a grid of reductions, next to the cost model."),
        "example": Entry("pspin.example:example", "Run one of PsPIN's examples on the model."),
        "compare": Entry("pspin.example:compare", "Compare the model with measurements of the RTL."),
        "riscv": Entry("pspin.riscv:riscv", "Run handlers in C by instructions, next to their Python versions."),
    },
    "netsum pspin example ping_pong --packets 256",
)
TOPOLOGY = Group(
    "Descriptions of networks: nodes, links, their rates and latencies.",
    {
        "build": Entry("topology:build", "Build a star, tree, fat tree, torus, HammingMesh or another network."),
        "show": Entry("topology:show", "Check a topology file, and show its nodes, links and properties."),
        "draw": Entry("topology:draw", "Draw a topology file."),
        "cost": Entry("topology_hxmesh:cost", "Costs of HammingMesh and fifteen other networks, from counted parts."),
        "bandwidth": Entry("topology_hxmesh:bandwidth", "Bandwidth of alltoall, allreduce or a random permutation."),
        "allocate": Entry(
            "topology_hxmesh:allocate", "Place jobs on the boards of a HammingMesh, some of them failed."
        ),
        "simulate": Entry("topology_simulate:simulate", "Simulate an allreduce frame by frame, in virtual time."),
        "sweep": Entry("topology_sweep:sweep", "Simulate many, in parallel: sizes, losses, windows, seeds."),
    },
    "netsum topology build tree 2x4 -o net.yaml",
)
SCHEDULE = Group(
    "Collectives and pipelines as schedules: tasks on the resources of a topology.",
    {
        "build": Entry("schedule.command:build", "Build a ring, halving-doubling, tree, BCube or in-switch allreduce."),
        "show": Entry("schedule.command:show", "Verify and simulate a schedule; list or draw its tasks."),
        "convert": Entry("schedule.command:convert", "Convert between JSON, MSCCL XML and Chakra traces."),
        "run": Entry("schedule.command:run", "Run a schedule on live ranks; check sums and bytes at ports."),
    },
    "netsum schedule show ring.json",
)
PLAN = Group(
    "Plans before a job runs.",
    {
        "synthesize": Entry("plan:synthesize", "Synthesize a collective for a topology and a sketch (TACCL)."),
    },
    "netsum plan synthesize NDv2 allgather -o plan.json",
)
RANKS = Group(
    "Order of ranks: those that exchange most, near each other.",
    {
        "probe": Entry("ranks:probe", "Measure round trips between live ranks, or in a simulated cloud."),
        "solve": Entry("ranks:solve", "Find the cheapest order for an algorithm under measured costs."),
        "apply": Entry("ranks:apply", "Write an order as a host file, rank file or environment of torchrun."),
        "evaluate": Entry("ranks:evaluate", "Compare predicted and simulated gains over simulated clouds."),
    },
    "netsum ranks solve costs.json --algorithm ring -o order.json",
)
BENCH = Group(
    "Measure; each figure is next to its baseline from the same run.",
    {
        "allreduce": Entry("bench.command:allreduce", "Allreduce through the P4 switch, next to gloo."),
        "collectives": Entry(
            "bench.command:collectives", "Every operation of torch.distributed by size, next to gloo."
        ),
        "switch": Entry("bench.command:switch", "Compiled P4 programs on one core, next to hand-written loops."),
        "tables": Entry(
            "bench.command:tables", "Table lookups by kind of key and size, next to a loop without tables."
        ),
        "ports": Entry("bench.command:ports", "Rings, wake-ups and datagrams between processes, next to system calls."),
        "forward": Entry("bench.command:forward", "Forwarding over veth pairs (root only), next to a bare forwarder."),
        "server": Entry(
            "bench.command:server", "The rack server, next to plain copies, and to gloo with a local Adam."
        ),
        "load": Entry("bench.command:load", "Compilation and start-up times, next to torchrun with gloo."),
        "pspin": Entry("bench.command:pspin", "Simulation speed of the PsPIN model, next to its RTL."),
        "loss": Entry("bench.command:loss", "An allreduce on lossy links in virtual time, next to no loss."),
        "frames": Entry("bench.command:frames", "Networks simulated frame by frame, next to SimPy's model of them."),
        "messages": Entry("bench.command:messages", "Schedules simulated message by message, next to SimGrid."),
        "worker": Entry("bench.command:worker", "A host's cost of a frame, next to a plain copy of its lanes."),
        "entries": Entry("bench.command:entries", "Table entries over P4Runtime, next to a server that ignores them."),
        "cuda": Entry("bench.command:cuda", "Tensors on a GPU: an all_reduce and a DDP step, next to gloo."),
        "all": Entry(
            "bench.command:everything",
            "All of these, one after the other: the figures of BENCHMARKS.md, and more.",
        ),
    },
    "netsum bench switch --lanes 256 --json",
)
COMMANDS: Mapping[str, Entry | Group] = {
    "demo": Entry("demo.command:demo", "Train a small CNN through the P4 switch, then on gloo, and compare."),
    "run": Entry("run:run", "Run a torch script on N ranks; a switch or server sums its gradients."),
    "status": Entry("look:status", "Show a controller's jobs and their members, its ports and slots."),
    "top": Entry("look:top", "Watch a run: ports, slots, latencies, retransmissions, lag of each rank."),
    "report": Entry("look:report", "Write the HTML page of an experiment's folder."),
    "doctor": Entry("run:doctor", "Show what this machine lacks for netsum, and why it matters."),
    "switch": Entry("network:switch", "Run a P4 program as a switch with a P4Runtime server."),
    "bridge": Entry("network:bridge", "Join ports of ranks with network interfaces: in front of real bmv2."),
    "controller": Entry("network:controller", "Control one aggregator, and admit ranks to it."),
    "shell": Entry("network:shell", "Open p4runtime-shell on a running switch."),
    "package": Entry("network:package", "Pack a P4 program as a P4Runtime device config."),
    "dissector": Entry("network:dissector", "Write a Wireshark dissector, for captures as of run --capture."),
    "aggregator": Entry("aggregators.command:aggregator", "Run an aggregator that is not a P4 switch."),
    "server": Entry("rack.command:server", "Run the rack server: sums, weights and optimizer steps for its tenants."),
    "racks": Entry("rack.command:racks", "Simulate a training step over racks of workers, flat and hierarchical."),
    "compile": Entry("compile:compile_program", "Compile a P4 program for v1model."),
    "stf": Entry("programs:stf", "Run STF packet tests of a P4 program."),
    "examples": Entry("programs:examples", "Copy the example files of the documentation into a folder."),
    "trace": Entry("programs:trace", "Show what a P4 program does with packets, by source line."),
    "ptf": Entry("programs:ptf", "Run PTF with P4Runtime's messages (p4.v1) ready to import."),
    "bmv2-path": Entry("bmv2.path:bmv2_path", "Print a folder for PATH with the commands of p4c and bmv2 alone."),
    "warm": Entry("warm:warm", "Compile into the cache what the first run would compile."),
    "topology": TOPOLOGY,
    "schedule": SCHEDULE,
    "plan": PLAN,
    "ranks": RANKS,
    "pspin": PSPIN,
    "bench": BENCH,
}
"""Commands in the order of ``netsum --help``."""


def main() -> None:
    """Entry point of the ``netsum`` script."""
    try:
        status = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has read enough, as `head`
        discard_output()
        status = READER_GONE
    sys.exit(status)


def run(words: Sequence[str]) -> int:
    """Do what the command line says; the exit status."""
    try:
        if list(words[:1]) == ["--version"]:
            from importlib.metadata import version

            print(f"netsum {version('netsum')}")
            return 0
        return _run_one("netsum", Group(SUMMARY, COMMANDS, "netsum run -n 4 train.py"), words)  # type: ignore[arg-type]
    except KeyboardInterrupt:
        return INTERRUPTED


def _run_one(path: str, group: Group, words: Sequence[str]) -> int:
    name = words[0] if words else ""
    if name in ("", "-h", "--help"):
        print(help_of(path, group))
        return 0 if name else USAGE_STATUS
    if name not in group.commands:
        kind = "option" if name.startswith("-") else "command"
        guess = nearest(name, list(group.commands))
        if not guess and path != "netsum":  # the command itself has too many to name them
            guess = f"; choose one of {', '.join(group.commands)}"
        text = sentence(f"{path}: unknown {kind} {name}{guess}")
        print(f"{text} See `{path} --help`.", file=sys.stderr)
        return USAGE_STATUS
    chosen: Entry | Group = group.commands[name]
    if isinstance(chosen, Group):
        return _run_one(f"{path} {name}", chosen, words[1:])
    return run_command(f"{path} {name}".removeprefix("netsum "), load(chosen), words[1:])


def load(entry: Entry) -> Command:
    """Import its module."""
    import importlib

    module, _, name = entry.place.partition(":")
    command: Command = getattr(importlib.import_module(f"hostagent.cli.{module}"), name)
    return command


def help_of(path: str, group: Group) -> str:
    """The help text of ``netsum`` itself, or of one of its groups."""
    import textwrap

    own = ["  -h, --help  Show this message and exit."]
    if path == "netsum":
        own.append("  --version   Show the version and exit.")
    lines = [f"usage: {path} COMMAND [OPTIONS]", "", textwrap.fill(group.help, WIDTH), "", "options:", *own]
    width = max(map(len, group.commands)) + 4
    lines += ["", "commands:"]
    for name, chosen in group.commands.items():
        lines += textwrap.wrap(
            chosen.help, WIDTH, initial_indent=f"  {name:<{width - 2}}", subsequent_indent=" " * width
        )
    lines += ["", "Example:", f"  {group.example}"]
    return "\n".join([*lines, "", f"See `{path} COMMAND --help` for the options of a command."])


if __name__ == "__main__":
    main()
