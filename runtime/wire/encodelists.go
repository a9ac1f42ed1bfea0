package wire

import "slices"

// AppendStructs appends a list of values as an array; nil is an empty one.
func AppendStructs[T any, P interface {
	*T
	Value
}](b []byte, e *Encoder, list []T) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = P(&list[i]).AppendJSON(b, e)
	}
	return append(b, ']')
}

// AppendList appends a list as an array, each element with elem; nil is an
// empty one.
func AppendList[T any](b []byte, e *Encoder, list []T, elem func([]byte, *Encoder, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = elem(b, e, x)
	}
	return append(b, ']')
}

// AppendStrings appends a list of strings as an array; nil is an empty one.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// AppendMap appends a map as an object, sorted by name, each value with elem;
// nil is an empty one.
func AppendMap[T any](b []byte, e *Encoder, m map[string]T, elem func([]byte, *Encoder, T) []byte) []byte {
	start, first := len(b), len(e.names)
	for name := range m {
		e.names = append(e.names, name)
	}
	slices.Sort(e.names[first:])
	for i := first; i < first+len(m); i++ { // elem may grow the stack
		name := e.names[i]
		b = append(b, ',')
		b = e.name(b, name)
		b = elem(b, e, m[name])
	}
	e.dropNames(first)
	return CloseObject(b, start)
}

// AppendNamed appends an ordered map as an object, each value with elem; nil
// is an empty one. A name that occurs twice is refused.
func AppendNamed[T any](b []byte, e *Encoder, list []Named[T], elem func([]byte, *Encoder, T) []byte) []byte {
	start, first := len(b), len(e.names)
	for i := range list {
		e.names = append(e.names, list[i].Name)
	}
	twice, bad := e.twice(first)
	e.dropNames(first)
	met := false
	for i := range list {
		b = append(b, ',')
		b = e.name(b, list[i].Name)
		if bad && list[i].Name == twice {
			if met {
				e.Fail(b, "duplicate member %q", clip(twice))
			}
			met = true
		}
		b = elem(b, e, list[i].Value)
	}
	return CloseObject(b, start)
}

// twice finds a name that is more than once among the names above first.
func (e *Encoder) twice(first int) (name string, found bool) {
	names := e.names[first:]
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return names[i], true
		}
	}
	return "", false
}
