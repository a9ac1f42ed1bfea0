package mcp

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A mutator creates documents that are almost valid.
type mutator struct {
	rng   *rand.Rand
	file  *schemaFile
	words []string // the values of consts and enums
	names []string // names of members
	parts []any    // parts of documents
}

// newMutator returns a mutator that uses the constants, the names and the documents of a
// revision.
func newMutator(file *schemaFile) *mutator {
	m := &mutator{file: file, words: file.constants()}
	found := map[string]bool{}
	for _, s := range subjects() {
		if s.file == file {
			m.parts = append(m.parts, s.shape.smallest(), s.shape.largest(variedDepth))
			maps.Insert(found, everyName(s.shape.largest(variedDepth)))
		}
	}
	m.names = slices.Sorted(maps.Keys(found))
	return m
}

// everyName yields the names of the members of all objects in a document.
func everyName(v any) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for _, p := range places(&v) {
			if object, ok := (*p.at).(map[string]any); ok {
				for name := range object {
					yield(name, true)
				}
			}
		}
	}
}

// mutate changes a document in one to three places. It modifies doc.
func (m *mutator) mutate(doc any) any {
	for range 1 + m.rng.IntN(3) {
		all := places(&doc)
		p := all[m.rng.IntN(len(all))]
		p.store(m.changed(*p.at))
	}
	return doc
}

// changed returns a value to write in place of v.
func (m *mutator) changed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if m.rng.IntN(4) > 0 {
			return m.changedObject(v)
		}
	case []any:
		if m.rng.IntN(4) > 0 {
			return m.changedArray(v)
		}
	case string:
		if m.rng.IntN(2) == 0 {
			return m.text(v)
		}
	case json.Number:
		if m.rng.IntN(2) == 0 {
			return m.number()
		}
	}
	return m.other(v)
}

func (m *mutator) changedObject(v map[string]any) any {
	names := slices.Sorted(maps.Keys(v))
	if len(names) == 0 || m.rng.IntN(4) == 0 {
		v[m.name()] = m.any()
		return v
	}
	name := names[m.rng.IntN(len(names))]
	switch m.rng.IntN(4) {
	case 0:
		delete(v, name)
	case 1:
		v[m.renamed(name)] = v[name]
		delete(v, name)
	case 2:
		v[m.renamed(name)] = m.any()
	default:
		v[name] = m.any()
	}
	return v
}

func (m *mutator) changedArray(v []any) any {
	switch i := m.rng.IntN(len(v) + 1); {
	case i == len(v) || m.rng.IntN(3) == 0:
		return append(v, m.any())
	case m.rng.IntN(3) == 0:
		return slices.Repeat(v[i:i+1], 101)
	default:
		return slices.Delete(v, i, i+1)
	}
}

// other returns a value of another kind.
func (m *mutator) other(v any) any {
	switch m.rng.IntN(4) {
	case 0:
		return map[string]any{m.name(): v}
	case 1:
		return []any{v}
	default:
		return m.any()
	}
}

// any returns an arbitrary value.
func (m *mutator) any() any {
	switch m.rng.IntN(10) {
	case 0:
		return nil
	case 1:
		return m.rng.IntN(2) == 0
	case 2, 3:
		return m.number()
	case 4, 5:
		return m.text("text")
	case 6:
		return []any{}
	case 7:
		return map[string]any{}
	}
	part := clone(m.parts[m.rng.IntN(len(m.parts))])
	all := places(&part)
	return *all[m.rng.IntN(len(all))].at
}

// numerals lists numbers near the limits of the schemas, of Go and of JSON.
var numerals = []string{
	"0", "-0", "0.0", "1", "-1", "1.0", "1.5", "1e0", "1e2", "1E+2", "100e-2", "0.9999999999999999", "1.0000000000000000001", "-1e-30",
	"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e19", "9.3e18",
	"1e308", "1e-400", "123456789012345678901234567890", "0.1", "-32020", "-32042", "100", "101",
}

func (m *mutator) number() json.Number {
	return json.Number(numerals[m.rng.IntN(len(numerals))])
}

// text returns a constant of a schema, a text similar to v, or an unusual text.
func (m *mutator) text(v string) string {
	switch m.rng.IntN(7) {
	case 0:
		return ""
	case 1:
		return v + "\x00"
	case 2:
		return strings.ToUpper(v)
	case 3:
		return []string{"AA==", "AB==", "AA=", "AA", "A===", "AA==\n", "_-8=", "é", "1", "2026-07-28"}[m.rng.IntN(10)]
	case 4:
		return strings.Repeat("é", m.rng.IntN(80))
	case 5:
		return []string{"complete", "input_required"}[m.rng.IntN(2)] // no schema has these constants
	}
	return m.words[m.rng.IntN(len(m.words))]
}

// name returns the name of a member of some object.
func (m *mutator) name() string {
	if m.rng.IntN(5) == 0 {
		return m.text("name")
	}
	return m.names[m.rng.IntN(len(m.names))]
}

// renamed returns a similar name or the name of another member.
func (m *mutator) renamed(name string) string {
	switch m.rng.IntN(4) {
	case 0:
		return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
	case 1:
		return name + "\x00"
	}
	return m.name()
}

// corrupted returns text that is often not JSON, or JSON that the decoder rejects.
func (m *mutator) corrupted(text []byte) []byte {
	at := m.rng.IntN(len(text))
	insert := func(s string) []byte { return slices.Insert(text, at, []byte(s)...) }
	switch m.rng.IntN(8) {
	case 0:
		return text[:at]
	case 1:
		return append(text, " {}"[m.rng.IntN(3):]...)
	case 2:
		return insert([]string{"\xff", `\ud800`, "\x00", "\n", ",", `"`, "\ufeff"}[m.rng.IntN(7)])
	case 3:
		return insert([]string{"1e309", "-1E400", "00", "NaN", "1e9000000", "tru"}[m.rng.IntN(6)])
	case 4:
		return insert(strings.Repeat("[", 257))
	case 5:
		return m.duplicated(text)
	}
	text[at] = byte(m.rng.IntN(256))
	return text
}

// duplicated repeats a member of an object, sometimes with an escape in its name.
func (m *mutator) duplicated(text []byte) []byte {
	var starts []int
	for i, c := range text {
		if c == '{' && text[min(i+1, len(text)-1)] == '"' {
			starts = append(starts, i+1)
		}
	}
	if starts == nil {
		return text
	}
	at := starts[m.rng.IntN(len(starts))]
	end := at + strings.IndexByte(string(text[at:]), ':')
	name := string(text[at:end])
	if m.rng.IntN(2) == 0 {
		name = strings.Replace(name, "e", `\u0065`, 1)
	}
	return slices.Insert(text, at, []byte(name+`:1,`)...)
}
