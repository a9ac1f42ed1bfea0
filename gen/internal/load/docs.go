package load

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Docs are the documentation texts in docs.txt.
//
// An entry is a key, a colon with a space, and a text. Indented lines continue the
// text, and an indented line with only a full stop begins a new paragraph. Empty lines
// and lines that begin with # are ignored. The keys are
//
//	covers               the newest revision whose names all have a text; this is the first entry
//	Tool                 a Go type
//	Tool.inputSchema     a member of a type, with its name in JSON
//	*.icons              a member of every type that has no entry of its own for it
//	LoggingLevel=debug   a value of an enum
//	method tools/call    a method
//	error -32602         an error code
//
// Docs is not safe for concurrent use, because each lookup marks its entry as used.
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

// ParseDocs parses a file of texts. The name is only used in errors. It reports all
// errors, each with its line.
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

// A docParser parses a file line by line.
type docParser struct {
	docs   *Docs
	number int // current line
	last   *docEntry
	first  bool // the first entry has been parsed
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
		p.fail(p.number, "indented line without an entry above")
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

// start begins an entry with its first line. An invalid line begins an entry without a
// key, so that its continuation lines are not reported too.
func (p *docParser) start(line string) {
	key, text, ok := strings.Cut(line, ": ")
	if !ok {
		key, ok = strings.CutSuffix(line, ":")
	}
	if !ok || key == "" {
		p.fail(p.number, `%q is not an entry; write "key: text", and indent continuation lines`, line)
		key = ""
	}
	p.last = &docEntry{key: key, line: p.number, text: strings.TrimSpace(text)}
}

// finish adds the current entry, if there is one.
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
		p.fail(e.line, "%s already has a text in line %d", e.key, twin.line)
		return
	}
	p.docs.entries[key] = e
}

// docKeys matches the valid keys.
var docKeys = regexp.MustCompile(`^(method \S+|error -?[0-9]{1,9}|[A-Z][A-Za-z0-9_]*(=\S+)?|([A-Z][A-Za-z0-9_]*|\*)\.\S+)$`)

// canonicalKey checks a key and returns the form that lookups use.
func canonicalKey(key string) (string, error) {
	if !docKeys.MatchString(key) {
		return "", fmt.Errorf("%q is not a valid key; keys are Type, Type.member, *.member, Type=value, method name, error code", key)
	}
	if code, ok := strings.CutPrefix(key, "error "); ok {
		n, err := strconv.Atoi(code)
		return errorKey(n), err
	}
	return key, nil
}

func errorKey(code int) string { return "error " + strconv.Itoa(code) }

// get returns the text of a key and marks its entry as used.
func (d *Docs) get(key string) (string, bool) {
	e, ok := d.entries[key]
	if !ok {
		return "", false
	}
	e.used = true
	return e.text, true
}

// Type returns the text of a Go type.
func (d *Docs) Type(name string) (string, bool) { return d.get(name) }

// Member returns the text of a member, which has its name in JSON: the text for the
// type's member or, if there is none, for this member of any type.
func (d *Docs) Member(typ, member string) (string, bool) {
	if text, ok := d.get(typ + "." + member); ok {
		return text, true
	}
	return d.get("*." + member)
}

// Value returns the text of a value of an enum.
func (d *Docs) Value(enum, value string) (string, bool) { return d.get(enum + "=" + value) }

// Method returns the text of a method.
func (d *Docs) Method(name string) (string, bool) { return d.get("method " + name) }

// Error returns the text of an error code.
func (d *Docs) Error(code int) (string, bool) { return d.get(errorKey(code)) }

// Unused returns the keys that were never looked up, as "docs.txt:12: Tool.foo", in
// the order of the file. They are names that do not exist.
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
