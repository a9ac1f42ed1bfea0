package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// pick returns an element of a list for a number from the fuzzer.
func pick[T any](list []T, n uint16) T { return list[int(n)%len(list)] }

// FuzzDecode decodes arbitrary bytes as any definition. Encoding an accepted value and
// decoding the result must be stable.
func FuzzDecode(f *testing.F) {
	for i, s := range subjects() {
		f.Add(uint16(i), render(s.shape.smallest(), sorted))
		f.Add(uint16(i), render(s.shape.largest(variedDepth), reversed))
	}
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		s := pick(subjects(), n)
		v, err := s.decode(data)
		if err != nil {
			requireDecodeError(t, err, data)
			return
		}
		require.NoError(t, wire.Check(data, 0))
		first, err := s.encode(v)
		require.NoError(t, err, s)
		v, err = s.decode(first)
		require.NoError(t, err, "%v: %s", s, first)
		second, err := s.encode(v)
		require.NoError(t, err, s)
		require.Equal(t, string(first), string(second), s)
	})
}

func requireDecodeError(t *testing.T, err error, data []byte) {
	t.Helper()
	var failure *wire.DecodeError
	require.ErrorAs(t, err, &failure)
	require.LessOrEqual(t, failure.Offset, len(data))
	if failure.Syntax {
		require.Error(t, wire.Check(data, 0), "%v, although the input is valid JSON", err)
	}
}

// FuzzRequest decodes arbitrary bytes as a message, with the params in the same pass and
// in a second pass. The results must be equal.
func FuzzRequest(f *testing.F) {
	all := messageForms()
	for i, s := range all {
		v, err := s.decode(render(s.shape.largest(variedDepth), sorted))
		require.NoError(f, err)
		text, err := appendMessage(s.frame(), v.(message))
		require.NoError(f, err)
		f.Add(uint16(i), text)
	}
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		s := pick(all, n)
		once, twice := s.fresh().(message), s.fresh().(message)
		_, err := wire.ReadMessageInto(data, s.frame(), func(*wire.Message) wire.Params { return once })
		m, err2 := wire.ReadMessage(data, s.frame())
		if err2 == nil && m.Params != nil {
			err2 = wire.DecodeParams(m.Params, &wire.Frame{Revision: s.file.revision, Checked: true}, twice)
		}
		require.Equal(t, err == nil, err2 == nil, "%v: %v, %v", s, err, err2)
		if err != nil {
			requireDecodeError(t, err, data)
			return
		}
		require.Equal(t, once, twice, s)
		_, err = appendMessage(s.frame(), once)
		if m.Params != nil {
			require.NoError(t, err, s)
		}
	})
}

// FuzzResult decodes arbitrary bytes as a response, with the result scanned once and
// twice. The values must be equal.
func FuzzResult(f *testing.F) {
	var all []*subject
	for _, s := range subjects() {
		if _, ok := s.shape.member("_meta"); ok && len(s.definition) > 6 && s.definition[len(s.definition)-6:] == "Result" {
			all = append(all, s)
		}
	}
	for i, s := range all {
		v, err := s.decode(render(s.shape.largest(variedDepth), sorted))
		require.NoError(f, err)
		text, err := wire.AppendResult(nil, s.frame(), wire.StringID("1"), v)
		require.NoError(f, err)
		f.Add(uint16(i), text)
	}
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		s := pick(all, n)
		once, twice := s.fresh(), s.fresh()
		m, err := wire.ReadMessage(data, s.frame())
		if err != nil || m.Result == nil {
			return
		}
		err = wire.Decode(m.Result, s.frame(), once)
		err2 := wire.Decode(m.Result, &wire.Frame{Revision: s.file.revision, Checked: true}, twice)
		require.Equal(t, err == nil, err2 == nil, "%v: %v, %v", s, err, err2)
		if err != nil {
			requireDecodeError(t, err, data)
			return
		}
		require.Equal(t, once, twice, s)
	})
}
