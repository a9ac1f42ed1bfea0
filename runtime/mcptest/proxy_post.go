package mcptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/headers"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
)

// post sends a message, and writes the messages of the response to the pipe.
func (p *proxy) post(ctx context.Context, m message, line []byte) {
	if err := p.exchange(ctx, m, line); err != nil {
		p.fail(m, line, err)
	}
}

// exchange is post. It returns an error if a request gets no response, or another
// message is not accepted.
func (p *proxy) exchange(ctx context.Context, m message, line []byte) error {
	res, err := p.send(ctx, m, line)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	responded := false
	deliver := func(raw []byte) {
		responded = responded || m.isRequest() && m.hasResponse(raw)
		p.deliver(m, res.Header, raw)
	}
	var body []byte // that is not a stream
	switch media := mediaType(res.Header); {
	case media == mediaEvents:
		readEvents(res.Body, deliver)
	case media == mediaJSON:
		if body, err = io.ReadAll(res.Body); err != nil {
			return err
		}
		if m.params.stateless && p.findToolArgs(ctx, m, line, body) {
			return p.exchange(ctx, m, line)
		}
		deliver(body)
	case res.StatusCode >= 300:
		body, _ = io.ReadAll(io.LimitReader(res.Body, maxShown)) // for the error below
	}
	if responded || !m.isRequest() && res.StatusCode < 300 || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("HTTP %s: %s", res.Status, cmp.Or(string(bytes.TrimSpace(body[:min(len(body), maxShown)])), "no response"))
}

// send sends a message with a POST request.
func (p *proxy) send(ctx context.Context, m message, line []byte) (*http.Response, error) {
	req, err := p.request(ctx, http.MethodPost, line, m)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", mediaJSON)
	req.Header.Set("Accept", mediaJSON+", "+mediaEvents)
	if m.params.stateless {
		p.setArgHeaders(req, m, line)
	}
	return p.client.Do(req)
}

// request returns an HTTP request with the headers of the session, or of a stateless
// message.
func (p *proxy) request(ctx context.Context, httpMethod string, body []byte, m message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, httpMethod, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	session, version := p.session, p.version
	p.mu.Unlock()
	if m.params.stateless {
		version = m.params.metaVersion
		req.Header.Set(headers.Method, m.method)
		if m.name != nil {
			req.Header.Set(headers.Name, paramheader.Encode(*m.name))
		}
	} else if session != "" {
		req.Header.Set(headerSession, session)
	}
	if version != "" {
		req.Header.Set(headers.ProtocolVersion, version)
	}
	return req, nil
}

// deliver writes a message of the response to m to the pipe. First it stores what
// later requests need.
func (p *proxy) deliver(m message, header http.Header, raw []byte) {
	switch m.method {
	case mcp.MethodInitialize:
		p.storeSession(header, raw)
	case mcp.MethodListTools:
		p.storeToolArgs(raw)
	}
	p.write(raw)
}

// storeSession stores the session id and the revision of a response to initialize.
func (p *proxy) storeSession(h http.Header, raw []byte) {
	m, _ := parseMessage(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	if session := h.Get(headerSession); session != "" {
		p.session = session
	}
	if version := text(members(m.result)["protocolVersion"]); version != "" {
		p.version = version
	}
}

// storeToolArgs stores which arguments of the listed tools headers repeat, and
// returns the cursor of the next page. A tool with an invalid declaration has none.
func (p *proxy) storeToolArgs(raw []byte) (cursor json.RawMessage) {
	m, _ := parseMessage(raw)
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
		NextCursor json.RawMessage `json:"nextCursor"`
	}
	if json.Unmarshal(m.result, &list) != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range list.Tools {
		p.toolArgs[t.Name], _ = paramheader.Parse(t.InputSchema)
	}
	return list.NextCursor
}

// setArgHeaders sets the headers that repeat the arguments of a tool call. It omits
// arguments that no header can contain, so that the server rejects the call.
func (p *proxy) setArgHeaders(req *http.Request, m message, line []byte) {
	if m.method != mcp.MethodCallTool || m.name == nil {
		return
	}
	p.mu.Lock()
	args := p.toolArgs[*m.name]
	p.mu.Unlock()
	headers, _ := paramheader.Values(args, paramsOf(line)["arguments"])
	for _, h := range headers {
		req.Header.Set(h.Name, h.Value)
	}
}

// maxPages limits the pages of a list that are read.
const maxPages = 1000

// findToolArgs lists the tools if a call was rejected because of its headers and its
// tool is unknown. It reports whether the tool is known then, so that the call can
// be sent again.
func (p *proxy) findToolArgs(ctx context.Context, m message, line, response []byte) bool {
	if r, _ := parseMessage(response); r.code() != mcp.CodeHeaderMismatch {
		return false
	}
	if m.method != mcp.MethodCallTool || m.name == nil || p.hasTool(*m.name) {
		return false
	}
	var cursor json.RawMessage
	for range maxPages {
		page, err := p.listTools(ctx, m, line, cursor)
		if err != nil {
			return false
		}
		if cursor = p.storeToolArgs(page); cursor == nil || p.hasTool(*m.name) {
			break
		}
	}
	return p.hasTool(*m.name)
}

// hasTool reports whether a list has contained the tool.
func (p *proxy) hasTool(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.toolArgs[name]
	return ok
}

// listTools requests a page of the list of tools. The request has the id and the
// metadata of a call that was rejected.
func (p *proxy) listTools(ctx context.Context, m message, line []byte, cursor json.RawMessage) ([]byte, error) {
	params := map[string]json.RawMessage{"_meta": paramsOf(line)["_meta"]}
	if cursor != nil {
		params["cursor"] = cursor
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": members(line)["id"], "method": mcp.MethodListTools, "params": params})
	if err != nil {
		return nil, err
	}
	m.method, m.name = mcp.MethodListTools, nil
	res, err := p.send(ctx, m, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if mediaType(res.Header) == mediaJSON {
		return io.ReadAll(res.Body)
	}
	var last []byte
	readEvents(res.Body, func(raw []byte) { last = raw })
	return last, nil
}

// readEvents calls deliver for each message of a stream of server-sent events, until
// the stream ends.
func readEvents(r io.Reader, deliver func([]byte)) {
	_, _ = io.Copy(&eventReader{message: deliver}, r) // deliver has received all complete events
}
