// Package extension reads the schema of an extension of the protocol and compiles it.
//
// Such a schema repeats definitions of the protocol, with or without their names, and often uses
// more keywords of JSON Schema than the protocol. [Read] rewrites it, so that it has the
// keywords of the protocol's schemas and refers to the protocol's definitions.
package extension

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// Config describes an extension and the package that is made from its schema.
type Config struct {
	// Schema is the name of the file.
	Schema string
	// Name identifies the extension, such as "com.example/weather".
	Name string
	// Package is the name of the Go package.
	Package string
	// Trim is removed from the beginning of the names of definitions.
	Trim string
	// Inlined reports whether the schema repeats definitions of the protocol without their
	// names.
	Inlined bool
	// Own reports whether all definitions are the extension's own. Otherwise a definition with a name
	// of the protocol must be the definition of the protocol.
	Own bool
	// Client and Server are the definitions of the settings that clients and servers declare
	// as their capability, or "".
	Client, Server string
	// Metas are the values that the extension adds to _meta, as key=Definition.
	Metas []string
	// NameMembers are members whose values are in the header Mcp-Name, as method=member.
	NameMembers []string
	// Raw are members whose JSON is not decoded.
	Raw []ir.KeepRaw
	// Tolerances accept messages that the schema does not allow.
	Tolerances []ir.Tolerance
	// Decisions are rules for parts of the schema that the compiler refuses, as it prints them.
	Decisions []any
}

// messageUnions are the unions of messages that determine who sends a message.
var messageUnions = []string{"ClientRequest", "ServerRequest", "ClientNotification", "ServerNotification"}

// elsewhere has the definitions of the protocol that the runtime implements.
var elsewhere = map[string]ir.Type{"Error": {Name: "ErrorObject", Package: "github.com/mcpwright/mcp/runtime/wire"}}

// Protocol has the revision to which an extension refers.
type Protocol struct {
	Package *ir.Package
	File    *load.File // the revision
	Path    string     // import path of the package
	Rules   *ir.Rules

	Older []*load.File // the older revisions
}

// Build reads and compiles the schema of an extension with the newest revision for which it compiles: a
// newer revision may lack definitions that the extension refers to. If there is none, it returns the
// error for the newest revision.
func Build(raw []byte, c *Config, p *Protocol) (*Schema, *ir.Package, error) {
	defs, err := parse(raw, c)
	if err != nil {
		return nil, nil, err
	}
	x, pkg, err := build(raw, defs, c, p)
	if err == nil {
		return x, pkg, nil
	}
	for _, file := range slices.Backward(p.Older) {
		older := *p
		older.File = file
		if x, pkg, failed := build(raw, defs, c, &older); failed == nil {
			x.Notices = append(x.Notices, "compiled with "+file.Revision+", because "+p.File.Revision+" lacks a definition or has another one")
			return x, pkg, nil
		}
	}
	return nil, nil, err
}

func build(raw []byte, defs object, c *Config, p *Protocol) (*Schema, *ir.Package, error) {
	x, err := rewrite(raw, defs, c, p)
	if err != nil {
		return nil, nil, err
	}
	pkg, err := x.Compile(p)
	for err != nil && x.holdAsJSON(err) {
		pkg, err = x.Compile(p)
	}
	if err != nil {
		c.Relabel(err, p)
		return nil, nil, err
	}
	x.Notices = append(x.Notices, pkg.Notices...)
	return x, pkg, nil
}

// holdAsJSON changes each schema that is refused because no Go type has its values: the Go type becomes
// json.RawMessage, and the codec checks the schema. Messages, results, settings and values in _meta remain
// objects. It reports whether it changed one.
func (x *Schema) holdAsJSON(err error) (changed bool) {
	refusals, _ := refusal.In(err)
	for _, r := range refusals {
		place := alternative.ReplaceAllString(r.Pointer, "")
		s, ok := at(object{"$defs": x.defs}, strings.Split(place, "/")[1:]).(object)
		if !r.Untyped || !ok || x.isObject(place) || s["not"] != nil && len(s) == 1 {
			continue
		}
		schema := maps.Clone(s)
		clear(s)
		s["not"] = object{"not": schema}
		x.Notices = append(x.Notices, "#"+place+": the Go type is json.RawMessage, because no other has exactly these values")
		changed = true
	}
	return changed
}

