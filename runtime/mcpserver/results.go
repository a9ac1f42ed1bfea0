package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// newOutput returns a function that makes a tool's result from an Out, and the schema of the
// structured content or nil. If a schema is passed, results are validated against it.
func newOutput[Out any](s *Server, text json.RawMessage) (func(Out) (*mcp.CallToolResult, error), *toolSchema, error) {
	t := reflect.TypeFor[Out]()
	schema, err := outputSchemaOf(text)
	switch {
	case err != nil:
		return nil, nil, err
	case t == reflect.TypeFor[*mcp.CallToolResult]():
		return func(out Out) (*mcp.CallToolResult, error) {
			res := any(out).(*mcp.CallToolResult)
			return res, schema.validateResult(res)
		}, schema, nil
	case t == reflect.TypeFor[mcp.CallToolResult]():
		return nil, nil, fmt.Errorf("result type must be *%s", t)
	case text == nil && t == reflect.TypeFor[struct{}]():
		return func(Out) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }, nil, nil
	case text == nil && t.Kind() == reflect.String:
		return func(out Out) (*mcp.CallToolResult, error) {
			return mcp.TextResult(reflect.ValueOf(out).String()), nil
		}, nil, nil
	}
	conforms := false
	if text == nil && t.Kind() != reflect.Interface {
		inferred, err := s.outputSchema(t)
		if err != nil {
			return nil, nil, err
		}
		schema, conforms = inferred.schema, inferred.conforms
	}
	return func(out Out) (*mcp.CallToolResult, error) {
		v := addressable(out)
		res, err := structured(v)
		if err != nil {
			return nil, err
		}
		if string(res.StructuredContent) == "null" && isNil(reflect.ValueOf(out)) {
			return nil, errNoResult
		}
		if !conforms {
			if err := schema.validateResult(res); err != nil {
				return nil, err
			}
		}
		if own, ok := v.(interface{ ModelText() string }); ok {
			res.Content = mcp.TextResult(own.ModelText()).Content
		}
		return res, nil
	}, schema, nil
}

// isNil reports whether a value is a nil pointer, a nil map, or a pointer to one.
func isNil(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map) && v.IsNil()
}

// typedOutput is the schema that was inferred from a Go type.
type typedOutput struct {
	schema   *toolSchema // nil if it accepts any value
	conforms bool        // all values of the type are valid
}

// outputSchema infers the schema of results from a type.
func (s *Server) outputSchema(t reflect.Type) (*typedOutput, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return inferOnce(s, typedKey{t, false, true}, func() (*typedOutput, error) {
		opts := &typed.Options{Open: true, Schemas: s.opts.TypeSchemas}
		text, err := typed.Infer(t, opts)
		if err != nil {
			return nil, fmt.Errorf("cannot infer an OutputSchema from %s: %w", t, err)
		}
		if wire.Kind(text) != '{' {
			return &typedOutput{}, nil
		}
		schema, err := outputSchemaOf(text)
		return &typedOutput{schema, typed.Conforms(t, opts)}, err
	})
}

// addressable returns a value that encoding/json encodes like v, including methods with
// pointer receivers of v and of its parts.
func addressable[T any](v T) any {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer, reflect.Interface:
		return v
	}
	return new(v)
}

// structured returns a result with a value as structured content, and as text for clients that
// do not read structured content.
func structured(v any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	res := mcp.TextResult(string(data))
	res.StructuredContent = data
	return res, nil
}

// validateResult validates a result against the schema of its structured content. A nil schema
// accepts any result.
func (s *toolSchema) validateResult(res *mcp.CallToolResult) error {
	switch {
	case res == nil:
		return errNoResult
	case s == nil || res.IsError:
		return nil
	case res.StructuredContent == nil:
		return errors.New("result has no structured content, but the tool has an output schema")
	}
	compiled, err := s.compile()
	if err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	if err := compiled.Validate(res.StructuredContent); err != nil {
		return fmt.Errorf("result does not match the output schema: %w", err)
	}
	return nil
}

var errNoResult = errors.New("tool returned no result")

// revisionOf returns the revision of the message being handled.
func revisionOf(ctx context.Context) wire.Revision {
	return connection.FromContext(ctx).State().Revision()
}

// olderThan reports whether a revision precedes another.
func olderThan(r, other wire.Revision) bool { return r.Index() < other.Index() }

// fitsAllRevisions reports whether every revision allows a tool's result. It recognizes the
// usual case, a result with nothing but text.
func fitsAllRevisions(res *mcp.CallToolResult) bool {
	for _, block := range res.Content {
		if _, isText := block.(*mcp.TextContent); !isText {
			return false
		}
	}
	return res.StructuredContent == nil
}

// fitResult converts a tool's result for the client's revision. Content blocks that the
// revision does not define are replaced by the closest kind that it defines. Structured
// content is removed if the revision allows only objects and it is none; the text remains.
func (s *Server) fitResult(ctx context.Context, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	r := revisionOf(ctx)
	if !olderThan(r, mcp.Revision20260728) {
		return res, nil
	}
	content, err := s.fitBlocks(r, res.Content)
	if err != nil {
		return nil, err
	}
	drop := res.StructuredContent != nil && wire.Kind(res.StructuredContent) != '{'
	if drop && s.opts.StrictContent {
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
	}
	return &fitted, nil
}

// fitPrompt converts the messages of a prompt in the same way.
func (s *Server) fitPrompt(ctx context.Context, res *mcp.GetPromptResult) (*mcp.GetPromptResult, error) {
	r := revisionOf(ctx)
	if !olderThan(r, mcp.Revision20250618) {
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

// fitBlocks returns the content blocks for a revision, or nil if none of them changes.
func (s *Server) fitBlocks(r wire.Revision, blocks []mcp.ContentBlock) (fitted []mcp.ContentBlock, err error) {
	for i, block := range blocks {
		if _, isText := block.(*mcp.TextContent); isText {
			continue // the usual case, allowed in every revision
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

// fitBlock returns a content block for a revision.
func (s *Server) fitBlock(r wire.Revision, i int, block mcp.ContentBlock) (mcp.ContentBlock, error) {
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
		return nil, fmt.Errorf("content block %d has type %T, which cannot be sent in revision %s", i, block, r)
	case nil:
		return nil, fmt.Errorf("content block %d is nil", i)
	}
	if other == nil {
		return block, nil
	}
	if s.opts.StrictContent {
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
