// Grades an engine in JavaScript on the corpus of refgrad: node grade.js ENGINE.js CORPUS
//
// An engine exports `features`, `operators` (functions of tensors and attributes, by the corpus's names), `leaf`, `value`,
// `gradient`, `backward`, and, as its features say, `zeroGrad` and `grad`. Other kinds of steps may be given in `steps`.
"use strict";
const { readdirSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const USUAL = { frees: "saved", implicit_seed: "error", unrecorded_views: "constant", keeps: "leaves", accumulates: "adds" };
const PLAIN = new Set(["leaf", "apply", "backward", "read", "zero_grad", "grad", "delete"]);
const WORDS = { inf: Infinity, "-inf": -Infinity, nan: NaN, true: 1, false: 0 };

function number(word) {
  if (word in WORDS) return WORDS[word];
  const hex = /^(-?)0x([0-9a-f]+)\.?([0-9a-f]*)p([+-]\d+)$/.exec(word);
  if (!hex) return Number(word);
  const [, sign, whole, part, power] = hex;
  return (sign ? -1 : 1) * parseInt(whole + part, 16) * 2 ** (Number(power) - 4 * part.length);
}

function attribute(value) {
  if (Array.isArray(value)) return value.map(attribute);
  return value !== null && typeof value === "object" && "float" in value ? number(value.float) : value;
}

const constant = ({ values, shape, dtype }) => ({ numbers: values.map(number), shape, dtype });
const named = (attributes) => Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, attribute(value)]));

// What the engine does in a step; what it shows there, if anything.
const DO = {
  leaf: (engine, t, s) => void (t[s.name] = engine.leaf(constant(s), s.requires_grad)),
  apply: (engine, t, s) =>
    void (t[s.name] = engine.operators[s.operator](s.arguments.map((name) => t[name]), named(s.attributes))),
  backward: (engine, t, s) => void engine.backward(t[s.output], s.seed && constant(s.seed), s.retain_graph),
  grad: (engine, t, s) => void (t[s.name] = engine.grad(t[s.output], t[s.leaf], s.seed && constant(s.seed))),
  zero_grad: (engine, t, s) => void engine.zeroGrad(t[s.name], s.to_zeros),
  delete: (engine, t, s) => void delete t[s.name],
  read: (engine, t, s) => (s.what === "value" ? engine.value(t[s.name]) : engine.gradient(t[s.name])),
};

function array(due, shown) {
  if (shown === null || shown === undefined) return due.none ? "" : "shows nothing";
  if (shown.shape.join() !== due.shape.join()) return `has the shape [${shown.shape}], not [${due.shape}]`;
  if (due.dtype && (shown.dtype ?? due.dtype) !== due.dtype) return `has the dtype ${shown.dtype}, not ${due.dtype}`;
  const wrong = shown.numbers.findIndex((x, i) => {
    if (due.lower[i] === null) return false;
    return Number.isNaN(x) ? !due.nan : !(x >= due.lower[i] && x <= due.upper[i]);
  });
  return wrong < 0 ? "" : `has ${shown.numbers[wrong]} at ${wrong}, not in [${due.lower[wrong]}, ${due.upper[wrong]}]`;
}

const CHECK = {
  anything: () => "",
  error: (due, shown, error) => (error ? "" : `carries on; an error is due: ${due.kinds.join(" or ")}`),
  flag: (due, shown) => (shown === due.holds ? "" : `is ${shown}, not ${due.holds}`),
  nothing: (due, shown) => (shown == null || shown.numbers.every((x) => x === 0) ? "" : `shows ${shown.numbers}`),
  value: array,
  gradient: array,
  calls: (due, shown) =>
    shown.length === due.calls.length ? due.calls.map((call, i) => array(call, shown[i])).join("") : "saw other calls",
};

function fits(entry, engine) {
  const has = (feature) => (engine.features ?? []).includes(feature);
  const policy = { ...USUAL, ...engine.policy };
  const known = (s) => (s.step === "apply" ? s.operator in engine.operators : PLAIN.has(s.step) || s.step in (engine.steps ?? {}));
  const dtype = (s) => s.step !== "leaf" || s.dtype === "bool" || (engine.dtypes ?? ["float64"]).includes(s.dtype);
  const rules = Object.entries(entry.policy ?? {}).every(([field, values]) => values.includes(policy[field]));
  return rules && entry.needs.every(has) && entry.steps.every((s) => known(s) && dtype(s));
}

function failure(entry, engine) {
  const tensors = {};
  for (const [at, step] of entry.steps.entries()) {
    const due = entry.due.find((row) => row.step === at + 1);
    let shown, error;
    try { shown = (engine.steps?.[step.step] ?? DO[step.step])(engine, tensors, step); } catch (raised) { error = raised; }
    if (error && due?.shows !== "error" && due?.shows !== "anything") return entry.may_fail?.includes(at + 1) ? "" : `step ${at + 1}: ${error}`;
    const problem = due ? CHECK[due.shows](due, shown, error) : "";
    if (problem) return `step ${at + 1} (${step.step} ${step.name ?? step.output}) ${problem}`;
  }
  return "";
}

const [engine, corpus] = [require(resolve(process.argv[2])), process.argv[3]];
const lines = readdirSync(corpus).filter((name) => name.endsWith(".jsonl")).flatMap((name) => readFileSync(join(corpus, name), "utf8").trimEnd().split("\n"));
const entries = lines.map((line) => JSON.parse(line)).filter((entry) => fits(entry, engine));
const failing = entries.map((entry) => [entry, failure(entry, engine)]).filter(([, problem]) => problem);
failing.forEach(([entry, problem]) => console.log(`${entry.check} ${entry.id}: ${problem}`));
console.log(`${entries.length} of ${lines.length} entries tried, ${failing.length} fail`);
process.exitCode = failing.length ? 1 : 0;
