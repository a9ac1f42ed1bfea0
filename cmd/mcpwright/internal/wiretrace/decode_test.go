package wiretrace

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// flusher is a writer of compressed bytes.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// TestEncodedBodies observes the messages in compressed bodies.
func TestEncodedBodies(t *testing.T) {
	for encoding, open := range map[string]func(io.Writer) flusher{
		"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"X-GZIP ": func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) flusher { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) flusher {
			z, err := zstd.NewWriter(w)
			require.NoError(t, err)
			return z
		},
	} {
		for _, media := range []string{mediaJSON, mediaEvents} {
			t.Run(encoding+" "+media, func(t *testing.T) {
				events := make(chan *Event, 10)
				r := NewRecorder(Options{OnEvent: func(e *Event) { events <- e }})
				x := r.Exchange(httptest.NewRequest(http.MethodPost, "/mcp", nil), true)
				x.Sent([]byte(initialize))
				x.SentAll()
				require.Equal(t, Request, (<-events).Kind)
				x.Header(http.StatusOK, http.Header{"Content-Type": {media}, "Content-Encoding": {encoding}})
				var packed bytes.Buffer
				z := open(&packed)
				if media == mediaEvents {
					_, err := io.WriteString(z, "data: "+initialized+"\n\n")
					require.NoError(t, err)
					require.NoError(t, z.Flush())
					for b := range packed.Len() {
						x.Received(packed.Bytes()[b : b+1])
					}
					e := <-events // before the body has ended
					require.Equal(t, initialized, string(e.Message))
					require.Empty(t, e.Violations)
					sent := packed.Len()
					require.NoError(t, z.Close())
					x.Received(packed.Bytes()[sent:])
					x.ReceivedAll()
					require.True(t, r.Close(10*time.Second))
					require.Empty(t, events)
					return
				}
				_, err := io.WriteString(z, initialized)
				require.NoError(t, err)
				require.NoError(t, z.Close())
				x.Received(packed.Bytes())
				x.ReceivedAll()
				require.True(t, r.Close(10*time.Second)) // waits for the body
				e := <-events
				require.Equal(t, initialized, string(e.Message))
				require.Equal(t, int64(len(initialized)), e.Size)
				require.Empty(t, e.Violations)
				require.Equal(t, 1, e.RespondsTo)
			})
		}
	}
}

