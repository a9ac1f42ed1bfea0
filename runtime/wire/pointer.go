package wire

import (
	"strconv"
	"strings"
)

// step is one level of nesting on the way to a place in a document.
type step struct {
	object bool
	named  bool   // object: key holds the member's name
	key    []byte // as it stands between the quotes
	index  int    // array: the element
}

// pointerAt returns the JSON pointer of the place that prefix, the beginning
// of a document, leads up to: the value that comes next, or that has just
// ended. Nothing keeps track of the place while all goes well; this is done
// afterwards, once.
func pointerAt(prefix []byte) string {
	var p strings.Builder
	for _, s := range pathAt(prefix) {
		switch {
		case !s.object:
			p.WriteByte('/')
			p.WriteString(strconv.Itoa(s.index))
		case s.named:
			p.WriteByte('/')
			pointerEscaper.WriteString(&p, strings.ToValidUTF8(string(appendUnescaped(nil, s.key)), "\uFFFD"))
		}
	}
	return p.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// pathAt walks through prefix, which need not end where a token ends. An
// object that is being written begins with a comma until CloseObject mends
// that: where a value is due, a comma opens an object.
func pathAt(prefix []byte) []step {
	var path []step
	due := true // a value comes next
	for i := 0; i < len(prefix); {
		switch c := prefix[i]; {
		case c == '"':
			end := skipText(prefix, i)
			if end < 0 {
				return path
			}
			if n := len(path) - 1; !due && n >= 0 && path[n].object {
				path[n].named, path[n].key = true, prefix[i+1:end-1]
			}
			due = false
			i = end
			continue
		case c == '{', c == ',' && due:
			path = append(path, step{object: true})
			due = false
		case c == '[':
			path = append(path, step{})
			due = true
		case c == ':':
			due = true
		case c == ',':
			due = advance(path)
		case c == '}', c == ']':
			path = path[:max(0, len(path)-1)]
			due = false
		case !isSpace(c):
			due = false
		}
		i++
	}
	return path
}

// advance goes to the next member or element of the innermost level and
// reports whether a value comes next.
func advance(path []step) bool {
	if len(path) == 0 {
		return false
	}
	s := &path[len(path)-1]
	s.named = false
	s.index++
	return !s.object
}
