package streamable

import (
	"errors"
	"io"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
)

var errTooLong = errors.New("body is too long")

// readAll appends to p what r has, up to its end. Negative as most is without limit.
func readAll(p *buffer.Buffer, r io.Reader, most int) error {
	b := p.Bytes
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		p.Bytes = b
		switch {
		case most >= 0 && len(b) > most:
			return errTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
