package validate

import (
	"encoding/json"
	"strings"
)

// maxCoercions limits how often a document is coerced. Once is enough unless a list is made of a
// value whose parts are then coerced too.
const maxCoercions = 8

// Coerce returns a valid document with the meaning of doc. A string that is exactly a number or a
// boolean becomes one if the schema requires one, and a value becomes a list of one item if the
// schema requires a list. If that does not make the document valid, the error is the error of
// [Schema.Validate]. The document is returned as it is if it is valid.
func (s *Schema) Coerce(doc json.RawMessage) (json.RawMessage, error) {
	var first error
	for range maxCoercions {
		coerced, err := s.coerceOnce(doc)
		if err == nil {
			return doc, nil
		}
		if first == nil {
			first = err
		}
		if coerced == nil {
			break
		}
		doc = coerced
	}
	return nil, first
}

// coerceOnce validates a document. If the document is invalid, it returns the error, and a
// document with other types or nil.
func (s *Schema) coerceOnce(doc json.RawMessage) (json.RawMessage, error) {
	v := newValidation()
	defer v.release()
	if err := v.doc.parse(doc); err != nil {
		return nil, err
	}
	v.wanted = make(map[uint32]typeSet)
	err := v.validate(s, len(doc))
	if err == nil || len(v.wanted) == 0 {
		return nil, err
	}
	return v.doc.appendCoerced(nil, 0, v.wanted), err
}

// want records the types that the schema requires of the value at a position, if the value can be
// coerced to one of them.
func (v *validation) want(types typeSet, at uint32) {
	if v.wanted == nil || v.wanted[at] != 0 {
		return
	}
	_, ok := v.doc.coerceScalar(at, types)
	if k := v.doc.values[at].kind; ok || types&typeArray != 0 && k != kindNull && k != kindArray {
		v.wanted[at] = types
	}
}

// appendCoerced appends the value at a position as JSON without white space. The values in wanted
// are coerced to one of the types.
func (d *document) appendCoerced(b []byte, at uint32, wanted map[uint32]typeSet) []byte {
	types := wanted[at]
	if types == 0 {
		return d.appendValue(b, at, wanted)
	}
	if text, ok := d.coerceScalar(at, types); ok {
		return append(b, text...)
	}
	return append(d.appendValue(append(b, '['), at, wanted), ']')
}

// coerceScalar returns the number or boolean in the string at a position, if one of the types
// allows it.
func (d *document) coerceScalar(at uint32, types typeSet) (text string, ok bool) {
	if d.values[at].kind != kindString {
		return "", false
	}
	text = d.string(at)
	switch {
	case types&typeBoolean != 0 && (text == "true" || text == "false"):
		return text, true
	case types&(typeNumber|typeInteger) != 0:
		return text, isNumber(text)
	}
	return "", false
}

// isNumber reports whether a text is exactly a JSON number.
func isNumber(text string) bool {
	const digits = "0123456789"
	return strings.Trim(text[:min(len(text), 1)], "-"+digits) == "" && json.Valid([]byte(text)) && strings.ContainsAny(text[len(text)-1:], digits)
}
