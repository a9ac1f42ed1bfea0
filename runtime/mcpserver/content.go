package mcpserver

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/wire"
)

// revisionOf is the revision in which a message came.
func revisionOf(ctx context.Context) wire.Revision {
	return connection.FromContext(ctx).State().Revision()
}

// before tells whether a revision is older than another.
func before(r, other wire.Revision) bool { return r.Index() < other.Index() }

// fitsAll tells whether every revision has a tool's result as it is: the usual one, with
// nothing but text.
func fitsAll(res *mcp.CallToolResult) bool {
	for _, block := range res.Content {
		if _, isText := block.(*mcp.TextContent); !isText {
			return false
		}
	}
	return res.StructuredContent == nil
}

// fitResult gives a tool's result the form that the client's revision has: blocks
// that it does not know become the nearest that it knows, and structured content
// that is no object is left out where only objects may be. The text beside it
// stays.
func (s *Server) fitResult(ctx context.Context, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	r := revisionOf(ctx)
	if !before(r, mcp.Revision20260728) {
		return res, nil
	}
	content, err := s.fitBlocks(r, res.Content)
	if err != nil {
		return nil, err
	}
	drop := res.StructuredContent != nil && wire.Kind(res.StructuredContent) != '{'
	if drop && s.opts.StrictContent {
		return nil, fmt.Errorf("revision %s has no structured content that is not an object", r)
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
	}
	return &fitted, nil
}

// fitPrompt does the same for the messages of a prompt.
func (s *Server) fitPrompt(ctx context.Context, res *mcp.GetPromptResult) (*mcp.GetPromptResult, error) {
	r := revisionOf(ctx)
	if !before(r, mcp.Revision20250618) {
		return res, nil
	}
	fitted := *res
	fitted.Messages = slices.Clone(res.Messages)
	for i := range fitted.Messages {
		block, err := s.fitBlock(r, i, fitted.Messages[i].Content)
		if err != nil {
			return nil, err
		}
		fitted.Messages[i].Content = block
	}
	return &fitted, nil
}

// fitBlocks returns the blocks as a revision has them, nil where it has them as
// they are.
func (s *Server) fitBlocks(r wire.Revision, blocks []mcp.ContentBlock) (fitted []mcp.ContentBlock, err error) {
	for i, block := range blocks {
		if _, isText := block.(*mcp.TextContent); isText {
			continue // the usual block: every revision has it
		}
		other, err := s.fitBlock(r, i, block)
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

// fitBlock returns a block as a revision has it.
func (s *Server) fitBlock(r wire.Revision, i int, block mcp.ContentBlock) (mcp.ContentBlock, error) {
	var other mcp.ContentBlock
	switch block := block.(type) {
	case *mcp.AudioContent:
		if before(r, mcp.Revision20250326) {
			other = soundAsResource(i, block)
		}
	case *mcp.ResourceLink:
		if before(r, mcp.Revision20250618) {
			other = linkAsText(block)
		}
	case *mcp.UnknownContentBlock:
		return nil, fmt.Errorf("content block %d is a %T, and revision %s is sent only types that it knows", i, block, r)
	case nil:
		return nil, fmt.Errorf("content block %d is nil", i)
	}
	if other == nil {
		return block, nil
	}
	if s.opts.StrictContent {
		return nil, fmt.Errorf("content block %d is a %T, which revision %s does not know", i, block, r)
	}
	return other, nil
}

// soundAsResource embeds sound as a resource that exists nowhere else.
func soundAsResource(i int, a *mcp.AudioContent) mcp.ContentBlock {
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

// linkAsText says in words where a resource is.
func linkAsText(l *mcp.ResourceLink) mcp.ContentBlock {
	title := l.Title
	if title == "" {
		title = l.Name
	}
	text := mcp.Text(fmt.Sprintf("%s: %s", title, l.URI))
	text.Annotations, text.Meta = l.Annotations, l.Meta
	return text
}
