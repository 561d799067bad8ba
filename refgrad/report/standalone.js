// The program by which `confirm` runs a program in Node, as standalone.py does for Python.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const { createRequire } = require("node:module");

function data(value) {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map(data);
  return typeof value === "number" ? { number: spelled(value) } : { text: String(value) };
}

function spelled(number) {
  return Number.isFinite(number) ? String(Object.is(number, -0) ? "-0.0" : number) : String(number).toLowerCase().replace("infinity", "inf");
}

function told(row) {
  fs.writeSync(1, `\x1erefgrad ${JSON.stringify(row)}\n`);
}

console.log = (...values) => {
  fs.writeSync(1, `${values.map(String).join(" ")}\n`);
  told(values.map(data));
};
globalThis.require = createRequire(path.join(process.cwd(), "program.js"));
try {
  vm.runInThisContext(fs.readFileSync(0, "utf-8"), { filename: "finding.js" });
} catch (error) {
  const missing = /MODULE_NOT_FOUND$/.test(error?.code);
  const type = missing ? "ModuleNotFoundError" : error?.constructor?.name ?? typeof error;
  if (type === "AssertionError" && "got" in globalThis) told([data(globalThis.got)]);
  told({ type, message: String(error?.message ?? error), bases: [] });
  process.exitCode = 1;
}
