// Package fit converts results for revisions that do not define all that they contain.
package fit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Mode is how much may be converted.
type Mode uint8

const (
	// Forwarded converts everything, for results of other servers.
	Forwarded Mode = iota
	// Own does not convert content that no revision defines.
	Own
	// Exact converts nothing. It returns an error instead.
	Exact
)

// Result returns a result of a server as a revision defines it. It does not change v. Results of
// other kinds are returned unchanged.
func Result(r wire.Revision, v wire.Value) (wire.Value, error) {
	switch res := v.(type) {
	case *mcp.CallToolResult:
		return orNil(Forwarded.ToolResult(r, res))
	case *mcp.GetPromptResult:
		return orNil(Forwarded.Prompt(r, res))
	case *mcp.ListToolsResult:
		return Tools(r, res), nil
	}
	return v, nil
}

// orNil returns a value without its type if it is nil.
func orNil[T any, P interface {
	*T
	wire.Value
}](v P, err error) (wire.Value, error) {
	if v == nil {
		return nil, err
	}
	return v, err
}

// olderThan reports whether a revision precedes another.
func olderThan(r, other wire.Revision) bool { return r.Index() < other.Index() }

// Tools returns a list of tools. Before 2026-07-28, an output schema describes an object; other
// schemas are removed.
func Tools(r wire.Revision, res *mcp.ListToolsResult) *mcp.ListToolsResult {
	if res == nil || !revisions.Handshake(r) || !slices.ContainsFunc(res.Tools, hasOtherOutput) {
		return res
	}
	fitted := *res
	fitted.Tools = slices.Clone(res.Tools)
	for i := range fitted.Tools {
		if t := &fitted.Tools[i]; hasOtherOutput(*t) {
			t.OutputSchema = nil
		}
	}
	return &fitted
}

// hasOtherOutput reports whether a tool has an output schema without "type": "object".
func hasOtherOutput(t mcp.Tool) bool {
	if t.OutputSchema == nil {
		return false
	}
	var root map[string]json.RawMessage
	err := json.Unmarshal(t.OutputSchema, &root)
	return err != nil || string(root["type"]) != `"object"`
}

// isTextOnly reports whether every revision allows a tool's result. It recognizes the usual case,
// a result with nothing but text.
func isTextOnly(res *mcp.CallToolResult) bool {
	for _, block := range res.Content {
		if _, isText := block.(*mcp.TextContent); !isText {
			return false
		}
	}
	return res.StructuredContent == nil
}

// ToolResult returns a tool's result. Content blocks that the revision does not define are replaced
// by the closest kind that it defines. Structured content is removed if the revision allows only
// objects and it is none; the text remains.
func (m Mode) ToolResult(r wire.Revision, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if res == nil || !olderThan(r, mcp.Revision20260728) || isTextOnly(res) {
		return res, nil
	}
	content, err := m.blocks(r, res.Content)
	if err != nil {
		return nil, err
	}
	drop := res.StructuredContent != nil && wire.Kind(res.StructuredContent) != '{'
	if drop && m == Exact {
		return nil, fmt.Errorf("revision %s does not support structured content other than objects", r)
	}
	if !drop && content == nil {
		return res, nil
	}
	fitted := *res
	if content != nil {
		fitted.Content = content
	}
	if drop {
		fitted.StructuredContent = nil
		if len(fitted.Content) == 0 {
			fitted.Content = mcp.TextResult(string(res.StructuredContent)).Content
		}
	}
	return &fitted, nil
}

// Prompt returns the messages of a prompt. It converts their content like ToolResult.
func (m Mode) Prompt(r wire.Revision, res *mcp.GetPromptResult) (*mcp.GetPromptResult, error) {
	if res == nil || !olderThan(r, mcp.Revision20250618) {
		return res, nil
	}
	fitted := *res
	fitted.Messages = slices.Clone(res.Messages)
	for i := range fitted.Messages {
		block, err := m.block(r, i, fitted.Messages[i].Content)
		if err != nil {
			return nil, err
		}
		fitted.Messages[i].Content = block
	}
	return &fitted, nil
}

// blocks returns the content blocks for a revision, or nil if none of them changes.
func (m Mode) blocks(r wire.Revision, blocks []mcp.ContentBlock) (fitted []mcp.ContentBlock, err error) {
	for i, block := range blocks {
		if _, isText := block.(*mcp.TextContent); isText {
			continue // the usual case, allowed in every revision
		}
		other, err := m.block(r, i, block)
		if err != nil {
			return nil, err
		}
		if other == block {
			continue
		}
		if fitted == nil {
			fitted = slices.Clone(blocks)
		}
		fitted[i] = other
	}
	return fitted, nil
}

// block returns a content block for a revision.
func (m Mode) block(r wire.Revision, i int, block mcp.ContentBlock) (mcp.ContentBlock, error) {
	var other mcp.ContentBlock
	switch block := block.(type) {
	case *mcp.AudioContent:
		if olderThan(r, mcp.Revision20250326) {
			other = audioAsResource(i, block)
		}
	case *mcp.ResourceLink:
		if olderThan(r, mcp.Revision20250618) {
			other = linkAsText(block)
		}
	case *mcp.UnknownContentBlock:
		if m != Forwarded {
			return nil, fmt.Errorf("content block %d has type %T, which cannot be sent in revision %s", i, block, r)
		}
		other = mcp.Text(string(bytes.TrimSpace(block.Raw)))
	case nil:
		return nil, fmt.Errorf("content block %d is nil", i)
	}
	if other == nil {
		return block, nil
	}
	if m == Exact {
		return nil, fmt.Errorf("content block %d has type %T, which revision %s does not support", i, block, r)
	}
	return other, nil
}

// audioAsResource embeds audio as a resource, with a URI that cannot be read.
func audioAsResource(i int, a *mcp.AudioContent) mcp.ContentBlock {
	return &mcp.EmbeddedResource{
		Resource: &mcp.BlobResourceContents{
			URI:      fmt.Sprintf("mcp:content/%d", i),
			MIMEType: a.MIMEType,
			Blob:     a.Data,
		},
		Annotations: a.Annotations,
		Meta:        a.Meta,
	}
}

// linkAsText returns the title and the URI of a resource as text.
func linkAsText(l *mcp.ResourceLink) mcp.ContentBlock {
	title := l.Title
	if title == "" {
		title = l.Name
	}
	text := mcp.Text(fmt.Sprintf("%s: %s", title, l.URI))
	text.Annotations, text.Meta = l.Annotations, l.Meta
	return text
}
