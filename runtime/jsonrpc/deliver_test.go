package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestOnErrorPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{}, OnError: func(err error) { seen = append(seen, err); panic("OnError") }})
		deliver(c, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"What?"}}`, `nonsense`, note("x"), request(1, "x"))
		require.Len(t, r.take(), 2)
		require.Len(t, seen, 2)
		var e *peer.Error
		require.ErrorAs(t, seen[0], &e)
		require.EqualValues(t, -32700, e.Code)
		var bad *wire.DecodeError
		require.ErrorAs(t, seen[1], &bad)
	})
}

func TestSourceReleaseIsCalledOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{
			Batches: func() bool { return true }, MaxMessage: 200, MaxInFlight: 2, MaxQueuedNotifications: 1, OnError: func(error) {},
			Handler: scene, InterceptNotification: func(in *peer.Inbound) bool { return in.Method == "consumed" },
		})
		ping(t.Context(), c)
		deliver(c, request(6, "wait"), note("wait"))
		synctest.Wait()
		deliver(c, note("wait"))
		for _, message := range []string{
			request(6, "same id"), note("consumed"), note("too many"),
			request(1, "echo"), request(2, "panic"), request(3, "initialize"), "nonsense",
			fmt.Sprintf(emptyOne, 1), fmt.Sprintf(emptyOne, 99), `[` + request(4, "echo") + `]`, strings.Repeat(" ", 300),
			`{"jsonrpc":"2.0","id":5,"result":7}`,
		} {
			n := 0
			c.Deliver(t.Context(), []byte(message), jsonrpc.Source{Release: func() { n++ }})
			synctest.Wait()
			require.Equal(t, 1, n, message)
		}
		c.Close()
		n := 0
		c.Deliver(t.Context(), []byte(note("x")), jsonrpc.Source{Release: func() { n++ }})
		require.Equal(t, 1, n)
	})
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil) // without a handler
		n := 0
		c.Deliver(t.Context(), []byte(note("x")), jsonrpc.Source{Release: func() { n++ }})
		require.Equal(t, 1, n)
		_, ok := c.CloseIdle()
		require.True(t, ok)
	})
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Handler: scene})
		n := 0
		c.Deliver(t.Context(), []byte(note("echo")), jsonrpc.Source{Release: func() { n++ }})
		synctest.Wait()
		require.Equal(t, 1, n)
		_, ok := c.CloseIdle()
		require.True(t, ok, "the connection is idle after a notification")
	})
}

func TestBatchResponse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		batches := true
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}, Batches: func() bool { return batches }})
		both := `[` + request(1, "echo") + `,` + request(2, "fail") + `,` + request(3, "initialize") + `]`
		deliver(c, both)
		lines := r.take()
		require.Len(t, lines, 1)
		var answers []struct{ ID int }
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &answers))
		require.ElementsMatch(t, []struct{ ID int }{{1}, {2}, {3}}, answers)

		batches = false
		deliver(c, both)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","data":"batches are not supported"}}`}, r.take())
	})
}

func TestDeliverMaxMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, MaxMessage: 100, OnError: func(err error) { seen = append(seen, err) }})
		message := func(size int) string {
			m := `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":""}}`
			return m[:len(m)-3] + strings.Repeat("x", size-len(m)) + m[len(m)-3:]
		}
		deliver(c, message(100))
		require.Len(t, r.take(), 1)
		require.Empty(t, seen)
		deliver(c, message(101))
		require.Contains(t, r.take()[0], `Message is longer than 100 bytes`)
		require.Len(t, seen, 1)
	})
}

func TestOnErrorUnreadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &jsonrpc.Options{OnError: func(err error) { seen = append(seen, err) }})
		deliver(c, `{"jsonrpc":"2.0","method":"x","params":7}`, `{"jsonrpc":"2.0","id":5,"result":7}`)
		require.Empty(t, r.take())
		require.Len(t, seen, 2)
		require.ErrorContains(t, seen[0], "notification of the peer")
		require.ErrorContains(t, seen[1], "response of the peer")
	})
}

// A client quotes the output of a program that is no message. Broken messages are not quoted, and a
// server quotes nothing.
func TestOnErrorQuotesOutput(t *testing.T) {
	for _, client := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			var seen []string
			c, _ := newConn(t, &jsonrpc.Options{Client: client, OnError: func(err error) { seen = append(seen, err.Error()) }})
			deliver(c, "[INFO] listening", strings.Repeat("x", 10<<10), `{"jsonrpc":"2.0","id":1,"method":"x",}`)
			require.Len(t, seen, 3)
			require.Equal(t, client, strings.Contains(seen[0], `message of the peer "[INFO] listening": `), seen[0])
			require.Less(t, len(seen[1]), 300)
			require.NotContains(t, seen[2], "method")
		})
	}
}

