package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
)

// Message is one JSON-RPC message: a request, a notification, or a response with a
// result or an error.
type Message struct {
	ID     RequestID // zero for a notification, and for an error without a known request
	NullID bool      // the message has an "id" that is null
	Method string    // "" for a response

	// Params and Result are objects, or nil if absent. They alias the input.
	// They have been checked and can be decoded with Frame.Checked.
	Params json.RawMessage
	Result json.RawMessage

	// Into contains the decoded params if [ReadMessageInto] decoded them, or nil.
	Into Params

	Error *ErrorObject // nil unless the message is an error response
}

// ErrorObject is the "error" member of a response.
type ErrorObject struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil if absent
}

// DecodeJSON reads the error. It checks and discards unknown members.
func (x *ErrorObject) DecodeJSON(d *Decoder) {
	for o := d.Object(errorMembers); o.Next(); {
		switch o.Name {
		case "code":
			x.Code = d.Int(math.MinInt64, math.MaxInt64)
		case "message":
			x.Message = d.String()
		case "data":
			x.Data = d.Raw()
		default:
			d.Skip()
		}
	}
}

// AppendJSON appends the error.
func (x *ErrorObject) AppendJSON(b []byte, e *Encoder) []byte {
	start := len(b)
	b = append(b, `,"code":`...)
	b = AppendInt(b, x.Code)
	b = append(b, `,"message":`...)
	b = AppendString(b, x.Message)
	if x.Data != nil {
		b = append(b, `,"data":`...)
		b = e.Raw(b, x.Data, "")
	}
	return CloseObject(b, start)
}

var (
	messageMembers = NewMembers("message",
		Member{Name: "jsonrpc", In: Always, Required: Always},
		Member{Name: "id", In: Always},
		Member{Name: "method", In: Always},
		Member{Name: "params", In: Always},
		Member{Name: "result", In: Always},
		Member{Name: "error", In: Always},
	)
	errorMembers = NewMembers("error",
		Member{Name: "code", In: Always, Required: Always},
		Member{Name: "message", In: Always, Required: Always},
		Member{Name: "data", In: Always},
	)
)

// ReadMessage reads one JSON-RPC 2.0 message. Params and results must be objects,
// as MCP requires. Unknown members are checked and discarded.
//
// The error is a *DecodeError. The Message returned with an error has the id, if
// the id could be read, so that the caller can send an error response. It has the
// method too if it was read before the failure.
func ReadMessage(data []byte, f *Frame) (Message, error) {
	return ReadMessageInto(data, f, nil)
}

// ReadMessageInto is like [ReadMessage], but also decodes the params of requests
// and notifications. It calls open to get the value to decode them into. If open
// returns nil, the params are not decoded. Otherwise Message.Into is that value,
// even if decoding it fails. ReadMessageInto calls open at most once, for a
// message with params. open must not retain m.
//
// If the method and the id precede the params, open is called before the rest of
// the message is read, and the params are decoded in the same pass. The value
// must therefore not be used unless ReadMessageInto returns without an error. In
// all other cases open is called after the rest of the message was read.
func ReadMessageInto(data []byte, f *Frame, open func(m *Message) Params) (m Message, err error) {
	err = m.read(data, f, open)
	return m, err
}

// AppendRequest appends a request. It writes the params even if they are {}. If p
// is nil, the params have only the members that the frame adds.
func AppendRequest(b []byte, f *Frame, id RequestID, method string, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	out := append(b, `{"jsonrpc":"2.0","id":`...)
	out = e.ID(out, id)
	out = append(out, `,"method":`...)
	out = AppendString(out, method)
	out = e.appendParams(out, p, true)
	return e.finish(b, append(out, '}'))
}

// AppendNotification appends a notification. It omits params that are {}, unless p
// has a method RequiresParams whose window contains the revision. If p is nil, the
// params have only the members that the frame adds.
func AppendNotification(b []byte, f *Frame, method string, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	out := append(b, `{"jsonrpc":"2.0","method":`...)
	out = AppendString(out, method)
	r, ok := p.(paramsRequirer)
	out = e.appendParams(out, p, ok && e.Needs(r.RequiresParams()))
	return e.finish(b, append(out, '}'))
}

