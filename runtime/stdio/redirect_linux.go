package stdio

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// dup2 makes to a duplicate of the descriptor from.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }

// threadReader reads from a descriptor. While it waits for data it blocks a thread, but
// Close can interrupt the wait. It exists for latency: a process whose goroutines all
// wait in the network poller goes to sleep between two messages, and waking it up takes
// longer than handling a message. Only one goroutine may read at a time.
type threadReader struct {
	fd   int
	wake [2]int // a pipe: closing wake[1] makes wake[0] readable

	mu      sync.Mutex
	reading bool // if set at Close, the reading goroutine closes the descriptors
	closed  bool
}

// newThreadReader returns a threadReader that owns fd. It returns nil, and leaves fd
// alone, if there would be no thread for anything else or select does not support fd.
func newThreadReader(fd int) io.ReadCloser {
	r := &threadReader{fd: fd}
	if runtime.GOMAXPROCS(0) == 1 || syscall.Pipe2(r.wake[:], syscall.O_CLOEXEC) != nil {
		return nil
	}
	if max(r.fd, r.wake[0]) >= syscall.FD_SETSIZE {
		syscall.Close(r.wake[0])
		syscall.Close(r.wake[1])
		return nil
	}
	return r
}

// HoldsThread marks the reader, see [jsonrpc.Conn.ReadLines].
func (r *threadReader) HoldsThread() {}

// Read implements [io.Reader].
func (r *threadReader) Read(b []byte) (int, error) {
	if !r.begin() {
		return 0, os.ErrClosed
	}
	defer r.end()
	for {
		if err := r.wait(); err != nil {
			return 0, err
		}
		n, err := syscall.Read(r.fd, b)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// wait waits until there is data or the end of the file. It returns os.ErrClosed after
// Close.
func (r *threadReader) wait() error {
	const width = syscall.FD_SETSIZE / len(syscall.FdSet{}.Bits)
	for {
		var set syscall.FdSet
		for _, fd := range []int{r.fd, r.wake[0]} {
			set.Bits[fd/width] |= 1 << (fd % width)
		}
		_, err := syscall.Select(max(r.fd, r.wake[0])+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return os.NewSyscallError("select", err)
		case set.Bits[r.wake[0]/width]&(1<<(r.wake[0]%width)) != 0:
			return os.ErrClosed
		default:
			return nil
		}
	}
}

// Close implements [io.Closer]. A Read that waits returns os.ErrClosed.
func (r *threadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.closed = true
	syscall.Close(r.wake[1])
	if !r.reading {
		r.closeDescriptors()
	}
	return nil
}

// begin marks the beginning of a Read. It reports false after Close.
func (r *threadReader) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = !r.closed
	return r.reading
}

// end marks the end of a Read.
func (r *threadReader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading = false; r.closed {
		r.closeDescriptors()
	}
}

func (r *threadReader) closeDescriptors() {
	syscall.Close(r.wake[0])
	syscall.Close(r.fd)
}
