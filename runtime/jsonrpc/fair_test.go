package jsonrpc_test

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/stretchr/testify/require"
)

// TestNoRequestIsForgottenWhileOthersAreAnswered keeps 64 requests in flight and
// counts how many later ones are answered before each. One processor does it
// all: with several, the operating system may stop one of them in the middle of a
// request while the others go on.
func TestNoRequestIsForgottenWhileOthersAreAnswered(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(sw), benchOptions())
	var reader sync.WaitGroup
	reader.Go(func() { _ = c.ReadLines(context.Background(), sr, jsonrpc.Source{}) }) // ends with the pipe
	defer func() {
		c.Close()
		cw.Close()
		cr.Close()
		reader.Wait()
	}()

	const window, all, most = 64, 6400, 4 * 64
	in := bufio.NewReader(cr)
	overtaken := map[int]int{} // by the id of a request in flight
	for sent, answered := 0, 0; answered < all; answered++ {
		if len(overtaken) == 0 {
			sent = send(t, cw, overtaken, sent, window)
		} else if sent < all && len(overtaken) <= window/2 {
			sent = send(t, cw, overtaken, sent, window/2)
		}
		line, err := in.ReadSlice('\n')
		require.NoError(t, err)
		id, err := strconv.Atoi(string(between(line, `"id":`, ",")))
		require.NoError(t, err)
		delete(overtaken, id)
		for other := range overtaken {
			if other < id {
				overtaken[other]++
				require.LessOrEqual(t, overtaken[other], most, "request %d still waits", other)
			}
		}
	}
}

// send sends n more requests with one Write.
func send(t *testing.T, w io.Writer, inFlight map[int]int, sent, n int) int {
	var b []byte
	for range n {
		sent++
		inFlight[sent] = 0
		b = append(strconv.AppendInt(append(b, `{"jsonrpc":"2.0","id":`...), int64(sent), 10),
			`,"method":"tools/call","params":{"name":"gopher"}}`+"\n"...)
	}
	_, err := w.Write(b)
	require.NoError(t, err)
	return sent
}