// paramsRequirer is implemented by notifications whose params are required in some
// revisions even if they are {}.
type paramsRequirer interface{ RequiresParams() Window }

// AppendResult appends the response to the request id with the result v. It adds
// the frame's Meta and Also even if v does not support them.
func AppendResult(b []byte, f *Frame, id RequestID, v Value) ([]byte, error) {
	e := newEncoder(f, v, len(b))
	out := append(b, `{"jsonrpc":"2.0","id":`...)
	if id.IsZero() {
		e.FailWith(out, errNoID)
	}
	out = id.AppendTo(out)
	out = append(out, `,"result":`...)
	start := len(out)
	out = v.AppendJSON(out, e)
	if len(e.frame.Meta) > 0 && !e.metaDone || len(e.frame.Also) > 0 {
		out = e.addFrameMembers(out, start)
	}
	return e.finish(b, append(out, '}'))
}

// AppendError appends an error response to the request id. The zero id is written
// as null: it is for a request whose id could not be read.
func AppendError(b []byte, id RequestID, x *ErrorObject) ([]byte, error) {
	e := newEncoder(nil, nil, len(b))
	out := append(b, `{"jsonrpc":"2.0","id":`...)
	out = id.AppendTo(out)
	out = append(out, `,"error":`...)
	out = x.AppendJSON(out, e)
	return e.finish(b, append(out, '}'))
}

// appendParams appends the member "params". It omits params that are {} unless
// always is set.
func (e *Encoder) appendParams(b []byte, p Params, always bool) []byte {
	before := len(b)
	b = append(b, `,"params":`...)
	start := len(b)
	e.omitsParams = !always
	if p != nil {
		b = p.AppendParams(b, e)
	} else {
		b = append(b, "{}"...)
	}
	b = e.mergeFrameMeta(b, start)
	if !always && e.err == nil && string(b[start:]) == "{}" {
		return b[:before]
	}
	return b
}

var formMembers = NewMembers("request",
	Member{Name: "method", In: Always, Required: Always},
	Member{Name: "params", In: Always},
)

// AppendMessageForm appends a request that is part of another message: an object
// with a method and params. It omits params that are {}, unless the revision is in
// required. The frame's Meta does not apply to these params.
func AppendMessageForm(b []byte, e *Encoder, method string, p Params, required Window) []byte {
	top, inMeta, metaDone := e.top, e.inMeta, e.metaDone
	e.top, e.inMeta, e.metaDone = nil, false, true
	b = append(b, `{"method":`...)
	b = AppendString(b, method)
	b = e.appendParams(b, p, e.Needs(required))
	e.top, e.inMeta, e.metaDone = top, inMeta, metaDone
	return append(b, '}')
}

// DecodeMessageForm reads the output of [AppendMessageForm]. The method must be
// equal to method, and the params may be absent unless the revision is in
// required. Unknown members are checked and discarded.
func DecodeMessageForm(d *Decoder, method string, p Params, required Window) {
	found, start := false, d.pos
	for o := d.Object(formMembers); o.Next(); {
		switch o.Name {
		case "method":
			d.Const(method)
		case "params":
			found = true
			p.DecodeParams(d)
		default:
			d.Skip()
		}
	}
	if !found && d.Needs(required) {
		d.fail(start, false, fmt.Errorf("missing member %q", "params"))
	}
}

var messageReaders = sync.Pool{New: func() any {
	return &messageReader{d: Decoder{interned: new(internTable)}}
}}

// messageReader reads one message. Readers are pooled.
type messageReader struct {
	d Decoder
	messageState
}

// messageState is the part of a messageReader that is reset after each message.
type messageState struct {
	m         Message
	hasMethod bool
	params    int // offset of the params

	open     func(*Message) Params // nil if the caller passed none or after it was called
	inParams bool                  // decoding the params failed
}

