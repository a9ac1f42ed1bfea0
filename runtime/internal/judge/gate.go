package judge

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// gate stands before a schema. It lets values pass as long as there is time.
type gate struct {
	*work
	inner   *jsonschema.Schema
	names   int           // that the schema lists, see listed
	keys    int           // instructions of the patterns for names
	text    int           // instructions of the pattern for texts
	values  time.Duration // to compare with all values that the schema lists
	numbers int           // that the schema computes with
	unique  bool          // the items of a list must be
	drafts  int           // schemas that it is made of, and that are everybody's
}

// guard puts gates before a schema and all that it is made of, except what has
// one. A schema stays where it is, since others point to it.
func guard(w *work, s *jsonschema.Schema, guarded map[*jsonschema.Schema]bool) {
	if s == nil || guarded[s] {
		return
	}
	guarded[s] = true
	inner := *s
	inner.UniqueItems = false // which is the gate's to judge
	*s = jsonschema.Schema{
		Location: s.Location, RecursiveAnchor: s.RecursiveAnchor, DynamicAnchor: s.DynamicAnchor,
		MaxProperties: -1, MaxItems: -1, MaxLength: -1, // any
		Extensions: map[string]jsonschema.ExtSchema{"gate": newGate(w, &inner, s.UniqueItems)},
	}
	for _, part := range parts(&inner) {
		guard(w, part, guarded)
	}
}

func newGate(w *work, s *jsonschema.Schema, unique bool) *gate {
	g := &gate{work: w, inner: s, names: listed(s), unique: unique, numbers: 2}
	for p := range s.PatternProperties {
		g.keys += instructions(p)
	}
	g.text = instructions(s.Pattern)
	for _, v := range slices.Concat(s.Enum, s.Constant) {
		g.values += comparing(v)
		g.numbers++
	}
	for _, part := range parts(s) {
		if drafts()[part] {
			g.drafts++
		}
	}
	return g
}

// listed counts the names that a schema lists, and by their length the texts that
// it tells of.
func listed(s *jsonschema.Schema) int {
	n := len(s.Required) + len(s.Properties) + len(s.DependentSchemas)
	for _, list := range s.DependentRequired {
		n += 1 + namesPerFault*len(list)
	}
	for _, x := range s.Dependencies {
		list, _ := x.([]string)
		n += 1 + namesPerFault*len(list)
	}
	texts := len(s.Location)
	if s.Pattern != nil {
		texts += len(s.Pattern.String())
	}
	for _, v := range s.Constant {
		text, _ := v.(string)
		texts += len(text)
	}
	return n + texts/bytesPerName
}

// Validate implements [jsonschema.ExtSchema].
func (g *gate) Validate(ctx jsonschema.ValidationContext, value any) error {
	g.spend(perVisit + g.values + time.Duration(g.depth*perDepth+g.path*perPathByte) + g.of(value))
	if g.drafts > 0 {
		g.spend(time.Duration(g.drafts*perDraft) * comparing(value))
	}
	err := g.judge(ctx, value)
	if err != nil {
		g.spend(perFault + time.Duration(g.names*perMissing+g.depth*(perLevel+g.depth*perDepth+g.path*perPathByte)))
	}
	return err
}

func (g *gate) judge(ctx jsonschema.ValidationContext, value any) error {
	name := longestName(value)
	g.depth++
	g.path += name
	err := ctx.Validate(g.inner, "", value, "")
	g.depth--
	g.path -= name
	if list, ok := value.([]any); ok && g.unique && err == nil {
		if i, j, found := twins(list); found {
			return ctx.Error("uniqueItems", "items at index %d and %d are equal", i, j)
		}
	}
	return err
}

// of is the work that a value makes by itself, without what is in it.
func (g *gate) of(value any) time.Duration {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		n = g.names * perName
		for name := range v {
			n += perMember + len(name)*perByte + (len(name)+matching)*g.keys*perInstruction
		}
	case []any:
		n = len(v) * perMember
		if g.unique {
			return time.Duration(n) + 2*comparing(v)
		}
	case string:
		n = len(v)*perByte + (len(v)+matching)*g.text*perInstruction
	case json.Number:
		return time.Duration(g.numbers) * comparing(v)
	}
	return time.Duration(n)
}

func longestName(value any) (n int) {
	v, _ := value.(map[string]any)
	for name := range v {
		n = max(n, len(name))
	}
	return n
}

// instructions is how long the program is that matches a pattern.
func instructions(p *regexp.Regexp) int {
	if p == nil {
		return 0
	}
	parsed, err := syntax.Parse(p.String(), syntax.Perl)
	if err != nil {
		return len(p.String())
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return len(p.String())
	}
	return len(program.Inst)
}