// TestBrokenEncodedBodies observes bodies that cannot be decoded, and bodies that are too large.
func TestBrokenEncodedBodies(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write(make([]byte, 10<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, test := range map[string]struct {
		media, body string
		check       func(t *testing.T, e *Event)
	}{
		"not gzip":        {mediaJSON, "{}", func(t *testing.T, e *Event) { require.Contains(t, e.Text, "not valid gzip") }},
		"stream":          {mediaEvents, "data: {}\n\n", func(t *testing.T, e *Event) { require.Contains(t, e.Text, "not valid gzip") }},
		"cut":             {mediaJSON, bomb.String()[:100], func(t *testing.T, e *Event) { require.Contains(t, e.Text, "unexpected EOF") }},
		"too long":        {mediaJSON, strings.Repeat("x", 1<<20), func(t *testing.T, e *Event) { require.Contains(t, e.Text, "too many bytes wait") }},
		"long when plain": {mediaJSON, bomb.String(), func(t *testing.T, e *Event) { require.True(t, e.Clipped); require.Equal(t, int64(10<<20), e.Size) }},
	} {
		t.Run(name, func(t *testing.T) {
			events := make(chan *Event, 10)
			r := NewRecorder(Options{OnEvent: func(e *Event) { events <- e }, MaxMessage: 64 << 10})
			x := r.Exchange(httptest.NewRequest(http.MethodPost, "/mcp", nil), true)
			x.Header(http.StatusOK, http.Header{"Content-Type": {test.media}, "Content-Encoding": {"gzip"}})
			x.Received([]byte(test.body))
			if name == "too long" {
				x.Received([]byte("after")) // is discarded
			}
			x.ReceivedAll()
			require.True(t, r.Close(10*time.Second))
			close(events)
			var last *Event
			for last = range events {
			}
			test.check(t, last)
		})
	}
}

// exchangeOf observes an exchange. The first of the encodings and bodies belongs to the request.
func exchangeOf(r *Recorder, session string, encodings [2]string, bodies [2]string, media string) {
	req := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	req.Header.Set("Content-Encoding", encodings[0])
	if session != "" {
		req.Header.Set(headerSession, session)
	}
	x := r.Exchange(req, true)
	x.Sent([]byte(bodies[0]))
	x.SentAll()
	x.Header(http.StatusOK, http.Header{"Content-Type": {media}, "Content-Encoding": {encodings[1]}, headerSession: {"s"}})
	x.Received([]byte(bodies[1]))
	x.ReceivedAll()
}

func gzipped(t *testing.T, text string) string {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return packed.String()
}

// TestEncodedRequests observes requests in encodings that are known, unknown and wrong, and a later request
// of the same session.
func TestEncodedRequests(t *testing.T) {
	const list, listed = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
	for name, test := range map[string]struct {
		encodings, bodies [2]string
		media             string
		texts             []string // of the first exchange
	}{
		"gzip":             {[2]string{"GZip", ""}, [2]string{gzipped(t, initialize), initialized}, mediaJSON, []string{"", ""}},
		"identity":         {[2]string{"identity", "identity"}, [2]string{initialize, initialized}, mediaJSON, []string{"", ""}},
		"unknown request":  {[2]string{"x-tea", ""}, [2]string{"\x01\x02", initialized}, mediaJSON, []string{"since it is encoded: x-tea", ""}},
		"unknown response": {[2]string{"", "x-tea"}, [2]string{initialize, "\x01\x02"}, mediaJSON, []string{"", "since it is encoded: x-tea"}},
		"unknown stream":   {[2]string{"", "gzip, x-tea"}, [2]string{initialize, "\x01\x02"}, mediaEvents, []string{"", "since it is encoded: gzip, x-tea"}},
		"not gzip":         {[2]string{"gzip", ""}, [2]string{initialize, initialized}, mediaJSON, []string{"since it is not valid gzip", ""}},
		"too long":         {[2]string{"gzip", ""}, [2]string{strings.Repeat("x", 65<<10), initialized}, mediaJSON, []string{"since it is too long", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var events []*Event
			r := NewRecorder(Options{OnEvent: func(e *Event) { events = append(events, e) }, MaxMessage: 64 << 10})
			exchangeOf(r, "", test.encodings, test.bodies, test.media)
			exchangeOf(r, "s", [2]string{}, [2]string{list, listed}, mediaJSON)
			require.True(t, r.Close(10*time.Second))
			require.Len(t, events, 4)
			for i, text := range test.texts {
				require.Contains(t, events[i].Text, text)
				require.Equal(t, text == "", events[i].Text == "", events[i].Text)
				require.Equal(t, text == "", events[i].Message != nil)
			}
			for i, e := range events {
				require.Empty(t, e.Violations, "%s %s", e.Text, e.Message)
				if i > 0 || e.Message != nil { // a request that is not shown has no session yet
					require.Equal(t, 1, e.Connection)
				}
			}
			require.Equal(t, 3, events[3].RespondsTo)
		})
	}
}

// TestClippedRequests decodes a request that is too long when decoded, and does not miss it when its response
// arrives.
func TestClippedRequests(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 2<<20) + `"}}`
	for name, test := range map[string]struct{ encoding, body string }{"gzip": {"gzip", gzipped(t, long)}, "plain": {"", long}} {
		t.Run(name, func(t *testing.T) {
			var events []*Event
			r := NewRecorder(Options{OnEvent: func(e *Event) { events = append(events, e) }, MaxMessage: 64 << 10})
			exchangeOf(r, "", [2]string{}, [2]string{initialize, initialized}, mediaJSON)
			exchangeOf(r, "s", [2]string{test.encoding, ""}, [2]string{test.body, `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`}, mediaJSON)
			require.True(t, r.Close(10*time.Second))
			require.Len(t, events, 4)
			require.True(t, events[2].Clipped)
			if name == "plain" {
				require.Equal(t, int64(len(long)), events[2].Size)
			} else {
				require.Equal(t, int64(16*64<<10), events[2].Size, "decoding is limited")
			}
			require.Equal(t, "tools/call", events[3].Method)
			for _, e := range events {
				require.Empty(t, e.Violations)
			}
		})
	}
}
