package stdio

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// awaited is an input that is waited for in a thread, which can be called back. A
// process in which nothing happens between two messages goes to sleep as a whole
// otherwise, and takes longer to wake up than to answer. One goroutine reads at a
// time.
type awaited struct {
	fd   int
	bell [2]int // a pipe: closing its second end is seen at the first

	mu      sync.Mutex
	reading bool // the one who reads closes the descriptors, if they are to be closed
	closed  bool
}

// await returns an input that is waited for in a thread, and owns fd. It is nil
// where that cannot be done, or would leave no thread for anything else.
func await(fd int) io.ReadCloser {
	a := &awaited{fd: fd}
	if runtime.GOMAXPROCS(0) == 1 || syscall.Pipe2(a.bell[:], syscall.O_CLOEXEC) != nil {
		return nil
	}
	if max(a.fd, a.bell[0]) >= syscall.FD_SETSIZE {
		syscall.Close(a.bell[0])
		syscall.Close(a.bell[1])
		return nil
	}
	return a
}

// HoldsThread implements [jsonrpc.ThreadHolder].
func (a *awaited) HoldsThread() {}

// Read implements [io.Reader].
func (a *awaited) Read(b []byte) (int, error) {
	if !a.begin() {
		return 0, os.ErrClosed
	}
	defer a.end()
	for {
		if err := a.wait(); err != nil {
			return 0, err
		}
		n, err := syscall.Read(a.fd, b)
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

// wait waits until there is something to read, or the end of it.
func (a *awaited) wait() error {
	const width = syscall.FD_SETSIZE / len(syscall.FdSet{}.Bits)
	for {
		var set syscall.FdSet
		for _, fd := range []int{a.fd, a.bell[0]} {
			set.Bits[fd/width] |= 1 << (fd % width)
		}
		_, err := syscall.Select(max(a.fd, a.bell[0])+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return os.NewSyscallError("select", err)
		case set.Bits[a.bell[0]/width]&(1<<(a.bell[0]%width)) != 0:
			return os.ErrClosed
		default:
			return nil
		}
	}
}

// Close ends a Read.
func (a *awaited) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return os.ErrClosed
	}
	a.closed = true
	syscall.Close(a.bell[1])
	if !a.reading {
		a.free()
	}
	return nil
}

func (a *awaited) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading = !a.closed
	return a.reading
}

func (a *awaited) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reading = false; a.closed {
		a.free()
	}
}

func (a *awaited) free() {
	syscall.Close(a.bell[0])
	syscall.Close(a.fd)
}
