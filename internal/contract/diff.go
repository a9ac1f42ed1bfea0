package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is a difference between two Locks.
type Change struct {
	// Severity is the effect of the change.
	Severity Severity
	// Kind is "server", "capability", "tool", "prompt", "resource" or "resource template".
	Kind string
	// Name is the name or the URI of the changed entry, or "".
	Name string
	// Part is "argument" or "result" if a schema changed, or "".
	Part string
	// At is the path of the changed value in the arguments or the result, such as "place.city".
	At string
	// Text describes the change, as "type: string → integer".
	Text string
}

// String returns the change in one line. Control characters of the server are quoted.
func (c Change) String() string {
	text := c.Kind
	for _, s := range []string{c.Name, c.Part, c.At} {
		if s != "" {
			text += " " + s
		}
	}
	return clean(text + ": " + c.Text)
}

// MarshalJSON implements [json.Marshaler].
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Severity string `json:"severity"`
		Kind     string `json:"kind"`
		Name     string `json:"name,omitempty"`
		Part     string `json:"part,omitempty"`
		At       string `json:"at,omitempty"`
		Text     string `json:"text"`
	}{c.Severity.String(), c.Kind, c.Name, c.Part, c.At, c.Text})
}

// clean replaces control characters.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, text)
}

// Worst returns the highest severity of changes, or -1 if there is none.
func Worst(changes []Change) Severity {
	worst := Severity(-1)
	for _, c := range changes {
		worst = max(worst, c.Severity)
	}
	return worst
}

// Diff returns the changes from an old Lock to a new one, the most severe first.
func Diff(before, after *Lock) []Change {
	d := new(differ)
	d.text("server", "", "name", before.Server.Name, after.Server.Name)
	d.text("server", "", "version", before.Server.Version, after.Server.Version)
	d.text("server", "", "title", before.Server.Title, after.Server.Title)
	d.text("server", "", "revision", before.Revision, after.Revision)
	d.text("server", "", "instructions", before.Instructions, after.Instructions)
	d.capabilities(before.Capabilities, after.Capabilities)
	compareLists(d, "tool", before.Tools, after.Tools, func(t Tool) string { return t.Name }, d.tool)
	compareLists(d, "prompt", before.Prompts, after.Prompts, func(p Prompt) string { return p.Name }, d.prompt)
	resource := func(kind string) func(a, b Resource) {
		return func(a, b Resource) { d.resource(kind, a, b) }
	}
	uri := func(r Resource) string { return r.URI }
	compareLists(d, "resource", before.Resources, after.Resources, uri, resource("resource"))
	compareLists(d, "resource template", before.Templates, after.Templates, uri, resource("resource template"))
	slices.SortStableFunc(d.changes, func(a, b Change) int { return cmp.Compare(b.Severity, a.Severity) })
	return d.changes
}

// differ collects changes.
type differ struct{ changes []Change }

func (d *differ) add(s Severity, kind, name, text string) {
	d.changes = append(d.changes, Change{Severity: s, Kind: kind, Name: name, Text: text})
}

// text reports a changed text.
func (d *differ) text(kind, name, what, before, after string) {
	if before != after {
		d.add(Informational, kind, name, fmt.Sprintf("%s: %s → %s", what, quote(before), quote(after)))
	}
}

func quote(text string) string {
	if text == "" {
		return "none"
	}
	return show(text)
}

// compareLists compares two lists of entries with names.
func compareLists[T any](d *differ, kind string, before, after []T, name func(T) string, compare func(a, b T)) {
	old, now := byName(before, name), byName(after, name)
	for _, n := range slices.Sorted(maps.Keys(old)) {
		if entry, ok := now[n]; ok {
			compare(old[n], entry)
		} else {
			d.add(Breaking, kind, n, "removed")
		}
	}
	for _, n := range slices.Sorted(maps.Keys(now)) {
		if _, ok := old[n]; !ok {
			d.add(Compatible, kind, n, "added")
		}
	}
}

func byName[T any](list []T, name func(T) string) map[string]T {
	named := map[string]T{}
	for _, entry := range list {
		named[name(entry)] = entry
	}
	return named
}

