// Package contract describes what a server offers in a document, and compares two of them.
//
//	lock := contract.New(offer)
//	data, err := lock.Encode()
//	…
//	for _, c := range contract.Diff(old, lock) {
//		fmt.Println(c.Severity, c)
//	}
//
// Arguments and results have opposite directions. Callers wrote their calls by the old schema, so the
// new schema of arguments must accept everything that the old one accepts. Readers were written for
// the old results, so the old schema of results must accept everything that the new one accepts. If
// the comparison cannot decide, the change is [Risky], not compatible.
package contract

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
)

// Format is the version of the format of a Lock.
const Format = 1

// Lock is what a server offers, sorted and normalized.
type Lock struct {
	// Format is the version of the format.
	Format int `json:"format"`
	// Digest is the digest of everything below.
	Digest string `json:"digest"`
	// Revision is the revision of the protocol in which the server was asked.
	Revision string `json:"revision"`
	// Server is the name and the version of the server.
	Server Server `json:"server"`
	// Instructions are the server's instructions for a model.
	Instructions string `json:"instructions,omitempty"`
	// Capabilities are the capabilities of the server.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	// Tools are sorted by name.
	Tools []Tool `json:"tools,omitempty"`
	// Prompts are sorted by name.
	Prompts []Prompt `json:"prompts,omitempty"`
	// Resources are sorted by URI.
	Resources []Resource `json:"resources,omitempty"`
	// Templates are sorted by URI template.
	Templates []Resource `json:"resourceTemplates,omitempty"`
}

// Server names the software of a server.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Title   string `json:"title,omitempty"`
}

// Tool is a tool of a Lock.
type Tool struct {
	Name        string          `json:"name"`
	Digest      string          `json:"digest"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
}

// Prompt is a prompt of a Lock. Its arguments are sorted by name.
type Prompt struct {
	Name        string     `json:"name"`
	Digest      string     `json:"digest"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// Argument is an argument of a Prompt.
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is a resource or a resource template of a Lock.
type Resource struct {
	URI         string `json:"uri"`
	Digest      string `json:"digest"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// Offer is what a server offers, as a client reads it.
type Offer struct {
	Revision     string
	Info         *mcp.Implementation
	Capabilities *mcp.ServerCapabilities
	Instructions string
	Tools        []*mcp.Tool
	Prompts      []*mcp.Prompt
	Resources    []*mcp.Resource
	Templates    []*mcp.ResourceTemplate
}

// New returns the Lock of an offer.
func New(o *Offer) (*Lock, error) {
	l := &Lock{Revision: o.Revision, Instructions: o.Instructions}
	if o.Info != nil {
		l.Server = Server{o.Info.Name, o.Info.Version, o.Info.Title}
	}
	if o.Capabilities != nil {
		data, err := json.Marshal(o.Capabilities)
		if err != nil {
			return nil, fmt.Errorf("capabilities: %w", err)
		}
		l.Capabilities = data
	}
	for _, t := range o.Tools {
		tool := Tool{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema}
		if t.Annotations != nil {
			data, err := json.Marshal(t.Annotations)
			if err != nil {
				return nil, fmt.Errorf("annotations of tool %q: %w", t.Name, err)
			}
			tool.Annotations = data
		}
		l.Tools = append(l.Tools, tool)
	}
	for _, p := range o.Prompts {
		prompt := Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, Argument{a.Name, a.Title, a.Description, a.Required})
		}
		l.Prompts = append(l.Prompts, prompt)
	}
	for _, r := range o.Resources {
		l.Resources = append(l.Resources, Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
	}
	for _, r := range o.Templates {
		l.Templates = append(l.Templates, Resource{URI: r.URITemplate, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
	}
	return l, l.normalize()
}

// Parse reads a Lock and normalizes it, so that it may have been edited.
func Parse(data []byte) (*Lock, error) {
	l := new(Lock)
	if err := json.Unmarshal(data, l); err != nil {
		return nil, err
	}
	if l.Format != Format {
		return nil, fmt.Errorf("the format is %d, not %d: write the file again", l.Format, Format)
	}
	return l, l.normalize()
}

// Encode returns the document of a Lock: indented JSON with a line feed at its end.
func (l *Lock) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// normalize sorts everything and computes the digests.
func (l *Lock) normalize() (err error) {
	l.Format, l.Digest = Format, ""
	l.Capabilities, err = canonical(l.Capabilities, err)
	for i := range l.Tools {
		t := &l.Tools[i]
		var bad error
		t.Input, bad = canonical(t.Input, bad)
		t.Output, bad = canonical(t.Output, bad)
		if t.Annotations, bad = canonical(t.Annotations, bad); bad != nil {
			return fmt.Errorf("tool %q: %w", t.Name, bad)
		}
		t.Digest = ""
		t.Digest, err = digest(t, err)
	}
	for i := range l.Prompts {
		p := &l.Prompts[i]
		slices.SortStableFunc(p.Arguments, func(a, b Argument) int { return cmp.Compare(a.Name, b.Name) })
		p.Digest = ""
		p.Digest, err = digest(p, err)
	}
	for _, list := range [][]Resource{l.Resources, l.Templates} {
		for i := range list {
			list[i].Digest = ""
			list[i].Digest, err = digest(list[i], err)
		}
		slices.SortStableFunc(list, func(a, b Resource) int { return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.Digest, b.Digest)) })
	}
	slices.SortStableFunc(l.Tools, func(a, b Tool) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest)) })
	slices.SortStableFunc(l.Prompts, func(a, b Prompt) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest)) })
	l.Digest, err = digest(l, err)
	return err
}

// canonical returns JSON with sorted members. It passes an error on.
func canonical(raw json.RawMessage, err error) (json.RawMessage, error) {
	if len(raw) == 0 || err != nil {
		return nil, err
	}
	value, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// digest returns the digest of a value's JSON. It passes an error on.
func digest(v any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}
