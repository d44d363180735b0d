// Written by jackfield; it is written anew whenever the tools change, so edits are lost. See docs/bridge.md of jackfield.
//
// Offers the tools of jackfield's extensions to pi. The tools below are registered when a session starts; from then on the
// gateway is asked for changes, so that tools come and go without a restart. This file holds no secret: the token is in the
// environment of this process alone, or comes through the pipe of a gateway that this process starts.

import { type ChildProcess, spawn } from "node:child_process";
import { type ClientRequest, type IncomingMessage, request } from "node:http";

interface Tool {
	name: string;
	description: string;
	parameters: Record<string, unknown>;
}

interface Gateway {
	url: string;
	token: string;
}

interface Answer {
	ok?: boolean;
	result?: { content?: unknown; isError?: boolean; details?: unknown; structuredContent?: unknown };
	error?: unknown;
}

const TOOLS: Tool[] = [
	//@tools
];
const START: string[] = [
	//@start
];

/** pi's own tools: one of ours with such a name would take their place. */
const BUILT_IN = new Set(["read", "bash", "edit", "write", "grep", "find", "ls"]);
/** More than this is no answer of a tool. */
const MOST = 64 * 1024 * 1024;
/** How long a gateway may take to come up, to list its tools, and to say that it is alive. */
const COME_UP = 20_000;
const FIRST_LIST = 5_000;
const HELD = 40_000;
const ALIVE = 4_000;
const PULSE = 2_000;

/** What all copies of this file in one process share: pi loads it anew for each session. */
interface Shared {
	named?: Gateway;
	started?: Promise<Gateway>;
	child?: ChildProcess;
	serving?: object;
}

function shared(): Shared {
	const all = globalThis as unknown as Record<symbol, Shared | undefined>;
	const key = Symbol.for("jackfield.bridge");
	const found = all[key];
	if (found) return found;
	const made: Shared = {};
	const url = process.env.JACKFIELD_BRIDGE_URL;
	const token = process.env.JACKFIELD_BRIDGE_TOKEN;
	if (url && token) made.named = { url, token };
	// What pi's shell runs has no business with it.
	delete process.env.JACKFIELD_BRIDGE_URL;
	delete process.env.JACKFIELD_BRIDGE_TOKEN;
	all[key] = made;
	return made;
}

const failure = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The gateway that the environment names, else one of our own that ends with this process. */
function gateway(): Promise<Gateway> {
	const state = shared();
	if (state.named) return Promise.resolve(state.named);
	if (!state.started) {
		const started = startGateway(state);
		state.started = started;
		started.catch(() => {
			if (state.started === started) state.started = undefined;
		});
	}
	return state.started;
}

function startGateway(state: Shared): Promise<Gateway> {
	return new Promise((resolve, reject) => {
		const [program, ...args] = START;
		if (!program) {
			reject(new Error("no jackfield gateway is named; start pi with `jackfield pi`"));
			return;
		}
		const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
		let said = "";
		let complaint = "";
		const late = setTimeout(() => {
			child.kill();
			reject(new Error(`${program} did not come up within ${COME_UP / 1000} s${complaint && `: ${complaint}`}`));
		}, COME_UP);
		const gone = (why: string) => {
			clearTimeout(late);
			if (state.child === child) {
				state.child = undefined;
				state.started = undefined;
			}
			reject(new Error(`cannot start jackfield's gateway: ${why}${complaint && `: ${complaint.trim()}`}`));
		};
		child.on("error", (error) => gone(failure(error)));
		child.on("close", (code, signal) => gone(`${program} ended (${signal ?? code})`));
		child.stdin.on("error", () => {});
		child.stderr.on("data", (chunk) => {
			complaint = (complaint + chunk).slice(-2000);
		});
		child.stdout.on("data", (chunk) => {
			if (said.length > 65_536) return;
			said += chunk;
			const end = said.indexOf("\n");
			if (end < 0) return;
			said = said.padEnd(65_537);
			clearTimeout(late);
			try {
				const { url, token } = JSON.parse(said.slice(0, end));
				if (typeof url !== "string" || typeof token !== "string") throw new Error("it named no address");
				state.child = child;
				// Nothing of it keeps pi from ending.
				for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
					(handle as unknown as { unref?: () => void }).unref?.();
				}
				resolve({ url, token });
			} catch (error) {
				child.kill();
				gone(failure(error));
			}
		});
	});
}

interface Ask {
	method: "GET" | "POST";
	path: string;
	body?: unknown;
	signal?: AbortSignal;
	within?: number;
	onProgress?: (data: Record<string, unknown>) => void;
	began?: (request: ClientRequest) => void;
}