// capabilities compares capabilities and their options.
func (d *differ) capabilities(before, after json.RawMessage) {
	a, b := flat(before), flat(after)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		value, ok := b[name]
		switch {
		case !ok:
			d.add(Breaking, "capability", name, "removed")
		case value != a[name]:
			d.add(Risky, "capability", name, shorten(a[name])+" → "+shorten(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok {
			d.add(Compatible, "capability", name, "added")
		}
	}
}

// flat returns capabilities and their options by name, without the options that are false.
func flat(raw json.RawMessage) map[string]string {
	list := map[string]string{}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return list
	}
	for name, value := range all {
		list[name] = ""
		var options map[string]json.RawMessage
		if json.Unmarshal(value, &options) != nil {
			list[name] = string(value)
		}
		for option, value := range options {
			if string(value) != "false" {
				list[name+"."+option] = string(value)
			}
		}
	}
	return list
}

func (d *differ) tool(a, b Tool) {
	if a.Digest == b.Digest {
		return
	}
	d.text("tool", a.Name, "title", a.Title, b.Title)
	d.text("tool", a.Name, "description", a.Description, b.Description)
	d.annotations(a, b)
	d.schema(a.Name, "argument", a.Input, b.Input)
	switch {
	case a.Output == nil && b.Output != nil:
		d.add(Compatible, "tool", a.Name, "output schema: added")
	case a.Output != nil && b.Output == nil:
		d.add(Breaking, "tool", a.Name, "output schema: removed")
	case a.Output != nil:
		d.schema(a.Name, "result", a.Output, b.Output)
	}
}

// annotations reports changed hints. Hosts decide by them whether they ask the user before a call.
func (d *differ) annotations(a, b Tool) {
	x, y := hints(a.Annotations), hints(b.Annotations)
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if x[name] != y[name] {
			severity := Informational
			if strings.HasSuffix(name, "Hint") {
				severity = Risky
			}
			d.add(severity, "tool", a.Name, fmt.Sprintf("%s: %s → %s", name, x[name], y[name]))
		}
	}
}

func hints(raw json.RawMessage) map[string]string {
	all := map[string]string{"readOnlyHint": "false", "destructiveHint": "true", "idempotentHint": "false", "openWorldHint": "true", "title": `""`}
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) == nil {
		for name := range all {
			if value, ok := given[name]; ok {
				all[name] = shorten(string(value))
			}
		}
	}
	return all
}

func (d *differ) prompt(a, b Prompt) {
	d.text("prompt", a.Name, "title", a.Title, b.Title)
	d.text("prompt", a.Name, "description", a.Description, b.Description)
	name := func(x Argument) string { return x.Name }
	old, now := byName(a.Arguments, name), byName(b.Arguments, name)
	add := func(s Severity, at, text string) {
		d.changes = append(d.changes, Change{s, "prompt", a.Name, "argument", at, text})
	}
	for _, n := range slices.Sorted(maps.Keys(old)) {
		x, y := old[n], now[n]
		switch {
		case y.Name == "":
			add(Risky, n, "removed")
		case y.Required && !x.Required:
			add(Breaking, n, "required: no → yes")
		case x.Required && !y.Required:
			add(Compatible, n, "required: yes → no")
		}
		if y.Name != "" && (x.Description != y.Description || x.Title != y.Title) {
			add(Informational, n, "description: changed")
		}
	}
	for _, n := range slices.Sorted(maps.Keys(now)) {
		if _, ok := old[n]; ok {
			continue
		}
		if now[n].Required {
			add(Breaking, n, "added, required")
		} else {
			add(Compatible, n, "added, optional")
		}
	}
}

func (d *differ) resource(kind string, a, b Resource) {
	d.text(kind, a.URI, "name", a.Name, b.Name)
	d.text(kind, a.URI, "title", a.Title, b.Title)
	d.text(kind, a.URI, "description", a.Description, b.Description)
	if a.MIMEType != b.MIMEType {
		d.add(Risky, kind, a.URI, fmt.Sprintf("media type: %s → %s", quote(a.MIMEType), quote(b.MIMEType)))
	}
}

