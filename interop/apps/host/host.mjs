// The host of the tests of MCP Apps: it connects to a server, calls a tool, and shows the view of
// the tool with the AppBridge of the package ext-apps.
import {Client, StreamableHTTPClientTransport} from "@modelcontextprotocol/client";
import {AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri, isToolVisibilityAppOnly} from "@modelcontextprotocol/ext-apps/app-bridge";

const info = {name: "test-host", version: "1.0.0"};
const log = []; // the methods of the messages, with ">" for messages of the view

// record notes the messages between the host and the view.
function record(transport) {
  const {send} = transport;
  transport.send = (message, ...rest) => {
    if (message.method) log.push("< " + message.method);
    return send.call(transport, message, ...rest);
  };
  const note = event => event.source === document.querySelector("iframe").contentWindow && event.data?.method && log.push("> " + event.data.method);
  addEventListener("message", note);
  return transport;
}

async function show(sandbox, name, args) {
  const client = new Client(info, {capabilities: {extensions: {"io.modelcontextprotocol/ui": {mimeTypes: [RESOURCE_MIME_TYPE]}}}});
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const {tools} = await client.listTools();
  const modelTools = tools.filter(tool => !isToolVisibilityAppOnly(tool)).map(tool => tool.name);
  const tool = tools.find(tool => tool.name === name);
  const uri = getToolUiResourceUri(tool);
  const {contents: [view]} = await client.readResource({uri});

  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-same-origin"; // of the outer frame, which has another origin
  const bridge = new AppBridge(client, info, {serverTools: {}, logging: {}}, {hostContext: {theme: "light", toolInfo: {tool}}});
  const ready = new Promise(resolve => bridge.onsandboxready = resolve);
  const initialized = new Promise(resolve => bridge.oninitialized = resolve);
  bridge.onsizechange = ({height}) => frame.style.height = `${height}px`;
  document.body.append(frame);
  await bridge.connect(record(new PostMessageTransport(frame.contentWindow, frame.contentWindow)));
  frame.src = `${sandbox}?uri=${encodeURIComponent(uri)}`;
  await ready;
  await bridge.sendSandboxResourceReady({html: view.text, csp: view._meta?.ui?.csp});
  await initialized;
  await bridge.sendToolInput({arguments: args});
  const result = await client.callTool({name, arguments: args});
  await bridge.sendToolResult(result);
  return {tools: tools.map(tool => tool.name), modelTools, text: result.content[0].text, app: bridge.getAppVersion()};
}

Object.assign(globalThis, {show, log});
