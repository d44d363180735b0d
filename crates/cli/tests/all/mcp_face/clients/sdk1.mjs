// The official TypeScript SDK of the first generation against jackfield: node sdk1.mjs stdio|http TARGET [ARGS…]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { talk } from "./talk.mjs";

const [way, target, ...args] = process.argv.slice(2);
const transport =
  way === "stdio"
    ? new StdioClientTransport({ command: target, args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
      });
const client = new Client({ name: "sdk1", version: "1" }, { capabilities: { elicitation: {}, sampling: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
await client.connect(transport);
await talk(client, changed, 1);