// deliverMessage reads a message and delivers it as Source.Message. It returns how often Release
// was called.
func deliverMessage(t *testing.T, c *jsonrpc.Conn, back jsonrpc.Writer, message string) (released *int) {
	t.Helper()
	m, err := wire.ReadMessage([]byte(message), nil)
	require.NoError(t, err)
	released = new(int)
	c.Deliver(context.Background(), nil, jsonrpc.Source{Message: &m, Token: progress.Token(m.Params), Back: back, Release: func() { *released++ }})
	return released
}

// twice is a result that contains a value twice.
type twice struct{ raw }

func (x *twice) AppendJSON(b []byte, e *wire.Encoder) []byte {
	b = x.raw.AppendJSON(append(b, `{"a":`...), e)
	return append(x.raw.AppendJSON(append(b, `,"b":`...), e), '}')
}

// TestResponseContainsPartsOfRequest tests that a response does not overwrite the request that it
// contains.
func TestResponseContainsPartsOfRequest(t *testing.T) {
	c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{
		"x/once": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &raw{in.Params}}, nil
		},
		"x/twice": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &twice{raw{in.Params}}}, nil
		},
	}})
	for _, n := range []int{0, 10, 900, 1990, 2100, 70_000} {
		params := `{"text":"` + strings.Repeat("x", n) + `"}`
		for method, want := range map[string]string{"x/once": params, "x/twice": `{"a":` + params + `,"b":` + params + `}`} {
			back, buf := new(recorder), buffer.New()
			require.Empty(t, buf.Bytes)
			buf.Bytes = append(buf.Bytes, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`...)
			m, err := wire.ReadMessage(buf.Bytes, nil)
			require.NoError(t, err)
			c.Deliver(context.Background(), nil, jsonrpc.Source{Message: &m, Back: back, Release: buf.Release()})
			response := []string{`{"jsonrpc":"2.0","id":1,"result":` + want + `}`}
			require.Equal(t, response, back.lines)

			back = new(recorder) // and with the response in the buffer of the line
			line := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
			require.NoError(t, c.ReadLines(t.Context(), line, jsonrpc.Source{Back: back}))
			require.NoError(t, c.Drain(t.Context()))
			require.Equal(t, response, back.lines)
		}
	}
}

func TestSourceMessageRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, own := newConn(t, &jsonrpc.Options{MaxInFlight: 1, Handler: handlers{
			"x/ask":  func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{"a":1}`) },
			"x/wait": untilDone,
			"x/token": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: 1}))
				return result(`{}`)
			},
		}})
		back := new(recorder)
		released := deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":1,"method":"x/ask"}`)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`}, back.lines, "at once")
		require.Equal(t, 1, *released)

		back = new(recorder)
		deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":2,"method":"x/token","params":{"_meta":{"progressToken":"t"}}}`)
		require.Len(t, back.lines, 2)
		require.Contains(t, back.lines[0], `"progressToken":"t"`)

		waiting := start(func() error {
			deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":3,"method":"x/wait"}`)
			return nil
		})
		for _, refused := range []string{`{"jsonrpc":"2.0","id":"3","method":"x/ask"}`, `{"jsonrpc":"2.0","id":4,"method":"x/ask"}`} {
			back = new(recorder)
			require.Equal(t, 1, *deliverMessage(t, c, back, refused))
			require.Len(t, back.lines, 1, "also if it is refused")
			require.Contains(t, back.lines[0], `"error"`)
		}
		require.True(t, c.InFlight().Cancel(wire.IntID(3)))
		require.NoError(t, waiting.over(t))
		require.Empty(t, own.take())
	})
}

func TestSourceMessageOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var noted string
		c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{"x/note": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			noted = string(in.Params)
			return peer.Reply{}, nil
		}}})
		p := ping(t.Context(), c)
		require.Equal(t, 1, *deliverMessage(t, c, nil, `{"jsonrpc":"2.0","id":7,"result":{}}`), "no call waits for it")
		released := deliverMessage(t, c, nil, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, p.over(t))
		require.Equal(t, 1, *released)
		deliverMessage(t, c, nil, `{"jsonrpc":"2.0","method":"x/note","params":{"a":1}}`)
		c.Close()
		require.Equal(t, `{"a":1}`, noted)
		require.Equal(t, 1, *deliverMessage(t, c, nil, `{"jsonrpc":"2.0","method":"x/note"}`), "the connection is closed")
	})
}

func TestSourceAdmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var reported []error
		c, _ := newConn(t, &jsonrpc.Options{
			Client:  true,
			OnError: func(err error) { reported = append(reported, err) },
			Batches: func() bool { return true },
		})
		call := ping(t.Context(), c)
		unwanted := errors.New("unwanted")
		released := 0
		var seen []wire.RequestID
		var broken int
		o := jsonrpc.Source{
			Release: func() { released++ },
			Admit: func(m *wire.Message, unreadable error) error {
				seen = append(seen, m.ID)
				if unreadable != nil {
					broken++
				}
				if m.Method != "" || m.ID == wire.IntID(1) || m.ID == wire.IntID(3) {
					return unwanted
				}
				m.ID = wire.IntID(1)
				return nil
			},
		}
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), o)
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"result":7}`), o)
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":3,"result":{}}`), o) // no call waits for it
		c.Deliver(t.Context(), []byte(`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`), o)
		require.False(t, call.isOver())
		require.Len(t, reported, 4)
		for _, err := range reported {
			require.ErrorIs(t, err, unwanted)
		}
		require.Equal(t, 1, broken)

		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":9,"result":{}}`), o)
		require.NoError(t, call.over(t), "Admit may change the id")
		require.Len(t, seen, 6)
		require.Equal(t, 5, released)
	})
}

func TestBatchAdmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}, Batches: func() bool { return true }})
		o := jsonrpc.Source{Admit: func(m *wire.Message, _ error) error {
			if m.ID != wire.IntID(2) {
				return errors.New("unwanted")
			}
			return nil
		}}
		c.Deliver(t.Context(), []byte(`[`+request(1, "echo")+`,`+note("x")+`,`+request(2, "echo")+`,`+request(3, "echo")+`]`), o)
		require.Equal(t, []string{`[` + fmt.Sprintf(emptyOne, 2) + `]`}, r.take())
	})
}

func TestRefusalUsesSourceBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}})
		deliver(c, request(1, "wait"))
		for _, refused := range []string{request(1, "echo"), `{"jsonrpc":"2.0","id":2,"method":7}`, "nonsense"} {
			back := new(recorder)
			c.Deliver(t.Context(), []byte(refused), jsonrpc.Source{Back: back})
			require.Len(t, back.take(), 1, refused)
		}
		require.Empty(t, r.take())
	})
}

func TestClientBatchResponse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Client: true, Handler: scene, OnError: func(error) {}, Batches: func() bool { return true }})
		deliver(c, `[7,`+request(1, "echo")+`]`)
		require.Equal(t, []string{`[` + fmt.Sprintf(emptyOne, 1) + `]`}, r.take())
	})
}

func TestResponseTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		read := start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		call, other := ping(t.Context(), c), ping(t.Context(), c)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","id":1,"result":{"a":%q}}`+"\n", strings.Repeat("x", 1000))
		require.True(t, call.isOver(), "its response was dropped")
		require.ErrorContains(t, call.err, "longer than 200 bytes")
		require.Len(t, r.take(), 2, "a client does not answer responses")
		fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, other.over(t))
		pw.Close()
		require.NoError(t, read.over(t))
	})
}

// Some SDKs write the result before the id.
func TestResponseTooLongWithIDAtEnd(t *testing.T) {
	for _, size := range []int{1000, 9000, 100_000} {
		for _, answer := range []string{
			`{"result":{"a":%q},"jsonrpc":"2.0","id":1}`,
			`{"result":{"id":2,"a":%q,"id":2},"id":1,"jsonrpc":"2.0"}`,
			`{"error":{"code":1,"message":%q},"jsonrpc":"2.0","id":1}` + "\r",
		} {
			bubble(t, func(t *testing.T) {
				c, r := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
				pr, pw := io.Pipe()
				defer pw.Close()
				start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
				call, other := ping(t.Context(), c), ping(t.Context(), c)
				fmt.Fprintf(pw, answer+"\n", strings.Repeat("x", size))
				require.True(t, call.isOver(), "its response was dropped")
				require.ErrorContains(t, call.err, "longer than 200 bytes")
				require.False(t, other.isOver())
				require.Len(t, r.take(), 2)
				fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":2,"result":{}}`)
				require.NoError(t, other.over(t))
			})
		}
	}
}

func TestResponseTooLongWithNestedID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		call := ping(t.Context(), c)
		long := strings.Repeat("x", 100_000)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q,"id":1}}`+"\n", long)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q},"b":[{"a":0,"id":1}],"c":0}`+"\n", long)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q},"b":",\"id\":1}"}`+"\n", long)
		require.False(t, call.isOver())
		fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, call.over(t))
	})
}

func TestRequestTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":%q}}`+"\n", strings.Repeat("x", 1000))
		refusal := []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Message is longer than 200 bytes"}}`}
		require.Equal(t, refusal, r.take())
		fmt.Fprintf(pw, `{"method":"x","params":{"a":%q},"jsonrpc":"2.0","id":7}`+"\n", strings.Repeat("x", 100_000))
		require.Equal(t, refusal, r.take())
	})
}

func TestReadLinesMaxMessage(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		bubble(t, func(t *testing.T) {
			c, r := newConn(t, &jsonrpc.Options{
				MaxMessage: 200, OnError: func(error) {},
				Handler: handlers{"x": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }},
			})
			pr, pw := io.Pipe()
			defer pw.Close()
			start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
			const head, tail = `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"`, `"}}`
			fill := strings.Repeat("x", 200-len(head+tail))
			fmt.Fprint(pw, head+fill+tail+end)
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, r.take())
			fmt.Fprint(pw, head+fill+"x"+tail+end)
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Message is longer than 200 bytes"}}`}, r.take())
		})
	}
}