// schema compares the schemas of arguments or results.
func (d *differ) schema(tool, side string, before, after json.RawMessage) {
	if bytes.Equal(before, after) {
		return
	}
	add := func(s Severity, at, text string) {
		d.changes = append(d.changes, Change{s, "tool", tool, side, at, text})
	}
	a, err := parse(before)
	b, bad := parse(after)
	if err = cmp.Or(err, bad); err != nil {
		add(Risky, "", "the schema cannot be read: "+err.Error())
		return
	}
	start := len(d.changes)
	producer, consumer := a, b // callers wrote by the old schema
	if side == "result" {
		producer, consumer = b, a // readers were written for the old schema
	}
	members := compareMembers(a, b, side)
	seen := map[string]bool{}
	for _, p := range implies(producer, consumer, side == "result") {
		// Readers that validate refuse a new member of a closed object. Other readers ignore it.
		if side == "result" && members[p.at].text == "added" && p.severity == Breaking {
			p.severity = Risky
			p.text = "added, but the old schema allows no other members"
			delete(members, p.at)
		}
		if members[p.at].text == "removed" && p.severity == Breaking && side == "argument" {
			p.text = "removed, and no longer allowed"
			delete(members, p.at)
		}
		if m, ok := members[p.at]; ok && m.text != "" && m.severity >= p.severity {
			continue
		}
		if !seen[p.at+p.text] {
			seen[p.at+p.text] = true
			add(p.severity, p.at, p.text)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(members)) {
		if m := members[at]; m.text != "" {
			seen[at+m.text] = true
			add(m.severity, at, m.text)
		}
		for _, text := range members[at].notes {
			add(text.severity, at, text.text)
		}
	}
	for _, p := range implies(consumer, producer, side != "result") {
		if members[p.at].text == "" && !seen[p.at+p.text] {
			seen[p.at+p.text] = true
			add(Compatible, p.at, p.text)
		}
	}
	if len(d.changes) == start {
		add(Informational, "", "the text of the schema changed, and not its meaning")
	}
}

// memberChange describes the changes of a member.
type memberChange struct {
	severity Severity
	text     string // "added", "removed", … or "" if both schemas have it
	notes    []problem
}

// compareMembers compares the declared members of two schemas by path.
func compareMembers(a, b *document, side string) map[string]memberChange {
	changes := map[string]memberChange{}
	c := &comparison{active: map[string]bool{}}
	c.walk(part{a, a.root}, part{b, b.root}, "", side, changes, 0)
	return changes
}

// maxWalk limits the depth of members for which added and removed members and texts are reported.
const maxWalk = 12

func (c *comparison) walk(a, b part, at, side string, changes map[string]memberChange, depth int) {
	a, b = a.resolved(), b.resolved()
	if a.members() == nil || b.members() == nil || depth > maxWalk || !c.step() {
		return
	}
	c.note(a, b, at, side, changes)
	old, now := a.table("properties"), b.table("properties")
	for _, name := range slices.Sorted(maps.Keys(old)) {
		path := join(at, name)
		if p, ok := now[name]; ok {
			c.walk(old[name], p, path, side, changes, depth+1)
		} else if names, _ := c.declaredBy([]part{b}); !names[name] {
			severity := Risky
			if side == "result" && slices.Contains(a.texts("required"), name) {
				severity = Breaking
			}
			changes[path] = memberChange{severity: severity, text: "removed"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if names, _ := c.declaredBy([]part{a}); names[name] {
			continue
		}
		change := memberChange{severity: Compatible, text: "added"}
		if side == "argument" {
			change.text = "added, optional"
			if slices.Contains(b.texts("required"), name) {
				change = memberChange{severity: Breaking, text: "added, required"}
			}
		}
		changes[join(at, name)] = change
	}
	_, x, _ := a.tuple()
	_, y, _ := b.tuple()
	c.walk(x, y, at+"[]", side, changes, depth+1)
}

// note reports changed annotations.
func (c *comparison) note(a, b part, at, side string, changes map[string]memberChange) {
	var notes []problem
	for _, keyword := range []string{"title", "description", "default", "deprecated"} {
		x, had := a.members()[keyword]
		y, has := b.members()[keyword]
		if had == has && equal(x, y) {
			continue
		}
		severity := Informational
		if keyword == "default" && side == "argument" {
			severity = Risky // callers omit the argument
		}
		before, after := "none", "none"
		if had {
			before = show(x)
		}
		if has {
			after = show(y)
		}
		notes = append(notes, problem{severity, at, keyword + ": " + before + " → " + after})
	}
	if notes != nil {
		changes[at] = memberChange{notes: notes}
	}
}

// resolved follows references.
func (p part) resolved() part {
	for range maxInPlace {
		if _, ok := p.members()["$ref"]; !ok {
			return p
		}
		target, ok := p.reference()
		if !ok {
			return part{p.doc, nil}
		}
		p = target
	}
	return part{p.doc, nil}
}

// Markdown returns changes as text for a changelog.
func Markdown(changes []Change) string {
	var b strings.Builder
	for s := Breaking; s >= Informational; s-- {
		first := true
		for _, c := range changes {
			if c.Severity != s {
				continue
			}
			if first {
				fmt.Fprintf(&b, "### %s\n\n", strings.ToUpper(s.String()[:1])+s.String()[1:])
				first = false
			}
			name := c.Kind
			if c.Name != "" {
				name += " " + code(c.Name)
			}
			if c.Part != "" {
				name += " " + c.Part
			}
			if c.At != "" {
				name += " " + code(c.At)
			}
			fmt.Fprintf(&b, "- %s: %s\n", name, escape(clean(c.Text)))
		}
		if !first {
			b.WriteString("\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code returns a text as code.
func code(text string) string { return "`" + strings.ReplaceAll(clean(text), "`", "'") + "`" }

// escape makes a text of the server plain text in markdown.
func escape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "\\<", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "`", "\\`").Replace(text)
}
