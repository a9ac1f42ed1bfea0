package mcpserver

import (
	"context"
	"regexp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/wire"
)

// catalog contains all registrations at one moment. It is immutable; each message is handled
// with one catalog.
type catalog struct {
	tools         registry
	sessionTools  bool // a session has, or had, tools of its own
	resources     registry
	templates     registry
	bySpecificity []*template // the templates with the longest literal text first
	prompts       registry
	unlisted      extension.Resources // or nil
	completers    map[completionTarget]Completer
	complete      func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)
	// capabilities are the declared capabilities. They are never removed, because clients may
	// rely on them.
	capabilities *mcp.ServerCapabilities
	// withTasks are the capabilities with the tasks of revision 2025-11-25, or nil.
	withTasks *mcp.ServerCapabilities
}

// tool is a registered tool. It is immutable.
type tool struct {
	mcp.Tool
	encodedItem
	call            rounds.Handler // handles its requests; the only function between a round and the tool's function
	input           *toolSchema
	output          *toolSchema // or nil
	legacyExecution bool        // handshake revisions may see the task support
}

// resource is a registered resource. It is immutable.
type resource struct {
	mcp.Resource
	encodedItem
	read ResourceHandler
}

// template is a registered resource template. It is immutable.
type template struct {
	mcp.ResourceTemplate
	encodedItem
	read    ResourceTemplateHandler
	pattern *regexp.Regexp // has one group for each expression
	exprs   []expression
	literal int // length of the text outside of expressions
}

// prompt is a registered prompt. It is immutable.
type prompt struct {
	mcp.Prompt
	encodedItem
	get PromptHandler
}

// completionTarget identifies an argument of a prompt or a variable of a template.
type completionTarget struct {
	Item
	argument string
}

// ToolHandler handles calls of a tool whose arguments it decodes itself.
type ToolHandler func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// ResourceHandler reads a resource. Contents without a URI get the URI of the request;
// contents with that URI and without a MIMEType get the MIMEType of the resource. [NotFound]
// returns the error for a resource that does not exist.
type ResourceHandler func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error)

// ResourceTemplateHandler reads a resource whose URI matches a template. Contents without a
// URI get the URI of the request; contents with that URI and without a MIMEType get the
// MIMEType of the template. [NotFound] returns the error for a resource that does not exist.
type ResourceTemplateHandler func(context.Context, *mcp.ReadResourceRequest, Variables) (*mcp.ReadResourceResult, error)

// Variables are the values of a template's variables in a URI, unescaped. A list has several
// values.
type Variables map[string][]string

// Get returns the value of a variable, the first value of a list, or the empty string if the
// variable is absent.
func (v Variables) Get(name string) string {
	if values := v[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// PromptHandler returns the messages of a prompt.
type PromptHandler func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error)

// Completer returns suggestions for the value of an argument, best first. The request contains
// the text that the user has entered. The first 100 suggestions are sent, with the total
// number.
type Completer func(context.Context, *mcp.CompleteRequest) ([]string, error)

func (t *tool) forRevision(r wire.Revision) wire.Value { return t.definition(r) }

// definition returns the tool as a revision defines it.
func (t *tool) definition(r wire.Revision) *mcp.Tool {
	legacyOutput := t.output == nil || t.output.forObjects
	if !revisions.Handshake(r) || legacyOutput && (t.legacyExecution || t.Execution == nil) {
		return &t.Tool
	}
	def := t.Tool
	if !legacyOutput {
		def.OutputSchema = nil
	}
	if !t.legacyExecution {
		def.Execution = nil
	}
	return &def
}

func (r *resource) forRevision(wire.Revision) wire.Value { return &r.Resource }

func (t *template) forRevision(wire.Revision) wire.Value { return &t.ResourceTemplate }

func (p *prompt) forRevision(wire.Revision) wire.Value { return &p.Prompt }
