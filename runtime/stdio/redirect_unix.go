//go:build unix && !solaris

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// redirect replaces the descriptors of standard input and output, so that it affects
// C code and child processes as well.
func redirect() (*standardIO, error) {
	in, err := saveDescriptor(0, "standard input")
	if err != nil {
		return nil, err
	}
	out, err := saveDescriptor(1, "standard output")
	if err != nil {
		in.restore(nil)
		return nil, err
	}
	std := &standardIO{in: in.input(), out: out.file()}
	std.restore = func() {
		in.restore(std.in)
		out.restore(std.out)
	}
	if err := errors.Join(setNull(0), setDuplicate(2, 1)); err != nil {
		std.restore()
		return nil, err
	}
	return std, nil
}

// savedDescriptor has duplicates of a standard descriptor, which is redirected in the
// meantime.
type savedDescriptor struct {
	name     string
	own      int      // the duplicate for the transport, which may close it
	saved    *os.File // the duplicate to restore from
	fd       int      // descriptor of saved
	standard int      // 0 or 1
	unblock  bool     // it was set to non-blocking, which restore must undo
}

// saveDescriptor duplicates a standard descriptor twice, because the transport may
// close its duplicate.
func saveDescriptor(standard int, name string) (*savedDescriptor, error) {
	saved, err := duplicate(standard)
	if err != nil {
		return nil, fmt.Errorf("duplicate %s: %w", name, err)
	}
	own, err := duplicate(standard)
	if err != nil {
		syscall.Close(saved)
		return nil, fmt.Errorf("duplicate %s: %w", name, err)
	}
	return &savedDescriptor{name: name, own: own, saved: os.NewFile(uintptr(saved), name), fd: saved, standard: standard}, nil
}

// blocks reports whether a read or write blocks a thread.
func (d *savedDescriptor) blocks() bool { return d.saved.SetDeadline(time.Time{}) != nil }

// input returns a reader for the transport.
func (d *savedDescriptor) input() io.ReadCloser {
	if d.blocks() {
		if in := newThreadReader(d.own); in != nil {
			return in
		}
	}
	return d.file()
}

// file returns a file for the transport. If possible, reads and writes of the file do
// not block a thread.
func (d *savedDescriptor) file() *os.File {
	if d.blocks() && pollable(d.fd) {
		// Closing the file interrupts its reads and writes only if it is
		// non-blocking.
		d.unblock = syscall.SetNonblock(d.fd, true) == nil
	}
	return os.NewFile(uintptr(d.own), d.name)
}

// restore restores the standard descriptor and closes own, which may be closed
// already. If own is nil, it closes the duplicate of the transport.
func (d *savedDescriptor) restore(own io.Closer) {
	if own == nil {
		syscall.Close(d.own)
	} else {
		own.Close()
	}
	if d.unblock {
		_ = syscall.SetNonblock(d.fd, false)
	}
	_ = dup2(d.fd, d.standard)
	d.saved.Close()
}

// duplicate returns a duplicate of a descriptor that children do not inherit.
func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	return dup, err
}

// pollable reports whether fd should be set to non-blocking: whether it is a pipe or a
// socket. A terminal is shared with other processes, which expect it to block, and a
// regular file never blocks.
func pollable(fd int) bool {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return false
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFSOCK:
		return true
	case syscall.S_IFIFO:
		// The BSDs do not report the end of a named pipe to a poller.
		return runtime.GOOS == "linux" || st.Nlink == 0
	}
	return false
}

// setDuplicate makes fd a duplicate of from, or of the null device if from is closed.
func setDuplicate(from, fd int) error {
	if err := dup2(from, fd); errors.Is(err, syscall.EBADF) {
		return setNull(fd)
	} else if err != nil {
		return fmt.Errorf("redirect descriptor %d: %w", fd, err)
	}
	return nil
}

// setNull makes fd a descriptor of the null device.
func setNull(fd int) error {
	// An os.File would use the network poller.
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer syscall.Close(null)
	if err := dup2(null, fd); err != nil {
		return fmt.Errorf("redirect descriptor %d: %w", fd, err)
	}
	return nil
}