function explain(error: unknown): Error {
	const code = (error as { code?: string } | undefined)?.code;
	if (code === "ECONNREFUSED") return new Error("jackfield's gateway is gone (nobody listens there any more); start it again");
	if (code === "ECONNRESET" || code === "EPIPE") return new Error("jackfield's gateway went away before it had answered; start it again");
	return error instanceof Error ? error : new Error(String(error));
}

/** One request on a connection of its own: nothing is sent twice, and closing it is taking the question back. */
function ask(to: Gateway, { method, path, body, signal, within, onProgress, began }: Ask): Promise<[number, string]> {
	return new Promise((resolve, reject) => {
		if (signal?.aborted) {
			reject(new Error("aborted"));
			return;
		}
		const text = body === undefined ? undefined : JSON.stringify(body);
		const headers: Record<string, string> = {
			authorization: `Bearer ${to.token}`,
			accept: onProgress ? "text/event-stream, application/json" : "application/json",
		};
		if (text !== undefined) {
			headers["content-type"] = "application/json";
			headers["content-length"] = String(Buffer.byteLength(text));
		}
		const asked = request(new URL(path, to.url), { method, headers, agent: false });
		let timer: NodeJS.Timeout | undefined;
		const onAbort = () => asked.destroy(new Error("aborted"));
		const over = () => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", onAbort);
		};
		const fail = (error: unknown) => {
			over();
			reject(explain(error));
		};
		if (within !== undefined) {
			const late = `jackfield's gateway did not answer within ${within / 1000} s`;
			timer = setTimeout(() => asked.destroy(new Error(late)), within);
		}
		signal?.addEventListener("abort", onAbort);
		asked.on("error", fail);
		asked.on("response", (answer: IncomingMessage) => {
			const streamed = (answer.headers["content-type"] ?? "").startsWith("text/event-stream");
			const events = streamed ? new Events(onProgress) : undefined;
			const chunks: Buffer[] = [];
			let size = 0;
			answer.on("data", (chunk: Buffer) => {
				size += chunk.length;
				if (size > MOST) {
					asked.destroy(new Error(`the answer of jackfield's gateway is larger than ${MOST >> 20} MiB`));
				} else if (events) {
					events.feed(chunk);
				} else {
					chunks.push(chunk);
				}
			});
			answer.on("error", fail);
			answer.on("aborted", () => fail({ code: "ECONNRESET" }));
			answer.on("end", () => {
				over();
				if (!answer.complete) reject(explain({ code: "ECONNRESET" }));
				else if (!events) resolve([answer.statusCode ?? 0, Buffer.concat(chunks).toString("utf8")]);
				else if (events.result === undefined) reject(explain({ code: "ECONNRESET" }));
				else resolve([answer.statusCode ?? 0, events.result]);
			});
		});
		began?.(asked);
		asked.end(text);
	});
}

/** Reads server-sent events: progress is passed on, the result kept. */
class Events {
	result: string | undefined;
	private rest = Buffer.alloc(0);
	private name = "";
	private data: string[] = [];
	private readonly onProgress?: (data: Record<string, unknown>) => void;

	constructor(onProgress?: (data: Record<string, unknown>) => void) {
		this.onProgress = onProgress;
	}

	feed(chunk: Buffer): void {
		this.rest = Buffer.concat([this.rest, chunk]);
		let from = 0;
		for (let end = this.rest.indexOf(10, from); end >= 0; end = this.rest.indexOf(10, from)) {
			this.line(this.rest.toString("utf8", from, end).replace(/\r$/, ""));
			from = end + 1;
		}
		this.rest = this.rest.subarray(from);
	}

	private line(line: string): void {
		if (line !== "") {
			const [, field, value] = /^([a-z]*): ?(.*)$/s.exec(line) ?? [];
			if (field === "event") this.name = value ?? "";
			if (field === "data") this.data.push(value ?? "");
			return;
		}
		const data = this.data.join("\n");
		if (this.name === "result" || this.name === "error") this.result = data;
		if (this.name === "progress" || this.name === "notification") {
			try {
				const { method, params, ...rest } = JSON.parse(data);
				// MCP's own word for it, passed on as it came.
				if (this.name === "progress") this.onProgress?.(rest);
				else if (method === "notifications/progress") this.onProgress?.(params);
			} catch {
				// Progress is a courtesy: what cannot be read or shown is left out.
			}
		}
		this.name = "";
		this.data = [];
	}
}
