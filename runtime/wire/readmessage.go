package wire

import (
	"encoding/json"
	"sync"
)

// ReadMessage reads one JSON-RPC 2.0 message. Params and results are objects,
// as MCP has it; members of other names are checked and dropped.
//
// The error is a *DecodeError. If the id could be read, the Message that comes
// with the error has it, for the answer, and the method if there is one.
func ReadMessage(data []byte, f *Frame) (Message, error) {
	return readMessage(data, f, nil, nil)
}

// ReadMessageInto is ReadMessage for one that expects requests and
// notifications: open is asked where the params are to be read into, and if it
// returns non-nil, they are, and it is Message.Into, also where that fails. It is
// called at most once, for a message with params, and must not keep m.
//
// If method and id came before the params, they are read in the same pass, and
// open sees a message of which the rest is still unread: what it returns may
// only be used once ReadMessageInto has returned without error. Otherwise open
// is called in the end.
func ReadMessageInto(data []byte, f *Frame, open func(m *Message) Params) (Message, error) {
	return readMessage(data, f, open, nil)
}

// ReadResponseInto is ReadMessageInto for one that expects responses: open is
// asked where a result is to be read into, by the message's id. What is wrong
// with the message as a whole comes before what its result has to say.
func ReadResponseInto(data []byte, f *Frame, open func(m *Message) Value) (Message, error) {
	return readMessage(data, f, nil, open)
}

// messageReader holds what is known of a message while it is read.
type messageReader struct {
	d Decoder
	known
}

// known is what a messageReader forgets when it is done.
type known struct {
	m         Message
	hasMethod bool
	params    part
	result    part

	openParams func(*Message) Params // nil: nobody to ask, or asked
	openResult func(*Message) Value
	within     bool // the failure is one of what they returned
}

// part is the params or the result of a message.
type part struct {
	found bool
	bytes json.RawMessage
	place mark
}

var messageReaders = sync.Pool{New: func() any { return new(messageReader) }}

func readMessage(data []byte, f *Frame, params func(*Message) Params, result func(*Message) Value) (Message, error) {
	r := messageReaders.Get().(*messageReader)
	r.d.start(data, f)
	r.openParams, r.openResult = params, result
	r.read()
	m, err, within := r.m, r.d.outcome(), r.within
	r.known = known{}
	messageReaders.Put(r)
	if within {
		if whole, fault := readMessage(data, f, nil, nil); fault != nil {
			return whole, fault
		}
	}
	return m, err
}

func (r *messageReader) read() {
	r.members()
	r.d.end()
	r.judge()
	if r.openParams != nil {
		r.late(&r.params)
	}
	if r.openResult != nil {
		r.late(&r.result)
	}
	r.m.Params, r.m.Result = r.params.bytes, r.result.bytes
	if r.d.err != nil {
		r.salvage()
	}
}

func (r *messageReader) members() {
	d, m := &r.d, &r.m
	for o := d.Object(envelopeMembers); o.Next(); {
		switch o.Name {
		case "jsonrpc":
			d.Const("2.0")
		case "id":
			if m.NullID = d.Null(); !m.NullID {
				m.ID = d.ID()
			}
		case "method":
			r.hasMethod = true
			m.Method = d.String()
		case "params":
			r.part(&r.params, m.Method != "" && !m.ID.IsZero())
		case "result":
			r.part(&r.result, !m.ID.IsZero())
		case "error":
			m.Error = New[ErrorObject](d)
		default:
			d.Skip()
		}
	}
}

// part reads params or a result: to where it belongs if enough is known to
// ask, otherwise as a span.
func (r *messageReader) part(p *part, known bool) {
	d := &r.d
	p.found, p.place = true, d.mark()
	if d.next() != '{' {
		d.want("an object")
		return
	}
	data, start := d.data, d.pos
	switch {
	case !known || !r.into(p):
		p.bytes = d.span()
	case d.err == nil:
		p.bytes = data[start:d.pos]
	}
}

// into reads params or a result to where the caller wants it, and reports
// whether the caller wants it anywhere.
func (r *messageReader) into(p *part) bool {
	if p == &r.params && r.openParams != nil {
		open := r.openParams
		r.openParams = nil
		if x := open(&r.m); x != nil {
			x.DecodeParams(&r.d)
			r.m.Into, r.within = x, r.d.err != nil
			return true
		}
	}
	if p == &r.result && r.openResult != nil {
		open := r.openResult
		r.openResult = nil
		if x := open(&r.m); x != nil {
			x.DecodeJSON(&r.d)
			r.within = r.d.err != nil
			return true
		}
	}
	return false
}

// judge fails unless the members make up one kind of message.
func (r *messageReader) judge() {
	m := &r.m
	hasID, outcomes := !m.ID.IsZero(), 0
	if r.result.found {
		outcomes++
	}
	if m.Error != nil {
		outcomes++
	}
	switch {
	case r.d.err != nil:
	case r.hasMethod && m.Method == "":
		r.refuse("a message needs a method name")
	case r.hasMethod && outcomes > 0:
		r.refuse("a message has a method or an outcome, not both")
	case r.hasMethod && m.NullID:
		r.refuse("the id of a request is not null")
	case r.hasMethod:
	case outcomes != 1:
		r.refuse("a message has a method, a result or an error: exactly one of them")
	case r.params.found:
		r.refuse("a response has no params")
	case m.Error == nil && !hasID:
		r.refuse("a result needs the id of its request")
	}
}

// refuse fails because of the message as a whole.
func (r *messageReader) refuse(text string) {
	r.d.fail(0, false, envelopeError(text))
}

type envelopeError string

func (e envelopeError) Error() string { return string(e) }

// late reads a part whose bytes came before one could know what they are. All
// of them have been checked.
func (r *messageReader) late(p *part) {
	d := &r.d
	if d.err != nil || p.bytes == nil {
		return
	}
	end, checked := d.mark(), d.checked
	d.rewind(p.place)
	d.checked = true
	r.into(p)
	d.checked = checked
	if d.err == nil {
		d.rewind(end)
	}
}

// salvage finds the id in a message that was refused before it was reached.
func (r *messageReader) salvage() {
	m, d := &r.m, &r.d
	m.Params, m.Result, m.Error = nil, nil, nil
	if d.recheck(); d.err.Syntax || !m.ID.IsZero() || m.NullID {
		return
	}
	look := Decoder{data: d.doc}
	i := look.find(skipSpaces(d.doc, 0), "id")
	if i < 0 {
		return
	}
	if id, err := ParseID(d.doc[i:max(i, skip(d.doc, i))]); err == nil {
		m.ID = id
	}
}
