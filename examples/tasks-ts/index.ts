// A list of tasks: a tool for the model, a command for the person, a guard against secrets, state that survives a
// restart, and a question before anything is lost. It uses nothing but pi's extension API and Node's modules.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { StringEnum } from "@earendil-works/pi-ai";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

interface Task {
  id: number;
  text: string;
  done: boolean;
}

class TaskList {
  private tasks: Task[] = [];

  constructor(private readonly file: string) {
    if (existsSync(file)) this.tasks = JSON.parse(readFileSync(file, "utf8")) as Task[];
  }

  add(text: string): Task {
    const task: Task = { id: Math.max(0, ...this.tasks.map((task) => task.id)) + 1, text, done: false };
    this.tasks.push(task);
    this.save();
    return task;
  }

  finish(id: number): Task {
    const task = this.tasks.find((task) => task.id === id);
    if (!task) throw new Error(`there is no task ${id}; list shows those there are`);
    task.done = true;
    this.save();
    return task;
  }

  clear(): number {
    const count = this.tasks.length;
    this.tasks = [];
    this.save();
    return count;
  }

  all(): readonly Task[] {
    return this.tasks;
  }

  lines(): string[] {
    return this.tasks.map((task) => `${task.done ? "[x]" : "[ ]"} ${task.id}. ${task.text}`);
  }

  private save(): void {
    mkdirSync(dirname(this.file), { recursive: true });
    writeFileSync(this.file, JSON.stringify(this.tasks, null, 2));
  }
}

export default function tasks(pi: ExtensionAPI) {
  // The list belongs to the project. It is opened when it is first used, because reading it needs a permission.
  let open: TaskList | undefined;
  const list = (ctx: ExtensionContext): TaskList => (open ??= new TaskList(join(ctx.cwd, ".tasks", "tasks.json")));

  pi.registerTool({
    name: "tasks",
    label: "Tasks",
    description: "Keeps a list of tasks for this project: add one, finish one by its number, or list them all.",
    parameters: Type.Object({
      action: StringEnum(["add", "finish", "list"] as const, { description: "What to do" }),
      text: Type.Optional(Type.String({ description: "The task, for add" })),
      id: Type.Optional(Type.Number({ description: "Its number, for finish" })),
    }),
    async execute(_toolCallId, params, _signal, _onUpdate, ctx) {
      const tasks = list(ctx);
      let said: string;
      switch (params.action) {
        case "add":
          if (!params.text) throw new Error("add needs a text");
          said = `added task ${tasks.add(params.text).id}`;
          break;
        case "finish":
          if (params.id === undefined) throw new Error("finish needs an id");
          said = `finished "${tasks.finish(params.id).text}"`;
          break;
        default:
          said = tasks.lines().join("\n") || "no tasks";
      }
      return { content: [{ type: "text", text: said }], details: { tasks: tasks.all() } };
    },
  });

  pi.registerCommand("tasks", {
    description: "Show the tasks, or forget them all with /tasks clear",
    handler: async (args, ctx) => {
      const tasks = list(ctx);
      if (args.trim() !== "clear") {
        ctx.ui.notify(tasks.lines().join("\n") || "no tasks", "info");
        return;
      }
      const sure = await ctx.ui.confirm("Forget all tasks?", `${tasks.all().length} tasks will be gone.`);
      ctx.ui.notify(sure ? `forgot ${tasks.clear()} tasks` : "kept them", "info");
    },
  });

  // The guard: what looks like a secret is not written down, whoever asks.
  pi.on("tool_call", async (event) => {
    if (event.toolName !== "tasks") return undefined;
    const { text } = event.input as { text?: unknown };
    if (typeof text !== "string" || !/\b(password|api[_-]?key|secret)\s*[:=]/i.test(text)) return undefined;
    return { block: true, reason: "a task must not hold a secret; say where the secret is kept instead" };
  });
}
