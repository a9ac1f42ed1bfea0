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
