
const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** What went wrong, in words. */
function words(error: unknown): string {
	if (typeof error === "string") return error;
	if (isObject(error) && typeof error.message === "string") return error.message;
	return JSON.stringify(error) ?? "no reason was given";
}

type Block = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** pi knows text and images; whatever else a tool answers is described in text. */
function blocks(result: NonNullable<Answer["result"]>): Block[] {
	const made: Block[] = [];
	for (const block of Array.isArray(result.content) ? result.content : []) {
		if (!isObject(block)) continue;
		if (block.type === "text" && typeof block.text === "string") {
			if (block.text !== "") made.push({ type: "text", text: block.text });
		} else if (block.type === "image" && typeof block.data === "string") {
			made.push({ type: "image", data: block.data, mimeType: String(block.mimeType ?? block.mime_type ?? "image/png") });
		} else if (block.type === "resource" && isObject(block.resource) && typeof block.resource.text === "string") {
			made.push({ type: "text", text: block.resource.text });
		} else if (typeof block.data === "string") {
			made.push({ type: "text", text: `(${block.type}, ${block.mimeType ?? "unknown type"}, ${block.data.length} characters of base64)` });
		} else {
			made.push({ type: "text", text: JSON.stringify(block) });
		}
	}
	if (made.length === 0 && result.structuredContent !== undefined) {
		made.push({ type: "text", text: JSON.stringify(result.structuredContent) });
	}
	if (made.length === 0) made.push({ type: "text", text: "(no output)" });
	return made;
}

function progressText(data: Record<string, unknown>): string {
	const { message, progress, total } = data;
	const steps = typeof progress === "number" ? `${progress}${typeof total === "number" ? `/${total}` : ""}` : "";
	return [steps, typeof message === "string" ? message : ""].filter((part) => part !== "").join(" ");
}

type Update = ((partial: { content: Block[]; details: unknown }) => void) | undefined;

/** Calls a tool. Throws where it failed: pi takes nothing else for an error. */
async function call(tool: string, params: unknown, signal: AbortSignal | undefined, onUpdate: Update) {
	const to = await gateway();
	let asked: ClientRequest | undefined;
	let missed = 0;
	// A call may take as long as it needs, but only while there is somebody who works on it.
	const pulse = setInterval(() => {
		ask(to, { method: "GET", path: "/health", within: ALIVE }).then(
			() => {
				missed = 0;
			},
			() => {
				missed += 1;
				if (missed >= 2) asked?.destroy(new Error("jackfield's gateway does not answer any more; start it again"));
			},
		);
	}, PULSE);
	try {
		const [status, text] = await ask(to, {
			method: "POST",
			path: "/api/tools/call",
			body: { token: to.token, pid: process.pid, tool, params },
			signal,
			onProgress: (data) => onUpdate?.({ content: [{ type: "text", text: progressText(data) }], details: { progress: data } }),
			began: (request) => {
				asked = request;
			},
		});
		let answer: Answer;
		try {
			answer = JSON.parse(text);
		} catch {
			throw new Error(`jackfield's gateway answered with status ${status} and no JSON`);
		}
		if (!isObject(answer) || answer.ok !== true || !isObject(answer.result)) {
			throw new Error(words((answer as Answer | undefined)?.error ?? `jackfield's gateway answered with status ${status}`));
		}
		const content = blocks(answer.result);
		if (answer.result.isError === true) {
			const told = content.map((block) => (block.type === "text" ? block.text : `(${block.mimeType})`));
			throw new Error(told.join("\n"));
		}
		return { content, details: answer.result.details ?? answer.result.structuredContent ?? {} };
	} finally {
		clearInterval(pulse);
	}
}

interface Offered {
	tool: Tool;
	/** The name in pi. */
	name: string;
	text: string;
	live: boolean;
	/** Whether pi had it switched on when it went away. */
	active: boolean;
}

/** pi's package has had two names; this file imports neither. */
type Pi = any;

/** The tools of one session. */
class Offer {
	private readonly offered = new Map<string, Offered>();
	private readonly pi: Pi;

	constructor(pi: Pi) {
		this.pi = pi;
	}

	/** Makes pi's tools the ones in the list. */
	sync(tools: Tool[]): void {
		const wanted = new Set<string>();
		for (const tool of tools) {
			wanted.add(tool.name);
			this.put(tool);
		}
		const gone = [...this.offered.values()].filter((one) => one.live && !wanted.has(one.tool.name));
		if (gone.length === 0) return;
		const active = new Set<string>(this.pi.getActiveTools());
		for (const one of gone) {
			one.live = false;
			one.active = active.delete(one.name);
		}
		this.pi.setActiveTools([...active]);
	}