// isObject reports whether the schema at a place must be an object.
func (x *Schema) isObject(place string) bool {
	name, member, _ := strings.Cut(strings.TrimPrefix(place, "/$defs/"), "/")
	has := func(meta string) bool { return strings.HasSuffix(meta, "="+name) }
	switch {
	case member != "":
		return path.Base(member) == "_meta" || isMessage(x.defs[name]) && path.Base(member) == "params"
	case isMessage(x.defs[name]), strings.HasSuffix(name, "Result"):
		return true
	}
	return name == x.config.Client || name == x.config.Server || slices.ContainsFunc(x.config.Metas, has)
}

// alternative matches the end of a JSON pointer to an alternative of a union.
var alternative = regexp.MustCompile(`(/(anyOf|oneOf)/[0-9]+)+$`)

// File returns the name of the schema in rules.
func (c *Config) File() string { return filepath.Base(c.Schema) }

// Relabel changes the refusals in an error, so that they have the name of the schema instead of the
// name of the revision.
func (c *Config) Relabel(err error, p *Protocol) {
	refusals, _ := refusal.In(err)
	for _, r := range refusals {
		if r.Revision = c.File(); r.File == p.File.Revision {
			r.File = c.Schema
		}
		r.Text = strings.ReplaceAll(r.Text, p.File.Revision+"#", c.Schema+"#")
		for _, choice := range r.Choices {
			for i, rule := range choice.Rules {
				if e, ok := rule.(ir.Edit); ok {
					e.In = c.File()
					choice.Rules[i] = e
				}
			}
		}
	}
}

// edits returns the rules that change the schema. Their revision is the revision of the protocol.
func (c *Config) edits(revision string) *load.Edits {
	x := new(load.Edits)
	for _, rule := range c.Decisions {
		if e, ok := rule.(ir.Edit); ok {
			e.In = revision
			x.Rules = append(x.Rules, e)
		}
	}
	return x
}

// Schema is the schema of an extension in the keywords of the protocol.
type Schema struct {
	// Notices describe constraints that generated code does not check.
	Notices []string

	config *Config
	defs   object
	texts  map[string]string // descriptions, by place
	sha256 string
}