func (m *Message) read(data []byte, f *Frame, open func(m *Message) Params) error {
	r := messageReaders.Get().(*messageReader)
	r.d.start(data, f)
	r.open = open
	r.read()
	err, inParams := r.d.reset(), r.inParams
	*m = r.m
	r.messageState = messageState{}
	messageReaders.Put(r)
	if inParams {
		return m.reread(data, f, err)
	}
	return err
}

// reread returns the failure of the message apart from its params, or the failure
// of the params if there is no other.
func (m *Message) reread(data []byte, f *Frame, inParams error) error {
	whole, err := ReadMessage(data, f)
	if err == nil {
		return inParams
	}
	*m = whole
	return err
}

func (r *messageReader) read() {
	r.members()
	r.d.end()
	if m := &r.m; m.Method == "" || m.Result != nil || m.Error != nil || m.NullID {
		r.validate()
	}
	if r.open != nil {
		r.readLateParams()
	}
	if r.d.err != nil {
		r.recoverID()
	}
}

func (r *messageReader) members() {
	d, m := &r.d, &r.m
	o := d.Object(messageMembers)
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

// readParams decodes the params if the message so far suffices to call open.
// Otherwise it stores their bytes.
func (r *messageReader) readParams() {
	d, m := &r.d, &r.m
	r.params = d.pos
	data := d.data
	switch {
	case r.open == nil || m.Method == "" || m.ID.IsZero() || d.first() != '{' || !r.readInto():
		m.Params = d.objectSpan()
	case d.err == nil:
		m.Params = data[r.params:d.pos]
	}
}

// readInto calls open and decodes the params into the value that open returns. It
// reports whether there is such a value.
func (r *messageReader) readInto() bool {
	x := r.open(&r.m)
	r.open = nil
	if x == nil {
		return false
	}
	x.DecodeParams(&r.d)
	r.m.Into, r.inParams = x, r.d.err != nil
	return true
}

// readLateParams decodes params that preceded the method or the id. Their bytes
// have been checked.
func (r *messageReader) readLateParams() {
	d := &r.d
	if d.err != nil || r.m.Params == nil {
		return
	}
	end, checked := d.pos, d.checked
	d.pos, d.depth, d.checked = r.params, 1, true
	r.readInto()
	d.checked = checked
	if d.err == nil {
		d.pos, d.depth = end, 0
	}
}

// validate fails unless the members are valid together. It need not be called for
// a plain request or notification.
func (r *messageReader) validate() {
	m := &r.m
	hasID, responses := !m.ID.IsZero(), 0
	if m.Result != nil {
		responses++
	}
	if m.Error != nil {
		responses++
	}
	switch {
	case r.d.err != nil:
	case r.hasMethod && m.Method == "":
		r.failMessage("method name is empty")
	case r.hasMethod && responses > 0:
		r.failMessage("message has both a method and a result or error")
	case r.hasMethod && m.NullID:
		r.failMessage("request id must not be null")
	case responses != 1:
		r.failMessage("message must have exactly one of method, result and error")
	case m.Params != nil:
		r.failMessage("response must not have params")
	case m.Error == nil && !hasID:
		r.failMessage("response with a result must have an id")
	}
}

// failMessage fails because of the message as a whole.
func (r *messageReader) failMessage(text string) {
	r.d.fail(0, false, messageError(text))
}

// messageError is the text of a failure that concerns the message as a whole.
type messageError string

func (e messageError) Error() string { return string(e) }

// recoverID looks for the id in a message that was rejected before its id was
// read.
func (r *messageReader) recoverID() {
	m, d := &r.m, &r.d
	m.Params, m.Result, m.Error = nil, nil, nil
	if d.recheck(); d.err.Syntax || !m.ID.IsZero() || m.NullID {
		return
	}
	search := Decoder{data: d.doc}
	i := search.find(skipSpaces(d.doc, 0), "id")
	if i < 0 {
		return
	}
	if id, err := ParseID(d.doc[i:max(i, skip(d.doc, i))]); err == nil {
		m.ID = id
	}
}
