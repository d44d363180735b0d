#!/usr/bin/env node
// The time, in plain Node without packages. It never sends `ready`: the host takes a pause after the last registration
// for the end of them, as older extensions expect.
"use strict";

const readline = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");

const send = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

function timeIn(zone) {
  const timeZone = zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  // Throws a RangeError for a zone that does not exist.
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
  return `${format.format(new Date())} (${timeZone})`;
}

// Handlers are async and nobody awaits them in turn, so a call that waits holds up no other.
async function callTool({ id, name, args }) {
  const answer = (text, isError) =>
    send({ type: "tool_result", id, content: [{ type: "text", text }], is_error: isError });
  if (name !== "now") return answer(`clock-js has no tool ${name}`, true);
  try {
    await sleep(args.after_ms ?? 0);
    answer(timeIn(args.zone), false);
  } catch (error) {
    answer(`cannot tell the time in ${JSON.stringify(args.zone)}: ${error.message}`, true);
  }
}

function runCommand({ id, args }) {
  try {
    send({ type: "notify", level: "info", message: timeIn(args || undefined) });
    send({ type: "command_response", id, action: "noop" });
  } catch (error) {
    send({ type: "command_response", id, action: "noop", error: error.message });
  }
}

const handlers = {
  tool_call: callTool,
  command_invoked: runCommand,
  shutdown() {
    // Leave only when the pipe has taken the line.
    process.stdout.write(JSON.stringify({ type: "shutdown_ack" }) + "\n", () => process.exit(0));
  },
};

send({ type: "hello", name: "clock-js", version: "1.0.0", capabilities: ["commands", "tools"] });
send({
  type: "register_tool",
  name: "now",
  description: "Tells the current date and time.",
  schema: {
    type: "object",
    properties: {
      zone: { type: "string", description: "An IANA time zone, for instance Europe/Vienna; left out, the local one." },
      after_ms: { type: "integer", minimum: 0, maximum: 10000, description: "Wait so long first." },
    },
    additionalProperties: false,
  },
});
send({ type: "register_command", name: "clock", description: "Shows the time, here or in the zone that is named" });

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const frame = JSON.parse(line);
  if (Object.hasOwn(handlers, frame.type)) handlers[frame.type](frame);
});
