package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/bench/peer"
)

// codecs writes and reads whole messages.
func codecs() []Workload {
	var all []Workload
	for _, k := range peer.Kinds {
		all = append(all,
			Workload{"write " + string(k), Time, 0, encoding(k)},
			Workload{"read " + string(k), Time, 0, decoding(k)})
	}
	return all
}

func encoding(k peer.Kind) func(context.Context, peer.Peer) (*Subject, error) {
	return func(_ context.Context, p peer.Peer) (*Subject, error) {
		c, err := p.Codec()
		if err != nil {
			return nil, err
		}
		encode, err := c.Encoder(k)
		if err != nil {
			return nil, err
		}
		buf, err := encode(nil)
		if err != nil {
			return nil, err
		}
		if err := same(buf, peer.Message(k)); err != nil {
			return nil, fmt.Errorf("%s writes %w", p.Name(), err)
		}
		return codecSubject(func() (err error) { buf, err = encode(buf[:0]); return err }), nil
	}
}

func decoding(k peer.Kind) func(context.Context, peer.Peer) (*Subject, error) {
	return func(_ context.Context, p peer.Peer) (*Subject, error) {
		c, err := p.Codec()
		if err != nil {
			return nil, err
		}
		decode, err := c.Decoder(k)
		if err != nil {
			return nil, err
		}
		data := peer.Message(k)
		return codecSubject(func() error { return decode(data) }), decode(data)
	}
}

func codecSubject(do func() error) *Subject {
	return &Subject{
		Run:   func(n int) (Sample, error) { return measureHere(n, func() error { return repeat(n, 1, do) }) },
		Close: func() {},
	}
}

// same returns an error if a message lacks a member of the expected one. The order does not matter, and
// SDKs may add members.
func same(got, want []byte) error {
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		return err
	}
	if err := json.Unmarshal(want, &w); err != nil {
		return err
	}
	if holds(g, w) {
		return nil
	}
	return fmt.Errorf("unexpected message: %.600s", got)
}

func holds(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && holds(object[name], value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, want, holds)
	}
	return reflect.DeepEqual(got, want)
}
