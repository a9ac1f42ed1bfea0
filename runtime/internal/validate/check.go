package validate

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp/syntax"
	"strings"
)

// checker checks that values are schemas of a dialect, as the meta-schema of the
// dialect does.
type checker struct {
	doc      *document
	dialect  dialect
	names    map[string]keyword
	compiler *compiler // that compiles the schema, or nil
	problems []cause
	err      error // ends the check
}

// fail adds the problem of a value.
func (k *checker) fail(at uint32, format string, args ...any) {
	if len(k.problems) < maxProblems {
		k.problems = append(k.problems, cause{Problem: Problem{truncate(k.doc.pointer(at)), truncate(fmt.Sprintf(format, args...))}})
	}
}

// done reports whether further checks are of no use.
func (k *checker) done() bool { return k.err != nil || len(k.problems) == maxProblems }

// schema checks the schema at a position and the schemas in it. The schema is part
// of a resource, if it does not begin another.
func (k *checker) schema(at uint32, resource int32) {
	if k.compiler != nil {
		var known bool
		if resource, known = k.register(at, resource); known {
			return
		}
	}
	switch kind := k.doc.values[at].kind; {
	case kind == kindObject:
	case k.dialect == draft4:
		k.fail(at, "expected object, but got %s", kindNames[kind])
		return
	case kind == kindTrue || kind == kindFalse:
		return
	default:
		k.fail(at, "expected object or boolean, but got %s", kindNames[kind])
		return
	}
	for i := at + 1; i < k.doc.values[at].end && !k.done(); i = k.doc.after(i + 1) {
		if kw := k.names[k.doc.string(i)]; kw != noKeyword && kw.in(k.dialect) {
			k.doc.values[i].keyword = kw
			if k.compiler != nil && (kw == kwRef || kw == kwRecursiveRef || kw == kwDynamicRef) {
				k.compiler.refers = true
			}
			k.keyword(kw, i+1, resource)
		}
	}
	if k.dialect == draft4 {
		k.exclusiveNeeds(at, "exclusiveMaximum", "maximum")
		k.exclusiveNeeds(at, "exclusiveMinimum", "minimum")
	}
}

// exclusiveNeeds checks that a schema with a keyword also has another.
func (k *checker) exclusiveNeeds(at uint32, name, needed string) {
	if _, ok := k.doc.member(at, name); !ok {
		return
	}
	if _, ok := k.doc.member(at, needed); !ok {
		k.fail(at, "property %s is required, if %s property exists", quote(needed), quote(name))
	}
}

// keyword checks the value of a keyword.
func (k *checker) keyword(kw keyword, at uint32, resource int32) {
	switch shape := kw.shape(k.dialect); shape {
	case noShape:
	case shapeSchema:
		k.schema(at, resource)
	case shapeSchemaOrAny:
		if _, ok := k.doc.boolean(at); !ok || k.dialect > draft4 {
			k.schema(at, resource)
		}
	case shapeItems:
		if k.doc.values[at].kind == kindArray {
			k.schemas(at, resource)
		} else {
			k.schema(at, resource)
		}
	case shapeSchemas:
		if k.is(at, kindArray) {
			k.schemas(at, resource)
		}
	case shapeMap, shapePatternMap, shapeEither, shapeNamesMap, shapeVocabulary:
		if k.is(at, kindObject) {
			k.members(shape, at, resource)
		}
	case shapeText, shapeReference, shapeID, shapeURI, shapeAnchor, shapePattern:
		if k.is(at, kindString) {
			k.text(shape, at)
		}
	case shapeBoolean:
		if _, ok := k.doc.boolean(at); !ok {
			k.fail(at, "expected boolean, but got %s", kindNames[k.doc.values[at].kind])
		}
	case shapeNumber, shapePositive, shapeCount:
		if k.is(at, kindNumber) {
			k.number(shape, at)
		}
	case shapeTypes:
		k.types(at)
	default:
		if k.is(at, kindArray) {
			k.list(shape, at)
		}
	}
}

// is checks the kind of a value.
func (k *checker) is(at uint32, want kind) bool {
	got := k.doc.values[at].kind
	if got != want {
		k.fail(at, "expected %s, but got %s", kindNames[want], kindNames[got])
	}
	return got == want
}

func (k *checker) schemas(at uint32, resource int32) {
	k.notEmpty(at)
	for i := at + 1; i < k.doc.values[at].end && !k.done(); i = k.doc.after(i) {
		k.schema(i, resource)
	}
}

func (k *checker) notEmpty(at uint32) {
	if k.doc.values[at].count == 0 {
		k.fail(at, "minimum 1 items required, but found 0 items")
	}
}

