package mcptest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
)

// learn notes which arguments the tools of a list want repeated in headers.
// Tools that ask for what cannot be have none.
func (b *bridge) learn(answer []byte) (cursor json.RawMessage) {
	e, _ := open(answer)
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
		NextCursor json.RawMessage `json:"nextCursor"`
	}
	if json.Unmarshal(e.result, &list) != nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range list.Tools {
		b.tools[t.Name], _ = paramheader.Parse(t.InputSchema)
	}
	return list.NextCursor
}

// mirror puts the headers into a call that repeat its arguments. What no header
// can carry is the server's to refuse.
func (b *bridge) mirror(req *http.Request, e envelope, line []byte) {
	if e.method != mcp.MethodCallTool || e.name == nil {
		return
	}
	b.mu.Lock()
	params := b.tools[*e.name]
	b.mu.Unlock()
	headers, _ := paramheader.Values(params, paramsOf(line)["arguments"])
	for _, h := range headers {
		req.Header.Set(h.Name, h.Value)
	}
}

// missed tells whether a call was refused for headers that nobody could know,
// and whether the list of tools, which it asks for then, says more.
func (b *bridge) missed(ctx context.Context, e envelope, line, answer []byte) bool {
	if refused, _ := open(answer); refused.code() != mcp.CodeHeaderMismatch {
		return false
	}
	if e.method != mcp.MethodCallTool || e.name == nil || b.knows(*e.name) {
		return false
	}
	var cursor json.RawMessage
	for range mostPages {
		answer, err := b.list(ctx, e, line, cursor)
		if err != nil {
			return false
		}
		if cursor = b.learn(answer); cursor == nil || b.knows(*e.name) {
			break
		}
	}
	return b.knows(*e.name)
}

// mostPages is how much of a list is looked at that has no end.
const mostPages = 1000

func (b *bridge) knows(tool string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.tools[tool]
	return known
}

// list asks for a page of the list of tools, with the id of a call that has been
// refused, and in its revision.
func (b *bridge) list(ctx context.Context, e envelope, line []byte, cursor json.RawMessage) ([]byte, error) {
	params := map[string]json.RawMessage{"_meta": paramsOf(line)["_meta"]}
	if cursor != nil {
		params["cursor"] = cursor
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": members(line)["id"], "method": mcp.MethodListTools, "params": params})
	if err != nil {
		return nil, err
	}
	e.method, e.name = mcp.MethodListTools, nil
	res, err := b.send(ctx, e, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if mediaType(res.Header) == mediaJSON {
		return io.ReadAll(res.Body)
	}
	var last []byte
	stream(res.Body, func(message []byte) { last = message })
	return last, nil
}

func paramsOf(message []byte) map[string]json.RawMessage { return members(members(message)["params"]) }
