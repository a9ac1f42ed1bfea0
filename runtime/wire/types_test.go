package wire_test

import (
	"encoding/json"
	"math"

	"github.com/mcpwright/mcp/runtime/wire"
)

// The types in this file are hand-written in the style of the generated types, so
// that the tests use the package as generated code does.

var (
	rev2024 = wire.NewRevision(0, "2024-11-05")
	rev2025 = wire.NewRevision(1, "2025-06-18")
	rev2026 = wire.NewRevision(2, "2026-07-28")
)

const (
	always    = wire.Always
	since2025 = always &^ (1<<1 - 1)
	since2026 = always &^ (1<<2 - 1)
	until2025 = wire.Window(1)<<2 - 1
)

func frame(r wire.Revision) *wire.Frame { return &wire.Frame{Revision: r} }

var roles = &wire.Enum{Type: "Role", List: []wire.EnumValue{
	{Name: "user", In: always},
	{Name: "assistant", In: always},
	{Name: "critic", In: since2026},
}}

// Tool has raw values, a window, a nested list and extra members.
type Tool struct {
	Name        string
	InputSchema json.RawMessage
	Title       string
	Icons       []Icon
	Extra       map[string]json.RawMessage
}

var toolMembers = wire.NewMembers("Tool",
	wire.Member{Name: "name", In: always, Required: always},
	wire.Member{Name: "inputSchema", In: always, Required: always},
	wire.Member{Name: "title", In: since2025},
	wire.Member{Name: "icons", In: since2025},
)

func (x *Tool) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"name":`...)
	b = wire.AppendString(b, x.Name)
	b = append(b, `,"inputSchema":`...)
	b = e.RawObject(b, x.InputSchema, `{"type":"object"}`)
	if x.Title != "" && e.Has(since2025) {
		b = append(b, `,"title":`...)
		b = wire.AppendString(b, x.Title)
	}
	if x.Icons != nil && e.Has(since2025) {
		b = append(b, `,"icons":`...)
		b = wire.AppendStructs(b, e, x.Icons)
	}
	b = e.Extra(b, x.Extra, toolMembers)
	return wire.CloseObject(b, start)
}

func (x *Tool) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(toolMembers); o.Next(); {
		switch o.Name {
		case "name":
			x.Name = d.String()
		case "inputSchema":
			x.InputSchema = d.RawObject()
		case "title":
			x.Title = d.String()
		case "icons":
			x.Icons = wire.Structs[Icon](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// Icon has one required member.
type Icon struct {
	Src   string
	Sizes []string
	Extra map[string]json.RawMessage
}

var iconMembers = wire.NewMembers("Icon",
	wire.Member{Name: "src", In: always, Required: always},
	wire.Member{Name: "sizes", In: always},
)

func (x *Icon) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"src":`...)
	b = wire.AppendString(b, x.Src)
	if x.Sizes != nil {
		b = append(b, `,"sizes":`...)
		b = wire.AppendStrings(b, x.Sizes)
	}
	b = e.Extra(b, x.Extra, iconMembers)
	return wire.CloseObject(b, start)
}

func (x *Icon) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(iconMembers); o.Next(); {
		switch o.Name {
		case "src":
			x.Src = d.String()
		case "sizes":
			x.Sizes = d.Strings()
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// ListToolsResult is a list of structs.
type ListToolsResult struct {
	Tools []Tool
	Meta  *Meta
	Extra map[string]json.RawMessage
}

var listToolsResultMembers = wire.NewMembers("ListToolsResult",
	wire.Member{Name: "tools", In: always, Required: always},
	wire.Member{Name: "_meta", In: always},
	wire.Member{Name: "ttlMs", In: since2026, Required: since2026},
)

func (x *ListToolsResult) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"tools":`...)
	b = wire.AppendStructs(b, e, x.Tools)
	b = wire.AppendMeta(b, e, x, x.Meta, 0)
	if e.Needs(since2026) {
		b = append(b, `,"ttlMs":0`...)
	}
	b = e.Extra(b, x.Extra, listToolsResultMembers)
	return wire.CloseObject(b, start)
}

func (x *ListToolsResult) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(listToolsResultMembers); o.Next(); {
		switch o.Name {
		case "tools":
			x.Tools = wire.Structs[Tool](d)
		case "_meta":
			x.Meta = wire.New[Meta](d)
		case "ttlMs":
			d.Int(0, math.MaxInt64)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// Content is a union whose types are distinguished by the member "type".
type Content interface{ content() }

// TextContent exists in every revision.
type TextContent struct {
	Text        string
	Annotations *Annotations
	Extra       map[string]json.RawMessage
}

// AudioContent does not exist in the first revision.
type AudioContent struct {
	Data  []byte
	Extra map[string]json.RawMessage
}

// UnknownContent is content of any other type.
type UnknownContent struct{ Raw json.RawMessage }

func (*TextContent) content()    {}
func (*AudioContent) content()   {}
func (*UnknownContent) content() {}

var (
	textContentMembers = wire.NewMembers("TextContent",
		wire.Member{Name: "type", In: always, Required: always},
		wire.Member{Name: "text", In: always, Required: always},
		wire.Member{Name: "annotations", In: always},
	)
	audioContentMembers = wire.NewMembers("AudioContent",
		wire.Member{Name: "type", In: always, Required: always},
		wire.Member{Name: "data", In: always, Required: always},
	)
)

func (x *TextContent) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"type":"text","text":`...)
	b = wire.AppendString(b, x.Text)
	if x.Annotations != nil {
		b = append(b, `,"annotations":`...)
		b = x.Annotations.AppendJSON(b, e)
	}
	b = e.Extra(b, x.Extra, textContentMembers)
	return wire.CloseObject(b, start)
}

