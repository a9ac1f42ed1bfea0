package connection

import (
	"context"
	"errors"
	"reflect"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Insistent is a [Round] that puts a question again whose answer is not one: an
// accepted form that does not fit, a result that is none.
type Insistent interface {
	Round
	// Insist calls again, as often as it likes, until the answer to req is one.
	// The error is that of the answer before, and Insist returns that of the
	// last.
	Insist(ctx context.Context, req peer.Message, err error, again func() error) error
}

// insist puts a question again that travels on its own, if there is somebody who
// wants it to be. Where it travels in an answer, the round does that anyway.
func (d door) insist(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption, c checked, err error) error {
	if d.core == nil || !BadAnswer(err) {
		return err
	}
	round, ok := d.core.begunRound().(Insistent)
	if !ok {
		return err
	}
	return round.Insist(ctx, req, err, func() error {
		reflect.ValueOf(res).Elem().SetZero()
		return d.send(ctx, d.out, req, res, opts, c)
	})
}

// BadAnswer tells whether err is that an answer has come and is none to what was
// asked.
func BadAnswer(err error) bool {
	if e, ok := errors.AsType[*InvalidError](err); ok {
		return e.Answer
	}
	_, ok := errors.AsType[*wire.DecodeError](err)
	return ok
}
