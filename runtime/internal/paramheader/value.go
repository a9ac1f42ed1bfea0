package paramheader

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Header is one header of a request.
type Header struct{ Name, Value string }

// Values returns the headers that repeat the arguments of a call. An argument
// that is absent or null has none. The error names an argument that no header
// can repeat: an object, an array, a number that is no integer, or one beyond
// what every reader of JSON keeps exactly.
func Values(params []Param, arguments json.RawMessage) ([]Header, error) {
	found, err := find(params, arguments)
	if err != nil {
		return nil, err
	}
	var headers []Header
	for i, raw := range found {
		text, there, err := textOf(raw)
		switch {
		case err != nil:
			return nil, fmt.Errorf("argument %q: %w", strings.Join(params[i].Path, "."), err)
		case there:
			headers = append(headers, Header{Prefix + params[i].Header, Encode(text)})
		}
	}
	return headers, nil
}

// Check tells whether the headers of a call repeat its arguments: each of them
// once, and none that is not there. Headers that the schema does not ask for are
// not looked at.
func Check(params []Param, arguments json.RawMessage, header http.Header) error {
	found, err := find(params, arguments)
	if err != nil {
		return err
	}
	for i, raw := range found {
		name := Prefix + params[i].Header
		if err := check(raw, header.Values(name)); err != nil {
			return fmt.Errorf("header %s, argument %q: %w", name, strings.Join(params[i].Path, "."), err)
		}
	}
	return nil
}

// check compares an argument with the headers of its name.
func check(raw json.RawMessage, values []string) error {
	want, there, err := textOf(raw)
	switch {
	case err != nil:
		return err
	case len(values) > 1:
		return errors.New("the header is there twice")
	case !there && len(values) == 1:
		return errors.New("the argument is not there")
	case !there:
		return nil
	case len(values) == 0:
		return errors.New("the header is missing")
	}
	got, err := Decode(strings.Trim(values[0], " \t"))
	switch {
	case err != nil:
		return err
	case got == want || raw[0] != '"' && sameInteger(got, want):
		return nil
	}
	return errors.New("the header does not repeat the argument")
}

func sameInteger(a, b string) bool {
	n, okA := integer(a)
	m, okB := integer(b)
	return okA && okB && n == m
}

// textOf returns the text of an argument. There is none for one that is absent
// or null.
func textOf(raw json.RawMessage) (text string, there bool, err error) {
	if raw == nil {
		return "", false, nil
	}
	switch raw[0] {
	case 'n':
		return "", false, nil
	case 't', 'f':
		return string(raw), true, nil
	case '"':
		err := json.Unmarshal(raw, &text)
		return text, true, err
	case '{', '[':
		return "", true, errors.New("a header cannot repeat an object or an array")
	}
	n, ok := integer(string(raw))
	if !ok {
		return "", true, errors.New("a header repeats integers up to ±(2^53-1) only")
	}
	return strconv.FormatInt(n, 10), true, nil
}

// integer reads a number whose value is an integer that float64 keeps exactly.
func integer(s string) (int64, bool) {
	var n whole
	err := wire.Decode([]byte(s), nil, &n)
	return int64(n), err == nil
}

// whole reads an integer. It is never written.
type whole int64

// AppendJSON implements [wire.Value].
func (*whole) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "an integer") }

// DecodeJSON implements [wire.Value].
func (n *whole) DecodeJSON(d *wire.Decoder) {
	const most = 1<<53 - 1
	*n = whole(d.Int(-most, most))
}

// find returns the arguments that the parameters name, nil for those that are
// absent.
func find(params []Param, arguments json.RawMessage) ([]json.RawMessage, error) {
	if len(params) == 0 {
		return nil, nil
	}
	f := finder{params: params, found: make([]json.RawMessage, len(params))}
	if arguments == nil {
		return f.found, nil
	}
	if err := wire.Decode(arguments, nil, &f); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return f.found, nil
}

// finder reads arguments.
type finder struct {
	wire.ReadOnly
	params []Param
	found  []json.RawMessage
	at     []string // the way to the object being read
}

// DecodeJSON implements [wire.Value].
func (f *finder) DecodeJSON(d *wire.Decoder) {
	if d.Kind() != '{' {
		d.Skip()
		return
	}
	for o := d.Object(nil); o.Next(); {
		f.at = append(f.at, o.Key())
		f.member(d)
		f.at = f.at[:len(f.at)-1]
	}
}

// member reads the value at the end of the way.
func (f *finder) member(d *wire.Decoder) {
	onTheWay := false
	for i, p := range f.params {
		switch n := len(f.at); {
		case len(p.Path) < n || !slices.Equal(p.Path[:n], f.at):
		case len(p.Path) == n:
			f.found[i] = d.Raw()
			return
		default:
			onTheWay = true
		}
	}
	if onTheWay {
		f.DecodeJSON(d)
	} else {
		d.Skip()
	}
}
