package peer

import (
	"context"
	"io"
)

// Fanout wakes a goroutine for each subscriber. In the process the goroutine receives from a channel,
// on a pipe it writes a prepared line. A subscriber that does not read does not block the others.
func (floor) Fanout(_ context.Context, via Via, n int, got func()) (*Fanout, error) {
	if via == Pipe {
		return floorPipes(n, got), nil
	}
	var all []chan struct{}
	for range n {
		c := make(chan struct{}, 1)
		go func() { // ends when the channel is closed
			for range c {
				got()
			}
		}()
		all = append(all, c)
	}
	return floorFanout(all, func() {}), nil
}

func floorPipes(n int, got func()) *Fanout {
	var wake []chan struct{}
	var all subscribers
	for range n {
		r, w := io.Pipe()
		c := make(chan struct{}, 1)
		go func() { // ends when the channel is closed
			for range c {
				_, _ = w.Write(updatedLine)
			}
		}()
		s := &subscriber{in: r, out: w, got: got, ready: make(chan error, 2)}
		go s.read() // ends when the pipe is closed
		wake, all = append(wake, c), append(all, s)
	}
	return floorFanout(wake, all.close)
}

var updatedLine = []byte(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + ResourceURI + `"}}` + "\n")

func floorFanout(wake []chan struct{}, end func()) *Fanout {
	return &Fanout{
		Notify: func(context.Context) error {
			for _, c := range wake {
				c <- struct{}{}
			}
			return nil
		},
		Close: func() {
			for _, c := range wake {
				close(c)
			}
			end()
		},
	}
}
