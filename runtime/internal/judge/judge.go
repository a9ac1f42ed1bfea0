// Package judge tells whether JSON documents are valid under JSON Schemas, where
// neither the one nor the other need come from a friend.
//
//	schema, err := judge.Compile(tool.InputSchema)
//	if err != nil {
//		return err // it is no schema, or refers to something outside itself
//	}
//	if err := schema.Validate(arguments); err != nil {
//		return err // "/city: expected string, but got number"
//	}
//
// The work is done by a validator that trusts its input; this package is the
// fence around it. Schemas reach nothing outside of themselves, neither files nor
// the network. Both sides pass the scanner of package wire and a bound on the
// size of numbers first. A validation that is too much work is given up, and
// whatever the validator panics at is invalid.
//
// A schema is read in the dialect that its $schema names, 2020-12 where it names
// none. Formats are annotations in all of them.
package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	text   []byte
	idle   sync.Pool // of *validator, each for one validation at a time
	shared *validator
}

// Compile compiles a schema. The error tells where the schema is wrong; an
// [*Error] is in its chain where that is a place in it.
func Compile(schema json.RawMessage) (*Schema, error) {
	if _, err := parse(schema); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	s := &Schema{text: bytes.Clone(schema)}
	v, err := newValidator(s.text)
	if err != nil {
		return nil, fmt.Errorf("compile a schema: %w", err)
	}
	s.idle.Put(v)
	return s, nil
}

// Validate returns nil where a document is valid, and an [*Error] where it is
// not, or where finding that out would take too long.
func (s *Schema) Validate(doc json.RawMessage) error {
	v, err := parse(doc)
	if err != nil {
		return err
	}
	return s.judge(v, len(doc))
}

// judge is Validate for a document of a size that has been read.
func (s *Schema) judge(v any, size int) error {
	if s.shared != nil {
		return s.shared.validate(v)
	}
	free, ok := s.idle.Get().(*validator)
	if !ok {
		var err error
		if free, err = newValidator(s.text); err != nil {
			return err
		}
	}
	defer s.idle.Put(free)
	free.work = newWork(size)
	return free.validate(v)
}
