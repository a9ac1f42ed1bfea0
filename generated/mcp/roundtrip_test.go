package mcp

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// fewestDocuments is well below the number of documents of the five revisions. A smaller
// number means that a part of the schema is ignored.
const fewestDocuments = 20_000

func TestDocumentsRoundTrip(t *testing.T) {
	var total atomic.Int64
	t.Run("revisions", func(t *testing.T) {
		for _, file := range schemas() {
			t.Run(file.revision.String(), func(t *testing.T) {
				t.Parallel()
				total.Add(roundTripsOf(t, file))
			})
		}
	})
	t.Logf("%d documents of %d definitions", total.Load(), len(subjects()))
	if !testing.Short() {
		require.Greater(t, total.Load(), int64(fewestDocuments))
	}
}

// roundTripsOf decodes and encodes the documents of a revision and returns their number.
func roundTripsOf(t *testing.T, file *schemaFile) (count int64) {
	for _, s := range testedSubjects() {
		if s.file == file {
			count += int64(roundTrips(t, s))
		}
	}
	t.Logf("%d documents", count)
	return count
}

// roundTrips decodes and encodes the documents of a subject and returns their number.
func roundTrips(t *testing.T, s *subject) int {
	require.NotEmpty(t, s.documents(), s)
	for i, doc := range s.documents() {
		order := sorted
		if i%2 == 1 {
			order = reversed
		}
		requireRoundTrip(t, s, render(doc, order))
	}
	return len(s.documents())
}

// requireRoundTrip decodes a valid document, encodes the value, and compares the results.
func requireRoundTrip(t *testing.T, s *subject, doc []byte) {
	t.Helper()
	require.NoError(t, s.file.validator.validateText(s.pointer, doc), "%v: invalid document: %s", s, doc)
	v, err := s.decode(doc)
	require.NoError(t, err, "%v: %s", s, doc)
	out, err := s.encode(v)
	require.NoError(t, err, "%v: %s", s, doc)
	require.Empty(t, s.shape.differs(parse(doc), parse(out), ""), "%v: %s was encoded as %s", s, doc, out)
	require.NoError(t, s.file.validator.validateText(s.pointer, out), "%v: %s was encoded as %s", s, doc, out)
}

func TestFormsCoverAllDefinitions(t *testing.T) {
	for _, file := range schemas() {
		for _, name := range file.names() {
			require.True(t, hasForm(name, file), "%v %s", file.revision, name)
		}
	}
	for _, f := range forms {
		require.NotZero(t, f.in, f.definition)
		if f.why == "" {
			require.True(t, f.value != nil || f.params != nil || f.code != 0, f.definition)
		}
	}
}

// hasForm reports whether the generated forms contain a definition.
func hasForm(definition string, file *schemaFile) bool {
	for _, f := range forms {
		if f.definition == definition && f.in.Has(file.revision) {
			return true
		}
	}
	return false
}

// keepsEmpty lists the optional members for which empty and absent differ. In Go they are
// pointers.
var keepsEmpty = map[string]bool{
	"cursor": true, "nextCursor": true, "requestState": true, "default": true,
	"destructiveHint": true, "openWorldHint": true,
}

// fillsEmpty lists the required members that an encoder replaces by a default if they are
// empty.
var fillsEmpty = map[string]bool{
	"resultType": true, "io.modelcontextprotocol/protocolVersion": true,
}

// differs compares a document with its encoded form. It returns a description of the first
// difference, or "". The following are equal:
//   - false or "" and the absence of an optional member, unless keepsEmpty has it
//   - null and the absence of an optional member that is a pointer to a scalar
//   - empty and the default of a required member, if fillsEmpty has it
//   - an optional member with a constant value and its absence
//   - empty params and their absence
//   - content of one element and the element itself
//   - different spellings of a number that is not an ID
//   - a message with and without members other than method and params
//   - a _meta with an invalid serverInfo and without serverInfo
//   - a ttlMs that does not fit an int64 and 0, or its absence if it is optional
func (s shape) differs(want, got any, at string) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	if alternatives := s.alternatives(); alternatives != nil {
		return differsInAll(alternatives, want, got, at)
	}
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok && s.is("object") {
			return s.objectsDiffer(want, got, at)
		}
	case []any:
		got, ok := got.([]any)
		if !ok || !s.is("array") || len(want) != len(got) {
			return at + " differs"
		}
		for i := range want {
			if d := s.items().differs(want[i], got[i], pointer(at, strconv.Itoa(i))); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if got, ok := got.(json.Number); ok && s.sameNumber(want, got) {
			return ""
		}
	}
	return at + " differs"
}

