package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPointerAt(t *testing.T) {
	for prefix, want := range map[string]string{
		``:                          ``,
		`{`:                         ``,
		`,`:                         ``,
		`,"a":`:                     `/a`,
		`,"a":1`:                    `/a`,
		`,"a":[,"type":"x"`:         `/a/0/type`,
		`,"a":[{"b":1},,"c":`:       `/a/1/c`,
		`,"a":[{"b":1},`:            `/a/1`,
		`,"a":{"b":1}`:              `/a`,
		`,"a":{"b":1},"c":,"d":`:    `/c/d`,
		`[[],[1,2],`:                `/2`,
		`[[1,`:                      `/0/1`,
		`{"a":1,`:                   ``,
		`{"a":1,"b`:                 ``,
		`{"a":"b`:                   `/a`,
		`{"a":{"b":[]},"\u00e9/~":`: `/é~1~0`,
		`{"":{"":`:                  `//`,
		`}]`:                        ``,
		`,,`:                        ``,
	} {
		require.Equal(t, want, pointerAt([]byte(prefix)), prefix)
	}
}

// FuzzPointer inserts a duplicate member into an object of the document and
// requires that the pointer of the error leads to it.
func FuzzPointer(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":{}},"x"],"c/d":{"~":null}}`), uint(3))
	f.Add([]byte(`[[{"":{}}],{"\u00e9":[{}]}]`), uint(1))
	f.Fuzz(func(t *testing.T, data []byte, n uint) {
		if Check(data, 0) != nil {
			_ = pointerAt(data[:n%uint(len(data)+1)])
			return
		}
		at := objectStart(data, int(n%64))
		if at < 0 {
			return
		}
		const twice = `"\u0074wice":1,"twice":2`
		broken := string(data[:at+1]) + twice
		if data[at+1+strings.IndexFunc(string(data[at+1:]), isNotSpace)] != '}' {
			broken += ","
		}
		err := Check([]byte(broken+string(data[at+1:])), 0)
		var e *DecodeError
		require.ErrorAs(t, err, &e)
		if e.Err.Error() != `duplicate member "twice"` {
			return // the document is too deep or already has the member
		}
		var doc any
		require.NoError(t, json.Unmarshal(data, &doc))
		parent := strings.TrimSuffix(e.Pointer, "/twice")
		require.NotEqual(t, parent, e.Pointer)
		require.IsType(t, map[string]any{}, followPointer(t, doc, parent))
	})
}

func isNotSpace(r rune) bool { return !isSpace(byte(r)) }

// objectStart returns the offset of object number n, or -1.
func objectStart(data []byte, n int) int {
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = skipText(data, i)
			continue
		case '{':
			if n == 0 {
				return i
			}
			n--
		}
		i++
	}
	return -1
}

func followPointer(t *testing.T, doc any, pointer string) any {
	if pointer == "" {
		return doc
	}
	for _, key := range strings.Split(pointer[1:], "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch x := doc.(type) {
		case map[string]any:
			require.Contains(t, x, key)
			doc = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			require.NoError(t, err)
			require.Less(t, i, len(x))
			doc = x[i]
		default:
			t.Fatalf("pointer %q does not exist in the document", pointer)
		}
	}
	return doc
}
