// Calls a tool of a server as a task and prints what the SDK reports, one JSON value per line.
// Arguments: the URL of the server, the name of the tool, and "cancel" to cancel the task.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, tool, action] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));

const client = new Client({ name: "interop", version: "1" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  print({ asked: request.params.message, about: request.params._meta?.["io.modelcontextprotocol/related-task"]?.taskId });
  return { action: "accept", content: { name: "Ada" } };
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.listTools();
print({ declared: client.getServerCapabilities().tasks });
let id;
const stream = client.experimental.tasks.callToolStream({ name: tool, arguments: {} }, CallToolResultSchema, { task: { ttl: 60000 } });
for await (const message of stream) {
  if (message.type === "taskCreated") {
    id = message.task.taskId;
    print({ created: message.task });
    if (action === "cancel") {
      print({ cancelled: (await client.experimental.tasks.cancelTask(id)).status });
    }
  } else if (message.type === "result") {
    print({ result: message.result });
  } else if (message.type === "error") {
    print({ error: message.error.message });
  }
}
print({ state: await client.experimental.tasks.getTask(id), listed: (await client.experimental.tasks.listTasks()).tasks.map((t) => t.taskId) });
await client.close();
