package wire

// AppendRequest appends a request. Its params are written even if they are {}.
// A nil p has no members of its own.
func AppendRequest(b []byte, f *Frame, id RequestID, method string, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	out := append(b, `{"jsonrpc":"2.0","id":`...)
	out = e.ID(out, id)
	out = append(out, `,"method":`...)
	out = AppendString(out, method)
	out = e.params(out, p, true)
	return e.finish(b, append(out, '}'))
}

// paramsRequirer is a notification that has params in some revisions even where
// they say nothing.
type paramsRequirer interface{ RequiresParams() Window }

// AppendNotification appends a notification. Params that are {} are left out,
// unless p has a method RequiresParams that names the revision. A nil p has no
// members of its own.
func AppendNotification(b []byte, f *Frame, method string, p Params) ([]byte, error) {
	e := newEncoder(f, p, len(b))
	out := append(b, `{"jsonrpc":"2.0","method":`...)
	out = AppendString(out, method)
	r, ok := p.(paramsRequirer)
	out = e.params(out, p, ok && e.Needs(r.RequiresParams()))
	return e.finish(b, append(out, '}'))
}

// AppendResult appends the response that answers the request id with v. What the
// frame has for it is in it, even where v writes none of that.
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
	if len(e.frame.Meta) > 0 && !e.met || len(e.frame.Also) > 0 {
		out = e.complete(out, start)
	}
	return e.finish(b, append(out, '}'))
}

// AppendError appends the response that refuses the request id. The zero id,
// of a request whose id could not be read, is written as null.
func AppendError(b []byte, id RequestID, x *ErrorObject) ([]byte, error) {
	e := newEncoder(nil, nil, len(b))
	out := append(b, `{"jsonrpc":"2.0","id":`...)
	out = id.AppendTo(out)
	out = append(out, `,"error":`...)
	out = x.AppendJSON(out, e)
	return e.finish(b, append(out, '}'))
}

// params appends the member "params"; when not always, only if p has anything
// to say.
func (e *Encoder) params(b []byte, p Params, always bool) []byte {
	before := len(b)
	b = append(b, `,"params":`...)
	start := len(b)
	if p != nil {
		b = p.AppendParams(b, e)
	} else {
		b = append(b, "{}"...)
	}
	b = e.overlay(b, start)
	if !always && e.err == nil && string(b[start:]) == "{}" {
		return b[:before]
	}
	return b
}
