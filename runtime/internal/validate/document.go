package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Limits of numbers. The validator computes with exact numbers, which takes
// longer for longer numbers. The limits exceed the precision of float64.
const (
	maxDigits   = 1024
	maxExponent = 400
)

// parse parses a document. Its numbers keep their text.
func parse(doc json.RawMessage) (any, error) {
	if err := wire.Check(doc, 0); err != nil {
		if d, ok := errors.AsType[*wire.DecodeError](err); ok {
			return nil, newError(d.Pointer, d.Err.Error())
		}
		return nil, newError("", err.Error())
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, newError("", err.Error())
	}
	if at, found := findLongNumber(v, ""); found {
		return nil, newError(at, "the number has too many digits")
	}
	return v, nil
}

// findLongNumber returns the pointer of a number that exceeds a limit.
func findLongNumber(v any, pointer string) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return pointer, !NumberWithinLimits(string(v))
	case []any:
		for i, x := range v {
			if at, found := findLongNumber(x, ""); found {
				return pointer + "/" + strconv.Itoa(i) + at, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, found := findLongNumber(v[name], ""); found {
				return pointer + "/" + escapePointer(name) + at, true
			}
		}
	}
	return "", false
}

// NumberWithinLimits reports whether a JSON number is short enough to compute with
// it exactly.
func NumberWithinLimits(number string) bool {
	if len(number) > maxDigits {
		return false
	}
	e := strings.IndexAny(number, "eE")
	if e < 0 {
		return true
	}
	n, err := strconv.Atoi(number[e+1:])
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// equalItems finds the first item of a list that equals an earlier one.
func equalItems(items []any) (first, second int, found bool) {
	seen := make(map[string]int, len(items))
	for second, x := range items {
		key := string(appendKey(nil, x))
		if first, found := seen[key]; found {
			return first, second, true
		}
		seen[key] = second
	}
	return 0, 0, false
}

// appendKey appends a text that is the same for equal values. Numbers are equal
// if they have the same value, not only the same text.
func appendKey(b []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(appendKey(b, v[name]), ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, x := range v {
			b = append(appendKey(b, x), ',')
		}
		return append(b, ']')
	case string:
		return strconv.AppendQuote(b, v)
	case json.Number:
		n, _ := new(big.Rat).SetString(string(v)) // cannot fail, since parse has checked the number
		return append(b, n.RatString()...)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

// escapePointer escapes a name for a JSON pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// escapeURL escapes a name for a JSON pointer in the fragment of a URL.
func escapeURL(name string) string { return url.PathEscape(escapePointer(name)) }
