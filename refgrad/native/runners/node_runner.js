// The runner of JavaScript engines: one file for Node 18 and later, without dependencies. It reads requests as JSON
// lines from standard input and answers each with one line; docs/reference/runner-protocol.md describes both.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const vm = require("node:vm");
const { createRequire } = require("node:module");

const PROTOCOL = 1;

// Raised for what the runner does not offer.
class NotImplementedError extends Error {}

const LONGEST_MESSAGE = 2000;

// What an engine prints goes to standard error: standard output carries answers.
const write = fs.writeSync.bind(fs, 1);
console.log = console.info = console.debug = (...told) => console.error(...told);

class Session {
  constructor(setup) {
    globalThis.require = createRequire(path.join(process.cwd(), "program.js"));
    this.compiled = new Map();
    vm.runInThisContext(setup, { filename: "setup.js" }); // in another context, instanceof would fail
  }

  compile(template, fields) {
    const key = `${fields.join(",")}|${template}`;
    if (!this.compiled.has(key)) {
      const text = template.replace(/\{\{|\}\}|\{(\w+)\}/g, (all, name) => (name ? `$${name}` : all[0])); // function is a keyword
      this.compiled.set(key, vm.runInThisContext(`((${fields.map((field) => `$${field}`).join(", ")}) => (${text}))`));
    }
    return this.compiled.get(key);
  }

  call(call, names) {
    const fields = Object.keys(call.fields);
    const values = fields.map((field) => this.argument(call.fields[field], names));
    return this.compile(call.template, fields)(...values);
  }

  argument(given, names) {
    const [[kind, body]] = Object.entries(given);
    switch (kind) {
      case "name":
        return bound(body, names);
      case "names":
        return body.map((name) => bound(name, names));
      case "value":
        return literal(body);
      case "array":
        return made(body);
      case "call":
        return this.call(body, names);
      case "lambda":
        return (...values) => this.call(body.body, new Map([...names, ...body.parameters.map((p, i) => [p, values[i]])]));
      default:
        throw new NotImplementedError(`this runner has no argument ${kind}`);
    }
  }

  execute(statement, names) {
    const [[kind, body]] = Object.entries(statement);
    switch (kind) {
      case "call": {
        const result = this.call(body, names);
        const targets = body.targets ?? [];
        if (body.unpack && result.length !== targets.length) throw new Error(`${result.length} results, not ${targets.length}`);
        targets.forEach((target, i) => names.set(target, body.unpack ? result[i] : result));
        return {};
      }
      case "function":
        names.set(body.name, (...primals) => {
          const inner = new Map([...names, ...body.parameters.map((p, i) => [p, primals[i]])]);
          for (const line of body.body) this.execute(line, inner);
          return bound(body.result, inner);
        });
        return {};
      case "delete":
        names.delete(body);
        return {};
      case "show":
        return this.show(body, names);
      default:
        throw new NotImplementedError(`this runner has no statement ${kind}`);
    }
  }

  show(show, names) {
    const absent = (given) => "name" in given && !names.has(given.name);
    if (show.optional && Object.values(show.call.fields).some(absent)) return { none: true };
    const result = this.call(show.call, names);
    if (show.form === "flag") return { flag: Boolean(result) };
    if (show.form === "arrays") return { arrays: result.map(encoded) };
    if (show.form !== "array") throw new NotImplementedError(`this runner has no form ${show.form}`);
    if (result === null || result === undefined) return { none: true };
    const array = encoded(result);
    return { array: show.dtype ? { ...array, dtype_told: String(this.call(show.dtype, names)) } : array };
  }

  run(program) {
    const names = new Map();
    return program.steps.map((step) => {
      try {
        return step.reduce((_, statement) => this.execute(statement, names), {});
      } catch (error) {
        return raised(error);
      }
    });
  }

  members(modules, names) {
    const numbers = new Map();
    const numbered = (value) => numbers.get(value) ?? numbers.set(value, numbers.size).get(value);
    const held = (owner) => names.filter((name) => owner[name] !== undefined).map((name) => [name, numbered(owner[name])]);
    return Object.fromEntries(
      modules.map((module) => [module, Object.fromEntries(held(vm.runInThisContext(module)))]),
    );
  }
}

