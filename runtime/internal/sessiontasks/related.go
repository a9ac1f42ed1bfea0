package sessiontasks

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// relatedKey is the key of the message metadata that associates a message with a task.
const relatedKey = "io.modelcontextprotocol/related-task"

// related returns a frame that adds the metadata of a task to a message. The frame f may be nil.
func related(f *wire.Frame, id string) *wire.Frame {
	with := wire.Frame{}
	if f != nil {
		with = *f
	}
	value := append(wire.AppendString([]byte(`{"taskId":`), id), '}')
	with.Meta = append(with.Meta[:len(with.Meta):len(with.Meta)], wire.Entry{Name: relatedKey, Value: value, Checked: true})
	return &with
}

// RelateReply adds the metadata of a task to the response to a request that has such metadata.
func RelateReply(ctx context.Context, in *peer.Inbound, reply peer.Reply) peer.Reply {
	if reply.Result == nil || connection.FromContext(ctx).State().Revision() != mcp.Revision20251125 {
		return reply
	}
	id := relatedTask(in.Params)
	if id == "" {
		return reply
	}
	if reply.Frame == nil {
		reply.Frame = revisions.Frame(mcp.Revision20251125)
	}
	reply.Frame = related(reply.Frame, id)
	return reply
}

// relatedTask returns the id of the task in the metadata of params, or "".
func relatedTask(params json.RawMessage) string {
	if !bytes.Contains(params, []byte(relatedKey)) {
		return ""
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var task struct {
		TaskID string `json:"taskId"`
	}
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p.Meta[relatedKey], &task) != nil {
		return "" // other metadata with this key has no meaning
	}
	return task.TaskID
}
