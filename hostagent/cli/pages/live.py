"""The live page of ``netsum top --web``: topology, links coloured by load, jobs and ranks; served on the loopback.

The page asks for ``/view`` once a second and draws it; the server asks the controller then, and keeps the view before
to have rates. One page at a time costs what one `netsum top` costs; several share a view that is younger than FRESH_S.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hostagent.cli.pages.page import page
from hostagent.launch.live_view import View, since

FRESH_S = 0.5
LOOPBACK = "127.0.0.1"


class WebError(Exception):
    """The page can't be served; the text names the port."""


class LiveServer:
    """Serves the page and its views until it is closed."""

    def __init__(self, port: int, take: Callable[[], View]) -> None:
        """``port``: on the loopback; 0: any. ``take``: the view now; what it raises is shown on the page. Raises
        WebError."""
        self._take = take
        self._lock = threading.Lock()
        self._before: View | None = None
        self._view: View | None = None
        self._taken_s = 0.0
        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port), _handler(self))
        except OSError as error:
            raise WebError(f"cannot serve on port {port} of {LOOPBACK}: {error.strerror}; choose another") from error
        self.address = f"http://{LOOPBACK}:{self._server.server_port}/"

    def serve(self) -> None:
        """Answer until `close`, from this thread."""
        self._server.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        """End `serve`."""
        self._server.shutdown()
        self._server.server_close()

    def view(self) -> View:
        """The view now, with rates since the one before."""
        with self._lock:
            if self._view is None or time.monotonic() - self._taken_s > FRESH_S:
                self._before, self._view = self._view, since(self._view, self._take())
                self._taken_s = time.monotonic()
            return self._view


