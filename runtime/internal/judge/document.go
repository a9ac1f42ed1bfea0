package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// The validator computes with numbers of any size, which takes the longer the
// longer they are. These are beyond what float64 can tell apart.
const (
	maxDigits   = 1024
	maxExponent = 400
)

// parse reads a document, numbers as they are spelled.
func parse(doc json.RawMessage) (any, error) {
	if err := wire.Check(doc, 0); err != nil {
		if d, ok := errors.AsType[*wire.DecodeError](err); ok {
			return nil, problem(d.Pointer, d.Err.Error())
		}
		return nil, problem("", err.Error())
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, problem("", err.Error())
	}
	if at, found := unhandy(v, ""); found {
		return nil, problem(at, "the number has too many digits")
	}
	return v, nil
}

// unhandy looks for a number that takes long to compute with.
func unhandy(v any, pointer string) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return pointer, !Handy(string(v))
	case []any:
		for i, x := range v {
			if at, found := unhandy(x, ""); found {
				return pointer + "/" + strconv.Itoa(i) + at, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, found := unhandy(v[name], ""); found {
				return pointer + "/" + token(name) + at, true
			}
		}
	}
	return "", false
}

// Handy tells whether a number does not take long to compute with.
func Handy(number string) bool {
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

// token writes a name as a part of a JSON pointer.
func token(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// escape is token for a pointer that is in a URL.
func escape(name string) string { return url.PathEscape(token(name)) }