// differsInAll compares the values of a union.
func differsInAll(alternatives []shape, want, got any, at string) (first string) {
	if list, ok := want.([]any); ok && len(list) == 1 && alternatives[0].is("object") {
		if _, many := got.([]any); !many {
			want = list[0]
		}
	}
	for _, alternative := range alternatives {
		d := alternative.differs(want, got, at)
		if d == "" {
			return ""
		}
		if len(d) > len(first) {
			first = d
		}
	}
	return first
}

// objectsDiffer compares objects.
func (s shape) objectsDiffer(want, got map[string]any, at string) string {
	for name, w := range want {
		member, known := s.member(name)
		if !known {
			member = s.undeclared(name)
		}
		g, there := got[name]
		switch {
		case !there && s.omittable(name, member, known, w),
			!there && known && name == "ttlMs" && isLong(w) && !s.required(name):
			continue
		case !there:
			return pointer(at, name) + " is missing"
		case known && fillsEmpty[name] && w == "" && g != nil && g != "":
			continue
		case known && name == "ttlMs" && isLong(w) && g == json.Number("0"):
			continue
		}
		if d := member.differs(w, g, pointer(at, name)); d != "" {
			return d
		}
	}
	for name, g := range got {
		member, _ := s.member(name)
		if _, there := want[name]; !there && (member.raw["const"] == nil || member.raw["const"] != g) {
			return pointer(at, name) + " is unexpected"
		}
	}
	return ""
}

// serverInfo is decoded as an Implementation even if the schema does not declare it,
// because a _meta without declared members is a [ResultMeta] in Go.
const serverInfo = "io.modelcontextprotocol/serverInfo"

// isOpenMeta reports whether s is a _meta without declared members.
func (s shape) isOpenMeta() bool { return s.name == "MetaObject" }

// undeclared returns the shape of a member that s does not declare.
func (s shape) undeclared(name string) shape {
	if name == serverInfo && s.isOpenMeta() {
		return s.file.shape("Implementation")
	}
	return s.other()
}

// isLong reports whether v is an integer that does not fit an int64.
func isLong(v any) bool {
	n, ok := v.(json.Number)
	return ok && rational(n).IsInt() && !rational(n).Num().IsInt64()
}

// omittable reports whether an encoder may omit a member.
func (s shape) omittable(name string, member shape, known bool, v any) bool {
	switch {
	case !known && name == serverInfo && s.isOpenMeta():
		return s.file.validator.validate("/"+s.file.defs+"/Implementation", v) != nil
	case !known:
		return s.isMessage()
	case v == nil && !s.required(name) && s.variant(name).at == "" && member.isPointer():
		return true
	case s.required(name) || keepsEmpty[name]:
		return false
	case name == "params" && s.isMessage():
		return member.differs(v, map[string]any{}, "") == ""
	}
	return v == "" && member.is("string") || v == false && member.isBoolean()
}

// isPointer reports whether the Go type of s is a pointer to a scalar, which is nil for null.
func (s shape) isPointer() bool {
	kinds := s.types()
	scalar := func(kind string) bool {
		return slices.Contains([]string{"boolean", "integer", "number", "string"}, kind)
	}
	return len(kinds) == 2 && slices.Contains(kinds, "null") && slices.ContainsFunc(kinds, scalar)
}

// isBoolean reports whether every value of s is a boolean.
func (s shape) isBoolean() bool {
	values := s.values()
	return s.is("boolean") || values != nil && !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(bool); return !ok })
}

// sameNumber reports whether two numbers are equal in Go: IDs by their digits, integers by
// their value, other numbers as float64. If any JSON is valid, their spelling must be
// equal.
func (s shape) sameNumber(a, b json.Number) bool {
	switch {
	case s.isID() || s.types() == nil:
		return a == b
	case s.is("integer"):
		return rational(a).Cmp(rational(b)) == 0
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// rational returns the exact value of a number.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("invalid number: " + n.String())
	}
	return r
}
