package sse

import (
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipeResponse is a response whose writes wait for the reader of a pipe.
type pipeResponse struct {
	http.ResponseWriter
	c         net.Conn
	deadlines []time.Time
}

func (p *pipeResponse) Header() http.Header         { return http.Header{} }
func (p *pipeResponse) Write(b []byte) (int, error) { return p.c.Write(b) }
func (p *pipeResponse) FlushError() error           { return nil }

func (p *pipeResponse) SetWriteDeadline(t time.Time) error {
	p.deadlines = append(p.deadlines, t)
	return p.c.SetWriteDeadline(t)
}

func TestTimerLimitsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		defer client.Close()
		p := &pipeResponse{c: server}
		o := NewWriter(p, time.Minute, nil)
		o.UseTimer()
		defer o.StopTimer()
		read := func() {
			_, err := client.Read(make([]byte, 100))
			require.NoError(t, err)
		}
		for range 10 { // the timer expires between writes, and during a write
			go read() // ends with the write
			require.NoError(t, o.WriteComment())
			time.Sleep(25 * time.Second)
			go func() { time.Sleep(50 * time.Second); read() }() // ends with the write
			require.NoError(t, o.WriteComment())
		}
		require.Empty(t, p.deadlines)
		time.Sleep(time.Hour)
		synctest.Wait() // for the timer
		require.Nil(t, o.timer, "an idle stream has no timer")
		begin := time.Now()
		require.ErrorIs(t, o.WriteComment(), os.ErrDeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		require.Len(t, p.deadlines, 1)
	})
}

func TestStoppedTimerDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		defer client.Close()
		p := &pipeResponse{c: server}
		o := NewWriter(p, time.Minute, nil)
		o.UseTimer()
		go client.Read(make([]byte, 100)) // ends with the write
		require.NoError(t, o.WriteComment())
		o.StopTimer()
		require.False(t, o.timer.Stop(), "it has been stopped")
	})
}
