#!/usr/bin/env node
// Sends prompts to haft: client.mjs PROMPT... [FLAG of haft rpc ...]
// The prompts run one after the other, in one conversation. The answers go to standard output, all other text to
// standard error. The client asks you before a command runs or a file changes. Ctrl-C stops the work.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** haft: a promise for the reply to each command, and an iterator over the events of a prompt. */
class Haft {
  #ids = 0; #replies = new Map(); #events = []; #wake = () => {};

  constructor(flags) {
    // In its own process group, because otherwise Ctrl-C would also end haft.
    const options = { stdio: ["pipe", "pipe", "inherit"], detached: true };
    this.process = spawn(process.env.HAFT ?? "haft", ["rpc", ...flags], options);
    this.process.on("error", (error) => note(error.message)); // there is no such program
    this.process.stdin.on("error", () => {}); // haft has ended, which `status` tells
    this.status = new Promise((resolve) => this.process.on("close", resolve));
    const lines = createInterface({ input: this.process.stdout });
    lines.on("line", (line) => this.#heard(JSON.parse(line))).on("close", () => this.#heard({ type: "end" }));
  }

  #heard(line) {
    if (line.type === "response") {
      const { resolve, reject } = this.#replies.get(line.id);
      line.success ? resolve(line.data) : reject(new Error(line.error));
    } else this.#events.push(line);
    if (line.type === "end") this.#replies.forEach(({ reject }) => reject(new Error("haft has ended")));
    this.#wake();
  }

  /** Sends a command. The promise is the `data` of its reply, or the error of a reply without success. */
  ask(type, fields = {}) {
    const id = String(++this.#ids);
    this.process.stdin.write(JSON.stringify({ id, type, ...fields }) + "\n");
    return new Promise((resolve, reject) => this.#replies.set(id, { resolve, reject }));
  }

  /** Sends a prompt and iterates over its events, of which `done` is the last. */
  async *prompt(message) {
    await this.ask("prompt", { message });
    for (let event = {}; event.type !== "done"; yield event) {
      while (!this.#events.length) await new Promise((wake) => (this.#wake = wake));
      event = this.#events.shift();
      if (event.type === "end") throw new Error("haft has ended");
    }
  }
}

// Escapes control characters, so that the terminal shows text of a model or a file instead of executing it.
const safe = (text) => text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd");
const note = (...words) => console.error(safe(words.join(" ")));

/** The handlers of events; other events are ignored. */
const about = {
  text_delta: ({ delta }) => process.stdout.write(safe(delta)),
  assistant_message: ({ content }) => content.some(({ type }) => type === "text") && process.stdout.write("\n"),
  tool_call: ({ name, args }) => note("*", name, JSON.stringify(args)),
  ui_request(question) {
    const { id, title, message, options = [], call = "" } = question;
    note("?", title, message, ...options, JSON.stringify(call));
    questions.set(id, question);
    if (!process.stdin.isTTY) answer("");
  },
  ui_done: ({ id }) => questions.delete(id),
  error({ message }) { throw new Error(message); },
};

/** Answers the oldest question; an empty answer selects the default, which is the safe one. */
function answer(text) {
  const [{ id, kind } = {}] = questions.values();
  const yesOrNo = ["confirm", "approve"].includes(kind);
  const fields = !text ? { cancelled: true } : yesOrNo ? { confirmed: /^y(es)?$/i.test(text) } : { value: text };
  if (questions.delete(id)) haft.ask("ui_response", { request: id, ...fields }).catch((error) => note(error.message));
}

const words = process.argv.slice(2), flag = words.findIndex((word) => word.startsWith("-"));
const prompts = words.slice(0, flag < 0 ? words.length : flag);
const haft = new Haft(words.slice(prompts.length)), questions = new Map();
const person = process.stdin.isTTY && createInterface({ input: process.stdin }).on("line", answer);
process.on("SIGINT", () => {
  process.exitCode = 130;
  haft.ask("abort").catch(() => {});
});
try {
  await haft.ask("hello", { client: { name: "example-node" }, ui: true, approve: ["bash", "edit", "write"] });
  for (const prompt of prompts) {
    for await (const event of haft.prompt(prompt)) about[event.type]?.(event);
    if (process.exitCode) break;
  }
  const { usage } = await haft.ask("get_state");
  note(`${usage.input} tokens in, ${usage.output} out, ${usage.cost_usd} US dollars`);
} catch (error) {
  note("\nhaft:", error.message);
  process.exitCode ||= 1;
}
haft.process.stdin.end(); // haft ends when it has nothing more to do
process.exitCode = (await haft.status) || process.exitCode;
person?.close();
