package main

import (
	"fmt"
	"io"
	"strings"
)

// banner prints the URL of the server and commands that use it.
func banner(w io.Writer, url string) {
	fmt.Fprintln(w, strings.ReplaceAll(welcome, "URL", url))
}

const welcome = `serving every revision of the Model Context Protocol at

    URL

A client of this module:

    go run ./examples/call URL

The configuration of an IDE or another host:

    {"mcpServers": {"demo": {"type": "http", "url": "URL"}}}

curl, revision 2026-07-28, with a single request:

    curl -s URL \
      -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
      -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: greet' \
      -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"curl"},
           "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
           "io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"}}}}'

curl, revision 2025-11-25, with a session:

    post() { curl -s URL -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$@"; }
    session=$(post -D - -o /dev/null -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
      "capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}' | tr -d '\r' | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
    post -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    post -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"curl"}}}'

Press Ctrl-C to stop the server.`
