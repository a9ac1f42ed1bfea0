package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits nesting. The schemas of the protocol have fewer than 20 levels.
const maxDepth = 128

// maxSize limits the size of a file, in bytes. The largest official file has 0.2 MB.
const maxSize = 16 << 20

// ReadFile reads a file, but at most one byte more than the limit, so that a larger file is not in
// memory and parse refuses it.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return readLimited(f)
}

// readLimited reads and closes a file, like [ReadFile].
func readLimited(f fs.File) ([]byte, error) {
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// readFile is like [ReadFile] for a file system.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return readLimited(f)
}

// problemf returns an error for a JSON pointer in a file.
func problemf(file, at, format string, args ...any) error {
	return fmt.Errorf("%s#%s: %w", file, at, fmt.Errorf(format, args...))
}

// child adds a member name to a JSON pointer.
func child(at, name string) string { return at + "/" + escape.Replace(name) }

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// element adds an array index to a JSON pointer.
func element(at string, i int) string { return at + "/" + strconv.Itoa(i) }

// parse reads one JSON document into maps, slices, strings, booleans, nils and
// json.Numbers. Unlike encoding/json, it returns an error for duplicate keys, for text
// that is not Unicode, and for text after the document.
func parse(file string, data []byte) (any, error) {
	r := &reader{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	if len(data) > maxSize {
		return nil, problemf(file, "", "the file has more bytes than the limit of %d", maxSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, problemf(file, "", "file is empty")
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, problemf(file, "", "file begins with a byte order mark; remove it")
	}
	if !utf8.Valid(data) {
		return nil, problemf(file, "", "file is not valid UTF-8")
	}
	tree, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, problemf(file, "", "line %d: text after the JSON document", r.line())
	}
	return tree, nil
}

// A reader builds the tree of one document and adds the place to errors.
type reader struct {
	file string
	data []byte
	dec  *json.Decoder
}

// line returns the current line of the decoder.
func (r *reader) line() int {
	return 1 + bytes.Count(r.data[:r.dec.InputOffset()], []byte("\n"))
}

// token reads the next token and adds the place to an error.
func (r *reader) token(at string) (json.Token, error) {
	tok, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, problemf(r.file, at, "line %d: invalid JSON: the document ends too early", r.line())
	case err != nil:
		return nil, problemf(r.file, at, "line %d: invalid JSON: %w", r.line(), err)
	}
	if s, ok := tok.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
		return nil, problemf(r.file, at, "line %d: string contains half a surrogate pair or a replacement character", r.line())
	}
	return tok, nil
}

func (r *reader) value(at string, depth int) (any, error) {
	tok, err := r.token(at)
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, problemf(r.file, at, "nested deeper than %d", maxDepth)
	}
	switch tok {
	case json.Delim('{'):
		return r.object(at, depth+1)
	case json.Delim('['):
		return r.array(at, depth+1)
	}
	return tok, nil
}

func (r *reader) object(at string, depth int) (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		key, err := r.token(at)
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder accepts only strings here
		if _, twice := object[name]; twice {
			return nil, problemf(r.file, child(at, name), "line %d: duplicate key; remove one of the two", r.line())
		}
		if object[name], err = r.value(child(at, name), depth); err != nil {
			return nil, err
		}
	}
	_, err := r.token(at)
	return object, err
}

func (r *reader) array(at string, depth int) (any, error) {
	array := []any{}
	for r.dec.More() {
		v, err := r.value(element(at, len(array)), depth)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := r.token(at)
	return array, err
}

// format encodes a value in the layout of this repository: keys of maps are sorted,
// levels are indented by two spaces, numbers are unchanged, and a newline follows.
func format(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic("load: " + err.Error()) // cannot happen for parsed values
	}
	return b.Bytes()
}
