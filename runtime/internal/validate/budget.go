package validate

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxWork limits the time to validate a document; the limit of a short document
// is lower. No clock is used, so that the result for a document is the same on
// each machine: each step of the validator has a nominal time, which is
// subtracted from the budget before the step.
const (
	maxWork     = 1 * time.Second
	minWork     = 50 * time.Millisecond
	workPerByte = 20 * time.Microsecond
)

// Nominal times in nanoseconds. They are for a slow machine and the worst
// document for each step.
const (
	perVisit       = 1000  // to compare a value with a schema
	perProblem     = 10000 // to report a problem
	perLevel       = 500   // of nesting, to report the place of a problem
	perDepth       = 20    // the same, for each level above; also for each visit
	perMember      = 400   // of an object or a list
	perName        = 50    // that a schema lists
	perMissing     = 500   // name that a schema lists, to report it
	perByte        = 10    // of a string or a name
	perPathByte    = 2     // of the pointer to a value
	perInstruction = 5     // of a pattern, for each byte that it is matched with
	perValue       = 50    // to compare
	perNumber      = 500   // to compute with
	perDigit       = 50
	perMetaSchema  = 1000 // to validate a value as a schema, times the cost of comparing it

	matchOverhead   = 10 // bytes that cost as much as the start of a match
	namesPerProblem = 10 // names that cost as much as a problem of their own
	bytesPerName    = 16
)

var errOverBudget = errors.New("validation would take too long")

// budget is the remaining time of one validation, and the current position in
// the document.
type budget struct {
	left  time.Duration
	depth int // nested schemas that are being compared with values
	path  int // bytes of the longest pointer to a value at that depth
}

// newBudget returns the budget for a document of size bytes.
func newBudget(size int) budget {
	return budget{left: min(minWork+time.Duration(size)*workPerByte, maxWork)}
}

// spend subtracts a time from the budget. It panics with errOverBudget if the
// time is not left.
func (b *budget) spend(d time.Duration) {
	if b.left -= d; b.left < 0 {
		panic(errOverBudget)
	}
}

// limitedSchema validates values by another schema within a budget.
type limitedSchema struct {
	*budget
	inner       *jsonschema.Schema
	names       int           // that the schema lists, see countNames
	nameProgram int           // instructions of the patterns for names
	textProgram int           // instructions of the pattern for strings
	constants   time.Duration // to compare a value with all constants of the schema
	numbers     int           // that the schema computes with
	unique      bool          // items of a list must be unique
	metaSchemas int           // parts of the schema that are meta-schemas
}

// limit replaces a schema and its parts by limited schemas, except for schemas in
// done. Schemas are changed in place, because others point to them.
func limit(b *budget, s *jsonschema.Schema, done map[*jsonschema.Schema]bool) {
	if s == nil || done[s] {
		return
	}
	done[s] = true
	inner := *s
	inner.UniqueItems = false // checked by the limited schema
	*s = jsonschema.Schema{
		Location: s.Location, RecursiveAnchor: s.RecursiveAnchor, DynamicAnchor: s.DynamicAnchor,
		MaxProperties: -1, MaxItems: -1, MaxLength: -1, // no limit
		Extensions: map[string]jsonschema.ExtSchema{"limited": newLimitedSchema(b, &inner, s.UniqueItems)},
	}
	for _, part := range parts(&inner) {
		limit(b, part, done)
	}
}

func newLimitedSchema(b *budget, s *jsonschema.Schema, unique bool) *limitedSchema {
	l := &limitedSchema{budget: b, inner: s, names: countNames(s), unique: unique, numbers: 2}
	for p := range s.PatternProperties {
		l.nameProgram += instructions(p)
	}
	l.textProgram = instructions(s.Pattern)
	for _, v := range slices.Concat(s.Enum, s.Constant) {
		l.constants += compareCost(v)
		l.numbers++
	}
	for _, part := range parts(s) {
		if metaSchemas()[part] {
			l.metaSchemas++
		}
	}
	return l
}

