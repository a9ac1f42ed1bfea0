// A client with the official TypeScript SDK. It calls a tool, cancels a call after its first progress, and
// calls a tool again. It prints one JSON value per line. Arguments: "http" and a URL, or "stdio" and a command.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, at, ...args] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));

const transport = kind === "http" ? new StreamableHTTPClientTransport(new URL(at)) : new StdioClientTransport({ command: at, args });
const client = new Client({ name: "typescript", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const echo = async (message) => (await client.callTool({ name: "echo", arguments: { message } })).content[0].text;
print({ tools: tools.length, text: await echo("first") });
const abort = new AbortController();
const call = client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 60, steps: 600 } }, undefined, {
  signal: abort.signal,
  onprogress: () => abort.abort("enough"),
});
print({ cancelled: await call.then(() => "", (error) => String(error)) });
print({ text: await echo("second") });
await client.close();
