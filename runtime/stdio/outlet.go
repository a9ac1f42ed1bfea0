package stdio

import (
	"errors"
	"io"
	"slices"
	"sync"
)

// outlet is a writer that tells of its first failure. Of a message that was
// cut short nothing can be taken back, so there is no writing on after that.
type outlet struct {
	w      io.Writer
	once   sync.Once
	failed chan struct{} // closed at the first failure; err is set
	err    error
}

func newOutlet(w io.Writer) *outlet { return &outlet{w: w, failed: make(chan struct{})} }

// Write implements [io.Writer].
func (o *outlet) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.once.Do(func() {
			o.err = err
			close(o.failed)
		})
	}
	return n, err
}

// reason tells why writing failed: nil where the other side closed its end.
func (o *outlet) reason() error {
	if slices.ContainsFunc(hangups, func(h error) bool { return errors.Is(o.err, h) }) {
		return nil
	}
	return o.err
}
