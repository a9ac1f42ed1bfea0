package page

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// watchRequest is the body of a request that begins or ends a subscription to a resource.
type watchRequest struct {
	Side int    `json:"side"`
	URI  string `json:"uri"`
	On   bool   `json:"on"`
}

// watched is the event of a subscription.
type watched struct {
	Side    int        `json:"side"`
	URI     string     `json:"uri"`
	On      bool       `json:"on"`
	Changes int        `json:"changes"`
	Last    *time.Time `json:"last,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// serveWatch begins or ends a subscription.
func (s *Server) serveWatch(in *watchRequest) (any, error) {
	sd, err := s.side(in.Side)
	if err != nil {
		return nil, err
	}
	sd.mu.Lock()
	cancel := sd.watches[in.URI]
	sd.mu.Unlock()
	if cancel != nil {
		if !in.On {
			cancel()
		}
		return struct{}{}, nil
	}
	if in.On {
		client, err := sd.connected(s.life)
		if err != nil {
			return nil, err
		}
		sd.watch(client, in.URI)
	}
	return struct{}{}, nil
}

// watch begins a subscription, unless there is one already.
func (sd *side) watch(client *mcpclient.Client, uri string) {
	ctx, cancel := context.WithCancel(sd.server.life)
	sd.mu.Lock()
	defer sd.mu.Unlock()
	if sd.watches[uri] != nil || sd.closed {
		cancel()
		return
	}
	sd.watches[uri] = cancel
	sd.work.Go(func() { // ends with the subscription
		defer cancel()
		sd.followChanges(ctx, client, uri)
	})
}

// followChanges shows the changes of a resource until ctx ends or the subscription fails.
func (sd *side) followChanges(ctx context.Context, client *mcpclient.Client, uri string) {
	w := watched{Side: sd.index, URI: uri, On: true}
	show := func() {
		sd.server.log.add(&entry{key: fmt.Sprint("watch ", sd.index, uri), kind: "watch", keep: w.On}, w)
	}
	show()
	for _, err := range client.Watch(ctx, uri) {
		if err != nil {
			if ctx.Err() == nil {
				w.Error = err.Error()
			}
			break
		}
		w.Changes++
		w.Last = new(time.Now())
		show()
	}
	w.On = false
	sd.mu.Lock()
	delete(sd.watches, uri)
	sd.mu.Unlock()
	show()
}

// note returns a word about a message that a reader looks for: the name of a tool or a prompt, or
// the URI of a resource.
func note(e *wiretrace.Event) string {
	var message struct {
		Params struct {
			Name    json.RawMessage `json:"name"`
			URI     json.RawMessage `json:"uri"`
			Message json.RawMessage `json:"message"`
			Level   json.RawMessage `json:"level"`
		} `json:"params"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Result struct {
			IsError    bool   `json:"isError"`
			ResultType string `json:"resultType"`
		} `json:"result"`
	}
	if e.Message == nil || json.Unmarshal(e.Message, &message) != nil {
		return ""
	}
	var text string
	switch p := message.Params; {
	case e.Kind == wiretrace.Error:
		text = message.Error.Message
	case message.Result.IsError:
		text = "the tool failed"
	case message.Result.ResultType != "" && message.Result.ResultType != string(mcp.ResultTypeComplete):
		text = message.Result.ResultType
	case e.Method == mcp.MethodProgress:
		_ = json.Unmarshal(p.Message, &text) // absent in many
	default:
		for _, raw := range []json.RawMessage{p.Name, p.URI, p.Level} {
			if text == "" && raw != nil {
				_ = json.Unmarshal(raw, &text) // a value of another type is not shown
			}
		}
	}
	return clip(text, 120)
}
