package typed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// applyTags applies the tags of a field to its schema.
func applyTags(sf reflect.StructField, s *jsonschema.Schema) error {
	g := tags{tag: sf.Tag}
	s.Title = cmp.Or(sf.Tag.Get("title"), s.Title)
	s.Pattern = cmp.Or(sf.Tag.Get("pattern"), s.Pattern)
	s.Format = cmp.Or(sf.Tag.Get("format"), s.Format)
	if deref(sf.Type) == reflect.TypeFor[time.Time]() && s.Format == "" {
		s.Format = "date-time"
	}
	number(&g, "minimum", &s.Minimum, parseFloat)
	number(&g, "maximum", &s.Maximum, parseFloat)
	number(&g, "minLength", &s.MinLength, strconv.Atoi)
	number(&g, "maxLength", &s.MaxLength, strconv.Atoi)
	number(&g, "minItems", &s.MinItems, strconv.Atoi)
	number(&g, "maxItems", &s.MaxItems, strconv.Atoi)
	if header, has := sf.Tag.Lookup("header"); has {
		s.Extra = map[string]any{"x-mcp-header": header}
	}
	g.enum(s)
	g.defaultValue(s)
	return g.err
}

// tags parses the tags of a field, and stores the first error.
type tags struct {
	tag reflect.StructTag
	err error
}

func (g *tags) fail(key string, err error) {
	if g.err == nil {
		g.err = fmt.Errorf("tag %s: %w", key, err)
	}
}

func number[T any](g *tags, key string, to **T, parse func(string) (T, error)) {
	text, has := g.tag.Lookup(key)
	if !has {
		return
	}
	v, err := parse(text)
	if err != nil {
		g.fail(key, err)
	}
	*to = &v
}

func parseFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	before, ok := new(big.Rat).SetString(text)
	after, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
	if !ok || before.Cmp(after) != 0 {
		return 0, fmt.Errorf("float64 cannot represent %s exactly", text)
	}
	return v, nil
}

// exactNumbers returns an error if JSON contains a number that a float64 cannot represent
// exactly. The schema library would change it.
func exactNumbers(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end; the JSON has been decoded before
		}
		if n, is := token.(json.Number); is {
			if _, err := parseFloat(n.String()); err != nil {
				return err
			}
		}
	}
}

// enum sets the values that a field, or each item of a list, may have.
func (g *tags) enum(s *jsonschema.Schema) {
	text, has := g.tag.Lookup("enum")
	if !has {
		return
	}
	if s.Items != nil {
		s = s.Items
	}
	var values []any // not shared with other fields of the same type
	for word := range strings.SplitSeq(text, ",") {
		v, err := value(s, word)
		if err != nil {
			g.fail("enum", err)
		}
		values = append(values, v)
	}
	if hasType(s, "null") {
		values = append(values, nil) // a pointer may also be null
	}
	s.Enum = values
}

// defaultValue sets the default of a field: the text itself for strings, and JSON for other
// types.
func (g *tags) defaultValue(s *jsonschema.Schema) {
	text, has := g.tag.Lookup("default")
	if !has {
		return
	}
	v, err := value(s, text)
	if err != nil {
		g.fail("default", err)
		return
	}
	s.Default, _ = json.Marshal(v) // a string or valid JSON
}

// value converts a text to a value of the schema's type.
func value(s *jsonschema.Schema, text string) (any, error) {
	if hasType(s, "string") {
		return text, nil
	}
	var v json.RawMessage
	err := json.Unmarshal([]byte(text), &v)
	return v, err
}

func hasType(s *jsonschema.Schema, name string) bool {
	return s.Type == name || slices.Contains(s.Types, name)
}
