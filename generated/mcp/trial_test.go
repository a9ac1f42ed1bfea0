package mcp

import (
	"fmt"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A trial is one document before the decoder and the validator.
type trial struct {
	subject *subject
	number  uint64 // of the document in its campaign
	text    []byte
	doc     any   // nil where text is no JSON that the scanner accepts
	json    error // why it is not

	verdicts map[exception]error
}

func newTrial(s *subject, text []byte) *trial {
	t := &trial{subject: s, text: text, json: wire.Check(text, 0), verdicts: map[exception]error{}}
	if t.json == nil {
		t.doc = parse(text)
	}
	return t
}

// verdict is the validator's, of the document as it reads with exceptions.
func (t *trial) verdict(e exception) error {
	if t.json != nil {
		return t.json
	}
	verdict, known := t.verdicts[e]
	if !known {
		s := t.subject
		verdict = s.file.judge.accepts(s.pointer, reader{e}.read(s.shape, t.doc))
		t.verdicts[e] = verdict
	}
	return verdict
}

// applied lists the exceptions without which the verdict would be another.
func (t *trial) applied() (list []exception) {
	valid := t.verdict(allExceptions) == nil
	if valid == (t.verdict(0) == nil) {
		return nil
	}
	for _, e := range exceptions {
		if valid != (t.verdict(allExceptions&^e.exception) == nil) {
			list = append(list, e.exception)
		}
	}
	return list
}

// problem tells what the codec does wrong, "" if nothing: the decoder agrees
// with the validator, what it accepts can be written, and that is valid again
// and says the same.
func (t *trial) problem() string {
	s := t.subject
	verdict := t.verdict(allExceptions)
	v, err := s.decode(t.text)
	switch {
	case err == nil && verdict != nil:
		return fmt.Sprintf("the decoder accepts what the schema refuses: %v", verdict)
	case err != nil && verdict == nil:
		return fmt.Sprintf("the decoder refuses what the schema accepts: %v", err)
	case err != nil:
		return ""
	}
	out, err := s.encode(v)
	if err != nil {
		return fmt.Sprintf("what was decoded cannot be encoded: %v", err)
	}
	back := newTrial(s, out)
	if err := back.verdict(keptAsTheyAre); err != nil {
		return fmt.Sprintf("what was decoded is encoded as %s, which is not valid: %v", out, err)
	}
	if t.verdict(0) != nil {
		return ""
	}
	if at := s.shape.differs(t.doc, back.doc, ""); at != "" {
		return fmt.Sprintf("what was decoded is encoded as %s, which is something else:%s", out, at)
	}
	return ""
}

// smaller takes away from a document as long as there is a problem.
func (t *trial) smaller() *trial {
	for t.doc != nil {
		next := t.oneSmaller()
		if next == nil {
			break
		}
		t = next
	}
	return t
}

func (t *trial) oneSmaller() *trial {
	for _, doc := range reductions(t.doc) {
		if next := newTrial(t.subject, render(doc, sorted)); next.problem() != "" {
			return next
		}
	}
	return nil
}

// reductions are copies of a document, each with one thing less in it.
func reductions(doc any) (list []any) {
	for i, p := range places(&doc) {
		reduce := func(change func(any) any) {
			copied := clone(doc)
			at := places(&copied)[i]
			at.store(change(*at.at))
			list = append(list, copied)
		}
		switch v := (*p.at).(type) {
		case map[string]any:
			for name := range v {
				reduce(func(v any) any { delete(v.(map[string]any), name); return v })
			}
		case []any:
			for j := range v {
				reduce(func(v any) any { return append(v.([]any)[:j:j], v.([]any)[j+1:]...) })
			}
		}
	}
	return list
}