// members checks an object whose members have the same shape.
func (k *checker) members(shape shape, at uint32, resource int32) {
	for i := at + 1; i < k.doc.values[at].end && !k.done(); i = k.doc.after(i + 1) {
		switch {
		case shape == shapeNamesMap || shape == shapeEither && k.doc.values[i+1].kind == kindArray:
			if !k.is(i+1, kindArray) {
				continue
			}
			names := shapeNames
			if k.dialect == draft4 {
				names = shapeSomeNames
			}
			k.list(names, i+1)
		case shape == shapeVocabulary:
			k.text(shapeURI, i)
			if _, ok := k.doc.boolean(i + 1); !ok {
				k.fail(i+1, "expected boolean, but got %s", kindNames[k.doc.values[i+1].kind])
			}
		default:
			if shape == shapePatternMap {
				k.text(shapePattern, i)
			}
			k.schema(i+1, resource)
		}
	}
}

// list checks an array of values that are not schemas.
func (k *checker) list(shape shape, at uint32) {
	if shape == shapeSomeNames || shape == shapeEnum {
		k.notEmpty(at)
	}
	if shape == shapeNames || shape == shapeSomeNames {
		for i := at + 1; i < k.doc.values[at].end && !k.done(); i = k.doc.after(i) {
			k.is(i, kindString)
		}
	}
	if shape != shapeList {
		if i, j, found := k.doc.equalItems(at); found {
			k.fail(at, "items at index %d and %d are equal", i, j)
		}
	}
}

func (k *checker) types(at uint32) {
	switch k.doc.values[at].kind {
	case kindString:
		k.typeName(at)
	case kindArray:
		k.notEmpty(at)
		for i := at + 1; i < k.doc.values[at].end && !k.done(); i = k.doc.after(i) {
			k.typeName(i)
		}
		k.list(shapeTypes, at)
	default:
		k.fail(at, "expected string or array, but got %s", kindNames[k.doc.values[at].kind])
	}
}

func (k *checker) typeName(at uint32) {
	if k.is(at, kindString) && typeNamed(k.doc.string(at)) == 0 {
		names := make([]string, len(simpleTypes))
		for i, t := range simpleTypes {
			names[i] = fmt.Sprintf("%q", t.name)
		}
		k.fail(at, "value must be one of %s", strings.Join(names, ", "))
	}
}

func (k *checker) number(shape shape, at uint32) {
	text := k.doc.raw(at)
	n, small := smallInteger(text)
	switch shape {
	case shapePositive:
		if small && n <= 0 || !small && (text[0] == '-' || len(parseDecimal(nil, text).digits) == 0) {
			k.fail(at, "must be > 0 but found %s", text)
		}
	case shapeCount:
		d := decimal{negative: n < 0}
		if !small {
			d = parseDecimal(nil, text)
		}
		if !small && !d.isInteger() {
			k.fail(at, "expected integer, but got number")
		} else if d.negative {
			k.fail(at, "must be >= 0 but found %s", text)
		}
	}
}

func (k *checker) text(shape shape, at uint32) {
	text := k.doc.string(at)
	switch shape {
	case shapeReference, shapeID:
		if !isReference(text) {
			k.fail(at, "%s is not a valid URI reference", quote(text))
		} else if i := strings.IndexByte(text, '#'); shape == shapeID && i >= 0 && i < len(text)-1 {
			k.fail(at, "%s has a fragment, which $id must not have", quote(text))
		}
	case shapeURI:
		if !isURI(text) {
			k.fail(at, "%s is not a valid URI", quote(text))
		}
	case shapeAnchor:
		if !isAnchor(text, k.dialect) {
			k.fail(at, "%s is not a valid anchor", quote(text))
		}
	case shapePattern:
		if _, err := syntax.Parse(text, syntax.Perl); err != nil {
			k.fail(at, "%s is not a valid regular expression: %v", quote(text), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	}
}

// isAnchor reports whether a text is the name of an anchor of a dialect.
func isAnchor(text string, d dialect) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == '_' && (d == draft2020 || i > 0):
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '.'):
		case i > 0 && c == ':' && d == draft2019:
		default:
			return false
		}
	}
	return text != ""
}

// isReference reports whether a text is a URI reference.
func isReference(text string) bool {
	if isPlainFragment(text) {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && !strings.Contains(text, `\`) && validHost(u)
}

// isURI reports whether a text is an absolute URI.
func isURI(text string) bool {
	if dialectOf(text) != noDialect {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.IsAbs() && validHost(u)
}

// isPlainFragment reports whether a text is a fragment that needs no unescaping.
func isPlainFragment(text string) bool {
	if text == "" || text[0] != '#' {
		return false
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '$', c == '_', c == '-', c == '.', c == '~':
		default:
			return false
		}
	}
	return true
}

// validHost reports whether the host of a URL is an IPv6 address in brackets, if it
// has colons.
func validHost(u *url.URL) bool {
	host := u.Hostname()
	if !strings.Contains(host, ":") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Is6() && strings.Contains(u.Host, "[")
}