def _handler(server: LiveServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Host", "").partition(":")[0] not in (LOOPBACK, "localhost"):
                self.send_error(
                    403, "only by the loopback's name"
                )  # a page elsewhere may have that name resolved to it
            elif self.path == "/":
                self._answer("text/html; charset=utf-8", PAGE)
            elif self.path == "/view":
                self._answer("application/json", _view(server))
            else:
                self.send_error(404)

        def _answer(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: each page asks once a second."""

    return Handler


def _view(server: LiveServer) -> str:
    import grpc

    from hostagent.protocol.services.reasons import reason_of

    try:
        return json.dumps(server.view())
    except grpc.RpcError as error:
        return json.dumps({"ended": reason_of(error)})


STYLE = """
#net { width: 100%; height: auto; display: block; } #net text { font-size: 13px; fill: #0f172a; }
#net rect { fill: #f8fafc; stroke: #475569; } #net .stale rect { stroke: #b91c1c; stroke-width: 3; }
#legend { display: flex; gap: .5rem; align-items: center; color: #475569; flex-wrap: wrap; }
#legend i { width: 8rem; height: .6rem; background: linear-gradient(90deg, #cbd5e1, #0f766e, #d97706, #b91c1c); }
#state.bad { background: #fef2f2; padding: .4rem .7rem; }
"""

BODY = """<h1>netsum top</h1><p class="lead" id="head">connecting</p><p id="state"></p>
<svg id="net" role="img" aria-label="topology"></svg>
<p id="legend">link load 0 <i></i> <span id="most"></span> <span id="of"></span></p>
<h2>Jobs</h2><div class="scroll" id="jobs"></div>
<h2>Ranks</h2><div class="scroll" id="ranks"></div>
<h2>Ports</h2><div class="scroll" id="ports"></div>
"""

SCRIPT = r"""
"use strict";
const $ = id => document.getElementById(id);
const ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
const text = value => String(value).replace(/[&<>"]/g, c => ENTITIES[c]);
const table = (head, rows) => rows.length ? "<table><tr>" + head.map(h => "<th>" + text(h) + "</th>").join("") + "</tr>"
  + rows.map(r => "<tr>" + r.map(c => "<td>" + text(c) + "</td>").join("") + "</tr>").join("") + "</table>" : "none";
const us = ns => ns ? grouped(Math.round(ns / 1e3)) : "";
const mbit = bits => bits === undefined ? "" : (bits / 1e6).toFixed(1);
const grouped = number => number.toLocaleString("en");
const total = drops => Object.values(drops).reduce((a, b) => a + b, 0);
const short = name => name.replace(/^.*:\/\//, "");

function colour(share) {
  const stops = [[203, 213, 225], [15, 118, 110], [217, 119, 6], [185, 28, 28]];
  const at = Math.min(2.999, Math.max(0, share) * 3), low = Math.floor(at), part = at - low;
  return "rgb(" + stops[low].map((c, i) => Math.round(c + part * (stops[low + 1][i] - c))).join(",") + ")";
}

// Nodes are switches and ranks; links are the ports that lead to one of these. Depth: a switch without a rank below it
// is above those that have one, or will: the first switch is a tree's root, and the lowest have one neighbour.
function graph(view) {
  const nodes = new Map(), links = [];
  const lowest = new Set(view.switches.filter((s, i) =>
    s.ports.some(p => p.rank !== null) || (i > 0 && s.ports.filter(p => p.peer).length < 2)));
  const height = new Map(view.switches.map(s => [s.name, lowest.has(s) ? 1 : 0]));
  for (let round = 0; round < 8; round++)
    for (const s of view.switches) if (!lowest.has(s)) {
      const below = s.ports.map(p => p.peer ? height.get(p.peer) : 0).filter(h => h > 0);
      if (below.length && !height.get(s.name)) height.set(s.name, 1 + Math.min(...below));
    }
  const silent = new Set(view.jobs.flatMap(j => j.ranks.filter(r => r.age_ns > 3e9).map(r => r.rank)));
  for (const s of view.switches) {
    nodes.set(s.name, {label: short(s.name), height: height.get(s.name) || 1});
    for (const p of s.ports) {
      const load = Math.max(p.in_bits_per_s || 0, p.out_bits_per_s || 0), drops = total(p.drops);
      const rate = p.rate_bits_per_s;
      if (p.rank !== null) {
        nodes.set("rank " + p.rank, {label: "rank " + p.rank, height: 0, stale: silent.has(p.rank)});
        links.push({from: s.name, to: "rank " + p.rank, load, drops, rate});
      } else if (p.peer && (s.name < p.peer)) links.push({from: s.name, to: p.peer, load, drops, rate});
    }
  }
  return {nodes, links};
}

function draw(view) {
  const {nodes, links} = graph(view), rows = [];
  for (const [name, node] of nodes) (rows[node.height] = rows[node.height] || []).push(name);
  const wide = $("net").clientWidth || 900, most = Math.max(1e6, ...links.map(l => l.load));
  const limited = links.length > 0 && links.every(l => l.rate > 0);  // else the busiest link is the measure
  const width = Math.max(wide, 1), box = 26, gap = 96, place = new Map();
  let y = 8;
  for (const row of rows.slice().reverse()) if (row) {
    // more than have room in a line go into several
    const least = row[0].startsWith("rank") ? 62 : 150, inLine = Math.max(1, Math.floor(width / least));
    for (let first = 0; first < row.length; first += inLine) {
      const line = row.slice(first, first + inLine);
      line.forEach((name, i) => place.set(name, [width * (i + .5) / line.length, y + box / 2, least - 8]));
      y += first + inLine < row.length ? box + 10 : gap;
    }
  }
  const parts = links.map(l => {
    const [x1, y1] = place.get(l.from), [x2, y2] = place.get(l.to);
    const share = Math.min(1, l.load / (limited ? l.rate : most));
    return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour(share)}" stroke-width="${2 + 4 * share}"
      data-load="${l.load}"><title>${text(mbit(l.load))} Mbit/s, ${l.drops} drops</title></line>`;
  });
  for (const [name, [x, at, size]] of place) {
    const node = nodes.get(name);
    parts.push(`<g class="${node.stale ? "stale" : ""}" data-node="${text(name)}"><rect x="${x - size / 2}"
      y="${at - box / 2}" width="${size}" height="${box}" rx="5"/><text x="${x}" y="${at + 5}"
      text-anchor="middle">${text(node.label)}</text></g>`);
  }
  $("net").setAttribute("viewBox", `0 0 ${width} ${Math.max(40, y - gap + box + 14)}`);
  $("net").innerHTML = parts.join("");
  $("most").textContent = limited ? "100 %" : mbit(most) + " Mbit/s";
  $("of").textContent = limited ? "of each link's rate" : "(the busiest: links have no rate of their own)";
}

function show(view) {
  const a = view.aggregator;
  $("head").textContent = `controller ${view.controller}, aggregator ${a.name}, ` +
    `${a.slots - a.slots_free} of ${a.slots} slots leased`;
  const problem = view.problem || a.problem || (a.ready ? "" : "the aggregator is not ready");
  $("state").textContent = problem;
  $("state").className = problem ? "bad" : "";
  if (view.switches.length) draw(view);
  const terms = ["share", "priority"].filter(term => view.jobs.some(j => j[term] !== (term === "share" ? 1 : 0)));
  $("jobs").innerHTML = table(["job", "group", "state", "slots", ...terms, "p50 us", "p90 us", "p99 us", "restarts",
    "cause"],
    view.jobs.map(j => [j.job, j.group, j.state, j.window ? `${j.first_slot} to ${j.first_slot + j.window - 1}` : "",
      ...terms.map(term => j[term]), us(j.latency_ns.p50), us(j.latency_ns.p90), us(j.latency_ns.p99), j.restarts,
      j.cause]));
  $("ranks").innerHTML = table(["rank", "job", "state", "operations", "lag", "chunks lag", "retransmitted", "p50 us",
    "p99 us", "in flight"],
    view.jobs.flatMap(j => j.ranks.map(r => [r.rank, j.job, r.age_ns > 3e9 ? "does not answer" : r.state,
      grouped(r.operations), grouped(r.lag_operations), grouped(r.lag_chunks), grouped(r.retransmissions),
      us(r.latency_ns.p50), us(r.latency_ns.p99),
      r.elapsed_ns ? Math.round(100 * r.in_flight_ns / r.elapsed_ns) + "%" : ""])));
  $("ports").innerHTML = table(["switch", "port", "to", "in Mbit/s", "out Mbit/s", "frames in", "frames out", "queued",
    "drops"],
    view.switches.flatMap(s => s.ports.map(p => [short(s.name), p.number,
      p.rank !== null ? "rank " + p.rank : p.peer ? short(p.peer) : "free", mbit(p.in_bits_per_s),
      mbit(p.out_bits_per_s), grouped(p.frames_in), grouped(p.frames_out), p.queued_out, grouped(total(p.drops))])));
}

async function look() {
  try {
    const view = await (await fetch("view")).json();
    if (view.ended !== undefined) throw new Error("the controller does not answer: " + view.ended);
    show(view);
    document.body.dataset.looks = 1 + Number(document.body.dataset.looks || 0);
  } catch (error) {
    $("state").textContent = error.message;
    $("state").className = "bad";
  }
  setTimeout(look, 1000);
}
look();
"""

PAGE = page("netsum top", BODY, style=STYLE, script=SCRIPT)