// Bytes returns the schema as a file.
func (x *Schema) Bytes() []byte {
	return load.Format(object{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": x.defs})
}

// UseTexts adds the descriptions of another version of the schema.
func (x *Schema) UseTexts(other *Schema) {
	for place, text := range other.texts {
		if s, ok := at(object{"$defs": x.defs}, strings.Split(strings.TrimPrefix(place, "#/"), "/")).(object); ok {
			s["description"] = text
		}
	}
}

// Read rewrites the schema of an extension. The result has the definitions of the extension only,
// and may refer to definitions of the protocol.
func Read(raw []byte, c *Config, p *Protocol) (*Schema, error) {
	defs, err := parse(raw, c)
	if err != nil {
		return nil, err
	}
	return rewrite(raw, defs, c, p)
}

// rewrite is like [Read], for the definitions of the schema.
func rewrite(raw []byte, parsed object, c *Config, p *Protocol) (*Schema, error) {
	defs := clone(parsed).(object)
	s := &simplifier{file: c.Schema, local: make(object), texts: make(map[string]string)}
	simple := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		simple[identifier(name)] = true
		s.add("#/$defs/"+escape.Replace(name), name, s.schema("#/$defs/"+escape.Replace(identifier(name)), defs[name]))
	}
	if len(s.errs) > 0 {
		return nil, errors.Join(s.errs...)
	}
	var names []string
	for name := range p.File.Defs {
		names = append(names, name)
	}
	m := newMatcher(p.Package, names, s.local, c.Inlined)
	if !c.Own || c.Inlined {
		if err := m.removeProtocol(c.Schema, names); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		m.defs[name] = m.replaceIn(name, m.defs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		if simple[name] {
			continue
		}
		others := maps.Clone(m.defs)
		if delete(others, name); !strings.Contains(text(others), `"#/$defs/`+name+`"`) {
			delete(m.defs, name)
		}
	}
	m.nameRepeated()
	m.nameAlternatives()
	m.optionalConstants()
	return &Schema{Notices: append(s.remaining(m.defs), m.notices...), config: c, defs: m.defs, texts: s.texts, sha256: load.Sum(raw)}, nil
}

// removeProtocol removes the definitions that the protocol has. Such a definition must be the
// same.
func (m *matcher) removeProtocol(file string, names []string) error {
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		if !slices.Contains(names, name) || slices.Contains(messageUnions, name) {
			continue
		}
		if t := m.types[name]; t != nil && !m.fits(m.defs[name], t) {
			return fmt.Errorf("%s#/$defs/%s: the protocol has a different definition of this name; use another name, refer to the definition of the protocol, or set -own", file, name)
		}
		m.noteKeywords(name, name, m.defs[name])
		delete(m.own, text(m.defs[name]))
		delete(m.defs, name)
	}
	return nil
}

// replaceIn replaces the repetitions inside a definition, but not the definition itself.
func (m *matcher) replaceIn(name string, v any) any {
	x, ok := v.(object)
	if !ok {
		return v
	}
	for key, e := range x {
		if props, ok := e.(object); ok && key == "properties" {
			for member, p := range props {
				if params, ok := p.(object); ok && member == "params" && props["method"] != nil {
					props[member] = m.replaceIn(name, params)
				} else {
					props[member] = m.replace(p, name)
				}
			}
		} else if list, ok := e.([]any); ok && key == "allOf" {
			for i, part := range list {
				list[i] = m.replacePart(name, part)
			}
		} else if key != "enum" && key != "const" && key != "required" {
			x[key] = m.replace(e, name)
		}
	}
	return x
}

// replacePart replaces a part of an allOf, or the repetitions inside it.
func (m *matcher) replacePart(name string, part any) any {
	if own := m.own[text(part)]; own != "" && own != name {
		return object{"$ref": "#/$defs/" + own}
	}
	return m.replaceIn(name, part)
}

// Compile compiles the definitions of an extension.
func (x *Schema) Compile(p *Protocol) (*ir.Package, error) {
	c := x.config
	own, defs, err := directions(c, x.defs)
	if err != nil {
		return nil, err
	}
	c.rename(own)
	file, err := c.edits(p.File.Revision).WithDefinitions(c.Schema, p.File, defs, c.Own)
	if err != nil {
		return nil, err
	}
	rules, err := c.rules(p.Rules, x.refersTo("CacheableResult"))
	if err != nil {
		return nil, err
	}
	pkg, err := ir.BuildExtension(&ir.Extension{
		Source:   &ir.Source{Revision: p.File.Revision, File: c.Schema, SHA256: x.sha256, Defs: file.Defs, Restrictions: file.Restrictions},
		Own:      own,
		Trim:     c.Trim,
		Shadow:   load.Shadow,
		Objects:  c.objects(own),
		Protocol: p.Package, Path: p.Path,
		Elsewhere: elsewhere,
	}, rules, ir.NoDocs{})
	if err != nil {
		return nil, err
	}
	x.describe(pkg)
	return pkg, nil
}

// rename changes the names of definitions to the names in rules.
func (c *Config) rename(own map[string]string) {
	for _, rule := range c.Decisions {
		e, _ := rule.(ir.Edit)
		old := unescape.Replace(path.Base(e.At))
		if union, ok := own[old]; ok && e.Name != "" {
			delete(own, old)
			own[e.Name] = union
		}
	}
}

// objects returns the definitions that are objects, even if they have no members: settings and results.
func (c *Config) objects(own map[string]string) (names []string) {
	for name := range own {
		if name == c.Client || name == c.Server || strings.HasSuffix(name, "Result") {
			names = append(names, name)
		}
	}
	return names
}

// describe sets the documentation of types and members to the descriptions in the schema.
func (x *Schema) describe(p *ir.Package) {
	set := func(doc *string, text string) {
		if text != "" {
			*doc = sentence(text)
		}
	}
	for _, t := range p.Types {
		_, at, _ := strings.Cut(t.At, "#")
		set(&t.Doc, x.texts["#"+at])
		if s, ok := t.Shape.(*ir.Struct); ok {
			for _, f := range s.Fields {
				if set(&f.Doc, x.memberText("#"+at, f.JSON)); f.JSON == "_meta" {
					f.Doc = "has the metadata."
				}
			}
			if s.Method != nil {
				s.Method.Doc = t.Doc
			}
		}
	}
}

// sentence returns a description as it follows a name. A description that is a sentence of its own
// follows a colon.
func sentence(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); unicode.IsLower(first) {
		return text
	}
	return ": " + text
}

