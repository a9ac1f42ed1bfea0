package ir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Docs returns documentation texts. Each call marks a text as used.
type Docs interface {
	Type(name string) (string, bool)
	Member(typ, member string) (string, bool)
	Value(enum, value string) (string, bool)
	Method(wire string) (string, bool)
	Error(code int) (string, bool)
}

// Build compiles the schemas into a package. The order of sources does not matter.
func Build(sources []*Source, rules *Rules, docs Docs) (*Package, error) {
	if len(sources) == 0 {
		return nil, errors.New("build: no schemas")
	}
	rules, err := rules.All()
	if err != nil {
		return nil, err
	}
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b *Source) int { return strings.Compare(a.Revision, b.Revision) })

	b := &builder{sources: sources, rules: rules, docs: docs, complete: hasAllRevisions(rules, sources), fixes: make(fixes)}
	older, err := b.older()
	switch {
	case err != nil && b.complete:
		return nil, fmt.Errorf("without %s: %w", sources[len(sources)-1].Revision, err)
	case err != nil:
		older = nil // sources are not complete, and there is nothing to compare
	}
	p, err := b.fixed(older)
	if err != nil {
		return nil, err
	}
	if older != nil {
		maps.Copy(b.set.used, older.set.used)
	}
	problems := &problemList{}
	b.set.unused(problems)
	return p, problems.err("rules")
}

// builder compiles some revisions.
type builder struct {
	sources  []*Source
	rules    *Rules
	docs     Docs
	complete bool // all revisions that the rules cover are present

	fixes fixes
	set   *ruleSet // of the last attempt
	pkg   *Package // nil if the last attempt failed
}

// older compiles the sources without the newest. It returns nil if there is only one.
func (b *builder) older() (*builder, error) {
	last := len(b.sources) - 1
	if last == 0 {
		return nil, nil
	}
	before := &builder{sources: b.sources[:last], rules: rulesBefore(b.rules, b.sources[:last]), docs: NoDocs{}, fixes: make(fixes)}
	var oldest *builder
	if last > 1 && b.sources[last-1].Revision > b.rules.OrderFrom {
		oldest, _ = before.older() // without it, the order of fields is the default
	}
	_, err := before.fixed(oldest)
	return before, err
}

// fixed compiles the sources. If there are problems that fixes solve, it applies the fixes to the
// newest revision and tries again. The fixes of older revisions remain. Rules solve all problems of
// the revisions until OrderFrom.
func (b *builder) fixed(older *builder) (*Package, error) {
	if older != nil {
		maps.Copy(b.fixes, older.fixes)
	}
	for {
		problems := &problemList{}
		stage := b.try(older, problems)
		if len(problems.list) == 0 {
			return b.pkg, nil
		}
		last := len(b.sources) - 1
		if b.sources[last].Revision <= b.rules.OrderFrom || !b.fixes.add(problems.list, last) {
			b.pkg = nil
			return nil, problems.err(stage)
		}
	}
}

// try compiles the sources, and compares the result with the older package. It returns the stage
// of the problems.
func (b *builder) try(older *builder, problems *problemList) (stage string) {
	b.set = newRuleSet(b.rules)
	b.set.complete = b.complete
	if stage = b.compile(problems); len(problems.list) > 0 || older == nil || older.pkg == nil {
		return stage
	}
	if newest := b.sources[len(b.sources)-1].Revision; newest > b.set.OrderFrom {
		keepOrder(older.pkg, b.pkg)
	}
	checkCompatible(older.pkg, b.pkg, b.set, problems)
	return "compare"
}

// rulesBefore returns the rules without the Renamed rules of the newest revision for
// messages and errors: their Go names depend on the new definition. The old name of
// any other type remains as an alias.
func rulesBefore(rules *Rules, sources []*Source) *Rules {
	older := *rules
	older.Renamed = slices.DeleteFunc(slices.Clone(rules.Renamed), func(r Renaming) bool {
		named := strings.HasSuffix(r.Old, "Request") || strings.HasSuffix(r.Old, "Notification") || strings.HasSuffix(r.Old, "Error")
		return named && !slices.ContainsFunc(sources, func(s *Source) bool { return s.Defs[r.New] != nil })
	})
	return &older
}

// hasAllRevisions reports whether sources contain all revisions in rules.For.
func hasAllRevisions(rules *Rules, sources []*Source) bool {
	for _, name := range rules.For {
		if !slices.ContainsFunc(sources, func(s *Source) bool { return s.Revision == name }) {
			return false
		}
	}
	return true
}

// compile compiles sources without fixes.
func compile(sources []*Source, set *ruleSet, docs Docs) (*Package, error) {
	b := &builder{sources: sources, rules: set.Rules, docs: docs, set: set}
	problems := &problemList{}
	stage := b.compile(problems)
	return b.pkg, problems.err(stage)
}

// compile runs the stages, until one has problems. It returns the stage.
func (b *builder) compile(problems *problemList) (stage string) {
	var documents []*document
	for bit, src := range b.sources {
		documents = append(documents, parse(src, bit, b.set, problems))
	}
	if len(problems.list) > 0 {
		return "parse"
	}
	m := merge(documents, b.set, b.fixes, problems)
	if len(problems.list) > 0 {
		return "merge"
	}
	b.pkg = analyze(m, b.sources, b.docs)
	return "analyze"
}

// analyze adds everything to the merged types that an emitter needs.
func analyze(m *merger, sources []*Source, docs Docs) *Package {
	s := &analyzer{m, docs, &Package{}}
	for bit, src := range sources {
		s.pkg.Notices = append(s.pkg.Notices, m.documents[bit].notices...)
		s.pkg.Revisions = append(s.pkg.Revisions, &Revision{Name: src.Revision, Schema: src.File, SHA256: src.SHA256})
		_, s.pkg.Revisions[bit].Handshake = src.Defs["InitializeRequest"]
	}
	types := s.sorted()
	s.names(types)
	s.methods()
	s.errorCodes()
	for _, t := range types {
		s.finishType(t)
		s.pkg.Types = append(s.pkg.Types, t.typ)
	}
	for _, t := range types {
		s.checkFinite(t, t.typ, make(map[*Type]bool))
		if u, ok := t.typ.Shape.(*Union); ok {
			s.problems.fixing(s.typeFix(t), func() { s.discriminate(t, u) })
		}
	}
	s.aliases()
	s.markInputRequired()
	for _, t := range s.pkg.Types {
		t.In = s.extend(t.In)
	}
	slices.SortFunc(s.pkg.Types, func(a, b *Type) int { return strings.Compare(a.Name, b.Name) })
	s.areas()
	s.forms()
	for _, t := range types {
		t.typ.fix, t.typ.newest = m.typeFix(t), t.newest("")
	}
	s.pkg.Joins = slices.SortedStableFunc(slices.Values(m.joins), func(a, b Join) int { return strings.Compare(a.At, b.At) })
	s.addDocs()
	return s.pkg
}

// NoDocs is a Docs without texts.
type NoDocs struct{}

// Type returns no text.
func (NoDocs) Type(string) (string, bool) { return "", false }

// Member returns no text.
func (NoDocs) Member(string, string) (string, bool) { return "", false }

// Value returns no text.
func (NoDocs) Value(string, string) (string, bool) { return "", false }

// Method returns no text.
func (NoDocs) Method(string) (string, bool) { return "", false }

// Error returns no text.
func (NoDocs) Error(int) (string, bool) { return "", false }
