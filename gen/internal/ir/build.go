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
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b *Source) int { return strings.Compare(a.Revision, b.Revision) })

	problems := &problemList{}
	set := newRuleSet(rules)
	set.complete = hasAllRevisions(rules, sources)
	p, err := compile(sources, set, docs)
	if err != nil {
		return nil, err
	}
	if len(sources) > 1 {
		if err := compareWithOlder(sources, p, set); err != nil {
			return nil, err
		}
	}
	set.unused(problems)
	return p, problems.err("rules")
}

// compareWithOlder compares p with the package that the sources without the newest
// produce. Rules that only the older package uses are marked as used. If sources are
// not complete, the older ones may fail to compile, and there is nothing to compare.
func compareWithOlder(sources []*Source, p *Package, set *ruleSet) error {
	last := len(sources) - 1
	older, before, err := compileOlder(sources, set)
	switch {
	case err != nil && set.complete:
		return fmt.Errorf("without %s: %w", sources[last].Revision, err)
	case err != nil:
		return nil
	}
	maps.Copy(set.used, before.used)
	if sources[last].Revision > set.OrderFrom {
		keepOrder(older, p)
	}
	problems := &problemList{}
	checkCompatible(older, p, set, problems)
	return problems.err("compare")
}

// compileOlder compiles the sources without the newest.
func compileOlder(sources []*Source, set *ruleSet) (*Package, *ruleSet, error) {
	last := len(sources) - 1
	before := newRuleSet(rulesBefore(set.Rules, sources[:last]))
	p, err := compile(sources[:last], before, NoDocs{})
	if err != nil || last == 1 || sources[last-1].Revision <= set.OrderFrom {
		return p, before, err
	}
	older, _, err := compileOlder(sources[:last], before)
	if err == nil {
		keepOrder(older, p)
	}
	return p, before, err
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

// compile runs the stages.
func compile(sources []*Source, set *ruleSet, docs Docs) (*Package, error) {
	problems := &problemList{}
	var documents []*document
	for bit, src := range sources {
		documents = append(documents, parse(src, bit, set, problems))
	}
	if err := problems.err("parse"); err != nil {
		return nil, err
	}
	m := merge(documents, set, problems)
	if err := problems.err("merge"); err != nil {
		return nil, err
	}
	p := analyze(m, sources, docs)
	return p, problems.err("analyze")
}

// analyze adds everything to the merged types that an emitter needs.
func analyze(m *merger, sources []*Source, docs Docs) *Package {
	s := &analyzer{m, docs, &Package{}}
	for bit, src := range sources {
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
		s.checkFinite(t, t.typ, nil)
		if u, ok := t.typ.Shape.(*Union); ok {
			s.discriminate(t, u)
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
	s.pkg.Joins = m.joins
	for _, t := range types {
		t.typ.Joins = t.joins
		for _, text := range t.joins {
			s.pkg.Joins = append(s.pkg.Joins, Join{t.name, text})
		}
	}
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
