// Calls a tool of a server as a task and prints what the SDK reports, one JSON value per line. The
// client answers questions, also as tasks. Arguments: the URL of the server, the name of the tool,
// and "cancel" to cancel the task or "plain" to call the tool without a task.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, tool, action] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));

const taskStore = new InMemoryTaskStore();
const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } };
const client = new Client({ name: "interop", version: "1" }, { capabilities: { elicitation: { form: {} }, tasks }, taskStore });
client.setRequestHandler(ElicitRequestSchema, async (request, extra) => {
  print({ asked: request.params.message, about: request.params._meta?.["io.modelcontextprotocol/related-task"]?.taskId });
  const answer = { action: "accept", content: { name: "Ada" } };
  if (!request.params.task) {
    return answer;
  }
  const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl, pollInterval: 20 });
  print({ answering: task });
  setImmediate(() => extra.taskStore.storeTaskResult(task.taskId, "completed", answer));
  return { task };
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.listTools();
print({ declared: client.getServerCapabilities().tasks });
if (action === "plain") {
  print({ result: await client.callTool({ name: tool, arguments: {} }) });
  taskStore.cleanup();
  await client.close();
  process.exit(0);
}
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