	private put(tool: Tool): void {
		const text = JSON.stringify(tool);
		const known = this.offered.get(tool.name);
		if (known?.live && known.text === text) return;
		const name = known?.name ?? this.free(tool.name);
		const one: Offered = { tool, name, text, live: true, active: true };
		this.offered.set(tool.name, one);
		this.pi.registerTool({
			name,
			label: tool.name,
			description: tool.description,
			parameters: tool.parameters,
			execute: async (_id: string, params: unknown, signal: AbortSignal | undefined, onUpdate: Update) => {
				if (!this.offered.get(tool.name)?.live) throw new Error(`jackfield does not offer ${tool.name} any more`);
				return call(tool.name, params, signal, onUpdate);
			},
		});
		// pi switches on what it has not seen before, and no more than that.
		if (known && !known.live && known.active) {
			this.pi.setActiveTools([...new Set([...this.pi.getActiveTools(), name])]);
		}
	}

	/** The tool's own name, unless pi or another extension has it. */
	private free(wanted: string): string {
		const taken = new Set<string>(BUILT_IN);
		for (const tool of this.pi.getAllTools()) taken.add(tool.name);
		for (const one of this.offered.values()) taken.add(one.name);
		const plain = wanted.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "tool";
		for (let name = plain, count = 1; ; count += 1) {
			if (!taken.has(name)) return name;
			const end = count === 1 ? "" : `_${count}`;
			name = `jackfield_${plain}`.slice(0, 64 - end.length) + end;
		}
	}
}

/** The list may stand as such, or by extension. */
function listed(tools: unknown): Tool[] {
	const flat: Tool[] = [];
	for (const one of Array.isArray(tools) ? tools : []) {
		if (!isObject(one)) continue;
		if (Array.isArray(one.tools)) {
			flat.push(...listed(one.tools));
		} else if (typeof one.name === "string") {
			const parameters = isObject(one.parameters) ? one.parameters : {};
			const description = typeof one.description === "string" ? one.description : "";
			flat.push({ name: one.name, description, parameters: { type: "object", properties: {}, ...parameters } });
		}
	}
	return flat;
}

const rest = (pause: number, stop: AbortSignal): Promise<void> =>
	new Promise((resolve) => {
		const timer = setTimeout(resolve, pause);
		timer.unref();
		stop.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		});
	});

/** Keeps pi's tools as the gateway has them until the session ends. */
async function follow(offer: Offer, stop: AbortSignal, first: () => void): Promise<void> {
	// No revision is 0, so the first answer comes at once.
	let since = "0";
	let failures = 0;
	while (!stop.aborted) {
		try {
			const to = await gateway();
			const path = `/api/tools/changes?since=${encodeURIComponent(since)}`;
			const [status, text] = await ask(to, { method: "GET", path, signal: stop, within: HELD });
			if (stop.aborted) return;
			const answer: unknown = JSON.parse(text);
			if (status !== 200 || !isObject(answer)) throw new Error(`status ${status}`);
			if (Array.isArray(answer.tools)) offer.sync(listed(answer.tools));
			const revision = String(answer.revision);
			// Whoever answers at once though nothing changed is not asked without pause.
			if (revision === since) await rest(50, stop);
			since = revision;
			failures = 0;
			first();
		} catch {
			// A gateway that is gone may come back; calls say clearly that it is not there.
			since = "0";
			failures += 1;
			first();
			await rest(Math.min(100 * 2 ** failures, 5_000), stop);
		}
	}
}

export default function jackfieldBridge(pi: Pi): void {
	const state = shared();
	const me = {};
	let stop = new AbortController();
	pi.on("session_start", async () => {
		// One copy serves a session, wherever else pi found another.
		if (state.serving && state.serving !== me) return;
		state.serving = me;
		stop.abort();
		stop = new AbortController();
		const offer = new Offer(pi);
		offer.sync(TOOLS);
		await new Promise<void>((resolve) => {
			const late = setTimeout(resolve, FIRST_LIST);
			const first = () => {
				clearTimeout(late);
				resolve();
			};
			follow(offer, stop.signal, first).finally(first);
		});
	});
	pi.on("session_shutdown", () => {
		if (state.serving === me) state.serving = undefined;
		stop.abort();
	});
}
