package judge

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
)

// twins finds the first item of a list that equals an earlier one.
func twins(items []any) (first, second int, found bool) {
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

// appendKey writes a value in a way that values share if they are equal, however
// their numbers are spelled.
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
		n, _ := new(big.Rat).SetString(string(v)) // a number, or no decoder would have read it
		return append(b, n.RatString()...)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}