func (x *TextContent) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(textContentMembers); o.Next(); {
		switch o.Name {
		case "type":
			d.Const("text")
		case "text":
			x.Text = d.String()
		case "annotations":
			x.Annotations = wire.New[Annotations](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

func (x *AudioContent) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"type":"audio","data":`...)
	b = wire.AppendBytes(b, x.Data)
	b = e.Extra(b, x.Extra, audioContentMembers)
	return wire.CloseObject(b, start)
}

func (x *AudioContent) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(audioContentMembers); o.Next(); {
		switch o.Name {
		case "type":
			d.Const("audio")
		case "data":
			x.Data = d.Bytes()
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

func appendContent(b []byte, e *wire.Encoder, x Content) []byte {
	switch x := x.(type) {
	case *TextContent:
		return x.AppendJSON(b, e)
	case *AudioContent:
		if !e.Has(since2025) {
			return e.Lacks(b, `content type "audio"`)
		}
		return x.AppendJSON(b, e)
	case *UnknownContent:
		return e.RawObject(b, x.Raw, "")
	}
	return e.Missing(b, "Content")
}

func decodeContent(d *wire.Decoder) Content {
	switch kind, _ := d.Peek("type"); {
	case kind == "text":
		return wire.New[TextContent](d)
	case kind == "audio" && d.Has(since2025):
		return wire.New[AudioContent](d)
	}
	return &UnknownContent{Raw: d.RawObject()}
}

// Annotations has an enum, a bounded number and an integer.
type Annotations struct {
	Audience []string
	Priority *float64
	Size     int64
}

var annotationsMembers = wire.NewMembers("Annotations",
	wire.Member{Name: "audience", In: always},
	wire.Member{Name: "priority", In: always},
	wire.Member{Name: "size", In: always},
)

func (x *Annotations) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	if x.Audience != nil {
		b = append(b, `,"audience":`...)
		b = wire.AppendList(b, e, x.Audience, func(b []byte, e *wire.Encoder, s string) []byte {
			return e.Enum(b, s, roles)
		})
	}
	if x.Priority != nil {
		b = append(b, `,"priority":`...)
		b = e.Number(b, *x.Priority, 0, 1)
	}
	if x.Size != 0 {
		b = append(b, `,"size":`...)
		b = e.Int(b, x.Size, 0, math.MaxInt64)
	}
	return wire.CloseObject(b, start)
}

func (x *Annotations) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(annotationsMembers); o.Next(); {
		switch o.Name {
		case "audience":
			x.Audience = wire.List(d, func(d *wire.Decoder) string { return d.Enum(roles) })
		case "priority":
			v := d.Number(0, 1)
			x.Priority = &v
		case "size":
			x.Size = d.Int(0, math.MaxInt64)
		default:
			d.Skip()
		}
	}
}

// CallToolResult is a result with a union list and a late "_meta".
type CallToolResult struct {
	Content           []Content
	StructuredContent json.RawMessage
	IsError           bool
	Meta              *Meta
	Extra             map[string]json.RawMessage
}

var callToolResultMembers = wire.NewMembers("CallToolResult",
	wire.Member{Name: "content", In: always, Required: always},
	wire.Member{Name: "structuredContent", In: since2025},
	wire.Member{Name: "isError", In: always},
	wire.Member{Name: "_meta", In: always},
)

func (x *CallToolResult) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"content":`...)
	b = wire.AppendList(b, e, x.Content, appendContent)
	if x.StructuredContent != nil && e.Has(since2025) {
		b = append(b, `,"structuredContent":`...)
		b = e.Raw(b, x.StructuredContent, "")
	}
	if x.IsError {
		b = append(b, `,"isError":true`...)
	}
	b = wire.AppendMeta(b, e, x, x.Meta, 0)
	b = e.Extra(b, x.Extra, callToolResultMembers)
	return wire.CloseObject(b, start)
}

func (x *CallToolResult) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(callToolResultMembers); o.Next(); {
		switch o.Name {
		case "content":
			x.Content = wire.List(d, decodeContent)
		case "structuredContent":
			x.StructuredContent = d.Raw()
		case "isError":
			x.IsError = d.Bool()
		case "_meta":
			x.Meta = wire.New[Meta](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// Meta is a "_meta" with a token, a nested object and a member that the last
// revision requires.
type Meta struct {
	ProgressToken wire.ProgressToken
	Version       string
	ClientInfo    *Icon
	Extra         map[string]json.RawMessage
}

var metaMembers = wire.NewMembers("Meta",
	wire.Member{Name: "progressToken", In: always},
	wire.Member{Name: "version", In: since2026, Required: since2026},
	wire.Member{Name: "clientInfo", In: always},
)

func (x *Meta) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	if !x.ProgressToken.IsZero() && !e.Over("progressToken") {
		b = append(b, `,"progressToken":`...)
		b = e.Token(b, x.ProgressToken)
	}
	if (x.Version != "" && e.Has(since2026) || e.Needs(since2026)) && !e.Over("version") {
		b = append(b, `,"version":`...)
		b = wire.AppendString(b, x.Version)
	}
	if x.ClientInfo != nil && !e.Over("clientInfo") {
		b = append(b, `,"clientInfo":`...)
		b = x.ClientInfo.AppendJSON(b, e)
	}
	b = e.Extra(b, x.Extra, metaMembers)
	b = e.Overlay(b)
	return wire.CloseObject(b, start)
}

func (x *Meta) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(metaMembers); o.Next(); {
		switch o.Name {
		case "progressToken":
			x.ProgressToken = d.Token()
		case "version":
			x.Version = d.String()
		case "clientInfo":
			x.ClientInfo = wire.New[Icon](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// CallToolRequest is a request whose params are its members.
type CallToolRequest struct {
	Name      string
	Arguments json.RawMessage
	Meta      *Meta
	Extra     map[string]json.RawMessage
}

var callToolRequestMembers = wire.NewMembers("CallToolRequest",
	wire.Member{Name: "name", In: always, Required: always},
	wire.Member{Name: "arguments", In: always},
	wire.Member{Name: "_meta", In: always, Required: since2026},
)

func (x *CallToolRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"name":`...)
	b = wire.AppendString(b, x.Name)
	if x.Arguments != nil {
		b = append(b, `,"arguments":`...)
		b = e.RawObject(b, x.Arguments, `{}`)
	}
	b = wire.AppendMeta(b, e, x, x.Meta, since2026)
	b = e.Extra(b, x.Extra, callToolRequestMembers)
	return wire.CloseObject(b, start)
}

func (x *CallToolRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(callToolRequestMembers); o.Next(); {
		switch o.Name {
		case "name":
			x.Name = d.String()
		case "arguments":
			x.Arguments = d.RawObject()
		case "_meta":
			x.Meta = wire.New[Meta](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// Empty is params without members other than "_meta".
type Empty struct {
	Meta  *Meta
	Extra map[string]json.RawMessage
}

var emptyMembers = wire.NewMembers("Empty", wire.Member{Name: "_meta", In: always})

func (x *Empty) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = wire.AppendMeta(b, e, x, x.Meta, 0)
	b = e.Extra(b, x.Extra, emptyMembers)
	return wire.CloseObject(b, start)
}

func (x *Empty) DecodeParams(d *wire.Decoder) {
	for o := d.Object(emptyMembers); o.Next(); {
		switch o.Name {
		case "_meta":
			x.Meta = wire.New[Meta](d)
		default:
			x.Extra = o.Extra(x.Extra)
		}
	}
}

// value makes a Value of two functions.
type value struct {
	append func([]byte, *wire.Encoder) []byte
	decode func(*wire.Decoder)
}

func (x *value) AppendJSON(b []byte, e *wire.Encoder) []byte { return x.append(b, e) }
func (x *value) DecodeJSON(d *wire.Decoder)                  { x.decode(d) }

// decode calls f to read data in the all-revisions form.
func decode(data string, f func(*wire.Decoder)) error {
	return wire.Decode([]byte(data), nil, &value{decode: f})
}

// encode returns the output of f in the all-revisions form.
func encode(f func([]byte, *wire.Encoder) []byte) (string, error) {
	b, err := wire.Marshal(&value{append: f})
	return string(b), err
}
