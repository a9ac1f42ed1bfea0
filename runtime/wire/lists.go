package wire

// Named is one member of a map whose order matters.
type Named[T any] struct {
	Name  string
	Value T
}

// New reads a value into a new T. The result is never nil.
func New[T any, P interface {
	*T
	Value
}](d *Decoder) *T {
	x := new(T)
	P(x).DecodeJSON(d)
	return x
}

// Structs reads an array into a slice, each element in its place. The result
// is empty, not nil, for an empty array.
func Structs[T any, P interface {
	*T
	Value
}](d *Decoder) []T {
	list := []T{}
	for more := d.openArray(); more; more = d.another() {
		list = grow(list)
		P(&list[len(list)-1]).DecodeJSON(d)
	}
	return list
}

// List reads an array, each element with elem. The result is empty, not nil,
// for an empty array.
func List[T any](d *Decoder, elem func(*Decoder) T) []T {
	list := []T{}
	for more := d.openArray(); more; more = d.another() {
		list = grow(list)
		list[len(list)-1] = elem(d)
	}
	return list
}

// Strings reads an array of strings.
func (d *Decoder) Strings() []string { return List(d, (*Decoder).String) }

// Map reads an object as a map, each value with elem. The result is not nil.
func Map[T any](d *Decoder, elem func(*Decoder) T) map[string]T {
	m := make(map[string]T)
	for o := d.Object(nil); o.Next(); {
		name := o.key()
		m[name] = elem(d)
	}
	return m
}

// NamedList reads an object as a list of its members, in their order. The
// result is not nil.
func NamedList[T any](d *Decoder, elem func(*Decoder) T) []Named[T] {
	list := []Named[T]{}
	for o := d.Object(nil); o.Next(); {
		list = grow(list)
		list[len(list)-1].Name = o.key()
		list[len(list)-1].Value = elem(d)
	}
	return list
}

// openArray steps into an array and reports whether it has an element.
func (d *Decoder) openArray() bool {
	if d.first() != '[' {
		d.want("an array")
		return false
	}
	if !d.enter() {
		return false
	}
	if d.next() == ']' {
		d.leave()
		return false
	}
	return true
}

// another steps to the next element, or out of the array when there is none.
func (d *Decoder) another() bool {
	switch d.next() {
	case ',':
		d.pos++
		d.next()
		return true
	case ']':
		d.leave()
	default:
		d.unexpected()
	}
	return false
}

// grow makes the list one zero element longer. Most lists of the protocol have
// one element, so that is where it begins.
func grow[T any](list []T) []T {
	n := len(list)
	if n == cap(list) {
		longer := make([]T, n, max(1, 4*min(n, 1), 2*n))
		copy(longer, list)
		list = longer
	}
	return list[:n+1]
}
