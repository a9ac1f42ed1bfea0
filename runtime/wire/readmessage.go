package wire

import "sync"

// ReadMessage reads one JSON-RPC 2.0 message. Params and results are objects,
// as MCP has it; members of other names are checked and dropped.
//
// The error is a *DecodeError. If the id could be read, the Message that comes
// with the error has it, for the answer, and the method if there is one.
func ReadMessage(data []byte, f *Frame) (Message, error) {
	return ReadMessageInto(data, f, nil)
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
func ReadMessageInto(data []byte, f *Frame, open func(m *Message) Params) (m Message, err error) {
	err = m.read(data, f, open)
	return m, err
}

func (m *Message) read(data []byte, f *Frame, open func(m *Message) Params) error {
	r := messageReaders.Get().(*messageReader)
	r.d.start(data, f)
	r.open = open
	r.read()
	err, within := r.d.outcome(), r.within
	*m = r.m
	r.known = known{}
	messageReaders.Put(r)
	if within {
		return m.reread(data, f, err)
	}
	return err
}

// reread returns what is wrong with a message apart from its params, otherwise what
// is wrong with these.
func (m *Message) reread(data []byte, f *Frame, within error) error {
	whole, err := ReadMessage(data, f)
	if err == nil {
		return within
	}
	*m = whole
	return err
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
	params    int // where they begin

	open   func(*Message) Params // nil: nobody to ask, or asked
	within bool                  // the failure is one of what it returned
}

var messageReaders = sync.Pool{New: func() any {
	return &messageReader{d: Decoder{familiar: new(familiar)}}
}}

func (r *messageReader) read() {
	r.members()
	r.d.end()
	if m := &r.m; m.Method == "" || m.Result != nil || m.Error != nil || m.NullID {
		r.judge()
	}
	if r.open != nil {
		r.late()
	}
	if r.d.err != nil {
		r.salvage()
	}
}

func (r *messageReader) members() {
	d, m := &r.d, &r.m
	o := d.Object(envelopeMembers)
	for o.Next() {
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
			r.readParams()
		case "result":
			m.Result = d.objectSpan()
		case "error":
			m.Error = New[ErrorObject](d)
		default:
			d.Skip()
		}
	}
}

// readParams reads the params: to where they belong if enough is known to ask,
// otherwise as a span.
func (r *messageReader) readParams() {
	d, m := &r.d, &r.m
	r.params = d.pos
	data := d.data
	switch {
	case r.open == nil || m.Method == "" || m.ID.IsZero() || d.first() != '{' || !r.into():
		m.Params = d.objectSpan()
	case d.err == nil:
		m.Params = data[r.params:d.pos]
	}
}

// into reads params to where the caller wants them, and reports whether the
// caller wants them anywhere.
func (r *messageReader) into() bool {
	x := r.open(&r.m)
	r.open = nil
	if x == nil {
		return false
	}
	x.DecodeParams(&r.d)
	r.m.Into, r.within = x, r.d.err != nil
	return true
}

// judge fails unless the members make up one kind of message. It is for all but
// the plain request or notification.
func (r *messageReader) judge() {
	m := &r.m
	hasID, outcomes := !m.ID.IsZero(), 0
	if m.Result != nil {
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
	case outcomes != 1:
		r.refuse("a message has a method, a result or an error: exactly one of them")
	case m.Params != nil:
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

// late reads params whose bytes came before one could know what they are. All of
// them have been checked.
func (r *messageReader) late() {
	d := &r.d
	if d.err != nil || r.m.Params == nil {
		return
	}
	end, checked := d.pos, d.checked
	d.pos, d.depth, d.checked = r.params, 1, true
	r.into()
	d.checked = checked
	if d.err == nil {
		d.pos, d.depth = end, 0
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