function bound(name, names) {
  if (!names.has(name)) throw new ReferenceError(`${name} is not defined`);
  return names.get(name);
}

function literal(value) {
  if (value === null || typeof value !== "object") return value;
  if ("float" in value) return hexadecimal(value.float);
  if ("slice" in value) return Object.fromEntries(["start", "stop", "step"].map((part, i) => [part, literal(value.slice[i])]));
  return (value.tuple ?? value.list).map(literal);
}

// A float of Python's float.hex: [-]0x1.8p+0, inf or nan.
function hexadecimal(text) {
  if (/inf|nan/.test(text)) return { inf: Infinity, "-inf": -Infinity, nan: NaN }[text];
  const [, sign, whole, part, exponent] = /^(-?)0x([01])\.?([0-9a-f]*)p([+-]\d+)$/.exec(text);
  const fraction = part ? parseInt(part, 16) / 16 ** part.length : 0;
  const scaled = (Number(whole) + fraction) * 2 ** Math.max(Number(exponent), -1022);
  return (sign ? -1 : 1) * scaled;
}

const READERS = {
  float64: (data, i) => data.readDoubleLE(8 * i),
  float32: (data, i) => data.readFloatLE(4 * i),
  int64: (data, i) => Number(data.readBigInt64LE(8 * i)),
  bool: (data, i) => data[i] !== 0,
};

// Return nested arrays of numbers, or a single number for an array without axes.
function made(form) {
  const data = Buffer.from(form.data, "base64");
  let next = 0;
  const level = (shape) =>
    shape.length ? Array.from({ length: shape[0] }, () => level(shape.slice(1))) : READERS[form.dtype](data, next++);
  return level(form.shape);
}

// Return the JSON form of a number, or of nested or typed arrays of numbers, which may have a property shape.
function encoded(result) {
  const shape = [...(result.shape ?? shapeOf(result))];
  const numbers = (Array.isArray(result) ? result.flat(Infinity) : ArrayBuffer.isView(result) ? [...result] : [result]).map(number);
  const data = Buffer.alloc(8 * numbers.length);
  numbers.forEach((number, i) => data.writeDoubleLE(number, 8 * i));
  return { dtype: "float64", shape, data: data.toString("base64") };
}

function number(entry) {
  if (!["number", "bigint", "boolean"].includes(typeof entry)) {
    throw new TypeError(`a number was expected, not ${entry === null ? null : entry?.constructor?.name ?? typeof entry}`);
  }
  return Number(entry);
}

function shapeOf(result) {
  const shape = [];
  for (let level = result; Array.isArray(level) || ArrayBuffer.isView(level); level = level[0]) shape.push(level.length);
  return shape;
}

function raised(error) {
  const bases = [];
  for (let proto = error; proto && (proto = Object.getPrototypeOf(proto)); ) bases.push(proto.constructor?.name ?? "?");
  const exhausted = error instanceof RangeError || bases.includes("RangeError");
  if (exhausted && /call stack/.test(String(error?.message))) bases.push("RecursionError");
  let message;
  try {
    message = String(error?.message ?? error);
  } catch {
    message = "its message cannot be read";
  }
  return { error: { type: bases[0] ?? typeof error, bases, message: message.slice(0, LONGEST_MESSAGE) } };
}

let session = null;

function hello(told) {
  if (told.protocol !== PROTOCOL) throw new Error(`the runner speaks protocol ${PROTOCOL}, not ${told.protocol}`);
  session = new Session(told.setup);
  return { hello: { protocol: PROTOCOL, language: "javascript", version: process.versions.node, numpy: null } };
}

function answer(request) {
  if (request.hello) return hello(request.hello);
  if (session === null) throw new Error("the first request must be a hello");
  if (request.members) return { members: session.members(request.members.modules, request.members.names) };
  return { ran: request.run.map((program) => session.run(program)) };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  if (request.stop) process.exit(0);
  let told;
  try {
    told = answer(request);
  } catch (error) {
    told = raised(error);
  }
  write(`${JSON.stringify({ id: request.id, ...told })}\n`);
});