// memberText returns the description of a member of the schema at a place: the one with the shortest
// place, or the description in another definition that the schema is made of.
func (x *Schema) memberText(at, member string) string {
	best := ""
	for _, place := range slices.Sorted(maps.Keys(x.texts)) {
		if strings.HasPrefix(place, at+"/") && strings.HasSuffix(place, "/properties/"+escape.Replace(member)) && (best == "" || len(place) < len(best)) {
			best = place
		}
	}
	if best == "" {
		def, _ := x.defs[strings.TrimPrefix(at, "#/$defs/")].(object)
		for _, part := range parts(def) {
			if text := x.memberText(part, member); text != "" {
				return text
			}
		}
	}
	return x.texts[best]
}

// parts returns the places of the definitions that a definition, or the params of a message, refers to
// in allOf or anyOf.
func parts(def object) (places []string) {
	if props, ok := def["properties"].(object); ok && props["method"] != nil {
		def, _ = props["params"].(object)
	}
	for _, key := range []string{"allOf", "anyOf"} {
		list, _ := def[key].([]any)
		for _, v := range list {
			part, _ := v.(object)
			if ref, ok := part["$ref"].(string); ok {
				places = append(places, ref)
			}
			places = append(places, parts(part)...)
		}
	}
	return places
}

// directions returns the definitions without unions of messages, and the union of each message. By
// default, clients send requests and servers send notifications.
func directions(c *Config, defs object) (own map[string]string, rest object, err error) {
	own, rest = make(map[string]string), make(object)
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		v := defs[name]
		if slices.Contains(messageUnions, name) {
			continue
		}
		rest[name] = v
		switch own[name] = ""; {
		case !isMessage(v):
		case strings.HasSuffix(name, "Notification"):
			own[name] = "ServerNotification"
		case strings.HasSuffix(name, "Request"):
			own[name] = "ClientRequest"
		default:
			return nil, nil, fmt.Errorf("%s#/$defs/%s: the name of a message ends with Request or Notification", c.Schema, name)
		}
	}
	for _, union := range messageUnions {
		x, _ := defs[union].(object)
		list, _ := x["anyOf"].([]any)
		if ref := x["$ref"]; ref != nil {
			list = []any{x}
		}
		for _, v := range list {
			alternative, _ := v.(object)
			ref, _ := alternative["$ref"].(string)
			name := path.Base(ref)
			if own[name] == "" {
				return nil, nil, fmt.Errorf("%s#/$defs/%s: %q is not a message of the schema", c.Schema, union, name)
			}
			own[name] = union
		}
	}
	return own, rest, nil
}

// isMessage reports whether a definition has a constant method.
func isMessage(v any) bool {
	x, _ := v.(object)
	if parts, ok := x["allOf"].([]any); ok {
		return slices.ContainsFunc(parts, isMessage)
	}
	props, _ := x["properties"].(object)
	method, _ := props["method"].(object)
	return method["const"] != nil
}

// refersTo reports whether the schema refers to a definition of the protocol.
func (x *Schema) refersTo(def string) bool {
	return bytes.Contains(load.Format(x.defs), []byte(`"#/$defs/`+def+`"`))
}

// rules returns the protocol's rules with the rules of the extension. If its results are not
// cacheable, members with the names of cache hints have another meaning.
func (c *Config) rules(protocol *ir.Rules, cacheable bool) (*ir.Rules, error) {
	r := *protocol
	r.Decisions = c.Decisions
	r.Methods = slices.Clone(r.Methods)
	cacheHint := func(at string) bool { return !cacheable && (at == "*.ttlMs" || at == "*.cacheScope") }
	r.Defaults = slices.DeleteFunc(slices.Clone(r.Defaults), func(d ir.Default) bool { return cacheHint(d.At) })
	r.Tolerances = slices.DeleteFunc(slices.Clone(r.Tolerances), func(t ir.Tolerance) bool { return cacheHint(t.At) })
	r.Tolerances = append(r.Tolerances, c.Tolerances...)
	r.Raw = append(slices.Clone(r.Raw), c.Raw...)
	for _, s := range c.NameMembers {
		method, member, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not a method and a member; write it like tasks/get=taskId", s)
		}
		fact := ir.MethodFact{Method: method, Facts: ir.Facts{NameMember: member}, Why: "the text of the extension has the header"}
		r.Methods = append([]ir.MethodFact{fact}, r.Methods...) // before the protocol's, which may have the same method
	}
	return r.All()
}
