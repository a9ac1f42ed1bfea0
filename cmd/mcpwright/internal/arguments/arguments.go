// Package arguments makes the JSON arguments of a tool from words of a command line, by the tool's
// schema.
package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxSource limits the bytes that are read from a file or a stream.
const maxSource = 64 << 20

// Parse returns the arguments that words describe. A word is one of
//
//	name=value   a value of the type that the schema declares; several for one array
//	name:=JSON   any JSON
//	name=@FILE   the text of a file as the value
//	{…}          a JSON object with arguments
//	@FILE        a file with a JSON object
//	-            a JSON object on standard input
//
// A name with dots is a member of an object: address.city=Bern. Later words replace values of
// earlier ones. The schema may be nil.
func Parse(schema json.RawMessage, words []string, stdin io.Reader) (json.RawMessage, error) {
	root, err := newSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of the arguments is invalid: %w", err)
	}
	p := &parser{root: root, stdin: stdin, values: map[string]any{}, whole: map[string]bool{}}
	for _, word := range words {
		if err := p.add(word); err != nil {
			return nil, err
		}
	}
	if err := p.root.checkRequired(p.values); err != nil {
		return nil, err
	}
	return json.Marshal(p.values)
}

// parser collects the arguments.
type parser struct {
	root   schema
	stdin  io.Reader
	values map[string]any
	whole  map[string]bool // names whose array came as one value, so that the next word replaces it
}

func (p *parser) add(word string) error {
	switch {
	case word == "-":
		return p.addObject("standard input", p.stdin)
	case strings.HasPrefix(word, "@"):
		f, err := os.Open(word[1:])
		if err != nil {
			return err
		}
		defer f.Close()
		return p.addObject(word[1:], f)
	case strings.HasPrefix(strings.TrimSpace(word), "{"):
		return p.addObject("argument", strings.NewReader(word))
	}
	name, text, ok := strings.Cut(word, "=")
	if !ok || name == "" || name == ":" {
		return fmt.Errorf("argument %q is neither name=value nor a JSON object", word)
	}
	if before, isJSON := strings.CutSuffix(name, ":"); isJSON {
		value, err := decode([]byte(text))
		if err != nil {
			return fmt.Errorf("argument %q: the text after := is not JSON: %w", before, err)
		}
		return p.set(before, value, true)
	}
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		data, err := readFile(file)
		if err != nil {
			return fmt.Errorf("argument %q: %w", name, err)
		}
		text = string(data)
	}
	return p.setText(name, text)
}

// addObject adds the members of a JSON object.
func (p *parser) addObject(from string, r io.Reader) error {
	data, err := readAll(r)
	if err != nil {
		return fmt.Errorf("read arguments from %s: %w", from, err)
	}
	value, err := decode(data)
	if err != nil {
		return fmt.Errorf("arguments from %s are not JSON: %w", from, err)
	}
	members, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("arguments from %s are not a JSON object", from)
	}
	maps.Copy(p.values, members)
	return nil
}

// setText sets an argument to the value of its type that a text describes.
func (p *parser) setText(name, text string) error {
	path, at, err := p.find(name)
	if err != nil {
		return err
	}
	items, isArray := at.items()
	if !isArray || strings.HasPrefix(strings.TrimSpace(text), "[") {
		value, err := at.value(text)
		if err != nil {
			return fmt.Errorf("argument %q: %w", name, err)
		}
		return p.setPath(path, value, isArray)
	}
	item, err := items.value(text)
	if err != nil {
		return fmt.Errorf("argument %q: %w", name, err)
	}
	old, _ := p.get(path).([]any)
	if p.whole[name] {
		old = nil
	}
	return p.setPath(path, append(slices.Clip(old), item), false)
}

func (p *parser) set(name string, value any, whole bool) error {
	path, _, err := p.find(name)
	if err != nil {
		return err
	}
	return p.setPath(path, value, whole)
}

// find returns the path of an argument and its schema.
func (p *parser) find(name string) (path []string, at schema, err error) {
	if at, ok := p.root.property(name); ok {
		return []string{name}, at, nil
	}
	path = strings.Split(name, ".")
	at = p.root
	for i, part := range path {
		next, ok := at.property(part)
		if !ok {
			if i == 0 || at.isClosed() {
				return nil, schema{}, at.unknown(strings.Join(path[:i+1], "."), part)
			}
			next = schema{}
		}
		at = next
	}
	return path, at, nil
}

func (p *parser) get(path []string) any {
	var value any = p.values
	for _, part := range path {
		members, _ := value.(map[string]any)
		value = members[part]
	}
	return value
}

func (p *parser) setPath(path []string, value any, whole bool) error {
	members := p.values
	for i, part := range path[:len(path)-1] {
		switch next := members[part].(type) {
		case nil:
			created := map[string]any{}
			members[part] = created
			members = created
		case map[string]any:
			members = next
		default:
			return fmt.Errorf("argument %q: %q has a value that is not an object", strings.Join(path, "."), strings.Join(path[:i+1], "."))
		}
	}
	members[path[len(path)-1]] = value
	p.whole[strings.Join(path, ".")] = whole
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err == nil && len(data) > maxSource {
		err = fmt.Errorf("more than %d MiB", maxSource>>20)
	}
	return data, err
}

// decode reads one JSON value. Numbers keep their text.
func decode(data []byte) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the value")
	}
	return value, nil
}

// Value returns the JSON value that a text describes, by its schema. An array takes words that are
// separated by commas.
func Value(raw json.RawMessage, text string) (any, error) {
	s, err := newSchema(raw)
	if err != nil {
		return nil, err
	}
	items, isArray := s.items()
	if !isArray || strings.HasPrefix(strings.TrimSpace(text), "[") {
		return s.value(text)
	}
	list := []any{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		item, err := items.value(word)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// Describe returns the properties of one value.
func Describe(name string, raw json.RawMessage) Property {
	s, err := newSchema(raw)
	if err != nil {
		return Property{Name: name, Type: "any"}
	}
	return s.describe(name)
}
