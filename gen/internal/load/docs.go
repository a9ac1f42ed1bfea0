package load

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Docs are our own texts about the protocol, read from the overlay file.
//
// An entry is a key, a colon with a space, and a text that may go on over
// indented lines; an indented line that is only a full stop starts a new
// paragraph. Empty lines and lines that start with # say nothing. Keys are
//
//	covers               first of all: the newest revision whose names all have a text
//	Tool                 a Go type
//	Tool.inputSchema     a member of a type, by its wire name
//	*.icons              a member of every type that has no text of its own for it
//	LoggingLevel=debug   a value of an enum
//	method tools/call    a method
//	error -32602         an error code
//
// Docs is not safe for concurrent use: each look-up marks its entry as used.
type Docs struct {
	// Covers is the newest revision whose names all have a text.
	Covers string

	file    string
	entries map[string]*docEntry
}

type docEntry struct {
	key  string
	line int
	text string
	used bool
}

// ParseDocs reads an overlay. The name is for errors only; all of them are
// reported, each with its line.
func ParseDocs(name string, data []byte) (*Docs, error) {
	p := &docParser{docs: &Docs{file: name, entries: map[string]*docEntry{}}}
	for line := range strings.Lines(string(data)) {
		p.number++
		p.line(line)
	}
	p.finish()
	if p.docs.Covers == "" && len(p.errs) == 0 {
		p.fail(1, `the first entry must be "covers: <revision>"`)
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return p.docs, nil
}

// A docParser reads an overlay line by line.
type docParser struct {
	docs   *Docs
	number int // of the line being read
	last   *docEntry
	first  bool // the first entry is behind us
	errs   []error
}

func (p *docParser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %w", p.docs.file, line, fmt.Errorf(format, args...)))
}

func (p *docParser) line(line string) {
	text := strings.TrimSpace(line)
	switch {
	case text == "" || line[0] == '#':
	case line[0] != ' ' && line[0] != '\t':
		p.finish()
		p.start(text)
	case p.last == nil:
		p.fail(p.number, "an indented line continues an entry, but there is none above")
	case text == ".":
		p.last.text += "\n\n"
	default:
		p.last.text = joinText(p.last.text, text)
	}
}

func joinText(text, more string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text + more
	}
	return text + " " + more
}

// start begins an entry with its first line. A line that is none begins an
// entry without a key, so that what continues it is not reported again.
func (p *docParser) start(line string) {
	key, text, ok := strings.Cut(line, ": ")
	if !ok {
		key, ok = strings.CutSuffix(line, ":")
	}
	if !ok || key == "" {
		p.fail(p.number, `%q is no entry; write "key: text", and indent what continues one`, line)
		key = ""
	}
	p.last = &docEntry{key: key, line: p.number, text: strings.TrimSpace(text)}
}

// finish files the entry that has been read, if any.
func (p *docParser) finish() {
	e := p.last
	if p.last = nil; e == nil || e.key == "" {
		return
	}
	e.text = strings.TrimSpace(e.text)
	switch {
	case e.text == "":
		p.fail(e.line, "%s has no text", e.key)
	case !p.first:
		p.covers(e)
	default:
		p.add(e)
	}
	p.first = true
}

func (p *docParser) covers(e *docEntry) {
	if e.key != "covers" {
		p.fail(e.line, `the first entry must be "covers: <revision>", not %q`, e.key)
		return
	}
	if err := CheckRevision(e.text); err != nil {
		p.fail(e.line, "covers: %w", err)
	}
	p.docs.Covers = e.text
}

func (p *docParser) add(e *docEntry) {
	key, err := canonicalKey(e.key)
	if err != nil {
		p.fail(e.line, "%w", err)
		return
	}
	if twin := p.docs.entries[key]; twin != nil {
		p.fail(e.line, "%s has a text in line %d already; keep one", e.key, twin.line)
		return
	}
	p.docs.entries[key] = e
}

// docKeys are the forms a key may have.
var docKeys = regexp.MustCompile(`^(method \S+|error -?[0-9]{1,9}|[A-Z][A-Za-z0-9_]*(=\S+)?|([A-Z][A-Za-z0-9_]*|\*)\.\S+)$`)

// canonicalKey checks a key and gives the form it is looked up by.
func canonicalKey(key string) (string, error) {
	if !docKeys.MatchString(key) {
		return "", fmt.Errorf("%q is no key; keys are Type, Type.member, *.member, Type=value, method name, error code", key)
	}
	if code, ok := strings.CutPrefix(key, "error "); ok {
		n, err := strconv.Atoi(code)
		return errorKey(n), err
	}
	return key, nil
}

func errorKey(code int) string { return "error " + strconv.Itoa(code) }

// get looks an entry up and marks it as used.
func (d *Docs) get(key string) (string, bool) {
	e, ok := d.entries[key]
	if !ok {
		return "", false
	}
	e.used = true
	return e.text, true
}

// Type is the text of a Go type.
func (d *Docs) Type(name string) (string, bool) { return d.get(name) }

// Member is the text of a type's member, given by its wire name: the member's
// own one, else the one for that member of any type.
func (d *Docs) Member(typ, member string) (string, bool) {
	if text, ok := d.get(typ + "." + member); ok {
		return text, true
	}
	return d.get("*." + member)
}

// Value is the text of an enum's value.
func (d *Docs) Value(enum, value string) (string, bool) { return d.get(enum + "=" + value) }

// Method is the text of a method.
func (d *Docs) Method(name string) (string, bool) { return d.get("method " + name) }

// Error is the text of an error code.
func (d *Docs) Error(code int) (string, bool) { return d.get(errorKey(code)) }

// Unused lists the keys that nobody has asked for, as "docs.txt:12: Tool.foo",
// in the order of the file. They name things that no longer exist.
func (d *Docs) Unused() []string {
	var rest []*docEntry
	for _, e := range d.entries {
		if !e.used {
			rest = append(rest, e)
		}
	}
	slices.SortFunc(rest, func(a, b *docEntry) int { return a.line - b.line })
	lines := make([]string, len(rest))
	for i, e := range rest {
		lines[i] = fmt.Sprintf("%s:%d: %s", d.file, e.line, e.key)
	}
	return lines
}
