// The official TypeScript SDK of the second generation against jackfield: node sdk2.mjs MODE stdio|http TARGET [ARGS…]
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { talk } from "./talk.mjs";

const [mode, way, target, ...args] = process.argv.slice(2);
const transport =
  way === "stdio"
    ? new StdioClientTransport({ command: target, args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(target), {
        requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
      });
const options = { capabilities: { elicitation: {}, sampling: {} }, versionNegotiation: { mode } };
const client = new Client({ name: "sdk2", version: "1" }, options);
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(transport);
await talk(client, undefined, 2);
