package ir

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// edit returns a rule that changes the schema at a position such as "2027-03-01#/$defs/Tool". The
// caller sets what it does.
func edit(position string) Edit {
	revision, pointer, _ := strings.Cut(position, "#")
	return Edit{In: revision, At: pointer}
}

// setTo returns a rule that replaces the schema at a position.
func setTo(position, json string) Edit {
	e := edit(position)
	e.JSON = json
	return e
}

// ownDefinition adds the choice that the newest form of a definition has a name of its own, so that
// it is another type.
func (m *merger) ownDefinition(r *refusal.Refusal, name string) {
	newest := m.documents[len(m.documents)-1]
	n := newest.defs[name]
	if n == nil || m.since(name) == newest {
		return
	}
	now := m.freeDefinition(name, n)
	effect := fmt.Sprintf("The form in %s is a type of its own, %s.", newest.name, now)
	rule := func(old, now string) Edit {
		return Edit{In: newest.name, At: "/$defs/" + escape(old), Name: now}
	}
	rules := []any{rule(name, now)}
	if o, ok := n.(*objectNode); ok && o.paramsDef == name+"Params" {
		rules = append(rules, rule(o.paramsDef, now+"Params"))
	}
	if base, request := strings.CutSuffix(name, "Request"); request {
		for _, suffix := range []string{"ResultResponse", "Result"} {
			if newest.defs[base+suffix] != nil {
				rules = append(rules, rule(base+suffix, strings.TrimSuffix(now, "Request")+suffix))
			}
		}
	}
	r.Choose(effect, rules...)
}

// freeDefinition returns a name for a definition that no revision has. The name of a message keeps its
// ending.
func (m *merger) freeDefinition(name string, n node) string {
	base, ending := name, ""
	for _, s := range []string{"Request", "Notification", "Result", "Error"} {
		if b, ok := strings.CutSuffix(name, s); ok {
			base, ending = b, s
		}
	}
	kind := kindName(n)
	if ending != "" {
		kind = "Other"
	}
	for i := 1; ; i++ {
		free := base + kind + ending
		if i > 1 {
			free = fmt.Sprint(base, kind, i, ending)
		}
		if m.types[free] == nil && !m.defined(free) && !slices.Contains(m.typeNames(), goName(free)) {
			return free
		}
	}
}

// typeNames returns the Go names of all types.
func (m *merger) typeNames() (names []string) {
	for _, t := range m.types {
		names = append(names, t.typ.Name, goName(t.name))
	}
	return names
}

// freeName returns a Go identifier that is not taken.
func freeName(prefix, name string, taken func(string) bool) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && token.IsIdentifier("X"+string(r)) {
			return r
		}
		return -1
	}, goName(name))
	if name == "" {
		name = "Value"
	}
	for i := 1; ; i++ {
		free := name
		switch {
		case i > 1:
			free = fmt.Sprint(name, i)
		case !token.IsExported(prefix + name), !token.IsIdentifier(prefix + name):
			free = "Member" + name
		}
		if !taken(prefix + free) {
			return free
		}
	}
}

// anyJSON adds the choice that a new definition has no Go type.
func (m *merger) anyJSON(r *refusal.Refusal, def string) {
	if m.since(def) != m.documents[len(m.documents)-1] {
		return // it would change the Go type of older revisions
	}
	r.Choose("A value is json.RawMessage, and the codec does not check it.", Builtin{At: def, Kind: Raw})
}

// untyped is like anyJSON, for a refusal that json.RawMessage resolves exactly.
func (m *merger) untyped(r *refusal.Refusal, def string) {
	r.Untyped = true
	m.anyJSON(r, def)
}

// unlisted returns rules that remove a definition of a revision from unions of messages. The alternative may
// be another name of the definition, or a union that has it.
func (m *merger) unlisted(d *document, def string) []any {
	return m.alternatives(d, func(union string, r *refNode) bool {
		return m.rules.messageUnion(union) != nil && slices.Contains(m.messagesFor(d, r), def)
	})
}

// alternatives returns rules that remove the alternatives of unions for which remove returns true.
func (m *merger) alternatives(d *document, remove func(union string, r *refNode) bool) (rules []any) {
	for _, union := range slices.Sorted(maps.Keys(d.defs)) {
		u, ok := d.defs[union].(*unionNode)
		if !ok {
			continue
		}
		for _, n := range u.alternatives {
			if r, ok := n.(*refNode); ok && remove(union, r) {
				rules = append(rules, edit(n.pos()))
			}
		}
	}
	return rules
}

// removal adds the choice that a revision has no such definition.
func (m *merger) removal(r *refusal.Refusal, d *document, def string) {
	rules := m.alternatives(d, func(_ string, r *refNode) bool { return r.def == def })
	r.Choose("The compiler ignores the definition in "+d.name+".", append(rules, Edit{In: d.name, At: "/$defs/" + escape(def)})...)
}