// Validate implements [jsonschema.ExtSchema].
func (l *limitedSchema) Validate(ctx jsonschema.ValidationContext, value any) error {
	l.spend(perVisit + l.constants + time.Duration(l.depth*perDepth+l.path*perPathByte) + l.cost(value))
	if l.metaSchemas > 0 {
		l.spend(time.Duration(l.metaSchemas*perMetaSchema) * compareCost(value))
	}
	err := l.validateInner(ctx, value)
	if err != nil {
		l.spend(perProblem + time.Duration(l.names*perMissing+l.depth*(perLevel+l.depth*perDepth+l.path*perPathByte)))
	}
	return err
}

func (l *limitedSchema) validateInner(ctx jsonschema.ValidationContext, value any) error {
	name := longestName(value)
	l.depth++
	l.path += name
	err := ctx.Validate(l.inner, "", value, "")
	l.depth--
	l.path -= name
	if list, ok := value.([]any); ok && l.unique && err == nil {
		if i, j, found := equalItems(list); found {
			return ctx.Error("uniqueItems", "items at index %d and %d are equal", i, j)
		}
	}
	return err
}

// cost returns the time for a value itself, without the values in it.
func (l *limitedSchema) cost(value any) time.Duration {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		n = l.names * perName
		for name := range v {
			n += perMember + len(name)*perByte + (len(name)+matchOverhead)*l.nameProgram*perInstruction
		}
	case []any:
		n = len(v) * perMember
		if l.unique {
			return time.Duration(n) + 2*compareCost(v)
		}
	case string:
		n = len(v)*perByte + (len(v)+matchOverhead)*l.textProgram*perInstruction
	case json.Number:
		return time.Duration(l.numbers) * compareCost(v)
	}
	return time.Duration(n)
}

// countNames counts the names that a schema lists. Long texts that its problems
// contain count as further names.
func countNames(s *jsonschema.Schema) int {
	n := len(s.Required) + len(s.Properties) + len(s.DependentSchemas)
	for _, list := range s.DependentRequired {
		n += 1 + namesPerProblem*len(list)
	}
	for _, x := range s.Dependencies {
		list, _ := x.([]string)
		n += 1 + namesPerProblem*len(list)
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

func longestName(value any) (n int) {
	v, _ := value.(map[string]any)
	for name := range v {
		n = max(n, len(name))
	}
	return n
}

// compareCost returns the time to compare a value with another.
func compareCost(value any) (d time.Duration) {
	d = perValue
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			d += time.Duration(len(name)) + compareCost(x)
		}
	case []any:
		for _, x := range v {
			d += compareCost(x)
		}
	case string:
		d += time.Duration(len(v))
	case json.Number:
		digits := len(v)
		if strings.ContainsAny(string(v), "eE") {
			digits += maxExponent
		}
		d += perNumber + time.Duration(digits)*perDigit
	}
	return d
}

// instructions returns the length of the program that matches a pattern.
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

// parts returns the schemas that a schema contains or refers to. Some may be nil.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Items2020, s.Contains, s.UnevaluatedItems, s.ContentSchema,
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	loose := []any{s.Items, s.AdditionalItems, s.AdditionalProperties}
	for _, x := range slices.AppendSeq(loose, maps.Values(s.Dependencies)) {
		switch x := x.(type) {
		case *jsonschema.Schema:
			list = append(list, x)
		case []*jsonschema.Schema:
			list = append(list, x...)
		}
	}
	return list
}

// metaSchemas returns the meta-schemas of all drafts. The library has one copy of
// each for the whole program, which must not be changed.
var metaSchemas = sync.OnceValue(func() map[*jsonschema.Schema]bool {
	shared := map[*jsonschema.Schema]bool{}
	for _, d := range []*jsonschema.Draft{jsonschema.Draft4, jsonschema.Draft6, jsonschema.Draft7, jsonschema.Draft2019, jsonschema.Draft2020} {
		shared[jsonschema.MustCompile(d.URL())] = true
	}
	return shared
})
